"""What `survey` prints for people."""

from collections import Counter
from collections.abc import Iterator

from cli.catalogue import Severity
from cli.paragraphs import paragraph
from cli.survey.findings import Finding, Survey
from planner.naming import first_of

_COLOURS = {Severity.ERROR: "red", Severity.WARNING: "yellow", Severity.INFO: None}
_WIDTH = max(map(len, Severity)) + 2
_MOST_NAMED = 5


def lines(found: Survey, width: int, *, show_all: bool) -> Iterator[str]:
    """Write how many findings there are, which nodes may be lost, and each, the worst first."""
    counts = Counter(each.severity for each in found.findings)
    told = (f"{counts[each]} {each}{'s' * (counts[each] > 1)}" for each in Severity if counts[each])
    yield ", ".join(told) or "all is well"
    nodes = found.nodes_that_may_be_lost
    text = first_of(nodes, len(nodes) if show_all else 2 * _MOST_NAMED) if nodes else "none"
    yield from paragraph("may be lost, each alone: ", text, width, indent=_WIDTH)
    for each in found.findings:
        yield from _finding(each, width, show_all=show_all)
    for note in found.notes:
        yield from paragraph(f"{'note':{_WIDTH}}", note, width, indent=_WIDTH)


def _finding(found: Finding, width: int, *, show_all: bool) -> Iterator[str]:
    start, colour = f"{found.severity:{_WIDTH}}", _COLOURS[found.severity]
    yield from paragraph(start, found.text, width, indent=_WIDTH, colour=colour)
    if not all(each in found.text for each in found.objects):
        names = first_of(found.objects, len(found.objects) if show_all else _MOST_NAMED)
        yield from paragraph(" " * _WIDTH, names, width, indent=_WIDTH)
    yield from paragraph(" " * _WIDTH + "-> ", found.remedy, width, indent=_WIDTH + 3)
