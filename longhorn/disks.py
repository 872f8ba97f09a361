"""One disk: what it has left, and whether it may hold a replica.

Source, unless a function names another: longhorn-manager scheduler/replica_scheduler.go
filterNodeDisksForReplica and IsSchedulableToDisk.
"""

from collections.abc import Mapping

import msgspec

from longhorn.arithmetic import limit_bytes, minimal_available_bytes
from longhorn.needs import Need, all_match
from longhorn.records import Disk, NodeName, Reason, ReplicaName
from longhorn.replicas import Replica
from longhorn.schedules import DiskSchedule
from longhorn.settings import Settings

_EXT_LIMIT_BYTES = 2**44
_XFS_LIMIT_BYTES = 2**63 - 1


class DiskKind(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """What decides, besides room, which volumes a disk may hold."""

    type: str
    filesystem: str
    tags: frozenset[str]


class DiskSpace(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A disk with its limits, worked out once for as long as disk and settings stay the same."""

    disk: Disk
    kind: DiskKind
    limit_bytes: int
    """Most that may be scheduled on it."""
    minimal_available_bytes: int
    """What must stay free on the file system."""
    unlisted: Mapping[ReplicaName, int] = {}
    """Replicas counted here though storageScheduled does not count them yet, and their bytes."""
    unlisted_images: Mapping[str, int] = {}
    """The same for copies of backing images."""
    schedule: DiskSchedule | None = None
    """The DiskSchedule by which the names count that it has; None if there is no usable one. The
    *disk* lists those names as it says."""
    contested: frozenset[ReplicaName] = frozenset()
    """Replicas that the disk refused, and that would fit now, each alone."""
    contested_bytes: int = 0
    """What they and such copies of backing images take, as far as they fit together."""
    turned_away: Mapping[ReplicaName, Replica] = {}
    """Replicas placed here that Longhorn has to place elsewhere, or may have to: as not placed."""
    undecided: frozenset[ReplicaName] = frozenset()
    """Replicas without data that are placed here, and that the disk may refuse yet."""
    scheduled_bytes: int
    """storageScheduled, what it does not count yet, and what is contested together."""

    @property
    def logical_headroom_bytes(self) -> int:
        """Bytes that may still be scheduled; negative if more is scheduled than allowed."""
        return self.limit_bytes - self.scheduled_bytes

    def unused_bytes(self) -> int:
        """Return what is neither used, reserved nor scheduled.

        Longhorn's choice balances it (getDiskWithMostBalanceScore).
        """
        return max(0, self.disk.available_bytes - self.disk.reserved_bytes - self.scheduled_bytes)

    @property
    def physical_headroom_bytes(self) -> int:
        """Bytes that may still be written; one less, since Longhorn's comparison is strict."""
        return self.disk.available_bytes - self.minimal_available_bytes - 1


def disk_space(
    disk: Disk,
    settings: Settings,
    unlisted: Mapping[ReplicaName, int] | None = None,
    unlisted_images: Mapping[str, int] | None = None,
) -> DiskSpace:
    """Work out the limits of *disk*; with an unreadable setting nothing may be scheduled on it.

    Args:
        unlisted: Replicas to count that storageScheduled does not contain, with their bytes.
            Longhorn's own check has none at this point.
        unlisted_images: The same for copies of backing images.
    """
    unlisted, unlisted_images = unlisted or {}, unlisted_images or {}
    limit = minimal = 0
    if settings.unreadable is None:
        limit = limit_bytes(
            disk.maximum_bytes, disk.reserved_bytes, settings.over_provisioning_percent
        )
        minimal = minimal_available_bytes(disk.maximum_bytes, settings.minimal_available_percent)
    return DiskSpace(
        disk=disk,
        kind=DiskKind(type=disk.type, filesystem=disk.filesystem, tags=disk.tags),
        limit_bytes=limit,
        minimal_available_bytes=minimal,
        unlisted=unlisted,
        unlisted_images=unlisted_images,
        scheduled_bytes=disk.scheduled_bytes
        + sum(unlisted.values())
        + sum(unlisted_images.values()),
    )


def takes_replicas(disk: Disk) -> bool:
    """Say whether a disk takes new replicas at all. Longhorn does not ask whether it is Ready."""
    return disk.allow_scheduling and not disk.evicting and disk.schedulable.is_true


def mismatch(kind: DiskKind, need: Need, settings: Settings) -> Reason | None:
    """Say what besides room keeps such a replica off disks of this kind, if anything."""
    if kind.type != need.disk_type:
        return Reason.DISKS_UNAVAILABLE
    if not _file_size_suits(kind, need.size_bytes):
        return Reason.INCOMPATIBLE_SIZE
    if not all_match(
        kind.tags, need.disk_selectors, allow_empty=settings.allow_empty_disk_selector
    ):
        return Reason.TAGS
    return None


def has_room(space: DiskSpace, need: Need, scheduled_bytes: int) -> bool:
    """Say whether such a replica fits on a disk that has *scheduled_bytes* scheduled.

    The size counts against what may be scheduled. Against what is available counts only what the
    volume already holds, and there a byte must be left over.
    """
    disk = space.disk
    return (
        disk.maximum_bytes > 0
        and disk.available_bytes > 0
        and need.actual_bytes <= space.physical_headroom_bytes
        and need.size_bytes + scheduled_bytes <= space.limit_bytes
    )


def is_schedulable(space: DiskSpace) -> bool:
    """Say whether the disk's condition Schedulable is to be True, else DiskPressure.

    Source: longhorn-manager monitor/disk_monitor.go and controller/node_controller.go.
    """
    return space.physical_headroom_bytes >= 0 and space.logical_headroom_bytes >= 0


def is_under_pressure(disk: Disk, settings: Settings) -> bool:
    """Say whether *disk* is so full that auto-balance would move replicas off it.

    Source: IsDiskUnderPressure. What is reserved counts as used.
    """
    unused = disk.available_bytes - disk.reserved_bytes
    maximum = disk.maximum_bytes
    percent = unused * 100 // maximum if unused > 0 and maximum > 0 else 0
    return percent < 100 - settings.disk_pressure_percent


def is_on(replica: Replica, node: NodeName, disk: Disk) -> bool:
    """Say whether *replica* is placed on *disk* of *node*."""
    return replica.node == node and replica.disk is not None and replica.disk == disk.id


def _file_size_suits(kind: DiskKind, size_bytes: int) -> bool:
    """Whether one file of the volume's size is possible (datastore IsSupportedVolumeSize)."""
    if kind.type == "filesystem" and kind.filesystem.startswith("ext"):
        return size_bytes < _EXT_LIMIT_BYTES
    if kind.type == "filesystem" and kind.filesystem == "xfs":
        return size_bytes < _XFS_LIMIT_BYTES
    return True
