"""Volumes that have been there for a while, and what becomes of them when their nodes go. Pure."""

from tests.actors.api import Object
from tests.actors.longhorn.draft import merged
from tests.actors.longhorn.objects import condition, disk_uuid


def attached(volume: Object, node: str) -> Object:
    """Return a new volume as it is once it has been attached to *node* for a while."""
    status = {
        "state": "attached",
        "robustness": "healthy",
        "currentNodeID": node,
        "ownerID": node,
        "conditions": [condition("Scheduled")],
    }
    return merged(volume, {"spec": {"nodeID": node}, "status": status})


def detached(volume: Object) -> Object:
    """Return a new volume as it is once it was attached, and is no longer."""
    return merged(volume, {"status": {"state": "detached", "robustness": "unknown"}})


def placed(replica: Object, node: str, disk: str, now: str, *, runs: bool) -> Object:
    """Return a new replica as it is once it has all data, on a disk by the name of that."""
    uuid, state = disk_uuid(node, disk), "running" if runs else "stopped"
    spec = {
        "nodeID": node,
        "diskID": uuid,
        "diskPath": f"/mnt/{disk}",
        "healthyAt": now,
        "lastHealthyAt": now,
        "desireState": state,
        "rebuildRetryCount": 0,
    }
    labels = {"longhornnode": node, "longhorndiskuuid": uuid}
    status = {"currentState": state, "started": runs}
    return merged(replica, {"metadata": {"labels": labels}, "spec": spec, "status": status})


def failed(now: str) -> Object:
    """Build what is written into a replica whose node has gone."""
    return {
        "spec": {"failedAt": now, "lastFailedAt": now, "desireState": "stopped"},
        "status": {"currentState": "stopped", "started": False},
    }
