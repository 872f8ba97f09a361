"""The cluster that a plan begins with, from files and from objects that lack something."""

from typing import Any

import pytest

from app.settings import Settings
from cli.files import load_cluster
from cli.kube.cluster_objects import ClusterObjects
from cli.kube.decoding import read_object
from cli.kube.resources import PLANNED
from cli.missing import PLANNED_FROM, missing
from cli.planning.cluster import planned_cluster
from extender.kubernetes import Claim, NodeTerm, PersistentVolume, Requirement
from longhorn import Node, NodeName, Setting, Unreadable
from planner.cluster import Cluster
from tests.builders import (
    GIB,
    conditions,
    core_document,
    document,
    node_document,
    runner_documents,
    setting_documents,
)
from tests.unit.cli.plans import EXAMPLES, write
from tests.unit.cli.situations import claim, storage_class


def pod(name: str, node: str | None = None, phase: str = "Running", **spec: Any) -> Any:
    containers = [{"resources": {"requests": {"cpu": "500m"}}}]
    spec = {"nodeName": node, "containers": containers, **spec}
    uid = {"uid": f"uid-{name}"}
    return core_document("Pod", name, metadata=uid, spec=spec, status={"phase": phase})


def objects_of(*documents: dict[str, Any]) -> ClusterObjects:
    objects = ClusterObjects()
    for each in documents:
        record = read_object(each, PLANNED)
        assert record is not None
        assert objects.add(record)
    return objects


def built(*documents: dict[str, Any]) -> tuple[Cluster, list[str]]:
    return planned_cluster(objects_of(*documents), Settings(), None)


NODE = core_document("Node", "node-1", status={"allocatable": {"cpu": "4", "memory": "8Gi"}})


def test_pods_take_what_they_ask_for_where_they_are():
    cluster, notes = built(NODE, pod("a", "node-1"), pod("b"))

    assert notes == []
    assert cluster.nodes[NodeName("node-1")].allocatable == {"cpu": 4000, "memory": 8 * GIB}
    assert cluster.requested(NodeName("node-1")) == {"pods": 1, "cpu": 500}
    there = {key: each.node for key, each in cluster.pods.items()}
    assert there == {"default/a": "node-1", "default/b": None}
    assert cluster.pods["default/a"].wishes.node_name is None


@pytest.mark.parametrize("phase", ["Succeeded", "Failed"])
def test_pods_that_have_ended_take_nothing(phase):
    assert built(NODE, pod("a", "node-1", phase))[0].pods == {}


def test_pods_of_files_without_uid_are_told_apart():
    cluster, _ = built(core_document("Pod", "a"), core_document("Pod", "b"))

    assert [each.ref.uid for each in cluster.pods.values()] == ["default/a", "default/b"]


def test_nodes_that_say_nothing_have_no_limit():
    cluster, [note] = built(core_document("Node", "a"), core_document("Node", "b"), NODE)

    assert note == (
        "Kubernetes Node a and 1 more do not say what pods may ask for (status.allocatable); "
        "there is no limit of CPU, memory and pods there"
    )
    assert cluster.nodes[NodeName("b")].allocatable == {}
    assert cluster.nodes[NodeName("node-1")].allocatable["cpu"] == 4000


def test_without_kubernetes_nodes_longhorns_count():
    cordoned = [*conditions(Ready="True", Schedulable="False")]
    cordoned[1]["reason"] = "KubernetesNodeCordoned"

    cluster, notes = built(
        node_document("node-1", status={"zone": "a", "region": "r"}),
        node_document("node-2", status={"conditions": cordoned}),
    )

    assert notes == []
    first, second = cluster.nodes.values()
    assert first.labels == {
        "kubernetes.io/hostname": "node-1",
        "topology.kubernetes.io/zone": "a",
        "topology.kubernetes.io/region": "r",
    }
    assert (first.cordoned, second.cordoned, first.allocatable) == (False, True, {})


