"""The steps `cordon`, `uncordon` and `add-node`."""

import pytest
from msgspec import structs

from longhorn import Condition, Locality, Node, NodeName
from planner.records import KubernetesNode, Taint
from planner.steps.draining import Drain
from planner.steps.nodes import AddNode, Cordon, LoseNode
from planner.steps.settings import ChangeSetting
from tests.builders import GIB, bound, disk, node, replica, setting, volume
from tests.unit.planner.clusters import kubernetes_node, nodes_of, pod_with
from tests.unit.planner.plans import (
    copies_of,
    error_of,
    immediate,
    node_of,
    place,
    plan_of,
    running,
    scheduled_gib,
    told,
    volume_of,
)

UNSCHEDULABLE = Taint(key="node.kubernetes.io/unschedulable", value="", effect="NoSchedule")
IGNORED = setting("disable-scheduling-on-cordoned-node", "false")
CORDON = Cordon(nodes=("node-1",))
UNCORDON = Cordon(nodes=("node-1",), is_cordoned=False)


def cordoned(name: str, **fields: object) -> KubernetesNode:
    """Build a cordoned node as Kubernetes shows it."""
    found = kubernetes_node(name, cordoned=True, taints=(UNSCHEDULABLE,))
    return structs.replace(found, **fields)


def test_a_cordoned_node_gets_neither_pods_nor_replicas():
    plan = plan_of(*nodes_of("ab"))
    plan.take(CORDON)

    place(plan, 2, copies=2)

    assert (node_of(plan, "new-0"), node_of(plan, "new-1")) == ("node-2", "node-2")
    assert copies_of(plan, volume_of(plan, "data-new-0")) == ["node-2"]


@pytest.mark.parametrize("before", [True, False], ids=["set-before", "set-after"])
def test_longhorn_may_be_told_to_use_cordoned_nodes(*, before):
    plan = plan_of(*nodes_of("ab"), *([IGNORED] if before else []))
    plan.take(CORDON)
    if not before:
        plan.take(ChangeSetting(name=IGNORED.name, value="false"))

    place(plan, 1, copies=2)

    assert node_of(plan, "new-0") == "node-2"
    assert copies_of(plan, volume_of(plan, "data-new-0")) == ["node-1", "node-2"]


def test_told_the_contrary_longhorn_uses_them_no_more():
    plan = plan_of(*nodes_of("ab"), IGNORED)
    plan.take(CORDON)
    plan.take(ChangeSetting(name=IGNORED.name, value="true"))

    place(plan, 1, copies=2)

    assert copies_of(plan, volume_of(plan, "data-new-0")) == ["node-2"]


def test_an_uncordoned_node_gets_what_waits():
    plan = plan_of(
        cordoned("node-1"),
        node("node-1", disk("node-1-disk"), schedulable=False),
    )
    place(plan, 1)

    report = plan.take(UNCORDON)

    assert told(report) == ["placed default/new-0 node-1"]


def test_an_uncordoned_node_has_no_taint_of_the_cordon_left():
    plan = plan_of(cordoned("node-1"))

    plan.take(UNCORDON)

    assert plan.cluster.nodes[NodeName("node-1")].taints == ()


def test_a_node_that_longhorn_shuns_for_another_cause_stays_so():
    other = structs.replace(node("node-1"), schedulable=Condition("False", "Other"))
    plan = plan_of(cordoned("node-1"), other)

    plan.take(UNCORDON)

    assert not plan.cluster.all(Node)["node-1"].schedulable.is_true


def test_a_cordon_alone_moves_replicas_if_longhorn_is_told_to():
    plan = plan_of(
        *nodes_of("ab"),
        setting("node-drain-policy", "block-for-eviction"),
        *bound(volume("old", locality=Locality.DISABLED)),
        replica("old-r", of="old", disk="node-1-disk"),
    )

    plan.take(CORDON)

    assert copies_of(plan, "old") == ["node-2"]


def test_a_policy_set_later_moves_them_too():
    plan = plan_of(
        *nodes_of("ab"),
        *bound(volume("old", locality=Locality.DISABLED)),
        replica("old-r", of="old", disk="node-1-disk"),
    )
    plan.take(CORDON)
    assert copies_of(plan, "old") == ["node-1"]

    plan.take(ChangeSetting(name="node-drain-policy", value="block-for-eviction"))

    assert copies_of(plan, "old") == ["node-2"]


