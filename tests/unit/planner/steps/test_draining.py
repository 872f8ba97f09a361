"""The step `drain`: what kubectl, budgets and Longhorn do with a node's pods and replicas."""

from typing import Any

import pytest
from msgspec import structs

from longhorn import Locality, NodeName
from planner.picture import Kind
from planner.plan import Plan
from planner.records import PodTerm, Selector
from planner.steps.draining import Drain
from planner.steps.nodes import AddNode, Cordon
from tests.builders import GIB, bound, disk, instance_manager, node, replica, setting, volume
from tests.unit.planner.clusters import kubernetes_node, nodes_of, pod_with
from tests.unit.planner.plans import (
    budget,
    copies_of,
    node_of,
    plan_of,
    running,
    scheduled_gib,
    texts,
    told,
)

ALWAYS = setting("node-drain-policy", "always-allow")
EVICT = setting("node-drain-policy", "block-for-eviction")
EVICT_LAST = setting("node-drain-policy", "block-for-eviction-if-contains-last-replica")
NODE_1 = NodeName("node-1")


def drain(*names: str, **flags: bool) -> Drain:
    return Drain(nodes=names or ("node-1",), **flags)


def pending_on_node_1(plan: Plan) -> list[str]:
    return sorted(plan.cluster.pods_on(NODE_1))


def test_pods_move_and_the_node_is_cordoned():
    plan = plan_of(*nodes_of("ab"), *running("db-0", "node-1"), ALWAYS)

    report = plan.take(drain())

    [event] = (each for each in report.events if each.kind is Kind.MOVED)
    assert (event.object, event.before, event.node) == ("default/db-0", "node-1", "node-2")
    assert plan.cluster.nodes[NODE_1].cordoned


def test_the_last_replica_follows_a_pod_and_the_drain_ends():
    plan = plan_of(*nodes_of("ab"), *running("db-0", "node-1"))

    report = plan.take(drain())

    assert copies_of(plan, "db-0") == ["node-2"]
    assert scheduled_gib(plan, "node-1") == [0]
    assert texts(report) == []


def test_a_node_whose_last_replica_has_no_other_place_keeps_the_drain_from_its_end():
    plan = plan_of(
        *nodes_of("a"),
        kubernetes_node("node-2"),
        node("node-2", disk("node-2-disk", maximum_bytes=5 * GIB)),
        *bound(volume("old", replicas=1)),
        replica("old-r", of="old", disk="node-1-disk"),
    )

    report = plan.take(drain())

    assert texts(report) == [
        "is not drained to the end: by node-drain-policy block-if-contains-last-replica Longhorn "
        "keeps its instance manager for default/old"
    ]


def attached_there(*, with_claim: bool) -> list[Any]:
    """Build a volume that is attached to node-1, and a replica of it on node-2."""
    of = volume(
        "used", locality=Locality.DISABLED, node="node-1", attached_to="node-1", healthy=True
    )
    copy = replica("used-r", of="used", on="node-2", disk="node-2-disk", started=True)
    return [*(bound(of) if with_claim else [of]), copy]


@pytest.mark.parametrize("with_claim", [True, False])
def test_a_volume_whose_pod_is_not_in_the_files_is_not_known_to_block(*, with_claim):
    """As in a support bundle, which has some namespaces only."""
    other = pod_with(name="other", on="node-2")
    other = structs.replace(other, ref=structs.replace(other.ref, namespace="elsewhere"))
    plan = plan_of(*nodes_of("ab"), *attached_there(with_claim=with_claim), other)

    report = plan.take(drain())

    name = "default/used" if with_claim else "used"
    assert texts(report) == []
    assert plan.report(origin="", policy="", seed=0).unplanned == (
        f"not known: which pods use {name}, attached to node node-1. If they are evicted like the "
        "others, the drain ends; if no pod uses them, or it stays, it does not",
    )


def test_a_volume_that_no_pod_of_a_known_namespace_uses_stays_attached():
    plan = plan_of(
        *nodes_of("ab"), *attached_there(with_claim=True), pod_with(name="other", on="node-2")
    )

    assert texts(plan.take(drain())) == [
        "is not drained to the end: still attached there are default/used"
    ]