def test_all_else_is_in_the_cluster_too():
    on_a = {"matchExpressions": [{"key": "zone", "operator": "In", "values": ["a"]}]}
    affinity = {"required": {"nodeSelectorTerms": [on_a]}}
    cluster, _ = built(
        node_document("node-1"),
        document("Setting", "x", value="1"),
        core_document("PersistentVolumeClaim", "data"),
        core_document("Service", "web"),
        core_document("PodDisruptionBudget", "web") | {"apiVersion": "policy/v1"},
        core_document("PersistentVolume", "pv", spec={"nodeAffinity": affinity}),
        core_document("PersistentVolume", "anywhere"),
    )

    assert (list(cluster.all(Node)), list(cluster.all(Setting))) == (["node-1"], ["x"])
    assert list(cluster.all(Claim)) == ["default/data"]
    assert [each.key for each in cluster.services] == ["default/web"]
    assert [each.key for each in cluster.budgets] == ["default/web"]
    zone = NodeTerm(labels=(Requirement(key="zone", operator="In", values=("a",)),))
    limits = {name: each.terms for name, each in cluster.all(PersistentVolume).items()}
    assert limits == {"anywhere": None, "pv": (zone,)}
    assert list(cluster.view.persistent_volumes) == ["pv", "anywhere"]


def test_what_cannot_be_read_keeps_pods_away_as_in_the_service():
    broken = document("Replica", "r", spec={"nodeID": "node-1", "volumeSize": "x"})

    cluster, _ = built(NODE, node_document("node-1"), broken)

    assert [each.name for each in cluster.all(Unreadable).values()] == ["r"]
    assert cluster.view.unreadable_nodes == {"node-1"}


def test_pods_on_their_way_to_a_node_hold_room():
    own = [{"name": "d", "persistentVolumeClaim": {"claimName": "web"}}]
    there = [NODE, node_document("node-1"), storage_class(), claim(gib=1)]

    cluster, _ = built(*there, pod("a", "node-1", "Pending", volumes=own))

    assert [each.pod.name for each in cluster.extender.ledger] == ["a"]


def test_an_example_is_read_from_its_files():
    objects, problems = load_cluster(EXAMPLES / "goal1", kinds=PLANNED)
    cluster, notes = planned_cluster(objects, Settings(), None)

    assert problems == notes == []
    assert len(cluster.pods) == 16
    assert {each.allocatable["cpu"] for each in cluster.nodes.values()} == {8000}
    web = cluster.pods["default/web-0"]
    assert web.wishes.requests == {"cpu": 100, "memory": 128 * 2**20}
    assert web.wishes.owner == ("StatefulSet", "web")


def test_a_plan_says_what_it_does_not_know_without_pods_and_nodes():
    objects = objects_of(node_document("node-1"), *setting_documents(), *runner_documents("node-1"))

    lines = list(missing(objects, "c.yaml", PLANNED_FROM, ()))

    assert lines == [
        "c.yaml: no pods, though every cluster has some; nothing takes CPU, memory or ports, and "
        "no pod is moved",
        "c.yaml: no nodes, though every cluster has some; the nodes are Longhorn's, with their "
        "zones, and without taints, other labels and limits of CPU, memory and pods",
        "to add what is missing: kubectl get --all-namespaces -o json pods,nodes > more.json, then "
        "add --also more.json",
    ]


def test_a_volume_of_two_files_is_that_of_the_first(tmp_path):
    for name in ("one", "two"):
        csi = {"driver": "driver.longhorn.io", "volumeHandle": name}
        write(tmp_path / name, core_document("PersistentVolume", "pv", spec={"csi": csi}))

    objects, [problem] = load_cluster(tmp_path / "one", tmp_path / "two", kinds=PLANNED)
    cluster, _ = planned_cluster(objects, Settings(), None)

    assert cluster.view.persistent_volumes["pv"].volume_handle == "one"
    assert "has PersistentVolume pv again" in problem
