"""The EndpointSlices that point the Service at the leader, so that kube-scheduler reaches it.

The Service has no selector, so Kubernetes does not write its endpoints: we do. For each address
family of the Service there is one slice with a fixed name, and each new leader writes over the
slice of the last one. kube-proxy merges all slices of a Service, so we empty any other slice.

A leader that was stopped for a while cannot take the Service back. It writes only over the version
it read, and it checks after reading that it still leads. If another leader has followed, it has
written a newer version since, and the late write is refused.
"""

from collections.abc import Mapping, Sequence
from ipaddress import ip_address
from typing import Any

import msgspec

from leader.store import Body

SERVICE_LABEL = "kubernetes.io/service-name"
_MANAGER_LABEL = "endpointslice.kubernetes.io/managed-by"
_MANAGER = "longhorn-scheduler-extender"
_FAMILIES = ("IPv4", "IPv6")


class Backend(msgspec.Struct, frozen=True, kw_only=True):
    """The pod that the Service must point at."""

    pod: str
    uid: str
    node: str
    addresses: Mapping[str, str]
    """By family, IPv4 or IPv6; at most one of each."""


class Create(msgspec.Struct, frozen=True, kw_only=True):
    """Create a slice that does not exist."""

    body: Body


class Replace(msgspec.Struct, frozen=True, kw_only=True):
    """Write a slice over the version that was read."""

    body: Body


class Delete(msgspec.Struct, frozen=True, kw_only=True):
    """Delete a slice that has our name but another family: a slice cannot change its family."""

    body: Body


Repair = Create | Replace | Delete


def backend_of(pod: Body) -> Backend:
    """Read how to reach a pod. There are no addresses while it has none, or none that is valid."""
    metadata, status = pod.get("metadata") or {}, pod.get("status") or {}
    addresses: dict[str, str] = {}
    for entry in [*(status.get("podIPs") or ()), {"ip": status.get("podIP")}]:
        text = str((entry or {}).get("ip"))
        try:
            family = f"IPv{ip_address(text).version}"
        except ValueError:
            continue
        addresses.setdefault(family, text)
    return Backend(
        pod=metadata.get("name", ""),
        uid=metadata.get("uid", ""),
        node=(pod.get("spec") or {}).get("nodeName") or "",
        addresses=addresses,
    )


def desired_slices(service: Body, backend: Backend, port: int) -> list[dict[str, Any]]:
    """Return the slices that *service* should have: one for each of its families.

    If the pod has no address of a family, the slice is empty, to remove the last leader from it.
    """
    spec = service.get("spec") or {}
    families = [family for family in spec.get("ipFamilies") or () if family in _FAMILIES]
    ports = [
        {"name": entry.get("name") or "", "protocol": "TCP", "port": port}
        for entry in spec.get("ports") or ()
        if (entry.get("protocol") or "TCP") == "TCP"
    ]
    return [
        _slice(service, family, backend, ports)
        for family in families or [f for f in _FAMILIES if f in backend.addresses]
    ]


def repairs(desired: Sequence[dict[str, Any]], existing: Sequence[Body]) -> list[Repair]:
    """Return the writes that turn *existing*, all slices of the Service, into *desired*."""
    of_name = {body["metadata"]["name"]: body for body in existing}
    wanted = {body["metadata"]["name"]: body for body in desired}
    steps: list[Repair] = []
    for name, body in wanted.items():
        found = of_name.get(name)
        if found is None:
            steps.append(Create(body=body))
        elif found.get("addressType") != body["addressType"]:
            steps += [Delete(body=found), Create(body=body)]
        elif _content(found) != _content(body):
            steps.append(Replace(body=_over(found, body)))
    strays = (body for name, body in sorted(of_name.items()) if name not in wanted)
    return steps + [Replace(body=_emptied(body)) for body in strays if body.get("endpoints")]


def withdrawals(existing: Sequence[Body], uid: str) -> list[Replace]:
    """Return the writes after which no slice names the pod with this uid."""
    return [Replace(body=_emptied(body)) for body in existing if _names(body, uid)]


def _names(body: Body, uid: str) -> bool:
    targets = (endpoint.get("targetRef") or {} for endpoint in body.get("endpoints") or ())
    return any(target.get("uid") == uid for target in targets)


def _slice(
    service: Body, family: str, backend: Backend, ports: Sequence[Mapping[str, Any]]
) -> dict[str, Any]:
    metadata = service["metadata"]
    namespace = metadata.get("namespace") or ""
    address = backend.addresses.get(family)
    endpoint = {
        "addresses": [address],
        "conditions": {"ready": True, "serving": True, "terminating": False},
        "targetRef": {
            "kind": "Pod",
            "name": backend.pod,
            "namespace": namespace,
            "uid": backend.uid,
        },
    }
    if backend.node:
        endpoint["nodeName"] = backend.node
    return {
        "apiVersion": "discovery.k8s.io/v1",
        "kind": "EndpointSlice",
        "metadata": {
            "name": f"{metadata['name']}-{family.lower()}",
            "namespace": namespace,
            "labels": {SERVICE_LABEL: metadata["name"], _MANAGER_LABEL: _MANAGER},
            "ownerReferences": _owners(metadata),
        },
        "addressType": family,
        "endpoints": [endpoint] if address else [],
        "ports": list(ports),
    }


def _owners(service: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the owner of a slice: Kubernetes deletes the slice with it, and nothing else does."""
    uid = service.get("uid")
    owner = {"apiVersion": "v1", "kind": "Service", "name": service["name"], "uid": uid}
    return [owner] if uid else []


def _content(body: Body) -> tuple[object, ...]:
    """Return the parts of a slice that must be as desired."""
    metadata = body["metadata"]
    labels = metadata.get("labels") or {}
    return (
        labels.get(SERVICE_LABEL),
        labels.get(_MANAGER_LABEL),
        metadata.get("ownerReferences") or [],
        body.get("endpoints") or [],
        body.get("ports") or [],
    )


def _over(found: Body, desired: dict[str, Any]) -> dict[str, Any]:
    """Return *desired* as the next version of *found*, with the metadata that others added."""
    metadata = {**found["metadata"], **desired["metadata"]}
    metadata["labels"] = {
        **(found["metadata"].get("labels") or {}),
        **desired["metadata"]["labels"],
    }
    return {**desired, "metadata": metadata}


def _emptied(body: Body) -> dict[str, Any]:
    return {
        "apiVersion": "discovery.k8s.io/v1",
        "kind": "EndpointSlice",
        **body,
        "endpoints": [],
    }
