"""Reviews of new pods, as the API server sends them, and what it makes of the answers."""

import base64
import copy
import json
from typing import Any

Object = dict[str, Any]
RESOURCE = "longhorn.io/scheduler-extender"
UID = "705ab4f5-6393-11e8-b7cc-42010a800002"


def review(pod: object, *, namespace: str = "default", **request: Any) -> Object:
    """Build the review of a pod that somebody creates; *request* changes its fields."""
    return {
        "apiVersion": "admission.k8s.io/v1",
        "kind": "AdmissionReview",
        "request": {
            "uid": UID,
            "kind": {"group": "", "version": "v1", "kind": "Pod"},
            "resource": {"group": "", "version": "v1", "resource": "pods"},
            "operation": "CREATE",
            "namespace": namespace,
            "userInfo": {"username": "somebody"},
            "object": pod,
            "oldObject": None,
            "dryRun": False,
            **request,
        },
    }


def new_pod(*volumes: Object, name: str = "web", **spec: Any) -> Object:
    """Build a pod with two containers, as the API server shows one that is about to be created."""
    containers: list[Object] = [
        {"name": each, "image": "none", "resources": {}, "terminationMessagePath": "/dev/log"}
        for each in ("app", "sidecar")
    ]
    return {
        "metadata": {"name": name, "namespace": "default", "labels": {"app": "web"}},
        "spec": {
            "volumes": [{"name": f"volume-{n}", **each} for n, each in enumerate(volumes)],
            "containers": containers,
            "schedulerName": "default-scheduler",
            **spec,
        },
        "status": {},
    }


def of_claim(name: str) -> Object:
    """Build a volume of a pod, by the name of its claim."""
    return {"persistentVolumeClaim": {"claimName": name}}


def ephemeral(**spec: Any) -> Object:
    """Build a generic ephemeral volume; *spec* is of its claim."""
    return {"ephemeral": {"volumeClaimTemplate": {"spec": spec}}}


def admitted(pod: Object, answer: Object) -> Object:
    """Return the pod as it is created after *answer*, which must be a valid one to `review`."""
    response = answer.pop("response")
    assert answer == {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview"}
    assert (response["uid"], response["allowed"]) == (UID, True)
    assert {*response} <= {"uid", "allowed", "patchType", "patch", "warnings"}
    assert ("patch" in response) == (response.get("patchType") == "JSONPatch")
    created = copy.deepcopy(pod)
    for operation in json.loads(base64.b64decode(response.get("patch", "W10="))):
        assert {*operation} == {"op", "path", "value"}
        assert operation["op"] == "add"
        _add(created, operation["path"], operation["value"])
    return created


def with_resource(pod: Object, **spec: Any) -> Object:
    """Return the pod with the resource in its first container; *spec* is what else changes."""
    created = copy.deepcopy(pod)
    container = created["spec"]["containers"][0]
    container["resources"] = container.get("resources") or {}
    for kind in ("limits", "requests"):
        amounts = container["resources"].get(kind) or {}
        container["resources"][kind] = {**amounts, RESOURCE: "1"}
    created["spec"].update(spec)
    return created


def _add(document: Any, path: str, value: object) -> None:
    """Apply the operation "add" of RFC 6902 to an existing object of *document*."""
    *parents, last = [
        part.replace("~1", "/").replace("~0", "~") for part in path.removeprefix("/").split("/")
    ]
    for part in parents:
        document = document[int(part)] if isinstance(document, list) else document[part]
    assert isinstance(document, dict), f"{path} is not in an object"
    document[last] = value
