"""What `plan` prints for people: the answer, step by step what happens, then before and after."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

import msgspec

from cli.catalogue import ERRORS
from cli.paragraphs import paragraph, printable, table
from planner.naming import first_of, natural
from planner.outcome import PlanReport
from planner.picture import DiskReport, Event, Kind, NodeReport, PlannedVolume, Reason, StepReport
from planner.plan import WAITED
from planner.sizes import amount, gib

_MOST_BEFORE = 5
"""Of warnings about the cluster as it is."""
_MOST_EVENTS = 20
_MOST_NODES = 40
_MOST_NAMES = 3
_WORDS = {
    Kind.PLACED: "placed",
    Kind.PENDING: "pending",
    Kind.NOT_CREATED: "waits",
    Kind.MOVED: "moved",
    Kind.LOST: "lost",
    Kind.REPLICA_PLACED: "rebuilt",
    Kind.REPLICA_REMOVED: "removed",
    Kind.REPLICA_MOVED: "move",
    Kind.VOLUME_LOST: "lost",
    Kind.CHANGED: "changed",
    Kind.REFUSED: "refused",
}
_FINE = frozenset(
    {
        Kind.PLACED, Kind.MOVED, Kind.REPLICA_PLACED, Kind.REPLICA_REMOVED, Kind.REPLICA_MOVED,
        Kind.CHANGED,
    }
)  # fmt: skip
"""Everything else is told first."""
_ALIKE = frozenset({Kind.NOT_CREATED})
"""Told together, if the text is the same."""
_LISTED = frozenset({Kind.PENDING, Kind.VOLUME_LOST})
"""What their text says does not begin with a verb."""
_OF_NO_NODE = frozenset({*ERRORS, "claim_in_use"})
"""Reasons that are the same for every node, as they are about the pod's claims."""
_WORD_WIDTH = 8
_INDENT = _WORD_WIDTH + 3


class Form(msgspec.Struct, frozen=True, kw_only=True):
    """How much to print."""

    width: int
    """Most characters of a line of text; names and figures are never broken."""
    show_all: bool = False
    """Every event, warning and node, however many there are."""


def lines(report: PlanReport, form: Form) -> Iterator[str]:
    """Write a plan."""
    colour = None if report.works is None else "green" if report.works else "red"
    yield from paragraph("", report.summary, form.width, indent=2, colour=colour)
    worst = f", the worst of {report.runs.count} plans" if report.runs else ""
    yield printable(f"policy {report.policy}, seed {report.seed}{worst}")
    before, *steps = report.steps
    if before.warnings:
        yield ""
        yield "before the plan"
        yield from _warnings(before, form, _MOST_BEFORE)
    waited = [each for each in steps if each.title == WAITED]
    for number, step in enumerate([each for each in steps if each not in waited], start=1):
        yield ""
        yield from paragraph(f"{number}. ", step.title, form.width)
        yield from _step(step, form)
    for step in waited:  # it comes first, and is not what was asked
        yield ""
        yield from paragraph("", f"{step.title}, before all else", form.width)
        yield from _step(step, form)
    yield ""
    yield from _before_and_after(report, form)


def _step(step: StepReport, form: Form) -> Iterator[str]:
    if not (step.events or step.warnings):
        yield "  no pod and no replica moves"
        return
    groups = _grouped(sorted(step.events, key=lambda each: each.kind in _FINE))
    shown = groups if form.show_all else groups[:_MOST_EVENTS]
    for events in shown:
        yield from _event(events, form)
    yield from _rest(sum(map(len, groups)) - sum(map(len, shown)), "event")
    yield from _copies(step.events, form)
    yield from _warnings(step, form, _MOST_EVENTS)


def _warnings(step: StepReport, form: Form, most: int) -> Iterator[str]:
    warnings = step.warnings if form.show_all else step.warnings[:most]
    for each in warnings:
        yield from _told("warning", f"{each.object} {each.text}", form, colour="yellow")
    yield from _rest(len(step.warnings) - len(warnings), "warning")


def _copies(events: Iterable[Event], form: Form) -> Iterator[str]:
    """Say what moves copy, in all and to each node."""
    to = Counter[str]()
    for each in events:
        to[each.node or ""] += each.copied_bytes
    if total := to.total():
        nodes = ", ".join(f"{gib(to[name])} to {name}" for name in sorted(+to, key=natural))
        yield from _told("copies", f"{gib(total)} GiB in all: {nodes}", form)


def _grouped(events: Iterable[Event]) -> list[list[Event]]:
    """Put events together that say the same of different objects, if they need many words."""
    groups = dict[object, list[Event]]()
    for number, event in enumerate(events):
        is_alike = event.reasons or event.kind in _ALIKE
        key = (event.kind, event.text, event.reasons) if is_alike else number
        groups.setdefault(key, []).append(event)
    return [*groups.values()]


