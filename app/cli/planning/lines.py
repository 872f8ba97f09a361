"""What `plan` prints for people: step by step what happens, then before and after."""

from collections.abc import Iterable, Iterator, Sequence

from msgspec import structs

from app.cli.sizes import gib
from planner.outcome import DiskReport, Event, Kind, NodeReport, PlanReport, StepReport

_MOST_EVENTS = 20
_MOST_NODES = 40
_WORDS = {
    Kind.PLACED: "placed",
    Kind.PENDING: "pending",
    Kind.NOT_CREATED: "waits",
    Kind.MOVED: "moved",
    Kind.LOST: "lost",
    Kind.REPLICA_PLACED: "replica",
    Kind.REPLICA_REMOVED: "removed",
    Kind.VOLUME_LOST: "lost",
    Kind.CHANGED: "changed",
    Kind.REFUSED: "refused",
}
_INDENT = " " * 11
_FINE = frozenset(
    {Kind.PLACED, Kind.MOVED, Kind.REPLICA_PLACED, Kind.REPLICA_REMOVED, Kind.CHANGED}
)
"""Everything else is told first."""
_ALIKE = frozenset({Kind.NOT_CREATED})
"""Told together, if the text is the same."""
_MOST_NAMES = 3


def lines(report: PlanReport, *, show_all: bool = False) -> Iterator[str]:
    """Write a plan.

    Args:
        report: The plan.
        show_all: Every event and node, however many there are.
    """
    yield _summary(report)
    for number, step in enumerate(report.steps):
        if number:
            yield ""
            yield f"{number}. {step.title}"
        yield from _step(step, show_all=show_all)
    yield ""
    yield from _before_and_after(report, show_all=show_all)


def capacity_lines(report: PlanReport) -> Iterator[str]:
    """Say how many pods fit, and what stops the next one."""
    events = report.steps[-1].events
    placed = [event for event in events if event.kind is Kind.PLACED]
    whole = sum(_is_whole(event) for event in placed)
    fit = f"{_count(len(placed), 'more pod')} {'fits' if len(placed) == 1 else 'fit'}"
    if whole < len(placed):
        fit += f", {whole} of them with all replicas of their volumes"
    stopped = [event for event in events if event.kind is Kind.PENDING]
    yield fit + ("; the next one does not" if stopped else "; more were not tried (--most)")


def _is_whole(event: Event) -> bool:
    return all(each.node is not None for volume in event.volumes for each in volume.replicas)


def _summary(report: PlanReport) -> str:
    placed = _count(report.placed, "pod") + " placed"
    pending = f", {report.pending} pending" if report.pending else ""
    return f"{placed}{pending} (policy {report.policy}, seed {report.seed})"


def _step(step: StepReport, *, show_all: bool) -> Iterator[str]:
    groups = _grouped(sorted(step.events, key=lambda each: each.kind in _FINE))
    shown = groups if show_all else groups[:_MOST_EVENTS]
    for events in shown:
        yield from _event(events)
    yield from _rest(sum(map(len, groups)) - sum(map(len, shown)), "event")
    warnings = step.warnings if show_all else step.warnings[:_MOST_EVENTS]
    for warning in warnings:
        yield _clean(f"  warning  {warning.object} {warning.text}")
    yield from _rest(len(step.warnings) - len(warnings), "warning")


_FINE = frozenset(
    {Kind.PLACED, Kind.MOVED, Kind.REPLICA_PLACED, Kind.REPLICA_REMOVED, Kind.CHANGED}
)


def _grouped(events: Iterable[Event]) -> list[list[Event]]:
    """Put events together that say the same of different objects, if they need many words."""
    groups = dict[object, list[Event]]()
    for event in events:
        same = event.kind, event.text, event.reasons
        groups.setdefault(same if event.reasons or event.kind in _ALIKE else event, []).append(
            event
        )
    return [*groups.values()]


