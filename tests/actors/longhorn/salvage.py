"""Replicas that fail when their volume is to be attached, and those that are taken again. Pure.

An attached volume is left alone: its engine knows which of its replicas still answer. Linked clones
and volumes that are restored are not salvaged otherwise here, as they are by Longhorn.
Source: longhorn-manager controller/volume_controller.go openVolumeDependentResources,
canInstanceManagerLaunchReplica, isAutoSalvageNeeded, ReconcileVolumeState.
"""

from collections.abc import Callable, Collection, Mapping
from datetime import datetime, timedelta

from tests.actors.api import Object
from tests.actors.longhorn.records import Replica, condition_status, read_condition

Nodes = Mapping[str, Object]
"""Longhorn's nodes by name."""
Launches = Callable[[str], bool | None]
"""Says whether the instance manager of a node may start replicas; None if there is none at all."""

_DOWN = ("KubernetesNodeGone", "KubernetesNodeNotReady")
_TOGETHER = timedelta(minutes=1)


def is_down(node: Object | None) -> bool:
    """Say whether a node is gone, or Kubernetes has lost it; its manager alone may be away.

    Source: datastore/longhorn.go IsNodeDownOrDeleted.
    """
    if node is None:
        return True
    ready = read_condition(node["status"], "Ready")
    return ready.get("status") == "False" and ready.get("reason") in _DOWN


def attaches_nowhere(replicas: Collection[Replica], nodes: Nodes, launches: Launches) -> bool:
    """Say whether a node that is up has a replica, failed or not, and no instance manager.

    Then Longhorn starts none of the replicas (datastore/longhorn.go filterInstanceManagers).
    """
    there = {each.node for each in replicas if each.node and not each.is_running}
    return any(not is_down(nodes.get(node)) and launches(node) is None for node in there)


def unable(
    replicas: Collection[Replica], nodes: Nodes, launches: Launches, *, needs_disk: bool
) -> list[str]:
    """Name the replicas that fail because they cannot be started.

    Args:
        replicas: Those of a volume that is to be attached, and is not yet.
        nodes: All nodes.
        launches: Asked of each node that is up.
        needs_disk: Whether a process fails that does not find its disk, as one of data engine v1
            does; one of v2 is tried again and again, and its disks are not looked at here.
    """
    found = []
    for each in replicas:
        if each.node and not each.is_failed:
            node = nodes.get(each.node)
            is_launched = not is_down(node) and (each.is_running or launches(each.node))
            if not is_launched or (needs_disk and not _has_disk(node, each.disk)):
                found.append(each.name)
    return found


def is_faulted(replicas: Collection[Replica]) -> bool:
    """Say whether all replicas with data have failed, or all of a volume that never had any."""
    if not any(each.has_data for each in replicas):
        return all(each.is_failed for each in replicas)
    return not any(each.is_healthy for each in replicas)


def salvaged(replicas: Collection[Replica], nodes: Nodes) -> list[str]:
    """Name the replicas that are taken again, of a faulted volume that is detached.

    They have data, their nodes are up and their disks take replicas. Those that failed a minute
    before the last of them, or longer, lack what was written since.
    """
    failed = {
        each.name: datetime.fromisoformat(each.failed_at)
        for each in replicas
        if each.has_data and each.failed_at and each.node
        if not is_down(nodes.get(each.node)) and _takes(nodes[each.node], each.disk)
    }
    last = max(failed.values(), default=None)
    return [name for name, at in failed.items() if last and last - at < _TOGETHER]


def _has_disk(node: Object | None, uuid: str) -> bool:
    """Say whether a disk is there; if only Longhorn's manager is away, nothing is known of it."""
    disk = _disk(node, uuid)
    ready = read_condition(disk or {}, "Ready")
    return disk is not None and (
        ready.get("status") == "True" or ready.get("reason") == "NodeNotReady"
    )


def _takes(node: Object, uuid: str) -> bool:
    return condition_status(_disk(node, uuid) or {}, "Schedulable") == "True"


def _disk(node: Object | None, uuid: str) -> Object | None:
    statuses = (node["status"].get("diskStatus") or {}).values() if node else ()
    return next((each for each in statuses if each["diskUUID"] == uuid), None)
