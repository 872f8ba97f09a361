"""What `filter` prints of a node for people."""

from collections.abc import Iterator, Sequence

from cli.catalogue import in_words
from cli.contents import Content
from cli.explaining.lines import Form
from cli.nodes.report import DiskOfNode, NodeReport
from cli.paragraphs import ANY_WIDTH, paragraph, table
from cli.remedies.remedy import RemedyReport
from planner.sizes import gib

_FEW, _FEW_REMEDIES = 5, 4


def node_lines(found: NodeReport, form: Form) -> Iterator[str]:
    """Write whether the node takes replicas, and each disk with what fills it."""
    width = ANY_WIDTH if form.wide else form.width
    text = "; ".join(found.problems) or "none of its disks takes new replicas"
    told = "takes new replicas" if found.takes else f"takes no new replica: {text}"
    yield from paragraph(
        f"node {found.node}: ", told, width, colour="green" if found.takes else "red"
    )
    yield from _remedies(found.remedies, form, "  ", width)
    for each in found.disks:
        yield from _disk(each, form, width)


def _disk(found: DiskOfNode, form: Form, width: int) -> Iterator[str]:
    figures = found.figures
    text = (
        f"{gib(figures.scheduled_bytes)} of {gib(figures.limit_bytes)} GiB scheduled, "
        f"{gib(figures.written_bytes)} of {gib(figures.maximum_bytes)} written"
    )
    yield from paragraph(f"  {figures.name}  ", text, width)
    if found.problem:
        yield from paragraph("    ", found.problem, width, colour="red")
    yield from _remedies(found.remedies, form, "    ", width)
    contents = found.figures.contents
    shown = contents if form.all_nodes else contents[:_FEW]
    if shown:
        names = ("what", *(("replica",) if form.wide else ()), "scheduled", "written", "")
        first = names.index("scheduled")
        rows = [names, *(_row(each, wide=form.wide) for each in shown)]
        for line in table(rows, figures={first, first + 1}):
            yield f"    {line}"
    if len(shown) < len(contents):
        yield f"    and {len(contents) - len(shown)} more: --all shows them"


def _row(each: Content, *, wide: bool) -> tuple[str, ...]:
    written = gib(each.written_bytes) if each.written_bytes else "-"
    replica = (each.replica or "-",) if wide else ()
    return each.name, *replica, gib(each.scheduled_bytes), written, each.note


def _remedies(found: Sequence[RemedyReport], form: Form, indent: str, width: int) -> Iterator[str]:
    for each in found if form.all_nodes else found[:_FEW_REMEDIES]:
        yield from paragraph(f"{indent}-> ", in_words(each.text), width, colour="cyan")
