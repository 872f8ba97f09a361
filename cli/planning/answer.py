"""The answer of a plan in one line: does it work, and what happens."""

from collections import Counter
from collections.abc import Iterable

from msgspec import structs

from planner.outcome import PlanReport, Runs
from planner.picture import Event, Kind

_BAD = {
    Kind.LOST: ("pod lost", "pods lost"),
    Kind.VOLUME_LOST: ("volume lost", "volumes lost"),
    Kind.REFUSED: ("refusal", "refusals"),
}
_GOOD = {
    Kind.PLACED: ("pod placed", "pods placed"),
    Kind.MOVED: ("pod moved", "pods moved"),
    Kind.REPLICA_PLACED: ("replica rebuilt", "replicas rebuilt"),
    Kind.REPLICA_REMOVED: ("replica removed", "replicas removed"),
    Kind.REPLICA_MOVED: ("replica to move", "replicas to move"),
    Kind.CHANGED: ("change made", "changes made"),
}
_STUCK = "pod_stuck"


def answered(report: PlanReport, *, is_capacity: bool) -> PlanReport:
    """Return the plan with its answer.

    Args:
        report: The plan.
        is_capacity: The question is how many pods fit.
    """
    if is_capacity:
        return structs.replace(report, summary=capacity(report))
    return structs.replace(report, works=works(report), summary=answer(report))


def worst(reports: Iterable[PlanReport], *, is_capacity: bool) -> PlanReport:
    """Return the worst of several plans, and in it what all of them came to.

    The worst does not work, or has the fewest pods placed, or the most warnings, in this order.

    Args:
        reports: At least one.
        is_capacity: As for `answered`: then the pods of the last step count alone.
    """
    found: PlanReport | None = None
    working, placed = 0, list[int]()
    for each in reports:
        placed.append(len(_fitting(each)) if is_capacity else each.placed)
        working += works(each)
        if found is None or _goodness(each) < _goodness(found):
            found = each
    assert found is not None
    if len(placed) == 1:
        return found
    runs = Runs(count=len(placed), works=working, least_placed=min(placed), most_placed=max(placed))
    return structs.replace(found, runs=runs)


def _goodness(report: PlanReport) -> tuple[bool, int, int]:
    warnings = sum(len(step.warnings) for step in report.steps[1:])
    return works(report), report.placed - report.pending, -warnings


def works(report: PlanReport) -> bool:
    """Whether all is well at the end: `PlanReport.works`."""
    is_bad = report.pending > report.waited or report.degraded or _is_stuck(report)
    return not (is_bad or any(_counts(report)[kind] for kind in _BAD))


def answer(report: PlanReport) -> str:
    """Say whether a plan works, and count what happens; what is bad first."""
    counts = _counts(report)
    pending, degraded = report.pending - report.waited, report.degraded
    bad = [_number(pending, "pod pending", "pods pending")] if pending else []
    bad += [_number(degraded, "volume degraded", "volumes degraded")] if degraded else []
    bad += [_number(counts[kind], *words) for kind, words in _BAD.items() if counts[kind]]
    good = [_number(counts[kind], *words) for kind, words in _GOOD.items() if counts[kind]]
    warnings = sum(len(step.warnings) for step in report.steps[1:])
    last = [_number(report.waited, "pod waits as before", "pods wait as before")]
    last = (last if report.waited else []) + (
        [_number(warnings, "new warning", "new warnings")] if warnings else []
    )
    parts = [", ".join(part) for part in (bad, good, last) if part]
    if report.runs is not None:
        works_in = f"all of it works in {report.runs.works}"
        parts.append(f"pods placed: {_range(report.runs)}, {works_in}")
    begin = _begin(report)
    return f"{begin}: {'; '.join(parts) or 'nothing moves'}"


def capacity(report: PlanReport) -> str:
    """Say how many more pods fit, by the last step of a plan, which tries until one does not."""
    events, placed = report.steps[-1].events, _fitting(report)
    whole = sum(map(_is_whole, placed))
    fit = _number(len(placed), "more pod fits", "more pods fit")
    if whole < len(placed):
        fit += f", {whole} of them with all replicas of their volumes"
    if report.runs is not None:
        fit += f", {_range(report.runs)}"
    if report.unplanned:
        fit += ", as far as it can be planned"
    stopped = any(event.kind is Kind.PENDING for event in events)
    return fit + ("; the next one does not" if stopped else "; more were not tried (--most)")


def _range(runs: Runs) -> str:
    """Say between what the number of pods is, such as "3 to 5 in 20 runs"."""
    if runs.least_placed == runs.most_placed:
        return f"the same in all {runs.count} runs"
    return f"{runs.least_placed} to {runs.most_placed} in {runs.count} runs"


def _fitting(report: PlanReport) -> list[Event]:
    """Return the pods that fit, by the last step of a plan."""
    return [event for event in report.steps[-1].events if event.kind is Kind.PLACED]


def _begin(report: PlanReport) -> str:
    if not works(report):
        rest = ", as far as it can be planned" if report.unplanned else ""
        return f"not all of it works{rest}"
    return "it works as far as it can be planned" if report.unplanned else "all of it works"


def _counts(report: PlanReport) -> Counter[Kind]:
    return Counter(event.kind for step in report.steps for event in step.events)


def _is_stuck(report: PlanReport) -> bool:
    return any(each.code == _STUCK for step in report.steps[1:] for each in step.warnings)


def _is_whole(event: Event) -> bool:
    return all(each.node is not None for volume in event.volumes for each in volume.replicas)


def _number(number: int, one: str, many: str) -> str:
    return f"{number} {one if number == 1 else many}"
