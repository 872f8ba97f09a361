"""What kubelets ask of pods: their status, and their end."""

from typing import Any

from kubernetes_asyncio.client import ApiClient

from tests.contract.exchange import Reply, ask, named
from tests.contract.paths import pods

OTHER_UID = "35bf992d-c9e9-4616-a12e-7696a6cecc1b"


async def create_pod(api_client: ApiClient, path: str) -> Reply:
    """Create a pod that is bound already, so that its end needs a kubelet."""
    spec = {"nodeName": "node-1", "containers": [{"name": "main", "image": "any"}]}
    created = await ask(api_client, "POST", path, body=named("a", spec=spec))
    assert created.status == 201
    return created


def conditions(pod: Any) -> list[tuple[str, str]]:
    return [(each["type"], each["status"]) for each in pod["status"]["conditions"]]


async def test_a_patch_of_a_pods_status_leaves_its_spec(
    api_client: ApiClient, namespace: str
) -> None:
    path = pods(namespace)
    created = await create_pod(api_client, path)
    status = {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}
    changes = {"spec": {"nodeName": "node-2"}, "status": status}

    patched = await ask(api_client, "PATCH", f"{path}/a/status", body=changes)

    assert (patched.status, patched.json["kind"]) == (200, "Pod")
    assert patched.json["status"]["phase"] == "Running"
    assert conditions(patched.json) == [("Ready", "True")]
    assert patched.json["spec"] == created.json["spec"]
    assert patched.version != created.version
    assert (await ask(api_client, "GET", f"{path}/a")).json == patched.json


async def test_a_patch_of_a_pods_status_can_ask_for_a_version(
    api_client: ApiClient, namespace: str
) -> None:
    path = pods(namespace)
    created = await create_pod(api_client, path)
    changes = {"metadata": {"resourceVersion": created.version}, "status": {"phase": "Running"}}

    first = await ask(api_client, "PATCH", f"{path}/a/status", body=changes)
    stale = await ask(api_client, "PATCH", f"{path}/a/status", body=changes)

    assert first.status == 200
    assert stale.refusal == (409, "Conflict")


async def test_a_pod_without_grace_is_gone_if_it_is_the_one_meant(
    api_client: ApiClient, namespace: str
) -> None:
    path = pods(namespace)
    created = await create_pod(api_client, path)
    uids = (OTHER_UID, created.json["metadata"]["uid"])
    options = [{"gracePeriodSeconds": 0, "preconditions": {"uid": uid}} for uid in uids]

    refused, deleted = [await ask(api_client, "DELETE", f"{path}/a", body=body) for body in options]

    assert refused.refusal == (409, "Conflict")
    assert deleted.status == 200
    assert (await ask(api_client, "GET", f"{path}/a")).status == 404
