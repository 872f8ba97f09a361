"""Which node may go next, which two at once, and which volumes are away meanwhile."""

import pytest

from cli.draining.cluster import Means, situation
from cli.draining.judging import judge, next_of, pairs_of
from longhorn import NodeName
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
from tests.unit.cli.test_draining_judged import sharded

NAMES = tuple(map(NodeName, ("node-1", "node-2", "node-3")))
NODES = [each for name in NAMES for each in node(name)]
TWO = [volume(claim="data"), replica("node-1"), replica("node-2")]
UNGUARDED = [*node(), *node("node-2"), host("node-3"), manager("node-3"), replica("node-3")]
AWAY = settings(node_drain_policy="always-allow")
STOPPED = settings(node_drain_policy="allow-if-replica-is-stopped")
AT_REST = [volume(), *(replica(name, state="stopped") for name in NAMES[:2])]
ROWS: dict[str, tuple[str, str, list[Document]]] = {
    "nodes-alike": ("1 2 3", "1+2 1+3 2+3", NODES),
    "node-in-the-way": ("2 3", "2+3", [*NODES, pod("bare", "node-1", owner=None)]),
    # It has begun, and comes first.
    "node-cordoned":
        ("3 1 2", "3+1 3+2 1+2", [*NODES[:8], *node("node-3", cordoned=True)]),
    "replicas-on-two": ("1 2 3", "1+3 2+3", [*NODES, *TWO]),
    "replicas-on-three": ("1 2 3", "1+2 1+3 2+3", [*NODES, *TWO, replica("node-3")]),
    "replicas-stopped-and-allowed": ("1 2 3", "1+3 2+3", [*NODES, *AWAY, *AT_REST]),
    "replicas-stopped": ("1 2 3", "1+3 2+3", [*NODES, *STOPPED, *AT_REST]),
    "replica-failed-elsewhere":
        ("1 2 3", "1+3 2+3", [*NODES, *TWO, replica("node-3", failedAt=THEN)]),
    # Longhorn asks for a protected one also where the replica on the node has no data.
    "replica-failed": ("1 3", "1+3",
        [*NODES, volume(), replica("node-1", failedAt=THEN), replica("node-2")]),
    "replica-unprotected": ("1 2 3", "1+3 2+3", [*UNGUARDED, *TWO]),
    "volume-taken-away": ("2 3", "2+3", [*NODES, *AWAY, volume(), replica("node-1")]),
    "shard-to-spare": ("1 2 3", "", sharded(1, "normal", "normal", "normal")),
    "shards-to-spare": ("1 2 3", "1+2 1+3 2+3", sharded(2, "normal", "normal", "normal")),
}  # fmt: skip


@pytest.mark.parametrize(("following", "together", "documents"), ROWS.values(), ids=ROWS)
def test_nodes_that_may_go_next_and_two_at_a_time(following, together, documents):
    found = cluster(*documents)

    ready = next_of([judge(each, situation(found, [each], Means()), ()) for each in NAMES])
    pairs = pairs_of(ready, found)[0]

    assert " ".join(each[-1] for each in ready) == following
    assert " ".join("+".join(each[-1] for each in pair) for pair in pairs) == together


def test_the_volume_is_named_that_needs_one_of_two():
    [apart] = pairs_of(NAMES, cluster(*NODES, *TWO))[1]

    about = "volume vol (default/data) needs one of them"
    assert (apart.nodes, apart.why) == (("node-1", "node-2"), about)


def test_a_node_that_takes_a_volume_away_may_go_though_it_is_not_next():
    verdict = judged(*ROWS["volume-taken-away"][2])

    assert (verdict.may, [str(each.code) for each in verdict.cautions]) == ("yes", ["volume_away"])