def test_a_new_node_is_as_the_other_one_and_empty():
    model = kubernetes_node("node-1", labels={"kubernetes.io/hostname": "node-1", "rack": "r"})
    listed = {"some-r": 10 * GIB}
    plan = plan_of(
        model,
        node("node-1", disk("d", listed=listed, tags=("ssd",), reserved_bytes=GIB), zone="a"),
    )

    plan.take(AddNode(name="node-2", like="node-1"))

    made = plan.cluster.nodes[NodeName("node-2")]
    assert made.labels == {"kubernetes.io/hostname": "node-2", "rack": "r"}
    [space] = plan.cluster.view.spaces[NodeName("node-2")].disks
    assert (space.disk.tags, space.disk.reserved_bytes) == (frozenset({"ssd"}), GIB)
    assert scheduled_gib(plan, "node-2") == [0]
    assert plan.cluster.all(Node)["node-2"].zone == "a"


def test_a_node_like_one_in_trouble_is_well():
    gone = Taint(key="node.kubernetes.io/unreachable", value="", effect="NoExecute")
    own = Taint(key="team", value="a", effect="NoSchedule")
    plan = plan_of(
        cordoned("node-1", taints=(UNSCHEDULABLE, gone, own)),
        node("node-1", disk("d", allow_scheduling=False), ready=False, schedulable=False),
    )

    plan.take(AddNode(name="node-2", like="node-1"))

    made = plan.cluster.nodes[NodeName("node-2")]
    assert (made.cordoned, made.taints) == (False, (own,))
    assert plan.cluster.view.spaces[NodeName("node-2")].takes_replicas


def test_each_pod_that_every_node_has_takes_of_the_new_one_too():
    agent = pod_with(
        name="agent-x",
        on="node-1",
        owner=("DaemonSet", "agent"),
        of_daemon_set=True,
        requests={"cpu": 500},
    )
    plan = plan_of(*nodes_of("a"), agent, pod_with(name="web", on="node-1"))

    plan.take(AddNode(name="node-2", like="node-1"))

    assert [*plan.cluster.pods_on(NodeName("node-2"))] == ["default/agent-node-2"]
    assert plan.cluster.requested(NodeName("node-2"))["cpu"] == 500


def test_pods_and_replicas_that_wait_get_the_new_node():
    plan = plan_of(*nodes_of("a", size_bytes=25 * GIB), *running("db-0", "node-1"))
    place(plan, 2, copies=2, ordered=False)

    report = plan.take(AddNode(name="node-2", like="node-1"))

    assert told(report) == [
        "replica_placed default/data-new-0 node-2",
        "placed default/new-1 node-2",
    ]


def test_a_volume_made_before_its_pod_gets_replicas_on_the_new_node():
    plan = plan_of(*nodes_of("a"))
    place(plan, 1, of_class=immediate(numberOfReplicas="2"))

    report = plan.take(AddNode(name="node-2", like="node-1"))

    assert told(report) == ["replica_placed default/data-new-0 node-2"]


@pytest.mark.parametrize(
    ("step", "text"),
    [
        (AddNode(name="node-2", like="node-1"), "there is a node node-2 already"),
        (AddNode(name="node-3", like="node-9"), "there is no node node-9"),
        (Cordon(nodes=("node-1", "node-9")), "there is no node node-9"),
        (Drain(nodes=("node-1", "nod-1")), "did you mean node-1"),
        (LoseNode(nodes=("node-2", "nod-1")), "did you mean node-1"),
    ],
)
def test_what_cannot_be_says_why_and_changes_nothing(step, text):
    plan = plan_of(*nodes_of("ab"))

    assert text in error_of(plan, step)
    assert [each.cordoned for each in plan.cluster.nodes.values()] == [False, False]


def test_a_node_like_one_whose_disk_shows_no_size_is_refused():
    plan = plan_of(
        kubernetes_node("node-1"),
        node("node-1", disk("broken", ready=False, maximum_bytes=0)),
    )

    assert "disk broken of node node-1 shows no size" in error_of(
        plan, AddNode(name="node-2", like="node-1")
    )
    assert [*plan.cluster.nodes] == ["node-1"]


def test_a_cordoned_node_is_said_to_be_cordoned():
    plan = plan_of(*nodes_of("a"))
    plan.take(CORDON)

    [event] = place(plan, 1).events

    assert [each.code for each in event.reasons] == ["node_cordoned"]
