"""A pod is put on a node. Pure.

Follows kubernetes `pkg/registry/core/pod/storage/storage.go` (`BindingREST.Create`, `assignPod`,
`setPodNodeAndMetadata`) and `ValidatePodBinding`.
"""

from collections.abc import Mapping
from typing import Any

from tests.fakes.resources import Object, Resource
from tests.fakes.status import StatusError, wrong_uid


def bound(resource: Resource, pod: Object, binding: Mapping[str, Any], now: str) -> Object:
    """Return *pod* on the node that *binding* names.

    Raises:
        StatusError: 409 if the binding is for another pod of that name, or the pod has a node or is
            being deleted.
    """
    name = pod["metadata"]["name"]
    uid, found_uid = binding["metadata"].get("uid"), pod["metadata"]["uid"]
    if uid and uid != found_uid:
        raise wrong_uid(resource, name, uid, found_uid)
    obstacle = _obstacle(pod)
    if obstacle:
        message = f'Operation cannot be fulfilled on pods/binding "{name}": {obstacle}'
        details = {"name": name, "kind": "pods/binding"}
        raise StatusError(409, "Conflict", message, details=details)
    spec = {**pod.get("spec", {}), "nodeName": binding["target"]["name"]}
    return {**pod, "spec": spec, "status": _scheduled(pod.get("status") or {}, now)}


def _obstacle(pod: Object) -> str:
    name = pod["metadata"]["name"]
    if pod["metadata"].get("deletionTimestamp"):
        return f"pod {name} is being deleted, cannot be assigned to a host"
    node = pod.get("spec", {}).get("nodeName")
    return f'pod {name} is already assigned to node "{node}"' if node else ""


def _scheduled(status: Object, now: str) -> Object:
    """Say that the pod has a node; where it was expected to go is of no more interest."""
    kept = {key: value for key, value in status.items() if key != "nominatedNodeName"}
    others = [each for each in status.get("conditions") or () if each["type"] != "PodScheduled"]
    scheduled = {
        "type": "PodScheduled",
        "status": "True",
        "lastProbeTime": None,
        "lastTransitionTime": now,
    }
    return {**kept, "conditions": [*others, scheduled]}
