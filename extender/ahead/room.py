"""What disks have left together, by what volumes can tell apart, and whether it takes lost nodes.

Volumes choose among nodes and disks by zone, node tags, type of disk and disk tags.
"""

from collections.abc import Callable
from heapq import nlargest
from typing import NamedTuple

from extender.ahead.losses import MOST_NODES
from extender.ahead.pieces import Pieces
from extender.space import NodeSpace
from extender.view import ClusterView

_NODES_IN_ONE_GO = 100


class NodeClass(NamedTuple):
    """Disks that are the same for a volume but for their room."""

    zone: str
    node_tags: str
    """In alphabetical order, with commas."""
    disk_type: str
    disk_tags: str
    """Like those of nodes."""


class Left(NamedTuple):
    """What disks that take replicas have together."""

    limit_bytes: int = 0
    headroom_bytes: int = 0
    """What may still be scheduled; of a disk on which too much is, nothing."""
    physical_bytes: int = 0
    """What may still be written, likewise."""

    def plus(self, other: "Left") -> "Left":
        """Return the sum."""
        return Left(*(mine + its for mine, its in zip(self, other, strict=True)))


class Room(NamedTuple):
    """What all nodes have."""

    by_class: dict[NodeClass, Left]
    nodes_with_room: int
    """So many nodes at once, whichever, have less scheduled than the others have headroom; at most
    2, and not more than there are."""


def room(current_view: Callable[[], ClusterView]) -> Pieces[Room]:
    """Sum up all disks.

    Whether what is scheduled on lost nodes has room elsewhere is a matter of sums, for each type of
    disk: tags, zones, and whether pieces fit are not looked at.
    """
    names = [*current_view().spaces]
    by_class: dict[NodeClass, Left] = {}
    headroom: dict[str, int] = {}
    weights: dict[str, list[int]] = {}
    for start in range(0, len(names), _NODES_IN_ONE_GO):
        view = current_view()
        for name in names[start : start + _NODES_IN_ONE_GO]:
            space = view.spaces.get(name)
            if space is None:
                continue
            for type_, (scheduled_bytes, left_bytes) in _add(space, by_class).items():
                headroom[type_] = headroom.get(type_, 0) + left_bytes
                weights.setdefault(type_, []).append(scheduled_bytes + left_bytes)
        yield
    # Lost are what they have scheduled and their own headroom: the rest must take the former.
    may = min(MOST_NODES, len(names))
    for type_, each in weights.items():
        heaviest = nlargest(may, each)
        while heaviest and sum(heaviest) > headroom[type_]:
            heaviest.pop()
        if len(heaviest) < min(may, len(each)):
            may = len(heaviest)
    return Room(by_class, may)


def _add(space: NodeSpace, by_class: dict[NodeClass, Left]) -> dict[str, tuple[int, int]]:
    """Add a node to its classes; return what it has scheduled and left, by type of disk."""
    found: dict[str, tuple[int, int]] = {}
    tags = ",".join(sorted(space.node.tags))
    for disk, usable in zip(space.disks, space.usable, strict=True):
        left = Left()
        if usable is not None and space.takes_replicas:
            left = Left(
                disk.limit_bytes,
                max(0, disk.logical_headroom_bytes),
                max(0, disk.physical_headroom_bytes),
            )
            its = NodeClass(space.node.zone, tags, disk.disk.type, ",".join(sorted(disk.disk.tags)))
            by_class[its] = by_class.get(its, Left()).plus(left)
        scheduled_bytes, left_bytes = found.get(disk.disk.type, (0, 0))
        found[disk.disk.type] = (
            scheduled_bytes + disk.scheduled_bytes,
            left_bytes + left.headroom_bytes,
        )
    return found
