"""Which DiskSchedules there should be: one for each disk, as Longhorn's node controller has them.
Pure.

Source: longhorn-manager PR 4366 at c65c877, controller/node_controller.go. One thing differs: a
disk that is in the node's spec and has no UUID in its status keeps the object it has. The status
may be late, and who deletes the object forgets what was asked for.
"""

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from app.disk_schedule.stored import STORED_SCHEDULES, StoredSchedule
from app.kube.longhorn.objects import LonghornNode, NodeStatus
from app.kube.longhorn.resources import NODES
from longhorn import DiskId, DiskName, NodeName

NODE_LABEL = "longhornnode"
MAY_BE_DELETED = "longhorn.io/delete-disk-from-longhorn"
"""The annotation without which Longhorn's webhook lets nobody delete a DiskSchedule."""


class KnownNode(NamedTuple):
    """A Longhorn Node, and the disks of its spec."""

    name: NodeName
    uid: str
    disks: Mapping[DiskName, DiskId | None]
    """None: its status does not tell the UUID."""


class Difference(NamedTuple):
    """What there should be, and what there should not."""

    missing: Mapping[DiskId, DiskName]
    stale: tuple[StoredSchedule, ...]


def known_node(node: LonghornNode) -> KnownNode:
    """Read a Node as the API server sends it."""
    statuses = (node.status or NodeStatus()).disk_status or {}
    disks = dict[DiskName, DiskId | None]()
    for name in (node.spec.disks if node.spec is not None else None) or {}:
        status = statuses.get(name)
        uuid = None if status is None else status.disk_uuid
        disks[DiskName(name)] = DiskId(uuid) if uuid else None
    return KnownNode(NodeName(node.metadata.name), node.metadata.uid or "", disks)


def difference(
    disks: Mapping[DiskName, DiskId | None],
    schedules: Iterable[StoredSchedule],
    existing: Mapping[DiskId, StoredSchedule],
) -> Difference:
    """Compare the disks of a node with its DiskSchedules.

    Args:
        disks: Of the node's spec, each with its UUID.
        schedules: Those that name the node.
        existing: All there are. One of another node keeps its name until it is gone: the disk has
            moved.
    """
    missing = {uuid: name for name, uuid in disks.items() if uuid and uuid not in existing}
    stale = tuple(
        each for each in schedules if not each.schedule.deleting and _is_stale(each, disks)
    )
    return Difference(missing, stale)


def new_object(node: KnownNode, disk: DiskName, uuid: DiskId, namespace: str) -> dict[str, Any]:
    """Return the DiskSchedule of a disk, in which nothing is asked for yet."""
    owner = {
        "apiVersion": NODES.api_version,
        "kind": NODES.kind,
        "name": node.name,
        "uid": node.uid,
        "blockOwnerDeletion": True,
    }
    return {
        "apiVersion": STORED_SCHEDULES.api_version,
        "kind": STORED_SCHEDULES.kind,
        "metadata": {
            "name": uuid,
            "namespace": namespace,
            "labels": {NODE_LABEL: node.name},
            "ownerReferences": [owner],
        },
        "spec": {"name": disk, "nodeID": node.name, "replicas": {}, "backingImages": {}},
    }


def deletion_patch(version: str) -> dict[str, Any]:
    """Return what lets an object be deleted, if it is still in this version."""
    return {"metadata": {"resourceVersion": version, "annotations": {MAY_BE_DELETED: ""}}}


def _is_stale(stored: StoredSchedule, disks: Mapping[DiskName, DiskId | None]) -> bool:
    name = stored.schedule.disk
    return name not in disks or disks[name] not in (None, stored.name)
