"""The figures of `overview`: each disk, and the largest volume of each StorageClass that fits."""

from collections.abc import Iterator, Mapping, Sequence

import msgspec

from cli.contents import Content, Contents
from cli.largest import ClassFigures, largest
from extender import ClusterView, Extender
from extender.demand import LONGHORN_PROVISIONERS, NOBODY
from extender.explaining import charges
from extender.space import NodeSpace, why_unusable
from extender.verdicts import Situation, node_rejection
from longhorn import DiskSpace, Moment

_MOST = 3
"""So much of a disk's contents is told."""


class DiskFigures(msgspec.Struct, frozen=True, kw_only=True):
    """One disk."""

    name: str
    type: str
    tags: tuple[str, ...]
    maximum_bytes: int
    reserved_bytes: int
    written_bytes: int
    """What its file system, or data engine v2, has in use, whoever wrote it."""
    scheduled_bytes: int
    limit_bytes: int
    """Most that may be scheduled."""
    headroom_bytes: int
    """What may still be scheduled; below 0 if more is than may be."""
    physical_headroom_bytes: int
    """How much more may be written before Longhorn places nothing new on it."""
    problem: str
    """Why it takes no new replica; empty if it does."""
    contents: Sequence[Content] = ()
    """What takes most of it: replicas and backing images."""


class NodeFigures(msgspec.Struct, frozen=True, kw_only=True):
    """One node of Longhorn."""

    name: str
    zone: str
    problem: str
    """Why it takes no new replica; empty if it does."""
    held_bytes: int
    """Held for pods that have been given the node, or may be, and have no replica there yet."""
    coming_bytes: int
    """Of replicas that may go anywhere and are forecast here."""
    disks: tuple[DiskFigures, ...]

    @property
    def takes_replicas(self) -> bool:
        """Whether a disk of it takes new ones."""
        return not self.problem and any(not disk.problem for disk in self.disks)

    def total(self, figure: str) -> int:
        """Return the sum of a figure over the disks."""
        return sum(getattr(disk, figure) for disk in self.disks)


class Overview(msgspec.Struct, frozen=True, kw_only=True):
    """What `overview -o json` prints."""

    nodes: tuple[NodeFigures, ...]
    classes: tuple[ClassFigures, ...]
    notes: tuple[str, ...]
    """What is not known."""


def overview(view: ClusterView, extender: Extender, utc: Moment | None) -> Overview:
    """Work out all figures.

    Args:
        view: The cluster.
        extender: Knows the holds.
        utc: The date and time, None if it is not known, as for files.
    """
    unreadable = view.settings.unreadable
    return Overview(
        nodes=node_figures(view, extender, utc),
        classes=tuple(
            largest(class_, view, extender)
            for _, class_ in sorted(view.storage_classes.items())
            if class_.provisioner in LONGHORN_PROVISIONERS
        ),
        notes=()
        if unreadable is None
        else (f"Longhorn's setting {unreadable} cannot be read: nothing is placed until it can",),
    )


def node_figures(
    view: ClusterView, extender: Extender, utc: Moment | None
) -> tuple[NodeFigures, ...]:
    """Work out the figures of the nodes alone."""
    situation, contents = extender.situation(NOBODY, view, utc=utc), Contents(view)
    return tuple(
        _node(space, situation, extender, contents) for _, space in sorted(view.spaces.items())
    )


def _node(
    space: NodeSpace, situation: Situation, extender: Extender, contents: Contents
) -> NodeFigures:
    name, problem = space.node.name, node_rejection(space)
    held = charges(extender.ledger, name, situation.view)
    return NodeFigures(
        name=name,
        zone=space.node.zone,
        problem="" if problem is None else str(problem),
        held_bytes=sum(sum(each.bytes.values()) for each in held),
        coming_bytes=sum(each.need.size_bytes for each in situation.book.forecast.on.get(name, ())),
        disks=tuple(disk_figures(d, contents.of(d, name)[:_MOST]) for d in space.disks),
    )


def disk_figures(space: DiskSpace, contents: Sequence[Content] = ()) -> DiskFigures:
    """Return the figures of a disk."""
    disk = space.disk
    return DiskFigures(
        name=disk.name,
        type=disk.type,
        tags=tuple(sorted(disk.tags)),
        maximum_bytes=disk.maximum_bytes,
        reserved_bytes=disk.reserved_bytes,
        written_bytes=max(0, disk.maximum_bytes - disk.available_bytes),
        scheduled_bytes=space.scheduled_bytes,
        limit_bytes=space.limit_bytes,
        headroom_bytes=space.logical_headroom_bytes,
        physical_headroom_bytes=space.physical_headroom_bytes,
        problem=str(why_unusable(disk) or ""),
        contents=contents,
    )


SORTED_BY: Mapping[str, str] = {
    "name": "",
    "scheduled": "scheduled_bytes",
    "limit": "limit_bytes",
    "written": "written_bytes",
    "headroom": "headroom_bytes",
    "held": "held_bytes",
    "coming": "coming_bytes",
}
"""What nodes may be sorted by, and the figure of it; the largest first but for names."""


def by(nodes: Sequence[NodeFigures], key: str) -> Iterator[NodeFigures]:
    """Yield nodes in the order of a figure."""
    figure = SORTED_BY[key]

    def size(node: NodeFigures) -> int:
        return getattr(node, figure) if hasattr(node, figure) else node.total(figure)

    yield from sorted(nodes, key=size, reverse=True) if figure else nodes
