"""What `filter` prints of a node for people."""

from collections.abc import Iterator

from cli.contents import Content
from cli.nodes.report import DiskOfNode, NodeReport
from cli.pages import Form, Page
from cli.paragraphs import table
from planner.sizes import gib

_FEW = 5


def node_lines(found: NodeReport, form: Form) -> Iterator[str]:
    """Write whether the node takes replicas, and each disk with what fills it."""
    page = Page(form)
    text = "; ".join(found.problems) or "none of its disks takes new replicas"
    told = "takes new replicas" if found.takes else f"takes no new replica: {text}"
    colour = "green" if found.takes else "red"
    yield from page.text(f"node {found.node}: ", told, colour=colour)
    yield from page.remedies(found.remedies)
    for each in found.disks:
        yield from _disk(each, page)


def _disk(found: DiskOfNode, page: Page) -> Iterator[str]:
    figures = found.figures
    text = (
        f"{gib(figures.scheduled_bytes)} of {gib(figures.limit_bytes)} GiB scheduled, "
        f"{gib(figures.written_bytes)} of {gib(figures.maximum_bytes)} written"
    )
    yield from page.text(f"  {figures.name}  ", text)
    if found.problem:
        yield from page.text("    ", found.problem, colour="red")
    yield from page.remedies(found.remedies, "    ")
    shown = figures.contents if page.form.all_nodes else figures.contents[:_FEW]
    if shown:
        names = ("what", *(("replica",) if page.form.wide else ()), "scheduled", "written", "")
        first = names.index("scheduled")
        rows = [names, *(_row(each, wide=page.form.wide) for each in shown)]
        for line in table(rows, figures={first, first + 1}):
            yield f"    {line}"
    if len(shown) < len(figures.contents):
        yield f"    and {len(figures.contents) - len(shown)} more: --all shows them"


def _row(each: Content, *, wide: bool) -> tuple[str, ...]:
    written = gib(each.written_bytes) if each.written_bytes else "-"
    replica = (each.replica or "-",) if wide else ()
    return each.name, *replica, gib(each.scheduled_bytes), written, each.note
