"""The steps `cordon`, `uncordon` and `add`."""

import pytest
from msgspec import structs

from longhorn import Condition, Node, NodeName
from planner.records import KubernetesNode, Taint
from planner.steps.draining import Drain
from planner.steps.nodes import AddNode, Cordon, LoseNode
from tests.builders import GIB, disk, node
from tests.unit.planner.clusters import kubernetes_node, pod_with
from tests.unit.planner.notation import records_of, result_of, scheduled_in, step_of, taken
from tests.unit.planner.plans import error_of, immediate, place, plan_of, told

UNSCHEDULABLE = Taint(key="node.kubernetes.io/unschedulable", value="", effect="NoSchedule")
SKIPPED = "disable-scheduling-on-cordoned-node"
ADD = AddNode(name="node-2", like="node-1")
DEGRADED = "volume_degraded Volume of data-new"
MOVED = "replica_placed old 2 | replica_removed old 1"

ROWS = {
    "cordoned-node-gets-neither-pods-nor-replicas": ("ab", "cordon 1; place 2*2",
        f"placed new-0 2 | placed new-1 2 | {DEGRADED}-0 | {DEGRADED}-1",
        ".new-0@2 .new-1@2 data-new-0[2] data-new-1[2]"),
    "cordoned-node-may-get-replicas": (f"ab {SKIPPED}=false", "cordon 1; place 1*2",
        "placed new-0 2", ".new-0@2 data-new-0[1,2]"),
    "cordoned-node-may-get-replicas-from-now-on": ("ab",
        f"cordon 1; set {SKIPPED} false; place 1*2", "placed new-0 2", ".new-0@2 data-new-0[1,2]"),
    "cordoned-node-may-get-replicas-no-more": (f"ab {SKIPPED}=false",
        f"cordon 1; set {SKIPPED} true; place 1*2", f"placed new-0 2 | {DEGRADED}-0",
        ".new-0@2 data-new-0[2]"),
    "cordon-alone-moves-replicas-if-they-are-evicted": ("ab =block-for-eviction old[1]~",
        "cordon 1", MOVED, "old[2]"),
    "cordon-alone-moves-none-else": ("ab old[1]~", "cordon 1", "", "old[1]"),
    "policy-set-later-moves-them-too": ("ab old[1]~",
        "cordon 1; set node-drain-policy block-for-eviction", MOVED, "old[2]"),
    "new-node-gets-pods-and-replicas-that-wait": ("a:25 db@1",
        "place 2*2 parallel; add 2 like 1",
        f"replica_placed data-new-0 2 | placed new-1 2 | {DEGRADED}-1",
        ".new-0@1 .new-1@2 data-new-0[1,2] data-new-1[2] db@1[1]"),
}  # fmt: skip
"""Cluster, steps, what the last one told, and what is found then."""


@pytest.mark.parametrize(("cluster", "steps", "told", "left"), ROWS.values(), ids=ROWS)
def test_nodes(cluster, steps, told, left):
    assert taken(cluster, steps) == (told, left)


def cordoned(name: str, **fields: object) -> KubernetesNode:
    """Build a cordoned node as Kubernetes shows it."""
    found = kubernetes_node(name, cordoned=True, taints=(UNSCHEDULABLE,))
    return structs.replace(found, **fields)


def test_uncordoned_node_gets_what_waits_and_has_no_taint_left():
    plan = plan_of(cordoned("node-1"), node("node-1", disk("node-1-disk"), schedulable=False))

    assert result_of(plan, "place 1") == "pending new-0"
    assert [each.code for each in plan.steps[-1].events[0].reasons] == ["node_cordoned"]
    assert result_of(plan, "uncordon 1") == "placed new-0 1"
    assert plan.cluster.nodes[NodeName("node-1")].taints == ()


def test_node_that_longhorn_shuns_for_another_cause_stays_so():
    other = structs.replace(node("node-1"), schedulable=Condition("False", "Other"))
    plan = plan_of(cordoned("node-1"), other)

    plan.take(step_of("uncordon 1"))

    assert not plan.cluster.all(Node)["node-1"].schedulable.is_true


def test_new_node_is_as_the_other_one_and_empty():
    model = kubernetes_node("node-1", labels={"kubernetes.io/hostname": "node-1", "rack": "r"})
    listed = {"some-r": 10 * GIB}
    plan = plan_of(
        model,
        node("node-1", disk("d", listed=listed, tags=("ssd",), reserved_bytes=GIB), zone="a"),
    )

    plan.take(ADD)

    made = plan.cluster.nodes[NodeName("node-2")]
    assert made.labels == {"kubernetes.io/hostname": "node-2", "rack": "r"}
    [space] = plan.cluster.view.spaces[NodeName("node-2")].disks
    assert (space.disk.tags, space.disk.reserved_bytes) == (frozenset({"ssd"}), GIB)
    assert scheduled_in(plan) == "1:10 2:0"
    assert plan.cluster.all(Node)["node-2"].zone == "a"


def test_node_like_one_in_trouble_is_well():
    gone = Taint(key="node.kubernetes.io/unreachable", value="", effect="NoExecute")
    own = Taint(key="team", value="a", effect="NoSchedule")
    plan = plan_of(
        cordoned("node-1", taints=(UNSCHEDULABLE, gone, own)),
        node("node-1", disk("d", allow_scheduling=False), ready=False, schedulable=False),
    )

    plan.take(ADD)

    made = plan.cluster.nodes[NodeName("node-2")]
    assert (made.cordoned, made.taints) == (False, (own,))
    assert plan.cluster.view.spaces[NodeName("node-2")].takes_replicas


def test_new_node_gets_each_pod_that_every_node_has():
    agent = pod_with(
        name="agent-x",
        on="node-1",
        owner=("DaemonSet", "agent"),
        of_daemon_set=True,
        requests={"cpu": 500},
    )
    plan = plan_of(*records_of("a .web@1"), agent)

    plan.take(ADD)

    assert [*plan.cluster.pods_on(NodeName("node-2"))] == ["default/agent-node-2"]
    assert plan.cluster.requested(NodeName("node-2"))["cpu"] == 500


def test_volume_made_before_its_pod_gets_replicas_on_the_new_node():
    plan = plan_of(*records_of("a"))
    place(plan, 1, of_class=immediate(numberOfReplicas="2"))

    report = plan.take(ADD)

    assert told(report) == ["replica_placed default/data-new-0 node-2"]


@pytest.mark.parametrize(
    ("step", "text"),
    [
        (ADD, "there is a node node-2 already"),
        (AddNode(name="node-3", like="node-9"), "there is no node node-9"),
        (Cordon(nodes=("node-1", "node-9")), "there is no node node-9"),
        (Drain(nodes=("node-1", "nod-1")), "did you mean node-1"),
        (LoseNode(nodes=("node-2", "nod-1")), "did you mean node-1"),
    ],
)
def test_step_that_cannot_be_taken_says_why_and_changes_nothing(step, text):
    plan = plan_of(*records_of("ab"))

    assert text in error_of(plan, step)
    assert [each.cordoned for each in plan.cluster.nodes.values()] == [False, False]


def test_node_like_one_whose_disk_shows_no_size_is_refused():
    plan = plan_of(*records_of("a"), node("node-1", disk("broken", ready=False, maximum_bytes=0)))

    assert "disk broken of node node-1 shows no size" in error_of(plan, ADD)
    assert [*plan.cluster.nodes] == ["node-1"]
