"""The step `lose`: what survives a node that never comes back."""

import pytest

from longhorn import Locality
from planner.picture import Kind
from planner.steps.draining import Drain
from planner.steps.nodes import AddNode, LoseNode
from tests.builders import GIB, bound, disk, node, replica, setting, volume
from tests.unit.planner.clusters import kubernetes_node, nodes_of, pod_with
from tests.unit.planner.plans import (
    copies_of,
    node_of,
    plan_of,
    running,
    texts,
    told,
    warned,
)


def lose(*names: str) -> LoseNode:
    return LoseNode(nodes=names or ("node-1",))


def test_a_volume_with_a_replica_elsewhere_survives_and_its_pod_comes_back():
    plan = plan_of(*nodes_of("abc"), *running("db-0", "node-1", "node-1", "node-2"))

    report = plan.take(lose())

    assert told(report, Kind.VOLUME_LOST, Kind.LOST) == []
    assert node_of(plan, "db-0") in ("node-2", "node-3")
    assert copies_of(plan, "db-0") == ["node-2", "node-3"]
    assert warned(report) == []


def test_with_too_few_nodes_left_the_volume_stays_degraded():
    plan = plan_of(*nodes_of("ab"), *running("db-0", "node-1", "node-1", "node-2"))

    assert "volume_degraded Volume of default/db-0" in warned(plan.take(lose()))


def test_a_volume_whose_replicas_were_all_there_is_lost_and_its_pod_cannot_start():
    plan = plan_of(*nodes_of("ab"), *running("db-0", "node-1"))

    report = plan.take(lose())

    assert told(report, Kind.VOLUME_LOST) == ["volume_lost default/db-0"]
    assert node_of(plan, "db-0") is None or "pod_stuck Pod default/db-0" in warned(report)
    assert "volume_lost Volume of default/db-0" in warned(report)


def test_a_lost_volume_names_its_own_nodes_and_the_pods_that_suffer():
    """Not all of the nodes that are lost had replicas of it."""
    plan = plan_of(
        *nodes_of("abcd"),
        *running("db-0", "node-1", "node-2", "node-1"),
        pod_with("db-0", name="reader", on="node-4"),
    )

    report = plan.take(lose("node-1", "node-2", "node-3"))

    assert texts(report, Kind.VOLUME_LOST) == [
        "its only replicas with data were on node-1, node-2; "
        "default/db-0, default/reader cannot start without it"
    ]


def test_a_replica_that_is_being_rebuilt_saves_no_volume():
    plan = plan_of(
        *nodes_of("ab"),
        *bound(volume(node="node-1", attached_to="node-1", degraded=True, replicas=2)),
        replica("vol-r-1", disk="node-1-disk"),
        # It waits for the failed one first, so nobody finishes it before the node is lost.
        replica("vol-r-2", on="", pinned_to="node-9", healthy_once=False, started=True),
    )

    assert told(plan.take(lose()), Kind.VOLUME_LOST) == ["volume_lost default/vol"]


def test_a_failed_replica_that_could_be_salvaged_is_data_to_lose():
    plan = plan_of(
        *nodes_of("ab"), *bound(volume()), replica("vol-r-1", disk="node-1-disk", failed=True)
    )

    assert told(plan.take(lose()), Kind.VOLUME_LOST) == ["volume_lost default/vol"]


def test_a_volume_that_was_lost_before_is_not_lost_again():
    plan = plan_of(*nodes_of("ab"), *bound(volume()), replica("vol-r-1", on="node-9"))

    assert plan.take(lose()).events == ()


@pytest.mark.parametrize("with_claim", [True, False])
def test_a_detached_volume_keeps_its_other_replicas_and_is_warned_of(*, with_claim):
    of = volume(replicas=2)
    plan = plan_of(
        *nodes_of("ab"),
        *(bound(of) if with_claim else [of]),
        *(replica(f"vol-r-{n}", on=f"node-{n}", disk=f"node-{n}-disk") for n in (1, 2)),
    )

    report = plan.take(lose())

    assert copies_of(plan, "vol") == ["node-2"]
    name = "Volume of default/vol" if with_claim else "Volume vol"
    assert warned(report) == [f"volume_degraded {name}"]


def test_pods_without_controller_are_lost_and_those_of_the_node_go_with_it():
    plan = plan_of(
        *nodes_of("ab"),
        pod_with(name="bare", on="node-1", owner=None),
        pod_with(name="agent", on="node-1", of_daemon_set=True),
        pod_with(name="proxy", on="node-1", is_static=True, owner=None),
        pod_with(name="web", on="node-1"),
    )

    report = plan.take(lose())

    assert told(report) == ["lost default/bare node-1", "moved default/web node-2"]
    assert [*plan.cluster.pods] == ["default/web"]


def test_two_nodes_at_once_lose_what_was_on_both():
    plan = plan_of(*nodes_of("abc"), *running("db-0", "node-1", "node-1", "node-2"))

    assert told(plan.take(lose("node-1", "node-2")), Kind.VOLUME_LOST) == [
        "volume_lost default/db-0"
    ]


def test_one_after_another_leaves_time_to_rebuild():
    plan = plan_of(*nodes_of("abc"), *running("db-0", "node-1", "node-1", "node-2"))
    plan.take(lose("node-1"))

    assert told(plan.take(lose("node-2")), Kind.VOLUME_LOST) == []
    assert "node-3" in copies_of(plan, "db-0")


def test_a_shared_volume_is_served_from_where_its_other_pods_are():
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
        *bound(of),
        replica("files-r", of="files", on="node-3", disk="node-3-disk"),
        pod_with("files", name="web-1", on="node-2"),
    )

    report = plan.take(lose())

    assert plan.cluster.view.volumes[of.name].attached_to == "node-2"
    assert warned(report) == []


def test_no_replica_is_placed_on_a_lost_node():
    plan = plan_of(*nodes_of("ab"), *running("db-0", "node-2", "node-1", "node-2"))
    plan.take(lose())

    plan.take(AddNode(name="node-3", like="node-2"))

    assert copies_of(plan, "db-0") == ["node-2", "node-3"]


def test_replicas_of_a_cordoned_node_move_when_their_peer_is_lost():
    plan = plan_of(
        *nodes_of("abc"),
        setting("node-drain-policy", "block-for-eviction-if-contains-last-replica"),
        *running("db-0", "node-3", "node-1", "node-2", locality=Locality.DISABLED),
    )
    plan.take(Drain(nodes=("node-1",)))
    assert copies_of(plan, "db-0") == ["node-1", "node-2"]

    plan.take(lose("node-2"))

    assert copies_of(plan, "db-0") == ["node-1", "node-3"]


def test_a_pod_whose_claim_waited_for_the_lost_node_may_go_elsewhere():
    plan = plan_of(
        kubernetes_node("node-1"),
        kubernetes_node("node-2"),
        node("node-1", disk("node-1-disk", maximum_bytes=5 * GIB)),
        node("node-2", disk("node-2-disk")),
        *bound(volume("other", node="node-2")),
        pod_with(name="web", on="node-1"),
    )

    assert texts(plan.take(lose())) == []
    assert node_of(plan, "web") == "node-2"