@pytest.mark.parametrize(
    ("policy", "attached", "ends", "left"),
    [
        pytest.param("block-if-contains-last-replica", False, False, True, id="last-stays"),
        pytest.param("always-allow", False, True, True, id="never-waits"),
        pytest.param("allow-if-replica-is-stopped", False, True, True, id="it-is-stopped"),
        pytest.param("allow-if-replica-is-stopped", True, False, True, id="it-runs"),
        pytest.param("block-for-eviction", False, True, False, id="all-are-moved"),
        pytest.param("block-for-eviction", True, True, False, id="all-are-moved-while-in-use"),
        pytest.param(
            "block-for-eviction-if-contains-last-replica", False, True, False, id="last-is-moved"
        ),
    ],
)
def test_each_drain_policy_with_a_last_replica(
    policy,
    attached,
    ends,
    left,
):
    there = "node-2" if attached else None
    # Without locality nothing else moves the replica; its pod is on another node.
    of = volume(
        "old",
        locality=Locality.DISABLED,
        replicas=1,
        node=there,
        attached_to=there,
        healthy=attached,
    )
    plan = plan_of(
        *nodes_of("ab"),
        setting("node-drain-policy", policy),
        *bound(of),
        replica("old-r", of="old", disk="node-1-disk", started=attached),
        *([pod_with("old", name="user", on=there)] if attached else []),
    )

    report = plan.take(drain())

    assert bool(texts(report)) is not ends
    assert ("node-1" in copies_of(plan, "old")) is left


@pytest.mark.parametrize("policy", [EVICT_LAST.value, "block-if-contains-last-replica"])
def test_a_replica_with_a_healthy_peer_elsewhere_stays(policy):
    plan = plan_of(
        *nodes_of("abc"),
        setting("node-drain-policy", policy),
        *running("db-0", "node-2", "node-1", "node-2"),
    )

    report = plan.take(drain())

    assert report.events == ()
    assert copies_of(plan, "db-0") == ["node-1", "node-2"]


def test_a_peer_on_a_node_that_is_drained_too_is_no_peer():
    plan = plan_of(*nodes_of("abc"), EVICT_LAST, *running("db-0", "node-3", "node-1", "node-2"))

    plan.take(drain("node-1", "node-2"))

    assert "node-3" in copies_of(plan, "db-0")


def test_no_pod_moves_to_a_node_that_is_to_be_drained_next():
    plan = plan_of(*nodes_of("abc"), ALWAYS, *running("db-0", "node-1"))

    report = plan.take(drain("node-1", "node-2"))

    assert told(report, Kind.MOVED) == ["moved default/db-0 node-3"]


def test_kubectl_refuses_a_bare_pod_and_moves_none():
    bare = pod_with(name="bare", on="node-1", owner=None)
    plan = plan_of(*nodes_of("ab"), ALWAYS, bare, *running("db-0", "node-1"))

    report = plan.take(drain())

    assert told(report) == ["refused default/bare node-1"]
    assert "--force" in texts(report)[0]
    assert pending_on_node_1(plan) == ["default/bare", "default/db-0"]
    assert plan.cluster.nodes[NODE_1].cordoned


def test_with_force_a_bare_pod_is_lost():
    plan = plan_of(*nodes_of("ab"), ALWAYS, pod_with(name="bare", on="node-1", owner=None))

    report = plan.take(drain(force=True))

    assert told(report) == ["lost default/bare node-1"]
    assert plan.cluster.pods == {}


def test_kubectl_refuses_pods_with_an_empty_dir():
    plan = plan_of(*nodes_of("ab"), ALWAYS, pod_with(name="web", on="node-1", has_local_data=True))

    assert "--delete-emptydir-data" in texts(plan.take(drain()))[0]
    assert told(plan.take(drain(delete_local_data=True))) == ["moved default/web node-2"]


def test_after_a_refusal_the_other_nodes_are_drained():
    bare = pod_with(name="bare", on="node-1", owner=None)
    plan = plan_of(*nodes_of("abc"), ALWAYS, bare, pod_with(name="web", on="node-2"))

    report = plan.take(drain("node-1", "node-2"))

    assert told(report) == ["refused default/bare node-1", "moved default/web node-3"]


def test_after_a_drain_that_does_not_end_the_other_nodes_are_only_cordoned():
    plan = plan_of(
        *nodes_of("abc"),
        ALWAYS,
        pod_with(name="web", on="node-1", labels={"app": "db"}),
        pod_with(name="other", on="node-2"),
        budgets=[budget(most="0")],
    )

    report = plan.take(drain("node-1", "node-2"))

    assert told(report) == ["refused default/web node-1", "refused Node node-2 node-2"]
    assert plan.cluster.nodes[NodeName("node-2")].cordoned
    assert node_of(plan, "other") == "node-2"


