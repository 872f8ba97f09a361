"""What kube-scheduler asks of pods: their place on a node."""

from typing import Any

from kubernetes_asyncio.client import ApiClient

from tests.contract.exchange import Reply, ask, named
from tests.contract.paths import pods

OTHER_UID = "35bf992d-c9e9-4616-a12e-7696a6cecc1b"
NODE = {"apiVersion": "v1", "kind": "Node", "name": "node-1"}


def binding(name: str = "a", *, target: Any = NODE, **metadata: str) -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "Binding",
        "metadata": {"name": name, **metadata},
        "target": target,
    }


async def bind(api_client: ApiClient, namespace: str, body: Any, pod: str = "a") -> Reply:
    return await ask(api_client, "POST", f"{pods(namespace)}/{pod}/binding", body=body)


async def create_pod(api_client: ApiClient, namespace: str) -> Reply:
    spec = {"containers": [{"name": "main", "image": "any"}]}
    created = await ask(api_client, "POST", pods(namespace), body=named("a", spec=spec))
    assert created.status == 201
    return created


async def read_pod(api_client: ApiClient, namespace: str) -> Any:
    return (await ask(api_client, "GET", f"{pods(namespace)}/a")).json


async def test_a_binding_puts_a_pod_on_a_node(api_client: ApiClient, namespace: str) -> None:
    created = await create_pod(api_client, namespace)

    answer = await bind(
        api_client, namespace, binding(uid=created.json["metadata"]["uid"], namespace=namespace)
    )

    pod = await read_pod(api_client, namespace)
    assert (answer.status, answer.json["kind"], answer.json["status"]) == (201, "Status", "Success")
    assert pod["spec"]["nodeName"] == "node-1"
    [scheduled] = [each for each in pod["status"]["conditions"] if each["type"] == "PodScheduled"]
    assert (scheduled["status"], scheduled.get("reason", "")) == ("True", "")
    assert scheduled["lastTransitionTime"]


async def test_a_binding_ends_the_expectation_of_a_node(
    api_client: ApiClient, namespace: str
) -> None:
    await create_pod(api_client, namespace)
    refused = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable"}
    status = {"nominatedNodeName": "node-2", "conditions": [refused]}
    patched = await ask(api_client, "PATCH", f"{pods(namespace)}/a/status", body={"status": status})
    assert patched.json["status"]["nominatedNodeName"] == "node-2"

    await bind(api_client, namespace, binding())

    pod = await read_pod(api_client, namespace)
    assert pod["spec"]["nodeName"] == "node-1"
    assert "nominatedNodeName" not in pod["status"]
    found = [each for each in pod["status"]["conditions"] if each["type"] == "PodScheduled"]
    assert [(each["status"], each.get("reason", "")) for each in found] == [("True", "")]


async def test_a_pod_is_bound_once(api_client: ApiClient, namespace: str) -> None:
    await create_pod(api_client, namespace)
    other = {**NODE, "name": "node-2"}

    answers = [
        await bind(api_client, namespace, binding(target=target)) for target in (NODE, NODE, other)
    ]

    assert answers[0].status == 201
    assert [answer.refusal for answer in answers[1:]] == [(409, "Conflict")] * 2
    assert (await read_pod(api_client, namespace))["spec"]["nodeName"] == "node-1"


async def test_another_pod_of_the_same_name_is_not_bound(
    api_client: ApiClient, namespace: str
) -> None:
    await create_pod(api_client, namespace)

    refused = await bind(api_client, namespace, binding(uid=OTHER_UID))

    assert refused.refusal == (409, "Conflict")
    assert "nodeName" not in (await read_pod(api_client, namespace))["spec"]


async def test_an_annotation_of_a_pod_is_merged_in(api_client: ApiClient, namespace: str) -> None:
    created = await create_pod(api_client, namespace)
    path = f"{pods(namespace)}/a"
    for annotations in ({"one": "1"}, {"two": "2"}):
        patched = await ask(
            api_client, "PATCH", path, body={"metadata": {"annotations": annotations}}
        )

    assert patched.json["metadata"]["annotations"] == {"one": "1", "two": "2"}
    assert patched.json["spec"] == created.json["spec"]
