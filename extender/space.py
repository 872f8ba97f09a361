"""What a node's disks have left, with all that is known to be placed there.

A disk has two headrooms. The logical one is what Longhorn may still schedule: the limit less what
is scheduled so far. The physical one is what may still be written before the file system falls to
the minimum that Longhorn keeps free; only bytes that a volume already holds are charged to it,
since a new volume holds none. docs/accounting.md has a worked example.
"""

from bisect import bisect_left
from collections.abc import Iterable, Mapping, Sequence
from enum import StrEnum
from itertools import accumulate

import msgspec

from longhorn import (
    BackingImage,
    Disk,
    DiskId,
    DiskKind,
    DiskName,
    DiskSchedule,
    DiskSpace,
    Node,
    NodeRefusal,
    Replica,
    ReplicaName,
    Settings,
    VolumeName,
    account,
    is_of_disk,
    refusal_of,
    takes_replicas,
    turned_away,
)
from longhorn import NodeSpace as LonghornSpace
from packing import Bin, Kind


class DiskRefusal(StrEnum):
    """Why a disk takes no new replica."""

    NO_UUID = "has no UUID yet"
    DISABLED = "scheduling is disabled"
    EVICTING = "is being evicted"
    NOT_READY = "is not ready"
    NOT_SCHEDULABLE = "is not schedulable"
    NO_SIZE = "has no size or nothing available"


