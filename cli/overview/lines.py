"""What `overview` prints for people: a line for each disk, StorageClasses, and the sum."""

from collections.abc import Iterator, Sequence

from cli.contents import in_words
from cli.largest import ClassFigures
from cli.overview.figures import DiskFigures, NodeFigures, Overview
from cli.paragraphs import paragraph, table
from planner.sizes import amount, gib

_FIGURES = ("scheduled", "limit", "written", "headroom", "held", "coming")
_WIDE = ("reserved", "physical", "zone", "type", "tags")


def lines(found: Overview, *, width: int, wide: bool = False) -> Iterator[str]:
    """Write the figures, in GiB."""
    names = ("node", "disk", *_FIGURES, *(_WIDE if wide else ()))
    rows = [names, *(row for node in found.nodes for row in _rows(node, wide=wide))]
    last = names.index("zone") if wide else len(names)
    yield from table(rows, figures=range(2, last))
    yield from _problems(found.nodes, width)
    if wide:
        yield from _contents(found.nodes)
    if found.classes:
        yield ""
        names = ("StorageClass", "largest new volume", "on nodes", "with all replicas")
        yield from table([names, *map(_class, found.classes)], figures={1, 2, 3})
        for each in found.classes:
            if each.problem:
                yield from paragraph(f"{each.name}: ", each.problem, width, colour="yellow")
    for note in found.notes:
        yield from paragraph("note: ", note, width, colour="yellow")
    yield ""
    yield _sum(found.nodes)


def _rows(node: NodeFigures, *, wide: bool) -> Iterator[tuple[str, ...]]:
    if not node.disks:
        yield (node.name, "-", *["" for _ in _FIGURES], *(["" for _ in _WIDE] if wide else ()))
    for number, disk in enumerate(node.disks):
        is_first = number == 0  # what is held and comes is known of the node, not of its disks
        yield (
            node.name if is_first else "",
            disk.name,
            gib(disk.scheduled_bytes),
            gib(disk.limit_bytes),
            gib(disk.written_bytes),
            gib(disk.headroom_bytes),
            gib(node.held_bytes) if is_first else "",
            gib(node.coming_bytes) if is_first else "",
            *(_more(node, disk) if wide else ()),
        )


def _more(node: NodeFigures, disk: DiskFigures) -> Iterator[str]:
    yield gib(disk.reserved_bytes)
    yield gib(disk.physical_headroom_bytes)
    yield node.zone or "-"
    yield disk.type
    yield ",".join(disk.tags) or "-"


def _class(each: ClassFigures) -> tuple[str, ...]:
    if not each.largest_bytes:
        return each.name, "none fits", "0", ""
    whole = amount(each.whole_bytes) if each.whole_bytes else "none"
    return each.name, amount(each.largest_bytes), str(each.nodes), whole


def _problems(nodes: Sequence[NodeFigures], width: int) -> Iterator[str]:
    for node in nodes:
        if node.problem:
            text = f"takes no new replica: {node.problem}"
            yield from paragraph(f"{node.name}: ", text, width, colour="yellow")
            continue
        for disk in node.disks:
            if disk.problem:
                text = f"takes no new replica: {disk.problem}"
                yield from paragraph(f"{node.name}/{disk.name}: ", text, width, colour="yellow")


def _contents(nodes: Sequence[NodeFigures]) -> Iterator[str]:
    """Name what takes most of each disk."""
    for node in nodes:
        for disk in node.disks:
            if disk.contents:
                yield f"{node.name}/{disk.name} holds {'; '.join(map(in_words, disk.contents))}"


def _sum(nodes: Sequence[NodeFigures]) -> str:
    disks = [disk for node in nodes for disk in node.disks]
    return (
        f"{len(nodes)} nodes, {len(disks)} disks: {gib(sum(d.scheduled_bytes for d in disks))} of "
        f"{gib(sum(d.limit_bytes for d in disks))} GiB scheduled"
    )
