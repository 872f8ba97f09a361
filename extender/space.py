"""What a node's disks have left, with all that is known to be placed there.

A disk has two headrooms. The logical one is what Longhorn may still schedule: the limit less what
is scheduled so far. The physical one is what may still be written before the file system falls to
the minimum that Longhorn keeps free; only bytes that a volume already holds are charged to it,
since a new volume holds none. docs/accounting.md has an example.
"""

from collections.abc import Iterable, Mapping, Sequence
from enum import StrEnum

import msgspec

from longhorn import (
    ALL_RUNS,
    NO_GROWTH,
    Disk,
    DiskId,
    DiskKind,
    DiskName,
    DiskSchedule,
    DiskSpace,
    Engines,
    Growth,
    Node,
    NodeDisks,
    NodeRefusal,
    Replica,
    ReplicaName,
    Settings,
    account,
    refusal_of,
)
from packing import Bin, Kind


class DiskRefusal(StrEnum):
    """Why a disk takes no new replica."""

    NO_UUID = "has no UUID yet"
    DISABLED = "scheduling is disabled"
    EVICTING = "is being evicted"
    NOT_READY = "is not ready"
    NOT_SCHEDULABLE = "is not schedulable"
    NO_SIZE = "has no size or nothing available"


class UsableDisk(msgspec.Struct, frozen=True, gc=False):
    """A disk that takes new replicas, as far as nodes are summed up."""

    bin: Bin
    limit_bytes: int
    """Most that may be scheduled on it."""
    unused_bytes: int


class DiskTotals(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """What the usable disks of one kind have, ready for questions that need no packing."""

    kind: Kind
    limit_bytes: int
    """Most that may be scheduled on them."""
    free_bytes: int
    """What of it is free."""
    largest_bytes: int
    """The largest logical headroom of one of them."""


class NodeSpace(NodeDisks, frozen=True, kw_only=True, gc=False):
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
    totals: tuple[DiskTotals, ...]
    """What the usable disks have, one for each of their kinds."""
    refusal: NodeRefusal | None
    """Why Longhorn gives the node no new replica whatever the pod needs, if so."""
    takes_replicas: bool
    """Whether we accept the node for new replicas: besides, its eviction is not requested."""
    pending: tuple[Replica, ...]
    """Replicas that Longhorn will place on this node and no other, and has not placed yet, by
    name: which of them an undecided packing leaves out must not depend on the order heard of."""
    turned_away: Mapping[ReplicaName, Replica] = {}
    """Replicas that a disk of this node refused, or may have to, as not placed."""


class There(msgspec.Struct, frozen=True):
    """What there is on a node besides its disks."""

    replicas: Iterable[Replica]
    """All that are placed on it or bound to it by hardNodeAffinity."""
    schedules: Mapping[DiskId, DiskSchedule] = {}
    """The DiskSchedules that name the node."""
    engines: Engines = ALL_RUNS
    """What runs on it."""


KnownDisk = tuple[DiskSpace, UsableDisk | None]
"""What is worked out of one disk."""


def node_space(
    node: Node,
    there: There,
    settings: Settings,
    kinds: dict[DiskKind, int],
    growth: Growth = NO_GROWTH,
    known: Mapping[DiskName, KnownDisk] | None = None,
) -> NodeSpace:
    """Work out what *node* has left.

    Args:
        settings: Longhorn's settings; with an unreadable one the node takes nothing.
        kinds: The number of each disk kind known so far; new ones are added.
        known: What those of its disks have left for which nothing of the above has changed. The
            replicas on them may be left out.
    """
    replicas, known = tuple(there.replicas), known or {}
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
                here, schedule = placed.get(disk.id, []), there.schedules.get(disk.id)
            space = account(disk, settings, here, node=node.name, schedule=schedule, growth=growth)
            away |= space.turned_away
            disks.append((space, _usable(space, kinds)))
    if away:
        replicas += tuple(r for r in away.values() if r.hard_node_affinity == node.name)
    return _summed_up(node, there.engines, disks, replicas, away)


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


def _totals_of(kind: Kind, disks: Sequence[UsableDisk]) -> DiskTotals:
    """Sum up disks of one kind."""
    headrooms = [each.bin.logical_bytes for each in disks]
    return DiskTotals(
        kind=kind,
        limit_bytes=sum([each.limit_bytes for each in disks]),
        free_bytes=sum([headroom for headroom in headrooms if headroom > 0]),
        largest_bytes=max(headrooms),
    )


def _summed_up(
    node: Node,
    engines: Engines,
    disks: Sequence[KnownDisk],
    replicas: Iterable[Replica],
    away: Mapping[ReplicaName, Replica],
) -> NodeSpace:
    by_kind: dict[Kind, list[UsableDisk]] = {}
    for _, usable in disks:
        if usable is not None:
            by_kind.setdefault(usable.bin.kind, []).append(usable)
    bins = tuple([usable.bin for _, usable in disks if usable is not None])
    refusal = refusal_of(node)
    return NodeSpace(
        node=node,
        engines=engines,
        disks=tuple([space for space, _ in disks]),
        usable=tuple([usable for _, usable in disks]),
        bins=bins,
        roomiest=_roomiest(bins),
        unused_bytes={
            kind: sum([u.unused_bytes for u in found]) for kind, found in by_kind.items()
        },
        totals=tuple([_totals_of(k, found) for k, found in by_kind.items()]),
        refusal=refusal,
        takes_replicas=refusal is None and not node.evicting,
        pending=tuple(sorted(filter(_is_pending, replicas), key=lambda replica: replica.name)),
        turned_away=away,
    )


def _is_pending(replica: Replica) -> bool:
    return replica.node is None and not (replica.deleting or replica.failed)


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


def _roomiest(bins: Iterable[Bin]) -> tuple[Bin, ...]:
    found: list[Bin] = []
    most_physical: dict[Kind, int] = {}
    for bin_ in sorted(bins, key=lambda each: (-each.logical_bytes, -each.physical_bytes)):
        most = most_physical.get(bin_.kind)
        if most is None or bin_.physical_bytes > most:
            most_physical[bin_.kind] = bin_.physical_bytes
            found.append(bin_)
    return tuple(found)