class Room(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """What the usable disks of one kind have, ready for questions that need no packing."""

    kind: Kind
    limit_bytes: int
    """Most that may be scheduled on them."""
    free_bytes: int
    """What of it is free."""
    headrooms: tuple[int, ...]
    """Of each disk, the smallest first; logical."""
    sums: tuple[int, ...]
    """The sum of each headroom and all larger ones, and a zero at the end."""
    first_bytes: int
    """What Longhorn puts on the disk with most unused bytes for sure: its headroom, or its unused
    bytes if they are fewer, since beyond them it may take any disk. -1 where several disks have as
    many, where some disk can take nothing more, and beside usable disks of other kinds."""
    least_physical_bytes: int

    def fit_in_every_order(self, logical_bytes: int, largest_bytes: int) -> bool:
        """Whether replicas find room one after another, on whatever disk each of them goes.

        The largest finds none once all disks have less than it left. Until then the others must
        take what each disk has beyond it.

        Args:
            logical_bytes: The bytes of all replicas.
            largest_bytes: Those of the largest.
        """
        index = bisect_left(self.headrooms, largest_bytes)
        takers = len(self.headrooms) - index
        others_bytes = logical_bytes - largest_bytes
        return takers > 0 and self.sums[index] - takers * largest_bytes >= others_bytes

    def bytes_to_block(self, size_bytes: int) -> int:
        """Return how many bytes must come so that no disk takes a replica of this size."""
        index = bisect_left(self.headrooms, size_bytes)
        takers = len(self.headrooms) - index
        return self.sums[index] - takers * (size_bytes - 1)

    def fit_wherever(self, logical_bytes: int, least_bytes: int) -> bool:
        """Whether replicas fit on one disk together, on each disk that takes the smallest.

        Args:
            logical_bytes: The bytes of all replicas.
            least_bytes: Those of the smallest.
        """
        index = bisect_left(self.headrooms, least_bytes)
        return index < len(self.headrooms) and self.headrooms[index] >= logical_bytes


class UsableDisk(msgspec.Struct, frozen=True, gc=False):
    """A disk that takes new replicas, as far as nodes are summed up."""

    bin: Bin
    limit_bytes: int
    """Most that may be scheduled on it."""
    unused_bytes: int


class NodeSpace(LonghornSpace, frozen=True, kw_only=True, gc=False):
    """One node with everything about it that does not depend on the pod asked for."""

    usable: tuple[UsableDisk | None, ...]
    """One for each disk; None for one that takes no new replica."""
    bins: tuple[Bin, ...]
    """The usable disks; a bin's id is the disk's name."""
    roomiest: tuple[Bin, ...]
    """Those of them that no other of their kind matches in both headrooms, by logical headroom,
    largest first. What none of them takes alone, no disk takes."""
    unused_bytes: Mapping[Kind, int]
    """What is neither used, reserved nor scheduled on the usable disks, by their kind: Longhorn
    puts a replica where most is left."""
    rooms: tuple[Room, ...]
    """What the usable disks have, one for each of their kinds."""
    all_usable: bool
    """Whether Longhorn places new replicas on no disk that is not usable."""
    refusal: NodeRefusal | None
    """Why Longhorn gives the node no new replica whatever the pod needs, if so."""
    takes_replicas: bool
    """Whether we accept the node for new replicas: besides, its eviction is not requested."""
    pending: tuple[Replica, ...]
    """Replicas that Longhorn will place on this node and no other, and has not placed yet, by
    name: which of them an undecided packing leaves out must not depend on the order heard of."""
    turned_away: Mapping[ReplicaName, Replica] = {}
    """Replicas that a disk of this node refused, or may have to, as not placed."""


KnownDisk = tuple[DiskSpace, UsableDisk | None]
"""What is worked out of one disk."""


def node_space(
    node: Node,
    replicas: Iterable[Replica],
    settings: Settings,
    kinds: dict[DiskKind, int],
    expanded: Mapping[VolumeName, int] | None = None,
    images: Mapping[VolumeName, BackingImage] | None = None,
    schedules: Mapping[DiskId, DiskSchedule] | None = None,
    known: Mapping[DiskName, KnownDisk] | None = None,
) -> NodeSpace:
    """Work out what *node* has left.

    Args:
        node: The node with its disks.
        replicas: All replicas placed on it or bound to it by hardNodeAffinity.
        settings: Longhorn's settings; with an unreadable one the node takes nothing.
        kinds: The number of each disk kind known so far; new ones are added.
        expanded: The size that volumes are to have which are being expanded.
        images: The backing images of volumes.
        schedules: The DiskSchedules that name the node.
        known: What those of its disks have left for which nothing of the above has changed. The
            replicas on them may be left out.
    """
    replicas, known, schedules = tuple(replicas), known or {}, schedules or {}
    placed: dict[DiskId, list[Replica]] = {}
    for replica in replicas:
        if replica.node is not None and replica.disk is not None:
            placed.setdefault(replica.disk, []).append(replica)
    disks: list[KnownDisk] = []
    away: dict[ReplicaName, Replica] = {}
    for disk in node.disks:
        as_before = known.get(disk.name)
        if as_before is not None:
            disks.append(as_before)
        else:
            here, schedule = [], None
            if disk.id is not None:
                here, schedule = placed.get(disk.id, []), schedules.get(disk.id)
            if schedule is not None and not is_of_disk(schedule, node.name, disk):
                schedule = None
            space = account(
                disk, settings, here, schedule=schedule, expanded=expanded, images=images
            )
            if space.schedule is not None:
                away |= turned_away(space, here)
            disks.append((space, _usable(space, kinds)))
    if away:
        replicas += tuple(r for r in away.values() if r.hard_node_affinity == node.name)
    return _summed_up(node, disks, replicas, away)


def _summed_up(
    node: Node,
    disks: Sequence[KnownDisk],
    replicas: Iterable[Replica],
    away: Mapping[ReplicaName, Replica],
) -> NodeSpace:
    by_kind: dict[Kind, list[UsableDisk]] = {}
    all_usable = True
    for space, usable in disks:
        if usable is not None:
            by_kind.setdefault(usable.bin.kind, []).append(usable)
        elif takes_replicas(space.disk):
            all_usable = False
    bins = tuple([usable.bin for _, usable in disks if usable is not None])
    refusal = refusal_of(node)
    return NodeSpace(
        node=node,
        disks=tuple([space for space, _ in disks]),
        usable=tuple([usable for _, usable in disks]),
        bins=bins,
        roomiest=_roomiest(bins),
        unused_bytes={
            kind: sum([u.unused_bytes for u in found]) for kind, found in by_kind.items()
        },
        rooms=tuple([_room(k, found, is_only=len(by_kind) == 1) for k, found in by_kind.items()]),
        all_usable=all_usable,
        refusal=refusal,
        takes_replicas=refusal is None and not node.evicting,
        pending=tuple(
            sorted(
                (r for r in replicas if r.node is None and not (r.deleting or r.failed)),
                key=lambda replica: replica.name,
            )
        ),
        turned_away=away,
    )


def why_unusable(disk: Disk) -> DiskRefusal | None:
    """Say why *disk* takes no new replica, None if it does.

    Longhorn asks neither for a UUID nor whether the disk is Ready; a replica that it places there
    would not start.
    """
    if disk.id is None:
        return DiskRefusal.NO_UUID
    if not disk.allow_scheduling:
        return DiskRefusal.DISABLED
    if disk.evicting:
        return DiskRefusal.EVICTING
    if not disk.ready.is_true:
        return DiskRefusal.NOT_READY
    if not disk.schedulable.is_true:
        return DiskRefusal.NOT_SCHEDULABLE
    if disk.maximum_bytes <= 0 or disk.available_bytes <= 0:
        return DiskRefusal.NO_SIZE
    return None


def _usable(space: DiskSpace, kinds: dict[DiskKind, int]) -> UsableDisk | None:
    if why_unusable(space.disk) is not None:
        return None
    bin_ = Bin(
        id=space.disk.name,
        kind=kinds.setdefault(space.kind, len(kinds)),
        logical_bytes=space.logical_headroom_bytes,
        physical_bytes=space.physical_headroom_bytes,
    )
    return UsableDisk(bin_, space.limit_bytes, space.unused_bytes())


def _room(kind: Kind, disks: Sequence[UsableDisk], *, is_only: bool) -> Room:
    headrooms = sorted([each.bin.logical_bytes for each in disks])
    most = max([each.unused_bytes for each in disks])
    first = [min(most, each.bin.logical_bytes) for each in disks if each.unused_bytes == most]
    least_physical_bytes = min([each.bin.physical_bytes for each in disks])
    sums = accumulate(reversed(headrooms), initial=0)
    return Room(
        kind=kind,
        limit_bytes=sum([each.limit_bytes for each in disks]),
        free_bytes=sum([headroom for headroom in headrooms if headroom > 0]),
        headrooms=tuple(headrooms),
        sums=tuple(reversed([*sums])),
        first_bytes=first[0] if is_only and len(first) == 1 and least_physical_bytes >= 0 else -1,
        least_physical_bytes=least_physical_bytes,
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
