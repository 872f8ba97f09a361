"""Clusters in which a pod is Pending, as documents, and the question about it to the command."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from app.config import RESOURCE
from tests.builders import GIB, core_document, document, node_document

Ask = Callable[..., tuple[int, str]]


def pod(
    name: str = "web", *, claims: Sequence[str] = (), asks: bool = True, **fields: Any
) -> dict[str, Any]:
    """Build a pod that uses these claims, or that of its name."""
    resources = {"resources": {"limits": {RESOURCE: "1"}}} if asks else {}
    spec = {
        "volumes": [
            {"name": each, "persistentVolumeClaim": {"claimName": each}}
            for each in claims or (name,)
        ],
        "containers": [{"name": "main", **resources}],
        **fields.pop("spec", {}),
    }
    uid = {"metadata": {"uid": f"uid-{name}"}}
    return core_document("Pod", name, **uid, spec=spec, **fields)


def claim(name: str = "web", gib: int = 10) -> dict[str, Any]:
    return core_document(
        "PersistentVolumeClaim",
        name,
        metadata={"uid": f"1234-{name}"},
        spec={"storageClassName": "fast", "resources": {"requests": {"storage": f"{gib}Gi"}}},
    )


def bound_claim(name: str = "web", **spec: Any) -> list[dict[str, Any]]:
    """Build a claim and its PersistentVolume, of volume `vol-` and its name."""
    csi = {"driver": "driver.longhorn.io", "volumeHandle": f"vol-{name}"}
    return [
        core_document("PersistentVolumeClaim", name, spec={"volumeName": f"pv-{name}", **spec}),
        core_document("PersistentVolume", f"pv-{name}", spec={"csi": csi}),
    ]


def csi_driver(*, tracks: bool) -> dict[str, Any]:
    """Build Longhorn's CSIDriver, whose capacity kube-scheduler tracks or not."""
    found = core_document("CSIDriver", spec={"storageCapacity": tracks})
    metadata = {"name": "driver.longhorn.io"}
    return found | {"apiVersion": "storage.k8s.io/v1", "metadata": metadata}


def storage_class(binding: str = "WaitForFirstConsumer", **parameters: str) -> dict[str, Any]:
    defaults = {"dataLocality": "best-effort", "numberOfReplicas": "1"}
    return {
        "apiVersion": "storage.k8s.io/v1",
        "kind": "StorageClass",
        "metadata": {"name": "fast"},
        "provisioner": "driver.longhorn.io",
        "volumeBindingMode": binding,
        "parameters": defaults | parameters,
    }


def volume(name: str = "web", gib: int = 10, **spec: Any) -> dict[str, Any]:
    fields = {"size": str(gib * GIB), "dataLocality": "best-effort", "numberOfReplicas": 1}
    return document("Volume", f"vol-{name}", spec=fields | spec)


def replica(name: str = "web", on: str = "node-1", gib: int = 10) -> dict[str, Any]:
    return document(
        "Replica",
        f"vol-{name}-r-1",
        spec={
            "volumeName": f"vol-{name}",
            "volumeSize": str(gib * GIB),
            "nodeID": on,
            "diskID": "uuid-disk-1",
            "active": True,
            "healthyAt": "2026-01-01T00:00:00Z",
        },
    )


def host(
    name: str = "node-1", *, metadata: Mapping[str, Any] | None = None, **spec: Any
) -> dict[str, Any]:
    """Build a Kubernetes Node."""
    return core_document("Node", name, metadata=metadata or {}, spec=spec)


def node(name: str = "node-1", taken_gib: int = 0, **longhorn: Any) -> list[dict[str, Any]]:
    """Build a node of Kubernetes and of Longhorn, with one disk of 100 GiB."""
    fields = {"disk_status": scheduled(taken_gib)} if taken_gib else {}
    return [host(name, metadata=labels(name)), node_document(name, **fields | longhorn)]


def new(gib: int = 10, **parameters: str) -> list[dict[str, Any]]:
    """Build pod `web` with a claim that has no volume yet."""
    return [pod(), claim(gib=gib), storage_class(**parameters)]


def old(**volume_spec: Any) -> list[dict[str, Any]]:
    """Build pod `web` with a claim that has its volume."""
    return [pod(), *bound_claim(), volume(**volume_spec)]


def labels(name: str) -> dict[str, Any]:
    """Return what every kubelet puts on its node."""
    return {"labels": {"kubernetes.io/hostname": name}}


def scheduled(gib: int) -> dict[str, Any]:
    """Build the status of a disk of 100 GiB of which so much is scheduled."""
    return {"storageScheduled": gib * GIB, "scheduledReplica": {"vol-db-r-1": gib * GIB}}


def schedule(words: str) -> dict[str, Any]:
    """Build the DiskSchedule of the disk of node-1.

    `db:70:S70 new:15 big:60:R0`: a replica of volume db asks for 70 GiB and is scheduled with them;
    that of new asks for 15, and that of big is rejected.
    """
    replicas, states = {}, {}
    for word in words.split():
        volume_name, gib, *came = word.split(":")
        name = f"vol-{volume_name}-r-1"
        replicas[name] = int(gib) * GIB
        for each in came:
            state = "scheduled" if each.startswith("S") else "rejected"
            states[name] = {"state": state, "scheduledSize": int(each[1:]) * GIB}
    spec = {"name": "disk-1", "nodeID": "node-1", "replicas": replicas}
    status = {"replicas": states, "conditions": [{"type": "Ready", "status": "True"}]}
    return document("DiskSchedule", "uuid-disk-1", spec=spec, status=status)
