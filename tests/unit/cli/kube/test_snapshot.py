"""A live cluster is read once, as the same objects in files would be."""

import random
import re
from typing import Any

import msgspec
import pytest

from app.kube.connection import Connection
from app.kube.errors import ApiError
from app.kube.longhorn.resources import VOLUMES
from app.kube.resource import Resource
from app.kube.resources import CLAIMS
from app.settings import Settings
from cli.kube.cluster_objects import ClusterObjects
from cli.kube.pods import Pod
from cli.kube.resources import BUDGETS, KUBERNETES_NODES, PLANNED, PODS, SERVICES, WORKLOADS
from cli.kube.snapshot import EXPLAINING, PLANNING, Scope, read_snapshot
from cli.kube.view import build_view
from longhorn import DiskSchedule, Node, Volume
from planner.records import Budget, Service
from planner.workloads import Workload
from tests.builders import core_document, document, node_document
from tests.fakes import DISK_SCHEDULES, Answer, FakeApiServer, Fault
from tests.fakes.resources import PLAN_RESOURCES, RESOURCES

pytestmark = pytest.mark.looptime

SETTINGS = Settings(namespace="elsewhere")
CLUSTER_WIDE: dict[str, Any] = {"namespace": None}
STORAGE = {"apiVersion": "storage.k8s.io/v1"}
DOCUMENTS = [
    node_document("node-1"),
    document("Volume", "vol", spec={"size": "1"}),
    document("Replica", "vol-r-1", spec={"volumeName": "vol", "volumeSize": "1"}),
    document("Setting", "storage-over-provisioning-percentage", value="200"),
    document("BackingImage", "image"),
    core_document("StorageClass", "local", metadata=CLUSTER_WIDE, provisioner="p") | STORAGE,
    core_document("PersistentVolumeClaim", "data"),
    core_document("PersistentVolumeClaim", "data", metadata={"namespace": "shop"}),
    core_document("PersistentVolume", "pv", metadata=CLUSTER_WIDE),
    core_document("Pod", "web-0"),
    *(core_document("Node", name, metadata=CLUSTER_WIDE) for name in ("node-1", "node-2")),
]
READ = {
    "Claim": "default/data shop/data",
    "PersistentVolume": "pv",
    "StorageClass": "local",
    "Node": "node-1",
    "Volume": "vol",
    "Replica": "vol-r-1",
    "BackingImage": "image",
    "Setting": "storage-over-provisioning-percentage",
    "Pod": "default/web-0",
    "KubernetesNode": "node-1 node-2",
}
NOT_THERE = {"CsiNode", "EngineImage", "InstanceManager", "InstanceManagerUpgrade", "DiskSchedule",
             "Shard"}  # fmt: skip
POD_SPEC = {"containers": [{"resources": {"requests": {"cpu": "1"}}}]}
APIS = dict.fromkeys(("StatefulSet", "Deployment", "ReplicaSet", "DaemonSet"), "apps/v1")
APIS |= {"Job": "batch/v1"}
PLAN_DOCUMENTS = [
    *DOCUMENTS,
    *(core_document(kind, "db", spec={"template": {"spec": POD_SPEC}}) | {"apiVersion": version}
        for kind, version in APIS.items()),
    core_document("Pod", "db-0", spec=POD_SPEC),
    core_document("Service", "db"),
    core_document("PodDisruptionBudget", "db") | {"apiVersion": "policy/v1"},
]  # fmt: skip


def server_of(*documents: dict[str, Any]) -> FakeApiServer:
    server = FakeApiServer(random.Random(2), chop=0.3, resources=(*RESOURCES, *PLAN_RESOURCES))
    for each in documents:
        server.put(each)
    return server


async def snapshot(
    server: FakeApiServer, settings: Settings = SETTINGS, scope: Scope = EXPLAINING
) -> tuple[ClusterObjects, list[str]]:
    async with server.client("us") as client:
        return await read_snapshot(Connection(client), settings, scope)


async def test_a_namespace_without_longhorn_nodes_is_told():
    settings = msgspec.structs.replace(SETTINGS, longhorn_namespace="storage")

    _, [problem] = await snapshot(server_of(*DOCUMENTS), settings)

    assert problem.startswith("there is no Longhorn Node (nodes.longhorn.io) in storage; ")


