"""What kube-scheduler and kubelets ask of pods: their place on a node, their status, their end."""

import os
from typing import Any

import pytest
from kubernetes_asyncio.client import ApiClient

from tests.actors.api import PODS
from tests.contract.exchange import Folder, Reply
from tests.e2e.control_plane import ControlPlane
from tests.e2e.controlplane import versions

pytestmark = pytest.mark.usefixtures("created")

OTHER_UID = "35bf992d-c9e9-4616-a12e-7696a6cecc1b"


@pytest.fixture
def pods(api_client: ApiClient, namespace: str) -> Folder:
    return Folder(api_client, PODS.path(namespace))


@pytest.fixture
async def created(pods: Folder) -> Reply:
    """Create a pod without a node; return the answer."""
    return await pods.create(spec={"containers": [{"name": "main", "image": "any"}]})


@pytest.fixture
def uid(created: Reply) -> str:
    return str(created.json["metadata"]["uid"])


async def bind(pods: Folder, node: str = "node-1", **metadata: str) -> Reply:
    body = {
        "apiVersion": "v1",
        "kind": "Binding",
        "metadata": {"name": "a", **metadata},
        "target": {"apiVersion": "v1", "kind": "Node", "name": node},
    }
    return await pods.post(body, "a/binding")


def scheduled(found: Any) -> list[tuple[str, str]]:
    """Return status and reason of the conditions PodScheduled."""
    conditions = [each for each in found["status"]["conditions"] if each["type"] == "PodScheduled"]
    return [(each["status"], each.get("reason", "")) for each in conditions]


@pytest.fixture
def ends_expectations(real: ControlPlane | None) -> None:
    if real is not None and not versions.chosen(os.environ).ends_expectations:
        pytest.skip("this Kubernetes keeps nominatedNodeName when a pod is bound, until 1.35")


async def test_a_binding_puts_a_pod_on_a_node(pods, created, uid):
    refused = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable"}
    await pods.patch({"status": {"conditions": [refused]}}, "a/status")

    answer = await bind(pods, uid=uid, namespace=created.json["metadata"]["namespace"])

    found = (await pods.read()).json
    assert (answer.status, answer.json["kind"], answer.json["status"]) == (201, "Status", "Success")
    assert found["spec"]["nodeName"] == "node-1"
    assert scheduled(found) == [("True", "")]


@pytest.mark.usefixtures("ends_expectations")
async def test_a_binding_ends_the_expectation_of_another_node(pods):
    patched = await pods.patch({"status": {"nominatedNodeName": "node-2"}}, "a/status")
    assert patched.json["status"]["nominatedNodeName"] == "node-2"

    await bind(pods)

    assert "nominatedNodeName" not in (await pods.read()).json["status"]


async def test_a_pod_is_bound_once(pods):
    answers = [await bind(pods, node) for node in ("node-1", "node-1", "node-2")]

    assert answers[0].status == 201
    assert [answer.refusal for answer in answers[1:]] == [(409, "Conflict")] * 2
    assert (await pods.read()).json["spec"]["nodeName"] == "node-1"


async def test_another_pod_of_the_same_name_is_not_bound(pods):
    refused = await bind(pods, uid=OTHER_UID)

    assert refused.refusal == (409, "Conflict")
    assert "nodeName" not in (await pods.read()).json["spec"]


async def test_an_annotation_of_a_pod_is_merged_in(pods, created):
    for annotations in ({"one": "1"}, {"two": "2"}):
        patched = await pods.patch({"metadata": {"annotations": annotations}})

    assert patched.json["metadata"]["annotations"] == {"one": "1", "two": "2"}
    assert patched.json["spec"] == created.json["spec"]


async def test_a_patch_of_a_pods_status_leaves_its_spec(pods, created):
    status = {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}

    patched = await pods.patch({"spec": {"nodeName": "any"}, "status": status}, "a/status")

    assert (patched.status, patched.json["kind"]) == (200, "Pod")
    assert patched.json["status"]["phase"] == "Running"
    assert patched.json["spec"] == created.json["spec"]
    assert patched.version != created.version
    assert (await pods.read()).json == patched.json


async def test_a_patch_of_a_pods_status_can_ask_for_a_version(pods, created):
    version = created.version
    changes = {"metadata": {"resourceVersion": version}, "status": {"phase": "Running"}}

    first = await pods.patch(changes, "a/status")
    stale = await pods.patch(changes, "a/status")

    assert first.status == 200
    assert stale.refusal == (409, "Conflict")


async def test_a_pod_without_grace_is_gone_if_it_is_the_one_meant(pods, uid):
    await bind(pods)  # so that its end would need a kubelet
    uids = (OTHER_UID, uid)
    options = [{"gracePeriodSeconds": 0, "preconditions": {"uid": uid}} for uid in uids]

    refused, deleted = [await pods.delete(body=body) for body in options]

    assert refused.refusal == (409, "Conflict")
    assert deleted.status == 200
    assert (await pods.read()).status == 404
