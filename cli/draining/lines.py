"""What `may-drain` prints for people: the answer first, then what is in the way, and what to do."""

from collections.abc import Iterator, Sequence
from itertools import groupby

from cli.catalogue import OBSTACLES
from cli.draining.judging import May
from cli.draining.obstacles import Caution
from cli.draining.report import DrainReport, NextReport, NodeReport, ObstacleReport
from cli.paragraphs import paragraph, table
from planner.naming import first_of

_TOLD = {May.YES: "yes", May.NOT_YET: "not yet", May.UNKNOWN: "not known"}
_COLOURS = {May.YES: "green", May.NOT_YET: "red", May.UNKNOWN: "yellow"}
_MOST_ALIKE = 10
"""Obstacles of one code that are shown."""
_MOST_CAUTIONED = 5
"""Objects of which the same is said that are named; -o json has all."""
_MOST_PAIRS = _MOST_READY = 20
_ORDER = {code: number for number, code in enumerate(OBSTACLES)}
_INDENT = 3
_CUT = " ..."
_ARROW = "-> "


def lines(report: DrainReport, width: int, *, wide: bool = False) -> Iterator[str]:
    """Write a report: of several nodes of which one is to go, a line each, unless it is wide."""
    if report.next is not None:
        yield from _next(report.next, report, width)
    elif len(report.nodes) > 1:
        yield from paragraph("", _answer_for_all(report), width, colour=_COLOURS[report.may])
    if report.next is not None and len(report.nodes) > 1 and not wide:
        yield ""
        yield from _in_short(report.nodes, width)
        return
    for number, node in enumerate(report.nodes):
        if number or report.next is not None or len(report.nodes) > 1:
            yield ""
        yield from _node(node, width)


def _in_short(nodes: Sequence[NodeReport], width: int) -> Iterator[str]:
    """Write a line for each node: the answer, how much is in the way, and what comes first."""
    rows = [
        (each.node, _TOLD[each.may], str(len(found)), next(iter(found), ""))
        for each in nodes
        for found in [_in_the_way(each)]
    ]
    for line in table([("node", "may go", "in the way", "first"), *rows], figures={2}):
        yield line if len(line) <= width else f"{line[: width - len(_CUT)].rstrip()}{_CUT}"
    text = "all that is in the way, and what to do: name one node, or give -o wide"
    yield from paragraph("", text, width)


def _in_the_way(node: NodeReport) -> Sequence[str]:
    """Return what is in the way of a node, or what is not known of it if nothing is."""
    return [f"{each.object} {each.text}" for each in node.obstacles] or node.unknown


def answer(node: NodeReport) -> str:
    """Say in a few words whether a node may be drained."""
    match node.may:
        case May.YES:
            return "yes, it may be drained now"
        case May.UNKNOWN:
            return "not known, since not all is known that could be in the way"
    count = len(node.obstacles)
    return "not yet, " + ("1 thing is" if count == 1 else f"{count} things are") + " in the way"


def summary(report: DrainReport) -> str:
    """Say in a line how it stands, for one who waits."""
    if report.next is not None and report.next.node is not None:
        return f"{report.next.node} may go next"
    return "; ".join(f"{each.node}: {_short(each)}" for each in report.nodes)


def _short(node: NodeReport) -> str:
    if node.may is not May.NOT_YET:
        return _TOLD[node.may]
    return f"{_TOLD[node.may]}, {first_of(_in_the_way(node), 1)}"


def _answer_for_all(report: DrainReport) -> str:
    names = {may: [each.node for each in report.nodes if each.may is may] for may in May}
    told = {May.YES: "may be drained", May.NOT_YET: "not yet", May.UNKNOWN: "not known"}
    parts = [f"{told[may]}: {', '.join(nodes)}" for may, nodes in names.items() if nodes]
    return f"all of them at once: {report.may.replace('_', ' ')} ({'; '.join(parts)})"


def _node(node: NodeReport, width: int) -> Iterator[str]:
    yield from paragraph(f"{node.node}: ", answer(node), width, colour=_COLOURS[node.may])
    pods = "1 pod goes" if node.pods == 1 else f"{node.pods} pods go"
    cordon = "is cordoned" if node.cordoned else "is not cordoned yet, which a drain does first"
    yield from paragraph("  ", f"it {cordon}; {pods} with a drain", width)
    ordered = sorted(node.obstacles, key=lambda each: (_ORDER[each.code], each.action))
    groups = [[*alike] for _, alike in groupby(ordered, key=lambda each: (each.code, each.action))]
    for number, alike in enumerate(groups, start=1):
        yield from _alike(alike, number, width)
    for text, objects in _by_text(node.cautions).items():
        yield from _caution(text, objects, width)
    for text in node.unknown:
        yield from paragraph("not known: ", text, width, colour="yellow")


def _by_text(cautions: Sequence[Caution]) -> dict[str, list[str]]:
    """Return what is said of objects, with all that it is said of."""
    found = dict[str, list[str]]()
    for each in cautions:
        found.setdefault(each.text, []).append(each.object)
    return found


def _caution(text: str, objects: Sequence[str], width: int) -> Iterator[str]:
    """Write what is said of one object, or of several of one kind."""
    start, about = "caution: ", objects[0]
    if len(objects) > 1:
        kind, _, _ = about.partition(" ")
        about = f"each of {len(objects)} {kind}s"
        names = first_of([each.removeprefix(f"{kind} ") for each in objects], _MOST_CAUTIONED)
    indent = len(start)
    yield from paragraph(start, f"{about} {text}", width, indent=indent, colour="yellow")
    if len(objects) > 1:
        more = " (-o json shows them)" if len(objects) > _MOST_CAUTIONED else ""
        yield from paragraph(" " * indent, f"{names}{more}", width, indent=indent)


def _alike(obstacles: Sequence[ObstacleReport], number: int, width: int) -> Iterator[str]:
    """Write what has the same remedy; the number says in which order to remedy it."""
    start = f"{number}. "
    for each in obstacles[:_MOST_ALIKE]:
        yield from paragraph(start, f"{each.object} {each.text}", width)
        start = " " * _INDENT
    more = len(obstacles) - _MOST_ALIKE
    if more > 0:
        yield f"{start}and {more} more: -o json shows them"
    if logged := obstacles[0].logged:
        yield from paragraph(" " * _INDENT, f"Longhorn logs: {logged}", width)
    action = obstacles[0].action.replace("`", "")
    yield from paragraph(f"{' ' * _INDENT}{_ARROW}", action, width, colour="cyan")


def _next(found: NextReport, report: DrainReport, width: int) -> Iterator[str]:
    colour = _COLOURS[report.may]
    if found.node is None:
        yield from paragraph("", "none of them may go now", width, colour=colour)
        return
    yield from paragraph("", f"{found.node} may go next", width, colour=colour)
    if others := found.ready[1:]:
        yield from paragraph("or: ", first_of(others, _MOST_READY), width)
    total = len(found.together) + len(found.apart)
    if found.together and not found.apart and total > 1:
        yield from paragraph("at once: ", "any two of these", width)
    else:
        yield from _pairs("at once: ", [f"{a} and {b}" for a, b in found.together], width)
    apart = [f"{' and '.join(each.nodes)}: {each.why}" for each in found.apart]
    yield from _pairs("not at once: ", apart, width)


def _pairs(start: str, texts: Sequence[str], width: int) -> Iterator[str]:
    for text in texts[:_MOST_PAIRS]:
        yield from paragraph(start, text, width)
    if len(texts) > _MOST_PAIRS:
        yield f"{start}{len(texts) - _MOST_PAIRS} more: -o json shows them"