async def test_everything_is_read():
    other = document("Volume", "other", metadata={"namespace": "another-longhorn"})
    server = server_of(*DOCUMENTS, other)

    found, problems = await snapshot(server)

    kinds = dict.fromkeys(map(type, found.records()))
    assert {kind.__name__: " ".join(found.of(kind)) for kind in kinds} == READ
    assert problems == []
    assert found.candidates() == ("node-1", "node-2")
    assert {call.verb for call in server.calls if call.resource} == {"list"}


async def test_disk_schedules_are_read_where_they_are_served_or_named():
    server = server_of(*DOCUMENTS)
    server.add_resource(DISK_SCHEDULES)
    server.put(document("DiskSchedule", "uuid-disk-1"))

    found, problems = await snapshot(server)
    assert (list(found.of(DiskSchedule)), problems) == (["uuid-disk-1"], [])

    server.authorize = lambda call: call.resource != "diskschedules"
    with pytest.raises(ApiError, match=r"^diskschedules\.longhorn\.io cannot be listed: 403"):
        await snapshot(server)


async def test_large_clusters_are_read_in_pages():
    volumes = [document("Volume", f"vol-{n:04}", spec={"size": "1"}) for n in range(1_100)]
    server = server_of(*volumes)

    found, _ = await snapshot(server)

    assert len(found.of(Volume)) == 1_100
    assert sum(call.resource == "volumes" for call in server.calls) == 3


async def test_objects_that_cannot_be_read_are_told_and_count():
    broken = document("Replica", "r", spec={"nodeID": "node-1", "volumeSize": "x"})

    found, problems = await snapshot(server_of(*DOCUMENTS, broken))

    assert problems == ["Replica r cannot be read: 'x' is not a size in bytes"]
    assert build_view(found).unreadable_nodes == {"node-1"}


def failing(server: FakeApiServer, resource: Resource, answer: Answer) -> FakeApiServer:
    """Have the server answer so when this kind is listed."""
    asked = (resource.group, resource.plural)
    server.faults.append(Fault(answer, lambda call: (call.group, call.resource) == asked))
    return server


FORBIDDEN = Answer(403, b"no")
ANSWERS = {
    "403: no": FORBIDDEN,
    "404": Answer(404),
    "not what an API server sends": Answer(200, b"<html>"),
}


@pytest.mark.parametrize("resource", [VOLUMES, CLAIMS, PODS, KUBERNETES_NODES])
@pytest.mark.parametrize(("text", "answer"), ANSWERS.items())
async def test_kind_that_cannot_be_listed_is_named(resource, text, answer):
    server = failing(server_of(*DOCUMENTS), resource, answer)
    if resource in (PODS, KUBERNETES_NODES) and answer is FORBIDDEN:
        _, problems = await snapshot(server)
        assert problems[-1].startswith(f"{resource.name} cannot be listed; ")
        return

    with pytest.raises(ApiError, match=f"^{re.escape(resource.name)} cannot be listed: .*{text}"):
        await snapshot(server)


async def test_what_plans_rest_on_is_read_for_them():
    found, problems = await snapshot(server_of(*PLAN_DOCUMENTS), scope=PLANNING)

    assert problems == []
    assert list(found.of(Workload)) == [f"{each} default/db" for each in APIS]
    assert (list(found.of(Service)), list(found.of(Budget))) == (["default/db"], ["default/db"])
    wishes = found.of(Pod)["default/db-0"].wishes
    assert wishes is not None
    assert wishes.requests == {"cpu": 1000}
    planned = {resource.record.__name__ for resource in PLANNED.values()} | {"PersistentVolume"}
    assert planned == {type(each).__name__ for each in found.records()} | NOT_THERE


async def test_what_only_plans_read_is_not_asked_for_otherwise():
    server = server_of(*PLAN_DOCUMENTS)

    found, _ = await snapshot(server)

    assert not found.of(Workload)
    assert not {call.group for call in server.calls} & {"apps", "batch", "policy"}


@pytest.mark.parametrize("resource", [PODS, KUBERNETES_NODES, SERVICES, BUDGETS, *WORKLOADS])
async def test_a_plan_says_what_it_means_that_a_kind_may_not_be_listed(resource):
    server = failing(server_of(*PLAN_DOCUMENTS), resource, FORBIDDEN)

    found, [problem] = await snapshot(server, scope=PLANNING)

    expected = f"{resource.name} cannot be listed; {PLANNING.without[resource.name]}"
    assert problem.startswith(expected)
    assert found.of(Node)
