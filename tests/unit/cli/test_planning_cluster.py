"""The cluster that a plan begins with, from files and from objects that lack something.

The rows stand in `golden/planned-clusters.txt`: a fact, the objects, as `objects_of` reads them,
and what the cluster has.
"""

from typing import Any

from app.settings import Settings
from cli.files import load_cluster
from cli.kube.cluster_objects import ClusterObjects
from cli.kube.decoding import read_object
from cli.kube.resources import PLANNED
from cli.missing import PLANNED_FROM, missing
from cli.planning.cluster import planned_cluster
from extender.kubernetes import Claim, PersistentVolume
from longhorn import Node, Setting, Unreadable
from planner.cluster import Cluster
from tests.builders import (
    conditions,
    core_document,
    document,
    node_document,
    runner_documents,
    setting_documents,
)
from tests.unit.cli.plans import EXAMPLES, objects_of, rows_of, shown, write
from tests.unit.cli.situations import claim, storage_class

Document = dict[str, Any]


def pod(name: str, node: str | None = None, phase: str = "Running", **spec: Any) -> Document:
    containers = [{"resources": {"requests": {"cpu": "500m"}}}]
    spec = {"nodeName": node, "containers": containers, **spec}
    uid = {"uid": f"uid-{name}"}
    return core_document("Pod", name, metadata=uid, spec=spec, status={"phase": phase})


def cluster_of(*documents: Document) -> ClusterObjects:
    objects = ClusterObjects()
    for each in documents:
        record = read_object(each, PLANNED)
        assert record is not None
        assert objects.add(record)
    return objects


def told(cluster: Cluster, notes: list[str]) -> str:
    """Write what a cluster has, and what is not known."""
    view, nodes = cluster.view, cluster.nodes
    records: list[object] = [*nodes.values(), *cluster.pods.values()]
    records += [*cluster.services, *cluster.budgets]
    for kind in (Setting, PersistentVolume, Unreadable):
        records += cluster.all(kind).values()
    names = {
        "claims": cluster.all(Claim),
        "nodes of Longhorn": cluster.all(Node),
        "volumes of the view": view.persistent_volumes,
        "unreadable nodes": view.unreadable_nodes,
        "held for": [each.pod.name for each in cluster.extender.ledger],
    }
    return "\n".join([
        *map(shown, records),
        *(f"asked for on {name}: {shown(cluster.requested(name))}" for name in nodes),
        *(f"{what}: {' '.join(found)}" for what, found in names.items() if found),
        f"free storage counts: {cluster.scores_capacity}",
        *(f"note: {each}" for each in notes),
    ])  # fmt: skip


def of_kubelet(version: str) -> Document:
    """Build a Kubernetes Node whose kubelet has this version, or does not say which."""
    status = {"allocatable": {"cpu": "4"}, "nodeInfo": {"kubeletVersion": version}}
    return core_document("Node", f"node-{version}", status=status)


AFFINITY = {"required": {"nodeSelectorTerms": [
    {"matchExpressions": [{"key": "zone", "operator": "In", "values": ["a"]}]}]}}  # fmt: skip
CORDONED = [*conditions(Ready="True", Schedulable="False")]
CORDONED[1]["reason"] = "KubernetesNodeCordoned"
PODS = {"template": {"spec": {"containers": [{"name": "main"}]}}}
WEB = [{"name": "d", "persistentVolumeClaim": {"claimName": "web"}}]
BUILDERS: dict[str, Any] = {
    each.__name__: each
    for each in (claim, core_document, document, node_document, of_kubelet, pod, storage_class)
} | {
    "node": core_document("Node", "node-1", status={"allocatable": {"cpu": "4", "memory": "8Gi"}}),
    "node_cordoned": node_document("node-2", status={"conditions": CORDONED}),
    "budget": core_document("PodDisruptionBudget", "web") | {"apiVersion": "policy/v1"},
    "limited_volume": core_document("PersistentVolume", "pv", spec={"nodeAffinity": AFFINITY}),
    "broken": document("Replica", "r", spec={"nodeID": "node-1", "volumeSize": "x"}),
    "tracked": document("Setting", "csi-storage-capacity-tracking", value="true"),
    "second": core_document("Deployment", "longhorn-scheduler", spec=PODS) | {
        "apiVersion": "apps/v1"},
}  # fmt: skip
ROWS = rows_of("planned-clusters")


def test_cluster_of_a_plan_is_that_of_the_objects(golden):
    text = list[str]()
    for name, (fact, words) in ROWS.items():
        objects = cluster_of(*objects_of(words, BUILDERS, {"WEB": WEB}))

        found = told(*planned_cluster(objects, Settings(), None))

        assert fact in found, name
        text.append(f"# {name}: {fact}\n{words}\n{found}\n")

    golden("planned-clusters", "\n".join(text))


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
    objects = cluster_of(node_document("node-1"), *setting_documents(), *runner_documents("node-1"))

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