@pytest.mark.parametrize("phase", ["Succeeded", "Failed"])
def test_a_finished_pod_goes_without_flags_or_budgets(phase):
    ended = pod_with(
        name="done", on="node-1", owner=None, has_local_data=True, phase=phase, labels={"app": "db"}
    )
    plan = plan_of(*nodes_of("ab"), ALWAYS, ended, budgets=[budget(most="0")])

    assert plan.take(drain()).events == ()
    assert plan.cluster.pods == {}


@pytest.mark.parametrize("field", ["of_daemon_set", "is_static"])
def test_pods_that_belong_to_the_node_stay(field):
    own = pod_with(name="agent", on="node-1", **{field: True})
    plan = plan_of(*nodes_of("ab"), ALWAYS, own)

    assert plan.take(drain()).events == ()
    assert node_of(plan, "agent") == "node-1"


def test_a_volume_of_a_pod_that_stays_keeps_the_drain_from_its_end():
    plan = plan_of(*nodes_of("ab"), ALWAYS, *running("agent-data", "node-1", of_daemon_set=True))

    assert texts(plan.take(drain())) == [
        "is not drained to the end: still attached there are default/agent-data"
    ]


def test_a_shared_volume_is_served_from_another_node():
    of = volume(
        "files",
        locality=Locality.DISABLED,
        shared=True,
        node="node-1",
        attached_to="node-1",
        healthy=True,
    )
    plan = plan_of(
        *nodes_of("abc"),
        ALWAYS,
        *bound(of),
        replica("files-r", of="files", on="node-3", disk="node-3-disk"),
        pod_with("files", name="web-0", on="node-1"),
        pod_with("files", name="web-1", on="node-2"),
    )

    report = plan.take(drain())

    assert texts(report) == []
    assert plan.cluster.view.volumes[of.name].attached_to != "node-1"
    assert plan.cluster.view.volumes[of.name].attached_to is not None


def test_pods_without_another_node_are_pending_and_come_back_later():
    plan = plan_of(*nodes_of("a"), ALWAYS, pod_with(name="web", on="node-1"))

    assert told(plan.take(drain())) == ["pending default/web"]
    report = plan.take(AddNode(name="node-2", like="node-1"))

    assert told(report) == ["placed default/web node-2"]


def test_strict_local_has_no_other_node():
    plan = plan_of(
        *nodes_of("ab"), ALWAYS, *running("db-0", "node-1", locality=Locality.STRICT_LOCAL)
    )

    assert told(plan.take(drain())) == ["pending default/db-0"]


def test_uncordoning_ends_an_eviction():
    plan = plan_of(
        *nodes_of("a"),
        EVICT,
        *bound(volume("old", locality=Locality.DISABLED)),
        replica("old-r", of="old", disk="node-1-disk"),
    )
    assert texts(plan.take(drain())) != []

    plan.take(Cordon(nodes=("node-1",), is_cordoned=False))
    plan.take(AddNode(name="node-2", like="node-1"))

    assert copies_of(plan, "old") == ["node-1"]


