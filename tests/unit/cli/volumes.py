"""Clusters with one volume, as documents, and the question about it to the command `filter`."""

from collections.abc import Mapping, Sequence
from typing import Any

from tests.builders import GIB, conditions, core_document, document, node_document

HEALTHY_AT = "2026-01-01T00:00:00Z"


def cluster(
    *others: Mapping[str, Any],
    free: Sequence[str] = (),
    full: Sequence[str] = (),
    nodes: Sequence[Mapping[str, Any]] = (),
) -> list[Any]:
    """Build nodes with 100 GiB free, nodes that are full, and other objects."""
    used = {"storageScheduled": 95 * GIB, "scheduledReplica": {"vol-db-r-1": 95 * GIB}}
    names = [*free, *full, *(each["metadata"]["name"] for each in nodes)]
    return [
        *(core_document("Node", name) for name in names),
        *(node_document(name, disk_status=_disk(name)) for name in free),
        *(node_document(name, disk_status=_disk(name) | used) for name in full),
        *nodes,
        *others,
    ]


def _disk(name: str) -> dict[str, Any]:
    return {"diskUUID": f"uuid-{name}"}


def volume(
    *,
    on: str = "",
    robustness: str = "",
    degraded_at: str = "2025-12-31T00:00:00Z",
    scheduled: Mapping[str, str] | None = None,
    **spec: Any,
) -> dict[str, Any]:
    """Build a volume of 10 GiB that wants two replicas, attached to a node if one is named."""
    fields = {"size": str(10 * GIB), "dataLocality": "disabled", "numberOfReplicas": 2}
    given = {"status": "True", **(scheduled or {})}
    return document(
        "Volume",
        "vol",
        spec=fields | ({"nodeID": on} if on else {}) | spec,
        status={
            "state": "attached" if on else "detached",
            "robustness": robustness or ("healthy" if on else "unknown"),
            "currentNodeID": on,
            "lastDegradedAt": degraded_at,
            "conditions": [{"type": "Scheduled", **given}],
        },
    )


def replica(name: str, on: str = "", **spec: Any) -> dict[str, Any]:
    """Build a replica of it, complete if it is on a node and nothing else is said."""
    placed = {"nodeID": on, "diskID": f"uuid-{on}", "healthyAt": HEALTHY_AT} if on else {}
    fields = {"volumeName": "vol", "volumeSize": str(10 * GIB), "active": True}
    return document("Replica", f"vol-r-{name}", spec=fields | placed | spec)


def claim(name: str = "data", **spec: Any) -> list[dict[str, Any]]:
    """Build the claim of the volume, and its PersistentVolume."""
    csi = {"driver": "driver.longhorn.io", "volumeHandle": "vol"}
    return [
        core_document("PersistentVolumeClaim", name, spec={"volumeName": "pv", **spec}),
        core_document("PersistentVolume", "pv", spec={"csi": csi}),
    ]


def pod(name: str = "web", on: str = "", of: str = "data", **status: Any) -> dict[str, Any]:
    """Build a pod that uses the claim."""
    use = {"name": "v", "persistentVolumeClaim": {"claimName": of}}
    return core_document(
        "Pod",
        name,
        metadata={"uid": f"uid-{name}"},
        spec={"volumes": [use], "containers": [], **({"nodeName": on} if on else {})},
        status=status,
    )


def not_ready(name: str) -> dict[str, Any]:
    """Build a node that Longhorn's manager does not run on."""
    return node_document(name, status={"conditions": conditions(Ready="False", Schedulable="True")})


def setting(name: str, value: str) -> dict[str, Any]:
    return document("Setting", name, value=value)


def attached_by_kubernetes(name: str, on: str) -> dict[str, Any]:
    """Build Kubernetes' VolumeAttachment of the volume."""
    source = {"persistentVolumeName": "pv"}
    spec = {"attacher": "driver.longhorn.io", "nodeName": on, "source": source}
    found = core_document("VolumeAttachment", name, spec=spec, status={"attached": True})
    return found | {"apiVersion": "storage.k8s.io/v1", "metadata": {"name": name}}
