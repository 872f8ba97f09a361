"""Whether one disk may hold a replica of a volume.

Source: longhorn-manager scheduler/replica_scheduler.go filterNodeDisksForReplica.
"""

from collections.abc import Iterable

from simulator.objects import BackingImage, Disk, Replica, Strings, Volume
from simulator.reasons import Reason
from simulator.settings import Settings

_EXT_LIMIT_BYTES = 2**44
_XFS_LIMIT_BYTES = 2**63 - 1


def mismatch(
    disk: Disk, volume: Volume, image: BackingImage | None, settings: Settings
) -> Reason | None:
    """Say what besides room keeps a replica of *volume* off *disk*, if anything.

    Args:
        disk: The disk.
        volume: The volume.
        image: Its backing image, if it has one: the image's selectors apply as well.
        settings: Longhorn's settings.
    """
    if (disk.spec.disk_type or "filesystem") != ("block" if volume.is_v2 else "filesystem"):
        return Reason.DISKS_UNAVAILABLE
    if not volume.is_v2 and not _file_size_suits(disk, volume):
        return Reason.INCOMPATIBLE_SIZE
    selectors = [volume.spec.disk_selector]
    if image is not None:
        selectors.append(image.spec.disk_selector)
    may_be_empty = settings.allow_empty_disk_selector
    if not all(tags_match(disk.spec.tags, each, allow_empty=may_be_empty) for each in selectors):
        return Reason.TAGS
    return None


def has_room(disk: Disk, volume: Volume, replicas: Iterable[Replica], settings: Settings) -> bool:
    """Say whether *volume* fits on *disk* (IsSchedulableToDisk).

    The size counts against what may be promised. Against what is available counts only what the
    volume already holds, and there a byte must be left over.

    Args:
        disk: The disk.
        volume: The volume.
        replicas: All replicas of the volume: those assigned to the disk and not counted by
            storageScheduled yet are added. Longhorn forgets other volumes' ones.
        settings: Longhorn's settings.
    """
    status = disk.status
    counted = status.scheduled_replica or {}
    uncounted = (r for r in replicas if is_on(r, disk) and r.name not in counted)
    scheduled = status.storage_scheduled + sum(r.spec.volume_size for r in uncounted)
    return (
        status.storage_maximum > 0
        and status.storage_available > 0
        and status.storage_available - volume.status.actual_size > minimum_bytes(disk, settings)
        and volume.spec.size + scheduled <= limit_bytes(disk, settings)
    )


def tags_match(tags: Strings, selector: Strings, *, allow_empty: bool) -> bool:
    """Say whether *tags* contain all of *selector* (types.IsSelectorsInTags).

    An empty selector matches anything if *allow_empty*, else only what has no tags.
    """
    if not selector:
        return allow_empty or not tags
    return set(selector) <= set(tags or ())


def limit_bytes(disk: Disk, settings: Settings) -> int:
    """Return the most Longhorn promises on *disk*; through float64 and truncated, as there."""
    promisable = disk.status.storage_maximum - disk.spec.storage_reserved
    return int(float(promisable) * float(settings.over_provisioning_percent) / 100.0)


def minimum_bytes(disk: Disk, settings: Settings) -> int:
    """Return what must stay available on *disk*; through float64 and truncated, as there."""
    percent = settings.minimal_available_percent
    return int(float(disk.status.storage_maximum) * float(percent) / 100.0)


def is_under_pressure(disk: Disk, settings: Settings) -> bool:
    """Say whether *disk* is so full that auto-balance would move replicas off it.

    Source: IsDiskUnderPressure. What is reserved counts as used.
    """
    unused = disk.status.storage_available - disk.spec.storage_reserved
    maximum = disk.status.storage_maximum
    percent = unused * 100 // maximum if unused > 0 and maximum > 0 else 0
    return percent < 100 - settings.disk_pressure_percent


def is_on(replica: Replica, disk: Disk) -> bool:
    """Say whether *replica* is assigned to *disk*."""
    return replica.spec.node_id == disk.node and replica.spec.disk_id == disk.id


def _file_size_suits(disk: Disk, volume: Volume) -> bool:
    """Whether one file of the volume's size is possible (datastore IsSupportedVolumeSize)."""
    if disk.status.filesystem_type.startswith("ext"):
        return volume.spec.size < _EXT_LIMIT_BYTES
    if disk.status.filesystem_type == "xfs":
        return volume.spec.size < _XFS_LIMIT_BYTES
    return True
