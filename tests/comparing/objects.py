"""API objects as kube-apiserver keeps them, made of nothing that a checkout may change."""

from collections.abc import Mapping
from typing import Any

GIB = 2**30
DRIVER = "driver.longhorn.io"
NAMESPACE = "longhorn-system"
LATER = "2026-01-01T00:00:01Z"
_API_VERSIONS = {"StorageClass": "storage.k8s.io/v1"}
_FOLLOWING_SETTINGS = [f"replica{kind}SoftAntiAffinity" for kind in ("", "Zone", "Disk")]

Object = dict[str, Any]


def conditions(reason: str = "", **statuses: str) -> list[Object]:
    """Build conditions by their types."""
    return [{"type": key, "status": value, "reason": reason} for key, value in statuses.items()]


def thing(kind: str, name: str, **fields: Any) -> Object:
    """Build an object of Longhorn's."""
    metadata = {"name": name, "namespace": NAMESPACE}
    return {"apiVersion": "longhorn.io/v1beta2", "kind": kind, "metadata": metadata, **fields}


def other(kind: str, name: str, namespace: str = "default", **fields: Any) -> Object:
    """Build an object of Kubernetes'; "" is the namespace of those without one."""
    metadata = {"name": name, **({"namespace": namespace} if namespace else {})}
    api_version = _API_VERSIONS.get(kind, "v1")
    return {"apiVersion": api_version, "kind": kind, "metadata": metadata, **fields}


def storage_class(name: str, parameters: Mapping[str, str], **fields: Any) -> Object:
    """Build a StorageClass."""
    defaults = {"provisioner": DRIVER, "volumeBindingMode": "WaitForFirstConsumer"}
    return other("StorageClass", name, "", parameters={**parameters}, **{**defaults, **fields})


def volume(name: str, size_bytes: int, access: str, parameters: Mapping[str, str]) -> Object:
    """Build the Volume that Longhorn makes by the parameters of a class."""
    said = parameters.get
    spec = {
        "size": str(size_bytes),
        "dataLocality": said("dataLocality", "disabled"),
        "numberOfReplicas": int(said("numberOfReplicas", "3").replace("x", "1")),
        "accessMode": "rwx" if access == "ReadWriteMany" else "rwo",
        "migratable": said("migratable") == "true",
        "dataEngine": said("dataEngine", "v1"),
        "backingImage": said("backingImage", ""),
        "nodeSelector": [tag for tag in said("nodeSelector", "").split(",") if tag],
        "diskSelector": [tag for tag in said("diskSelector", "").split(",") if tag],
        "dataLayout": {"type": said("dataLayout.type", "")},
        "nodeID": "",
        **{name: said(name, "ignored") for name in _FOLLOWING_SETTINGS},
    }
    status = {"state": "detached", "robustness": "unknown", "actualSize": 0}
    return thing("Volume", name, spec=spec, status=status)


def replica(name: str, of: Object, pinned_to: str = "") -> Object:
    """Build a Replica that is not placed yet."""
    spec = {
        "volumeName": of["metadata"]["name"],
        "volumeSize": of["spec"]["size"],
        "nodeID": "",
        "diskID": "",
        "hardNodeAffinity": pinned_to,
        "active": True,
        "healthyAt": "",
        "failedAt": "",
        "evictionRequested": False,
        "rebuildRetryCount": 0,
        "desireState": "stopped",
    }
    return thing("Replica", name, spec=spec, status={"currentState": "stopped", "started": False})
