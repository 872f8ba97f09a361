"""Who asks a DiskSchedule for room, who holds some, and what a pass over it results in."""

from collections.abc import Container, Mapping
from enum import StrEnum
from typing import NamedTuple, TypeVar

import msgspec

from longhorn.arithmetic import limit_bytes
from longhorn.records import Disk, Node, NodeName, ReplicaName
from longhorn.schedules import DiskSchedule, Entry, EntryState

Found = TypeVar("Found")


class OwnerKind(StrEnum):
    """What room is asked for."""

    IMAGE = "image"
    REPLICA = "replica"


class Owner(NamedTuple):
    """The Replica or the BackingImage that a requirement is for."""

    kind: OwnerKind
    name: str


class Closed(StrEnum):
    """Why nothing may grow on a disk now. What is asked meanwhile is not decided on."""

    NODE = "node"
    """The node's allowScheduling is false."""
    DISK = "disk"
    """The disk's is."""
    NO_DISK = "no_disk"
    """The node does not have a disk of this name and UUID in both spec and status."""
    SETTING = "setting"
    """The percentage of over-provisioning cannot be read."""


class Refusal(StrEnum):
    """Why a disk refuses what is asked."""

    FULL = "full"
    """What others hold leaves too little."""
    TOO_LARGE = "too_large"
    """It is more than the limit: it would not fit if the disk were empty."""
    UNUSABLE = "unusable"
    """The limit is not above 0, as for a disk that is not ready."""


class Happened(StrEnum):
    """What became of one owner in a pass."""

    GRANTED = "granted"
    """It held nothing, and now holds all it asks for."""
    GROWN = "grown"
    SHRUNK = "shrunk"
    KEPT = "kept"
    """It was on the disk before anybody decided, so no limit was asked."""
    CANCELLED = "cancelled"
    """It had been refused more, and now asks for no more than it holds."""
    REFUSED = "refused"
    RELEASED = "released"
    """Nothing is asked for it any more."""
    PURGED = "purged"
    """It is gone without having taken back what it asked for."""


class EntryChange(msgspec.Struct, frozen=True, kw_only=True):
    """One owner in a pass, as far as its entry or its requirement changed."""

    owner: Owner
    happened: Happened
    before_bytes: int
    after_bytes: int


class Decision(msgspec.Struct, frozen=True, kw_only=True):
    """The result of a pass.

    The requirements must be written first, if they changed; the entries only if that succeeded,
    with the version that it gave.
    """

    before: DiskSchedule
    after: DiskSchedule
    changes: tuple[EntryChange, ...]
    """Ordered by owner."""
    refused: Mapping[Owner, Refusal]
    """All that are refused now, also those that were before."""
    limit_bytes: int | None
    """None if the disk or the percentage is not known."""
    closed: Closed | None

    @property
    def changes_spec(self) -> bool:
        """Whether requirements must be written."""
        before, after = self.before, self.after
        return (before.replicas, before.images) != (after.replicas, after.images)

    @property
    def changes_status(self) -> bool:
        """Whether entries, their sum or the condition Ready must be written."""
        before, after = self.before, self.after
        return _status_of(before) != _status_of(after)


class LetGo(msgspec.Struct, frozen=True):
    """The object is being deleted: its finalizer is to be removed, whatever is held."""


class NodeUnknown(msgspec.Struct, frozen=True):
    """The node does not exist. Nothing may be written, not even what would be released."""

    node: NodeName


def granted_limit_bytes(
    schedule: DiskSchedule, node: Node, over_provisioning_percent: int | None
) -> int | None:
    """Return the most that is granted on a disk; None if it or the percentage is not known."""
    disk = disk_of(schedule, node)
    if disk is None or over_provisioning_percent is None:
        return None
    return limit_bytes(disk.maximum_bytes, disk.reserved_bytes, over_provisioning_percent)


def granted_bytes(schedule: DiskSchedule) -> int:
    """Return the bytes that a disk holds, by its entries."""
    return sum(max(0, entry.scheduled_bytes) for entry in entries_of(schedule).values())


def refused_owners(schedule: DiskSchedule) -> frozenset[Owner]:
    """Return those that ask for more than they hold, and were refused it."""
    asked = requirements(schedule)
    return frozenset(
        owner
        for owner, entry in entries_of(schedule).items()
        if entry.state is EntryState.REJECTED
        and asked.get(owner, 0) > max(0, entry.scheduled_bytes)
    )


def unowned(
    schedule: DiskSchedule, replicas: Container[ReplicaName], images: Container[str]
) -> frozenset[Owner]:
    """Return the owners in a DiskSchedule's requirements that are not known to live.

    Args:
        replicas: Names of the Replicas that exist and are not being deleted.
        images: The same of the BackingImages.
    """
    return frozenset(
        owner
        for owner in owners_of(schedule)
        if owner.name not in (replicas if owner.kind is OwnerKind.REPLICA else images)
    )


def owners_of(schedule: DiskSchedule) -> frozenset[Owner]:
    """Return the owners in a DiskSchedule's requirements."""
    return frozenset(requirements(schedule))


def requirements(schedule: DiskSchedule) -> dict[Owner, int]:
    """Return what is asked, as written: 0 or less is left in the object, and counts for nothing."""
    return _by_owner(schedule.replicas, schedule.images)


def entries_of(schedule: DiskSchedule) -> dict[Owner, Entry]:
    """Return what is held."""
    return _by_owner(schedule.held_replicas, schedule.held_images)


def disk_of(schedule: DiskSchedule, node: Node) -> Disk | None:
    """Return the disk, which may have been replaced by another one of its name."""
    return next(
        (disk for disk in node.disks if (disk.name, disk.id) == (schedule.disk, schedule.name)),
        None,
    )


def _by_owner(
    of_replicas: Mapping[ReplicaName, Found], of_images: Mapping[str, Found]
) -> dict[Owner, Found]:
    found = {Owner(OwnerKind.REPLICA, name): each for name, each in of_replicas.items()}
    return found | {Owner(OwnerKind.IMAGE, name): each for name, each in of_images.items()}


def _status_of(schedule: DiskSchedule) -> tuple[object, ...]:
    return (schedule.held_replicas, schedule.held_images, schedule.scheduled_bytes, schedule.ready)