class TestBudgets:
    """Three pods, two of them on the node that is drained."""

    @pytest.mark.parametrize(
        ("least", "most", "moved"),
        [
            pytest.param("2", "", 2, id="one-at-a-time"),
            pytest.param("3", "", 0, id="all-are-needed"),
            pytest.param("4", "", 0, id="more-than-there-are"),
            pytest.param("67%", "", 0, id="a-share-is-rounded-up"),
            pytest.param("66%", "", 2, id="just-two-of-three"),
            pytest.param("100%", "", 0, id="all-as-a-share"),
            pytest.param("", "0", 0, id="none-may-be-away"),
            pytest.param("", "1", 2, id="one-may-be-away"),
            pytest.param("", "1%", 2, id="a-small-share-is-one-pod"),
            pytest.param("", "0%", 0, id="no-share"),
        ],
    )
    def test_so_many_move_if_each_runs_again_before_the_next(self, least, most, moved):
        plan = self.plan(budget(least=least, most=most), nodes="ab")

        report = plan.take(drain())

        assert len(told(report, Kind.MOVED)) == moved
        assert len(texts(report)) == 2 - moved

    def test_a_pod_that_finds_no_node_exhausts_the_budget(self):
        plan = self.plan(budget(most="1"), nodes="a")

        report = plan.take(drain())

        assert told(report) == ["pending default/web-0", "refused default/web-1 node-1"]
        assert "PodDisruptionBudget pdb allows no disruption" in texts(report)[0]

    def test_a_pod_that_does_not_run_is_no_disruption(self):
        plan = self.plan(budget(least="3"), nodes="ab", phase="Pending")

        assert len(told(plan.take(drain()), Kind.MOVED)) == 2

    def test_a_pod_of_several_budgets_is_never_evicted(self):
        plan = self.plan(budget("one", most="3"), budget("two", most="3"), nodes="ab")

        report = plan.take(drain())

        assert len(texts(report)) == 2
        assert "several PodDisruptionBudgets (one, two)" in texts(report)[0]

    def test_budgets_of_other_pods_do_not_count(self):
        plan = self.plan(budget(most="0", labels={"app": "other"}), nodes="ab")

        assert len(told(plan.take(drain()), Kind.MOVED)) == 2

    def test_a_pod_is_tried_again_once_another_one_runs(self):
        """web-9 waits until zz, which keeps it away from zone a, has left that zone."""
        away = PodTerm(Selector(labels={"app": "db"}), "zone", ())
        plan = plan_of(
            kubernetes_node("node-1", labels={"zone": "a"}),
            kubernetes_node("node-2", labels={"zone": "a"}),
            kubernetes_node("node-3", labels={"zone": "b"}),
            *(node(f"node-{number}") for number in (1, 2, 3)),
            ALWAYS,
            pod_with(name="web-0", on="node-1", labels={"app": "db"}),
            pod_with(name="web-9", labels={"app": "db"}, node_selector={"zone": "a"}),
            pod_with(name="zz", on="node-1", labels={"app": "zz"}, anti_affinity=(away,)),
            budgets=[budget(most="1")],
        )

        report = plan.take(drain())

        assert told(report) == [
            "placed default/web-9 node-2",
            "moved default/zz node-3",
            "moved default/web-0 node-2",
        ]

    def plan(self, *budgets: object, nodes: str, **wishes: str) -> Plan:
        pods = [
            pod_with(name=f"web-{number}", on="node-1", labels={"app": "db"}, **wishes)
            for number in range(2)
        ]
        there = [pod_with(name="web-2", on="node-9", labels={"app": "db"})]
        return plan_of(
            *nodes_of(nodes),
            kubernetes_node("node-9", cordoned=True),
            ALWAYS,
            *pods,
            *there,
            budgets=budgets,  # type: ignore[arg-type]
        )


@pytest.mark.parametrize(
    ("kind", "begins"), [("InstanceManager", False), ("DaemonSet", True), ("Node", True)]
)
def test_an_instance_manager_with_an_empty_dir_keeps_the_drain_from_its_beginning(kind, *, begins):
    """As those of data engine v2 have; kubectl passes over DaemonSets' and static pods."""
    manager = pod_with(
        name="manager",
        on="node-1",
        owner=(kind, "any"),
        has_local_data=True,
        of_daemon_set=kind == "DaemonSet",
        is_static=kind == "Node",
    )
    plan = plan_of(*nodes_of("ab"), ALWAYS, manager, *running("db-0", "node-1"))

    report = plan.take(drain())

    told_ = [each for each in texts(report) if "emptyDir" in each]
    assert bool(told_) is not begins
    assert node_of(plan, "db-0") == ("node-2" if begins else "node-1")
    assert not texts(plan.take(drain(delete_local_data=True)))


@pytest.mark.parametrize(("is_v2", "ends"), [(False, False), (True, True)])
def test_a_replica_without_running_instance_manager_does_not_keep_the_data(*, is_v2, ends):
    """Of its own data engine: Longhorn has no budget then that would protect it."""
    image = setting("default-instance-manager-image", "manager:1")
    plan = plan_of(
        *nodes_of("ab"),
        image,
        instance_manager("node-1"),
        instance_manager("node-1", is_v2=True),
        instance_manager("node-2", is_running=False),
        instance_manager("node-2", is_v2=True),
        *bound(volume("old", replicas=2, disk_type="block" if is_v2 else "filesystem")),
        replica("old-1", of="old", on="node-1", disk="node-1-disk"),
        replica("old-2", of="old", on="node-2", disk="node-2-disk"),
    )

    assert (texts(plan.take(drain())) == []) is ends
