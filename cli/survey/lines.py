"""What `survey` prints for people."""

from collections.abc import Iterator

from cli.findings import count_line, finding_lines
from cli.paragraphs import paragraph
from cli.survey.survey import Survey
from planner.naming import first_of

_WIDTH = 9
_MOST_NODES = 10


def lines(found: Survey, width: int, *, show_all: bool) -> Iterator[str]:
    """Write how many findings there are, which nodes may be lost, and each, the worst first."""
    yield count_line(found.findings) or "all is well"
    nodes = found.nodes_that_may_be_lost
    text = first_of(nodes, len(nodes) if show_all else _MOST_NODES) if nodes else "none"
    yield from paragraph("safe to lose, one at a time: ", text, width, indent=_WIDTH)
    yield from finding_lines(found.findings, width, show_all=show_all)
    if found.ignored:
        yield f"{'note':{_WIDTH}}--ignore leaves out {found.ignored} more"
    for note in found.notes:
        yield from paragraph(f"{'note':{_WIDTH}}", note, width, indent=_WIDTH)