def _event(events: Sequence[Event], form: Form) -> Iterator[str]:
    event = events[0]
    colour = None if event.kind in _FINE else "red"
    yield from _told(_WORDS[event.kind], _what(events), form, colour=colour)
    if len(events) == 1:
        for volume in event.volumes:
            yield from _more(_volume(volume, event.object), form)
    for command in event.commands:
        yield " " * _INDENT + printable(command)
    for reason in event.reasons:
        yield from _more(_reason(reason, is_only=len(event.reasons) == 1), form)
        if reason.remedy and reason.code not in ERRORS:  # the text itself says what to do
            yield from _more(f"-> {reason.remedy}", form, colour="cyan")


def _what(events: Sequence[Event]) -> str:
    """Say of what objects something is told, where, and the text."""
    event = events[0]
    if len(events) > 1:
        return f"{first_of([each.object for each in events], _MOST_NAMES)}: {event.text}"
    match event.kind:
        case Kind.REPLICA_PLACED:
            return f"{event.object} on {event.node}/{event.text}"
        case Kind.REPLICA_REMOVED:
            return f"{event.object} from {event.node}/{event.text}"
        case Kind.REPLICA_MOVED:
            return f"{event.object} from {event.text}"
        case Kind.PLACED:
            return f"{event.object} on {event.node}"
        case Kind.MOVED:
            return f"{event.object} from {event.before} to {event.node}"
    place = f" on {event.node}" if event.node and event.node not in event.object else ""
    between = ": " if event.kind in _LISTED else " "
    return f"{event.object}{place}{between}{event.text}"


def _volume(volume: PlannedVolume, pod: str) -> str:
    name = volume.name.removeprefix(f"{pod.partition('/')[0]}/")
    placed = [each for each in volume.replicas if each.node is not None]
    old, new = (
        ", ".join(f"{each.node}/{each.disk}" for each in placed if each.is_new == is_new)
        for is_new in (False, True)
    )
    parts = [f"stays on {old}"] if old else []
    parts += [f"new on {new}" if old else new] if new else []
    missing = len(volume.replicas) - len(placed)
    parts += [_count(missing, "replica") + " without a place"] if missing else []
    return f"{name}, {amount(volume.size_bytes)}: {'; '.join(parts) or 'no replica'}"


def _reason(reason: Reason, *, is_only: bool) -> str:
    """Say why nodes were left out; one alone is that of all nodes."""
    if reason.code in _OF_NO_NODE:
        return reason.text
    is_all = is_only and len(reason.nodes) > _MOST_NAMES
    nodes = f"all {len(reason.nodes)} nodes" if is_all else first_of(reason.nodes, _MOST_NAMES)
    return f"{nodes}: {reason.text}"


def _told(word: str, text: str, form: Form, colour: str | None = None) -> Iterator[str]:
    start = f"  {word:<{_WORD_WIDTH}} "
    return paragraph(start, text, form.width, indent=_INDENT, colour=colour)


def _more(text: str, form: Form, colour: str | None = None) -> Iterator[str]:
    return paragraph(" " * _INDENT, text, form.width, indent=_INDENT + 2, colour=colour)


def _before_and_after(report: PlanReport, form: Form) -> Iterator[str]:
    first = {node.name: node for node in report.steps[0].nodes}
    last = dict(first)
    changed = set[str]()
    for step in report.steps[1:]:
        last |= {node.name: node for node in step.nodes}
        changed |= {node.name for node in step.nodes} | {*step.removed_nodes}
        for name in step.removed_nodes:
            last.pop(name, None)
    if not changed:
        yield "no node changes"
        return
    names = sorted(changed, key=natural)
    shown = names if form.show_all else names[:_MOST_NODES]
    rows = [row for name in shown for row in _rows(first.get(name), last.get(name))]
    heads = ("node", "zone", "pods", "disk", "scheduled GiB", "limit", "")
    yield from table([heads, *rows])
    yield from _rest(len(names) - len(shown), "node")


def _rows(before: NodeReport | None, after: NodeReport | None) -> Iterator[Sequence[str]]:
    known = after or before
    assert known is not None
    pods = _change(str(len(before.pods)) if before else "-", str(len(after.pods)) if after else "-")
    old = {disk.name: disk for disk in before.disks} if before else {}
    new = {disk.name: disk for disk in after.disks} if after else {}
    problem = "is gone" if after is None else after.problem
    head = (known.name, known.zone, pods)
    disks = [*dict.fromkeys([*old, *new])]
    if not disks:
        yield *head, "", "", "", problem
    for number, name in enumerate(disks):
        disk_problem = _disk_problem(new.get(name)) if after else ""
        yield (
            *(("", "", "") if number else head),
            name,
            _change(_scheduled(old.get(name)), _scheduled(new.get(name))),
            gib((new.get(name) or old[name]).limit_bytes),
            "; ".join(filter(None, ("" if number else problem, disk_problem))),
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


def _rest(count: int, what: str) -> Iterable[str]:
    return [f"  and {_count(count, f'more {what}')}: --all shows them"] if count > 0 else []


def _count(number: int, what: str) -> str:
    return f"{number} {what}{'' if number == 1 else 's'}"
