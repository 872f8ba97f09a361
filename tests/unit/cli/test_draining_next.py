"""Which node may go next, which two at once, and which volumes are away meanwhile."""

import pytest

from cli.draining.cluster import Cluster, Means, situation
from cli.draining.judging import judge, next_of, pairs_of
from longhorn import NodeName
from tests.builders import document
from tests.unit.cli.drained import (
    THEN,
    Document,
    cluster,
    host,
    judged,
    manager,
    node,
    pod,
    replica,
    settings,
    volume,
)

NAMES = tuple(map(NodeName, ("node-1", "node-2", "node-3")))
NODES = [each for name in NAMES for each in node(name)]


def ready(found: Cluster) -> list[NodeName]:
    return next_of([judge(each, situation(found, [each], Means()), ()) for each in NAMES])


def pairs(*documents: Document) -> list[tuple[NodeName, NodeName]]:
    found = cluster(*documents)
    return pairs_of(ready(found), found)[0]


def shard(slot: int, on: str, state: str = "normal") -> Document:
    return document(
        "Shard",
        f"ec-{slot}",
        spec={"shardGroupName": "ec", "nodeID": on, "size": "0"},
        status={"state": state},
    )


def sharded(spare: int, *shards: Document) -> list[Document]:
    layout = {"type": "sharded", "dataChunks": len(shards) - spare, "parityChunks": spare}
    return [volume("ec", dataLayout=layout), *shards]


def test_the_first_one_that_may_is_next() -> None:
    found = cluster(*NODES, pod("bare", "node-1", owner=None))

    assert ready(found) == ["node-2", "node-3"]


def test_one_that_is_cordoned_has_begun_and_comes_first() -> None:
    there = [*node("node-1"), *node("node-2"), *node("node-3", cordoned=True)]

    assert ready(cluster(*there)) == ["node-3", "node-1", "node-2"]


def test_two_nodes_with_all_replicas_of_a_volume_do_not_go_at_once() -> None:
    two = [volume(), replica("node-1"), replica("node-2")]

    assert pairs(*NODES, *two) == [("node-1", "node-3"), ("node-2", "node-3")]
    assert pairs(*NODES, *two, replica("node-3")) == [
        ("node-1", "node-2"), ("node-1", "node-3"), ("node-2", "node-3"),
    ]  # fmt: skip


def test_the_volume_is_named_that_needs_one_of_two() -> None:
    found = cluster(*NODES, volume(claim="data"), replica("node-1"), replica("node-2"))

    [apart] = pairs_of(NAMES, found)[1]

    assert (apart.nodes, apart.why) == (
        ("node-1", "node-2"),
        "volume vol (default/data) needs one of them",
    )


@pytest.mark.parametrize("policy", ["always-allow", "allow-if-replica-is-stopped"])
def test_that_holds_whatever_the_policy_allows(policy: str) -> None:
    two = [replica(name, state="stopped") for name in ("node-1", "node-2")]

    found = pairs(*NODES, *settings(node_drain_policy=policy), volume(), *two)

    assert found == [("node-1", "node-3"), ("node-2", "node-3")]


def test_a_failed_replica_does_not_make_up_for_one_that_goes() -> None:
    there = [volume(), replica("node-1"), replica("node-2"), replica("node-3", failedAt=THEN)]

    assert pairs(*NODES, *there) == [("node-1", "node-3"), ("node-2", "node-3")]


def test_a_failed_replica_needs_the_only_protected_one() -> None:
    """Longhorn asks for one also where the replica on the node has no data."""
    there = [volume(), replica("node-1", failedAt=THEN), replica("node-2"), *settings()]

    assert pairs(*NODES, *there) == [("node-1", "node-3")]


def test_a_healthy_replica_that_is_not_protected_does_not_make_up_for_them() -> None:
    unguarded = [host("node-3"), manager("node-3"), replica("node-3")]
    there = [*node(), *node("node-2"), *unguarded, volume(), replica(), replica("node-2")]

    assert pairs(*there) == [("node-1", "node-3"), ("node-2", "node-3")]


def test_a_node_that_takes_a_volume_away_is_not_next() -> None:
    alone = [*settings(node_drain_policy="always-allow"), volume(), replica("node-1")]

    verdict = judged(*NODES, *alone)

    assert verdict.may == "yes"
    assert [str(each.code) for each in verdict.cautions] == ["volume_away"]
    assert ready(cluster(*NODES, *alone)) == ["node-2", "node-3"]


def test_nodes_that_are_drained_together_take_it_away_together() -> None:
    two = [volume(), replica("node-1"), replica("node-2")]
    there = [*NODES, *settings(node_drain_policy="always-allow"), *two]

    assert judged(*there).cautions == ()
    assert [str(each.code) for each in judged(*there, also=["node-2"]).cautions] == ["volume_away"]


@pytest.mark.parametrize(
    ("spare", "states", "expected"),
    [
        (1, ("normal", "normal", "normal"), []),
        (1, ("normal", "failed", "normal"), ["shards_lost"]),
        (2, ("normal", "failed", "normal"), ["shards_not_whole"]),
        (1, ("failed", "normal", "normal"), ["shards_not_whole"]),
        (1, ("failed", "failed", "normal"), ["shards_not_whole"]),
        (0, ("normal", "normal", "normal"), ["shards_lost"]),
    ],
)
def test_shards_hold_nothing_back_and_are_warned_of(
    spare: int, states: tuple[str, ...], expected: list[str]
) -> None:
    shards = [shard(slot, NAMES[slot], state) for slot, state in enumerate(states)]

    verdict = judged(*NODES, *sharded(spare, *shards))

    assert verdict.may == "yes"
    assert [str(each.code) for each in verdict.cautions] == expected


def test_a_volume_in_shards_is_of_no_concern_to_a_node_without_one() -> None:
    shards = sharded(1, shard(0, "node-2", "failed"), shard(1, "node-3"))

    assert judged(*NODES, *shards).cautions == ()


@pytest.mark.parametrize(("spare", "expected"), [(1, 0), (2, 3)])
def test_two_nodes_go_at_once_if_two_shards_can_be_spared(spare: int, expected: int) -> None:
    shards = [shard(slot, name) for slot, name in enumerate(NAMES)]

    assert len(pairs(*NODES, *sharded(spare, *shards))) == expected
