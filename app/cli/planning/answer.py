"""The answer of a plan in one line: does it work, and what happens."""

from collections import Counter

from msgspec import structs

from planner.outcome import Event, Kind, PlanReport

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


def works(report: PlanReport) -> bool:
    """Whether every pod has a node at the end and can start there, and nothing is lost or refused.

    A pod that waited before the plan, and still does, has no node either.
    """
    return not (report.pending or _is_stuck(report) or any(_counts(report)[kind] for kind in _BAD))


def answer(report: PlanReport) -> str:
    """Say whether a plan works, and count what happens; what is bad first."""
    counts = _counts(report)
    bad = [_number(report.pending, "pod pending", "pods pending")] if report.pending else []
    bad += [_number(counts[kind], *words) for kind, words in _BAD.items() if counts[kind]]
    good = [_number(counts[kind], *words) for kind, words in _GOOD.items() if counts[kind]]
    warnings = sum(len(step.warnings) for step in report.steps[1:])
    last = [_number(warnings, "new warning", "new warnings")] if warnings else []
    parts = [", ".join(part) for part in (bad, good, last) if part]
    begin = _begin(report)
    return f"{begin}: {'; '.join(parts) or 'nothing moves'}"


def capacity(report: PlanReport) -> str:
    """Say how many more pods fit, by the last step of a plan, which tries until one does not."""
    events = report.steps[-1].events
    placed = [event for event in events if event.kind is Kind.PLACED]
    whole = sum(map(_is_whole, placed))
    fit = _number(len(placed), "more pod fits", "more pods fit")
    if whole < len(placed):
        fit += f", {whole} of them with all replicas of their volumes"
    if report.unplanned:
        fit += ", as far as it can be planned"
    stopped = any(event.kind is Kind.PENDING for event in events)
    return fit + ("; the next one does not" if stopped else "; more were not tried (--most)")


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
