"""Services, pods and slices for tests: every default is one that is fine."""

from collections.abc import Sequence
from typing import Any

from leader.endpointslice import Backend
from tests.unit.leader.store import Object

SERVICE, NAMESPACE, PORT = "extender", "longhorn-system", 9504
V4, V6 = "10.0.0.7", "fd00::7"


def port(
    name: str | None = "http", *, protocol: str | None = "TCP", number: int = 9504
) -> dict[str, Any]:
    return {"name": name, "protocol": protocol, "port": number}


def service(
    *families: str,
    ports: Sequence[dict[str, Any]] | None = (port(),),
    selector: dict[str, str] | None = None,
    uid: str = "service-uid",
) -> Object:
    """Build a Service; IPv4 unless families are given."""
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": SERVICE, "namespace": NAMESPACE, "uid": uid},
        "spec": {
            "type": "ClusterIP",
            "ipFamilies": list(families or ("IPv4",)),
            "ports": None if ports is None else list(ports),
            "selector": selector,
        },
    }


def pod(name: str = "us", *addresses: str, node: str | None = "node-1") -> Object:
    return {
        "metadata": {"name": name, "namespace": NAMESPACE, "uid": f"{name}-uid"},
        "spec": {"nodeName": node},
        "status": {
            "podIP": addresses[0] if addresses else None,
            "podIPs": [{"ip": address} for address in addresses],
        },
    }


def backend(name: str = "us", **addresses: str) -> Backend:
    """Build where a pod is reached: by IPv4 unless addresses are given by family."""
    return Backend(pod=name, uid=f"{name}-uid", node="node-1", addresses=addresses or {"IPv4": V4})


def endpoint(name: str = "us", address: str = V4) -> dict[str, Any]:
    return {
        "addresses": [address],
        "conditions": {"ready": True, "serving": True, "terminating": False},
        "targetRef": {"kind": "Pod", "name": name, "namespace": NAMESPACE, "uid": f"{name}-uid"},
        "nodeName": "node-1",
    }


def endpoint_slice(
    *endpoints: dict[str, Any],
    family: str = "IPv4",
    name: str = "",
    ports: Sequence[dict[str, Any]] = (port(),),
    labels: dict[str, str] | None = None,
    **metadata: Any,
) -> Object:
    """Build a slice of ours; whatever else stands in its metadata is given by name."""
    ours = {
        "kubernetes.io/service-name": SERVICE,
        "endpointslice.kubernetes.io/managed-by": "longhorn-scheduler-extender",
    }
    owner = {"apiVersion": "v1", "kind": "Service", "name": SERVICE, "uid": "service-uid"}
    return {
        "apiVersion": "discovery.k8s.io/v1",
        "kind": "EndpointSlice",
        "metadata": {
            "name": name or f"{SERVICE}-{family.lower()}",
            "namespace": NAMESPACE,
            "labels": ours if labels is None else labels,
            "ownerReferences": [owner],
            **metadata,
        },
        "addressType": family,
        "endpoints": list(endpoints),
        "ports": list(ports),
    }
