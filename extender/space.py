"""What a node's disks have left, in Longhorn's own arithmetic.

A disk has two headrooms. The logical one is what Longhorn may still promise: the admission
limit less everything promised so far. The physical one is what may still be written before the
file system falls to the minimum Longhorn keeps free; only bytes that a volume already holds are
charged to it, since a new volume holds none. docs/accounting.md has a worked example.
"""

from collections.abc import Iterable

import msgspec

from extender.verdicts.rejections import (
    NodeDeleting,
    NodeEvicting,
    NodeNotReady,
    NodeNotSchedulable,
    NodeSchedulingDisabled,
    Rejection,
)
from longhorn import Disk, DiskId, Node, Replica, Settings, UnreadableSetting
from packing import Bin, Kind


class DiskKind(msgspec.Struct, frozen=True, kw_only=True):
    """What decides, besides room, which volumes a disk may hold."""

    type: str
    filesystem: str
    tags: frozenset[str]


class DiskSpace(msgspec.Struct, frozen=True, kw_only=True):
    """One disk with what it may still hold; *unusable* says why it takes nothing new, if so."""

    disk: Disk
    limit_bytes: int
    """Most that may be promised on this disk."""
    promised_bytes: int
    """storageScheduled, and the replicas assigned here that it does not count yet."""
    minimal_available_bytes: int
    """What must stay free on the file system."""
    unusable: str

    @property
    def logical_headroom_bytes(self) -> int:
        """Bytes that may still be promised; negative if more is promised than allowed."""
        return self.limit_bytes - self.promised_bytes

    @property
    def physical_headroom_bytes(self) -> int:
        """Bytes that may still be written; one less, since Longhorn's comparison is strict."""
        return self.disk.available_bytes - self.minimal_available_bytes - 1


class NodeSpace(msgspec.Struct, frozen=True, kw_only=True):
    """One node with everything about it that does not depend on the pod asked for."""

    node: Node
    disks: tuple[DiskSpace, ...]
    bins: tuple[Bin, ...]
    """The usable disks; a bin's id is the disk's name."""
    roomiest: tuple[Bin, ...]
    """Those of them that no other of their kind matches in both headrooms, by logical headroom,
    largest first. What none of them takes alone, no disk takes."""
    rejection: Rejection | None
    """Why the node takes no new replica whatever the pod needs, if so."""
    pending: tuple[Replica, ...]
    """Replicas that Longhorn will place on this node and no other, and has not placed yet, by
    name: which of them an undecided packing leaves out must not depend on the order heard of."""


def node_space(
    node: Node,
    replicas: Iterable[Replica],
    settings: Settings | UnreadableSetting,
    kinds: dict[DiskKind, int],
) -> NodeSpace:
    """Work out what *node* has left.

    Args:
        node: The node with its disks.
        replicas: All replicas placed on it or bound to it by hardNodeAffinity.
        settings: Longhorn's settings; with an unreadable one the node takes nothing.
        kinds: The number of each disk kind known so far; new ones are added.
    """
    replicas = tuple(replicas)
    placed: dict[DiskId, list[Replica]] = {}
    for replica in replicas:
        if replica.node and replica.disk:
            placed.setdefault(replica.disk, []).append(replica)
    disks = tuple(
        _disk_space(disk, _unlisted_bytes(disk, placed.get(disk.id, ())), settings)
        for disk in node.disks
    )
    bins = tuple(_bin(space, kinds) for space in disks if not space.unusable)
    return NodeSpace(
        node=node,
        disks=disks,
        bins=bins,
        roomiest=_roomiest(bins),
        rejection=_node_rejection(node),
        pending=tuple(
            sorted(
                (r for r in replicas if not (r.node or r.deleting or r.failed)),
                key=lambda replica: replica.name,
            )
        ),
    )


def kind_of(disk: Disk) -> DiskKind:
    """Return what besides room decides which volumes *disk* may hold."""
    return DiskKind(type=disk.type, filesystem=disk.filesystem, tags=disk.tags)


def limit_bytes(maximum_bytes: int, reserved_bytes: int, over_provisioning_percent: int) -> int:
    """Return the most Longhorn promises on a disk; negative if more is reserved than there is.

    Products go through float64 and are truncated toward zero, as in longhorn-manager
    scheduler/replica_scheduler.go IsSchedulableToDisk: 709688309550471 B at 252 % give one byte
    more than exact integers would.
    """
    return int(float(maximum_bytes - reserved_bytes) * float(over_provisioning_percent) / 100.0)


def minimal_available_bytes(maximum_bytes: int, minimal_available_percent: int) -> int:
    """Return what must stay free on the disk; same arithmetic and source as `limit_bytes`."""
    return int(float(maximum_bytes) * float(minimal_available_percent) / 100.0)


def _unlisted_bytes(disk: Disk, replicas: Iterable[Replica]) -> int:
    """Bytes of *replicas*, all assigned to *disk*, that its storageScheduled does not contain yet.

    Longhorn's own check forgets them for other volumes than the one being placed; that is the
    race behind over-committed disks. A replica that grew counts with what is not listed of it.
    """
    unlisted = 0
    for replica in replicas:
        listed = disk.listed.get(replica.name, 0)
        if replica.size_bytes > listed:
            unlisted += replica.size_bytes - listed
    return unlisted


def _disk_space(
    disk: Disk, unlisted_bytes: int, settings: Settings | UnreadableSetting
) -> DiskSpace:
    limit = minimal = 0
    if isinstance(settings, Settings):
        limit = limit_bytes(
            disk.maximum_bytes, disk.reserved_bytes, settings.over_provisioning_percent
        )
        minimal = minimal_available_bytes(disk.maximum_bytes, settings.minimal_available_percent)
    return DiskSpace(
        disk=disk,
        limit_bytes=limit,
        promised_bytes=disk.scheduled_bytes + unlisted_bytes,
        minimal_available_bytes=minimal,
        unusable=_why_unusable(disk),
    )


def _why_unusable(disk: Disk) -> str:
    if not disk.id:
        return "has no UUID yet"
    if not disk.allow_scheduling:
        return "scheduling is disabled"
    if disk.evicting:
        return "is being evicted"
    if not disk.ready:
        return "is not ready"
    if not disk.schedulable:
        return "is not schedulable"
    if disk.maximum_bytes <= 0 or disk.available_bytes <= 0:
        return "has no size or nothing available"
    return ""


def _bin(space: DiskSpace, kinds: dict[DiskKind, int]) -> Bin:
    return Bin(
        id=space.disk.name,
        kind=kinds.setdefault(kind_of(space.disk), len(kinds)),
        logical_bytes=space.logical_headroom_bytes,
        physical_bytes=space.physical_headroom_bytes,
    )


def _roomiest(bins: Iterable[Bin]) -> tuple[Bin, ...]:
    found: list[Bin] = []
    most_physical: dict[Kind, int] = {}
    for bin_ in sorted(bins, key=lambda each: (-each.logical_bytes, -each.physical_bytes)):
        most = most_physical.get(bin_.kind)
        if most is None or bin_.physical_bytes > most:
            most_physical[bin_.kind] = bin_.physical_bytes
            found.append(bin_)
    return tuple(found)


def _node_rejection(node: Node) -> Rejection | None:
    if node.deleting:
        return NodeDeleting()
    if not node.ready:
        return NodeNotReady()
    if not node.allow_scheduling:
        return NodeSchedulingDisabled()
    if node.evicting:
        return NodeEvicting()
    if not node.schedulable:
        return NodeNotSchedulable()
    return None