def _event(events: Sequence[Event]) -> Iterator[str]:
    event = events[0]
    word = _WORDS[event.kind]
    if len(events) > 1:
        names = ", ".join(each.object for each in events[:_MOST_NAMES])
        more = len(events) - _MOST_NAMES
        names += f" and {more} more" if more > 0 else ""
        event = structs.replace(event, object=names, before=None, volumes=())
    where = event.node or ""
    if event.before and event.node:
        where = f"{event.before} -> {event.node}"
    if event.kind in (Kind.REPLICA_PLACED, Kind.REPLICA_REMOVED):
        where, text = f"{event.node}/{event.text}", ""
    else:
        text = event.text
    yield _clean(f"  {word:<8} {'  '.join(part for part in (event.object, where, text) if part)}")
    for volume in event.volumes:
        places = ", ".join(
            "no place"
            if each.node is None
            else f"{each.node}/{each.disk}{'' if each.is_new else ' (was there)'}"
            for each in volume.replicas
        )
        yield _clean(f"{_INDENT}{volume.name} {gib(volume.size_bytes)} GiB: {places or 'none'}")
    for reason in event.reasons:
        yield _clean(f"{_INDENT}{len(reason.nodes)} {reason.text}")
        if reason.remedy:
            yield _clean(f"{_INDENT}  -> {reason.remedy}")


def _before_and_after(report: PlanReport, *, show_all: bool) -> Iterator[str]:
    first = {node.name: node for node in report.steps[0].nodes}
    last = dict(first)
    changed = dict[str, None]()
    for step in report.steps[1:]:
        for node in step.nodes:
            last[node.name] = node
            changed[node.name] = None
        for name in step.removed_nodes:
            last.pop(name, None)
            changed[name] = None
    if not changed:
        yield "no node changes"
        return
    names = sorted(changed)
    shown = names if show_all else names[:_MOST_NODES]
    rows = [row for name in shown for row in _rows(first.get(name), last.get(name))]
    yield from _table(("node", "pods", "disk", "scheduled GiB", "of", ""), rows)
    yield from _rest(len(names) - len(shown), "node")


def _rows(before: NodeReport | None, after: NodeReport | None) -> Iterator[Sequence[str]]:
    known = after or before
    assert known is not None
    pods = _change(str(len(before.pods)) if before else "-", str(len(after.pods)) if after else "-")
    old = {disk.name: disk for disk in before.disks} if before else {}
    new = {disk.name: disk for disk in after.disks} if after else {}
    problem = "is gone" if after is None else after.problem
    disks = [*dict.fromkeys([*old, *new])]
    if not disks:
        yield known.name, pods, "", "", "", problem
    for number, name in enumerate(disks):
        yield (
            "" if number else known.name,
            "" if number else pods,
            name,
            _change(_scheduled(old.get(name)), _scheduled(new.get(name))),
            gib((new.get(name) or old[name]).limit_bytes),
            _disk_problem(new.get(name)) or ("" if number else problem),
        )


def _disk_problem(disk: DiskReport | None) -> str:
    if disk is None:
        return "disk is gone"
    if disk.scheduled_bytes > disk.limit_bytes:
        return "over the limit"
    return f"disk {disk.problem}" if disk.problem else ""


def _scheduled(disk: DiskReport | None) -> str:
    return "-" if disk is None else gib(disk.scheduled_bytes)


def _change(before: str, after: str) -> str:
    return before if before == after else f"{before} -> {after}"


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> Iterator[str]:
    cleaned = [[_clean(cell) for cell in row] for row in (head, *rows)]
    widths = [max(len(row[column]) for row in cleaned) for column in range(len(head))]
    for row in cleaned:
        cells = (cell.ljust(width) for cell, width in zip(row, widths, strict=True))
        yield "  ".join(cells).rstrip()


def _rest(count: int, what: str) -> Iterable[str]:
    return [f"  … and {_count(count, what)} more (--all)"] if count > 0 else []


def _count(number: int, what: str) -> str:
    return f"{number} {what}{'' if number == 1 else 's'}"


def _clean(text: str) -> str:
    return "".join(c if c.isprintable() else " " for c in text)
