"""What is yet to come to a disk because of the replicas that it holds.

The copy of a backing image comes when a replica of a volume made from it is first started there;
the growth of a volume that is being expanded, when its Replica objects have the new size.

Sources: longhorn-manager controller/replica_controller.go GetBackingImagePathForReplicaStarting,
scheduler/replica_scheduler.go CheckReplicasSizeExpansion.
"""

from collections.abc import Iterable, Mapping

import msgspec
from msgspec import structs

from longhorn.disks import DiskSpace
from longhorn.records import BackingImage, Disk, Volume, VolumeName
from longhorn.replicas import Replica
from longhorn.settings import Settings


class Growth(msgspec.Struct, frozen=True, kw_only=True):
    """What disks are yet to take for the replicas of volumes, by volume."""

    expanded: Mapping[VolumeName, int] = {}
    """The size that those are to have which are being expanded."""
    images: Mapping[VolumeName, BackingImage] = {}
    """The backing images of volumes."""


NO_GROWTH = Growth()


def expanded_bytes(volume: Volume | None, replicas: Iterable[Replica]) -> int:
    """Return the size that a volume's Replica objects are yet to have, 0 if there is none."""
    if volume is None or volume.deleting:
        return 0
    size = volume.replica_bytes
    return size if any(replica.size_bytes < size for replica in replicas) else 0


def with_growth(
    space: DiskSpace, replicas: Iterable[Replica], expanded: Mapping[VolumeName, int]
) -> DiskSpace:
    """Return a disk with what its *replicas* are yet to grow by, each that fits, by name.

    Longhorn leaves a volume as it is until its growth fits. *expanded* is the size that each
    replica of a volume is to have.
    """
    growing = sorted((r for r in replicas if r.volume in expanded), key=lambda each: each.name)
    for replica in growing:
        known = max(replica.size_bytes, space.disk.listed.get(replica.name, 0))
        more = expanded[replica.volume] - known
        if 0 < more <= space.logical_headroom_bytes:
            counted = space.unlisted.get(replica.name, 0) + more
            space = structs.replace(
                space,
                unlisted={**space.unlisted, replica.name: counted},
                scheduled_bytes=space.scheduled_bytes + more,
            )
    return space


def takes_growth(space: DiskSpace, more_bytes: int, settings: Settings) -> bool:
    """Say whether the replicas of a volume on a disk may grow by *more_bytes* together.

    Since v1.11 Longhorn also looks at the disk as if that had been written to it already.

    Source: longhorn-manager scheduler/replica_scheduler.go CheckReplicasSizeExpansion.
    """
    disk = space.disk
    if more_bytes > space.logical_headroom_bytes or space.physical_headroom_bytes < 0:
        return False
    if not settings.expands_by_what_is_written:
        return True
    used_bytes = disk.maximum_bytes - disk.available_bytes - disk.reserved_bytes + more_bytes
    return (
        disk.maximum_bytes - used_bytes >= space.minimal_available_bytes
        and used_bytes <= space.limit_bytes
    )


def missing_copies(
    disk: Disk, replicas: Iterable[Replica], images: Mapping[VolumeName, BackingImage]
) -> dict[str, int]:
    """Return the copies of backing images that a disk is to have and does not list, in bytes."""
    needed = {image.name: image for each in replicas if (image := images.get(each.volume))}
    return {
        name: image.size_bytes - listed
        for name, image in sorted(needed.items())
        for listed in (disk.listed_images.get(name, 0),)
        if image.size_bytes > listed
    }
