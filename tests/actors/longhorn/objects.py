"""Raw objects of a cluster with Longhorn, as tests set it up; each is all that Longhorn reads.

Defaults are a node that is well, with disks of which nothing is reserved or written.
"""

import uuid
from collections.abc import Iterable, Mapping

import msgspec

from tests.actors.api import Object

DRIVER = "driver.longhorn.io"
NAMESPACE = "longhorn-system"
HOSTNAME_LABEL = "kubernetes.io/hostname"

_NEVER = "2026-01-01T00:00:00Z"
_UUIDS = uuid.UUID("6f2f6f6c-1a01-4d0e-9a52-0e7a4f8c2b1d")
_AVAILABLE_STEP_BYTES = 100 * 2**20


class DiskSpec(msgspec.Struct, frozen=True, kw_only=True):
    """One disk to build; *available_bytes* None means all but what rounding takes."""

    size_bytes: int
    reserved_bytes: int = 0
    available_bytes: int | None = None
    tags: tuple[str, ...] = ()
    allow_scheduling: bool = True
    is_block: bool = False
    """Whether it is for data engine v2."""
    filesystem: str = "ext2/ext3"


def longhorn_node(
    name: str,
    disks: Mapping[str, int | DiskSpec],
    *,
    tags: Iterable[str] = (),
    zone: str = "",
    namespace: str = NAMESPACE,
) -> Object:
    """Build a Longhorn Node by disk names, with the status its manager writes at first.

    A disk's UUID is made of the names of its node and itself.
    """
    specs = {
        key: DiskSpec(size_bytes=given) if isinstance(given, int) else given
        for key, given in disks.items()
    }
    return {
        "metadata": {"name": name, "namespace": namespace},
        "spec": {
            "name": name,
            "allowScheduling": True,
            "evictionRequested": False,
            "tags": sorted(tags),
            "disks": {key: _disk_spec(key, disk) for key, disk in specs.items()},
        },
        "status": {
            "autoEvicting": False,
            "region": "",
            "zone": zone,
            "conditions": [condition("Ready"), condition("Schedulable")],
            "diskStatus": {key: _disk_status(name, key, disk) for key, disk in specs.items()},
        },
    }


def disk_uuid(node: str, disk: str) -> str:
    """Name a disk as replicas do."""
    return str(uuid.uuid5(_UUIDS, f"{node}/{disk}"))


def condition(
    type_: str, status: str = "True", *, reason: str = "", message: str = "", since: str = _NEVER
) -> Object:
    """Build a condition of a Longhorn object."""
    return {
        "type": type_,
        "status": status,
        "reason": reason,
        "message": message,
        "lastProbeTime": "",
        "lastTransitionTime": since,
    }


def setting(name: str, value: str, *, namespace: str = NAMESPACE) -> Object:
    """Build a Longhorn Setting."""
    metadata = {"name": name, "namespace": namespace}
    return {"metadata": metadata, "value": value, "status": {"applied": True}}


def storage_class(name: str, *, binding: str = "WaitForFirstConsumer", **parameters: str) -> Object:
    """Build a StorageClass of Longhorn's; one best-effort replica unless told otherwise."""
    defaults = {"numberOfReplicas": "1", "dataLocality": "best-effort"}
    return {
        "metadata": {"name": name},
        "provisioner": DRIVER,
        "reclaimPolicy": "Delete",
        "volumeBindingMode": binding,
        "allowVolumeExpansion": True,
        "parameters": {**defaults, **parameters},
    }


def backing_image(
    name: str, size_bytes: int, *, copies: int = 1, owner: str = "", namespace: str = NAMESPACE
) -> Object:
    """Build a BackingImage of which *copies* are wanted; its size is known, and no copy is made."""
    return {
        "metadata": {"name": name, "namespace": namespace},
        "spec": {"minNumberOfCopies": copies, "dataEngine": "v1", "diskFileSpecMap": {}},
        "status": {"size": size_bytes, "ownerID": owner, "diskFileStatusMap": {}},
    }


def csi_driver() -> Object:
    """Build the CSIDriver, with storage capacity tracking on."""
    return {
        "metadata": {"name": DRIVER},
        "spec": {
            "attachRequired": True,
            "podInfoOnMount": True,
            "storageCapacity": True,
            "fsGroupPolicy": "ReadWriteOnceWithFSType",
            "volumeLifecycleModes": ["Persistent"],
        },
    }


def _disk_spec(name: str, disk: DiskSpec) -> Object:
    return {
        "diskType": "block" if disk.is_block else "filesystem",
        "path": f"/mnt/{name}",
        "diskDriver": "",
        "allowScheduling": disk.allow_scheduling,
        "evictionRequested": False,
        "storageReserved": disk.reserved_bytes,
        "tags": sorted(disk.tags),
    }


def _disk_status(node: str, name: str, disk: DiskSpec) -> Object:
    available = disk.size_bytes if disk.available_bytes is None else disk.available_bytes
    return {
        "diskUUID": disk_uuid(node, name),
        "diskName": name,
        "diskPath": f"/mnt/{name}",
        "diskType": "block" if disk.is_block else "filesystem",
        "diskDriver": "",
        "filesystemType": disk.filesystem,
        "storageMaximum": disk.size_bytes,
        "storageAvailable": available - available % _AVAILABLE_STEP_BYTES,
        "storageScheduled": 0,
        "scheduledReplica": {},
        "scheduledBackingImage": {},
        "conditions": [condition("Ready"), condition("Schedulable")],
    }
