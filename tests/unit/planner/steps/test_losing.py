"""The step `lose`: what survives a node that never comes back."""

import pytest

from longhorn import VolumeName
from planner.picture import Kind
from tests.builders import bound, replica, volume
from tests.unit.planner.notation import records_of, result_of, step_of, taken
from tests.unit.planner.plans import plan_of, texts

LOST = "volume_lost db | pending db | volume_lost Volume of db"
EVICT_LAST = "=block-for-eviction-if-contains-last-replica"
ROWS = {
    "replica-elsewhere": ("abc db@1[1,2]", "lose 1", "moved db 2", "db@2[2,3]"),
    "nodes-left-are-too-few": (
        "ab db@1[1,2]", "lose 1", "moved db 2 | volume_degraded Volume of db", "db@2[1x,2]"),
    "replicas-were-all-there": ("ab db@1", "lose 1", LOST, "db@[1x]"),
    "failed-replica-could-be-salvaged": (
        "ab vol[1x]", "lose 1", "volume_lost vol | volume_lost Volume of vol", "vol[1x]"),
    "volume-was-lost-before": ("ab vol[9]", "lose 1", "", "vol[9]"),
    "detached-volume": ("ab old[1,2]", "lose 1", "volume_degraded Volume of old", "old[1x,2]"),
    "detached-volume-without-claim": (
        "ab old[1,2]/claimless", "lose 1", "volume_degraded Volume old", "old[1x,2]"),
    "pods-without-controller-and-those-of-the-node": (
        "ab .bare@1/bare .agent@1/daemon .proxy@1/static/bare .web@1", "lose 1",
        "lost bare 1 | moved web 2", ".web@2"),
    "two-nodes-at-once": ("abc db@1[1,2]", "lose 1 2", LOST, "db@[1x,2x]"),
    "one-after-another-leaves-time-to-rebuild": ("abc db@1[1,2]", "lose 1; lose 2",
        "moved db 3 | volume_degraded Volume of db", "db@3[2x,3]"),
    "lost-node-gets-no-replica": ("ab db@2[1,2]", "lose 1; add 3 like 2",
        "replica_placed db 3 | replica_removed db 1 | one_zone Volume of db", "db@2[2,3]"),
    "replicas-of-a-cordoned-node-stay": (
        f"abc {EVICT_LAST} db@3[1,2]~", "drain 1", "", "db@3[1,2]"),
    "replicas-of-a-cordoned-node-move-once-their-peer-is-lost": (
        f"abc {EVICT_LAST} db@3[1,2]~", "drain 1; lose 2",
        "replica_placed db 3 | replica_removed db 2", "db@3[1,3]"),
}  # fmt: skip
"""Cluster, steps, what the last one told, and what is found then."""


@pytest.mark.parametrize(("cluster", "steps", "told", "left"), ROWS.values(), ids=ROWS)
def test_lose(cluster, steps, told, left):
    assert taken(cluster, steps) == (told, left)


def test_lost_volume_names_its_own_nodes_and_the_pods_that_suffer():
    """Not all of the nodes that are lost had replicas of it."""
    plan = plan_of(*records_of("abcd db@1[1,2] .reader@4+db"))

    report = plan.take(step_of("lose 1 2 3"))

    assert texts(report, Kind.VOLUME_LOST) == [
        "its only replicas with data were on node-1, node-2; "
        "default/db, default/reader cannot start without it"
    ]


def test_replica_that_is_being_rebuilt_saves_no_volume():
    told, _ = taken(
        "ab",
        "lose 1",
        *bound(volume(node="node-1", attached_to="node-1", degraded=True, replicas=2)),
        replica("vol-r-1", disk="node-1-disk"),
        # It waits for the failed one first, so nobody finishes it before the node is lost.
        replica("vol-r-2", on="", pinned_to="node-9", healthy_once=False, started=True),
    )

    assert told.startswith("volume_lost vol")


def test_shared_volume_is_served_from_where_its_other_pods_are():
    plan = plan_of(*records_of("abc files@1[3]~/podless/shared .web-1@2+files"))

    assert result_of(plan, "lose 1") == ""
    assert plan.cluster.view.volumes[VolumeName("files")].attached_to == "node-2"


def test_pod_whose_claim_waited_for_the_lost_node_may_go_elsewhere():
    told = taken("ab:5,100 .web@1", "lose 1", *bound(volume("other", node="node-2")))

    assert told == ("moved web 2", ".web@2 other[2]")
