"""How many nodes may be lost at once so that no volume loses its data."""

from collections.abc import Collection, Iterable
from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.kube.resource import AnyRecord
from extender import ClusterView
from extender.ahead.losses import endangered, may_be_lost, with_data
from extender.ahead.pieces import finish
from longhorn import NodeName
from tests.builders import node, replica, view_of, volume

NODES = [f"node-{n}" for n in range(4)]


def lost(*records: AnyRecord) -> int:
    view = view_of(*map(node, NODES), *records)
    return finish(may_be_lost(lambda: view))


def kept(name: str, nodes: Iterable[str], *, wanted: int = 3, chunks: int = 0) -> list[AnyRecord]:
    """Build a volume with healthy replicas on nodes."""
    replicas = [replica(f"{name}-r-{n}", of=name, on=on) for n, on in enumerate(nodes)]
    return [volume(name, replicas=wanted, data_chunks=chunks), *replicas]


@pytest.mark.parametrize(
    ("nodes", "most"),
    [
        (["node-0", "node-1", "node-2"], 2),
        (["node-0", "node-1"], 1),
        (["node-0"], 0),
        (["node-0", "node-0", "node-0"], 0),
        (["node-0", "node-0", "node-1"], 1),
        ([], 2),  # lost already
    ],
)
def test_the_volume_with_fewest_nodes_decides(nodes: list[str], most: int) -> None:
    assert lost(*kept("safe", NODES), *kept("vol", nodes)) == most


def test_a_volume_that_is_to_have_one_replica_does_not_count() -> None:
    assert lost(*kept("vol", ["node-0"], wanted=1)) == 2


def test_only_replicas_with_all_data_count() -> None:
    failed = replica("vol-r-8", on="node-2", failed=True)
    new = replica("vol-r-9", on="node-3", healthy_once=False)

    assert lost(*kept("vol", ["node-0"]), failed, new) == 0


def test_a_volume_that_is_being_deleted_has_nothing_to_lose() -> None:
    going = [volume("vol", replicas=3, deleting=True), replica(on="node-0")]

    assert lost(*going) == 2
    assert endangered(view_of(*going)) == {}


def test_replicas_whose_volume_is_not_known_have_data_to_lose() -> None:
    assert endangered(view_of(replica(on="node-0"))) == {"node-0": ["vol"]}


def test_an_erasure_coded_volume_needs_its_data_chunks() -> None:
    assert lost(*kept("vol", NODES, wanted=4, chunks=2)) == 2
    assert lost(*kept("vol", NODES, wanted=4, chunks=3)) == 1


def test_a_cluster_without_volumes_may_lose_two() -> None:
    assert lost() == 2


@given(st.lists(st.lists(st.sampled_from(NODES), min_size=1, max_size=4), max_size=5))
def test_it_is_what_trying_all_pairs_finds(volumes: list[list[str]]) -> None:
    records = [each for n, nodes in enumerate(volumes) for each in kept(f"v{n}", nodes)]
    view = view_of(*map(node, NODES), *records)

    tried = [n for n in (1, 2) if all(_stays(view, gone) for gone in combinations(NODES, n))]

    assert lost(*records) == max(tried, default=0)
    assert (lost(*records) == 0) == bool(endangered(view))


def _stays(view: ClusterView, gone: Collection[str]) -> bool:
    names = {NodeName(each) for each in gone}
    return all(
        any(each.node not in names for each in with_data(replicas))
        for replicas in view.replicas.values()
    )
