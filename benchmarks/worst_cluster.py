"""What makes a day the worst, as Kubernetes prints it: replicas without a place, a zone down."""

from datetime import UTC, datetime
from typing import Any

from benchmarks.clusters import GIB, Object, cluster, node_name, pod
from benchmarks.templates import LONGHORN, NAMESPACE

COPIES, DISKS, ZONES, SEED = 3, 10, 3, 1
DEGRADED_AT = datetime(2026, 1, 1, 12, 0, tzinfo=UTC)
UTC_NOW = datetime(2026, 1, 1, 12, 30, tzinfo=UTC)
"""Half an hour later: Longhorn does not wait for failed replicas any more."""
_VOLUME_BYTES = 10 * GIB
_SIZES = 4_000
_DOWN = [{"type": "Ready", "status": "False", "reason": "KubernetesNodeNotReady"}]


def due_volumes(
    replicas: int, size_bytes: int, *, distinct: bool, copies: int = COPIES, first: int = 0
) -> list[Object]:
    """Return new volumes of which nothing is placed, and their Replicas: so many of these in all.

    Args:
        replicas: How many are due.
        size_bytes: Of each volume.
        distinct: Whether each volume is larger than the one before it, by 2 MiB; after 4,000 they
            begin again.
        copies: Replicas of a volume; the last volume may have less.
        first: The number of the first volume.
    """
    items = []
    for number in range(first, first - (-replicas // copies)):
        name = f"pvc-due-{number:05d}"
        size = size_bytes + number % _SIZES * 2**21 * distinct
        count = min(copies, replicas - (number - first) * copies)
        items.append(_volume(name, size, copies=count))
        items += [_replica(name, size, copy) for copy in range(count)]
    return items


def zone_down(nodes: int, volumes: int, pods: list[Object]) -> list[Object]:
    """Return a cluster of three zones, the first of which is down for half an hour.

    Each of the volumes has one replica in each zone, and no two of them have the same data.
    """
    items: list[Object] = cluster(nodes, DISKS, pods, seed=SEED, replicas=COPIES)["items"]
    longhorn = {each["metadata"]["name"]: each for each in items if each["apiVersion"] == LONGHORN}
    for number in range(nodes):
        status = longhorn[node_name(number)]["status"]
        status["zone"] = f"zone-{number % ZONES}"
        if number % ZONES == 0:
            status["conditions"] = _DOWN
    in_a_zone = nodes // ZONES
    for number in range(volumes):
        name, at = f"pvc-degraded-{number:05d}", number % in_a_zone * ZONES
        disk = f"disk-{number // in_a_zone % DISKS}"
        items.append(_degraded(name, number, node_name(at + 1)))
        for zone in range(ZONES):
            node = node_name(at + zone)
            items.append(_replica(name, _VOLUME_BYTES, zone, node, disk, failed=zone == 0))
            shown = longhorn[node]["status"]["diskStatus"][disk]
            shown["scheduledReplica"][items[-1]["metadata"]["name"]] = _VOLUME_BYTES
            shown["storageScheduled"] += _VOLUME_BYTES
    return items


def waiting_pods(count: int, size_gib: int) -> list[Object]:
    """Return pods that got no node because of us, with a claim of at least *size_gib* each.

    There are a hundred sizes.
    """
    condition = {
        "type": "PodScheduled",
        "status": "False",
        "reason": "Unschedulable",
        "message": "0/1000 nodes are available: 1000 no room on the node's disks.",
        "lastTransitionTime": DEGRADED_AT.isoformat(),
    }
    pods = [pod(f"waiting-{n:05d}", [(size_gib + n % 100) * GIB]) for n in range(count)]
    status = {"phase": "Pending", "conditions": [condition]}
    return [{"apiVersion": "v1", "kind": "Pod", **each, "status": status} for each in pods]


def _volume(name: str, size_bytes: int, *, copies: int, **status: Any) -> Object:
    return _longhorn(
        "Volume",
        name,
        {
            "size": str(size_bytes),
            "numberOfReplicas": copies,
            "dataLocality": "disabled",
            "dataEngine": "v1",
            "accessMode": "rwo",
            "frontend": "blockdev",
            "nodeID": status.get("currentNodeID", ""),
        },
        {"state": "creating", "robustness": "unknown", **status},
    )


def _degraded(name: str, number: int, node: str) -> Object:
    return _volume(
        name,
        _VOLUME_BYTES,
        copies=COPIES,
        state="attached",
        robustness="degraded",
        currentNodeID=node,
        actualSize=_VOLUME_BYTES // 4 + number * 4096,
        lastDegradedAt=DEGRADED_AT.isoformat(),
    )


def _replica(
    volume: str,
    size_bytes: int,
    copy: int,
    node: str = "",
    disk: str = "",
    *,
    failed: bool = False,
) -> Object:
    at = DEGRADED_AT.isoformat()
    state = "running" if node and not failed else "stopped"
    return _longhorn(
        "Replica",
        f"{volume}-r-{copy:08x}",
        {
            "volumeName": volume,
            "volumeSize": str(size_bytes),
            "nodeID": node,
            "diskID": f"{node}-{disk.removeprefix('disk-')}" if node else "",
            "active": True,
            "healthyAt": at if node else "",
            "failedAt": at if failed else "",
            "desireState": state,
        },
        {"currentState": state, "started": state == "running"},
    )


def _longhorn(kind: str, name: str, spec: Object, status: Object) -> Object:
    return {
        "apiVersion": LONGHORN,
        "kind": kind,
        "metadata": {"name": name, "namespace": NAMESPACE},
        "spec": spec,
        "status": status,
    }
