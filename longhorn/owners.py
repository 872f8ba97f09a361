"""Who asks a DiskSchedule for room, who holds some, and what was refused."""

from collections.abc import Container, Mapping
from typing import TypeVar

from longhorn.arithmetic import limit_bytes
from longhorn.grants import Owner, OwnerKind
from longhorn.records import Disk, Node, ReplicaName
from longhorn.schedules import DiskSchedule, Entry, EntryState

Name = TypeVar("Name", bound=str)


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
    held = (*schedule.held_replicas.values(), *schedule.held_images.values())
    return sum(max(0, entry.scheduled_bytes) for entry in held)


def refused_owners(schedule: DiskSchedule) -> frozenset[Owner]:
    """Return those that ask for more than they hold, and were refused it."""
    return _refused(OwnerKind.REPLICA, schedule.replicas, schedule.held_replicas) | _refused(
        OwnerKind.IMAGE, schedule.images, schedule.held_images
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


def _refused(
    kind: OwnerKind, asked: Mapping[Name, int], held: Mapping[Name, Entry]
) -> frozenset[Owner]:
    return frozenset(
        Owner(kind, name)
        for name, entry in held.items()
        if entry.state is EntryState.REJECTED and asked.get(name, 0) > max(0, entry.scheduled_bytes)
    )


def requirements(schedule: DiskSchedule) -> dict[Owner, int]:
    """Return what is asked, as written: 0 or less is left in the object, and counts for nothing."""
    return {Owner(OwnerKind.REPLICA, name): size for name, size in schedule.replicas.items()} | {
        Owner(OwnerKind.IMAGE, name): size for name, size in schedule.images.items()
    }


def entries_of(schedule: DiskSchedule) -> dict[Owner, Entry]:
    """Return what is held."""
    return {
        Owner(OwnerKind.REPLICA, name): each for name, each in schedule.held_replicas.items()
    } | {Owner(OwnerKind.IMAGE, name): each for name, each in schedule.held_images.items()}


def disk_of(schedule: DiskSchedule, node: Node) -> Disk | None:
    """Return the disk, which may have been replaced by another one of its name."""
    return next(
        (disk for disk in node.disks if (disk.name, disk.id) == (schedule.disk, schedule.name)),
        None,
    )
