"""What kube-scheduler and kubelets ask of pods: their place on a node, their status, their end."""

import os
from typing import Any

import pytest
from kubernetes_asyncio.client import ApiClient

from tests.actors.api import PODS
from tests.contract.exchange import Reply, ask, named
from tests.e2e.control_plane import ControlPlane
from tests.e2e.controlplane import versions

OTHER_UID = "35bf992d-c9e9-4616-a12e-7696a6cecc1b"


class Pod:
    """A pod without a node.

    Attributes:
        created: The answer to its creation.
        path: Where it is.
    """

    def __init__(self, api_client: ApiClient, path: str, created: Reply) -> None:
        self.created = created
        self.path = path
        self._api_client = api_client

    @property
    def uid(self) -> str:
        return str(self.created.json["metadata"]["uid"])

    async def ask(self, method: str, subresource: str = "", body: object = None) -> Reply:
        return await ask(self._api_client, method, self.path + subresource, body=body)

    async def read(self) -> Any:
        return (await self.ask("GET")).json

    async def bind(self, node: str = "node-1", **metadata: str) -> Reply:
        body = {
            "apiVersion": "v1",
            "kind": "Binding",
            "metadata": {"name": "a", **metadata},
            "target": {"apiVersion": "v1", "kind": "Node", "name": node},
        }
        return await self.ask("POST", "/binding", body)


@pytest.fixture
async def pod(api_client: ApiClient, namespace: str) -> Pod:
    path = PODS.path(namespace)
    spec = {"containers": [{"name": "main", "image": "any"}]}
    created = await ask(api_client, "POST", path, body=named("a", spec=spec))
    assert created.status == 201
    return Pod(api_client, f"{path}/a", created)


def scheduled(found: Any) -> list[tuple[str, str]]:
    """Return status and reason of the conditions PodScheduled."""
    conditions = [each for each in found["status"]["conditions"] if each["type"] == "PodScheduled"]
    return [(each["status"], each.get("reason", "")) for each in conditions]


@pytest.fixture
def ends_expectations(real: ControlPlane | None) -> None:
    if real is not None and not versions.chosen(os.environ).ends_expectations:
        pytest.skip("this Kubernetes keeps nominatedNodeName when a pod is bound, until 1.35")


async def test_a_binding_puts_a_pod_on_a_node(pod):
    refused = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable"}
    await pod.ask("PATCH", "/status", {"status": {"conditions": [refused]}})

    answer = await pod.bind(uid=pod.uid, namespace=pod.created.json["metadata"]["namespace"])

    found = await pod.read()
    assert (answer.status, answer.json["kind"], answer.json["status"]) == (201, "Status", "Success")
    assert found["spec"]["nodeName"] == "node-1"
    assert scheduled(found) == [("True", "")]


@pytest.mark.usefixtures("ends_expectations")
async def test_a_binding_ends_the_expectation_of_another_node(pod):
    patched = await pod.ask("PATCH", "/status", {"status": {"nominatedNodeName": "node-2"}})
    assert patched.json["status"]["nominatedNodeName"] == "node-2"

    await pod.bind()

    assert "nominatedNodeName" not in (await pod.read())["status"]


async def test_a_pod_is_bound_once(pod):
    answers = [await pod.bind(node) for node in ("node-1", "node-1", "node-2")]

    assert answers[0].status == 201
    assert [answer.refusal for answer in answers[1:]] == [(409, "Conflict")] * 2
    assert (await pod.read())["spec"]["nodeName"] == "node-1"


async def test_another_pod_of_the_same_name_is_not_bound(pod):
    refused = await pod.bind(uid=OTHER_UID)

    assert refused.refusal == (409, "Conflict")
    assert "nodeName" not in (await pod.read())["spec"]


async def test_an_annotation_of_a_pod_is_merged_in(pod):
    for annotations in ({"one": "1"}, {"two": "2"}):
        patched = await pod.ask("PATCH", body={"metadata": {"annotations": annotations}})

    assert patched.json["metadata"]["annotations"] == {"one": "1", "two": "2"}
    assert patched.json["spec"] == pod.created.json["spec"]


async def test_a_patch_of_a_pods_status_leaves_its_spec(pod):
    status = {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}

    patched = await pod.ask("PATCH", "/status", {"spec": {"nodeName": "any"}, "status": status})

    assert (patched.status, patched.json["kind"]) == (200, "Pod")
    assert patched.json["status"]["phase"] == "Running"
    assert patched.json["spec"] == pod.created.json["spec"]
    assert patched.version != pod.created.version
    assert await pod.read() == patched.json


async def test_a_patch_of_a_pods_status_can_ask_for_a_version(pod):
    version = pod.created.version
    changes = {"metadata": {"resourceVersion": version}, "status": {"phase": "Running"}}

    first = await pod.ask("PATCH", "/status", changes)
    stale = await pod.ask("PATCH", "/status", changes)

    assert first.status == 200
    assert stale.refusal == (409, "Conflict")


async def test_a_pod_without_grace_is_gone_if_it_is_the_one_meant(pod):
    await pod.bind()  # so that its end would need a kubelet
    uids = (OTHER_UID, pod.uid)
    options = [{"gracePeriodSeconds": 0, "preconditions": {"uid": uid}} for uid in uids]

    refused, deleted = [await pod.ask("DELETE", body=body) for body in options]

    assert refused.refusal == (409, "Conflict")
    assert deleted.status == 200
    assert (await pod.ask("GET")).status == 404
