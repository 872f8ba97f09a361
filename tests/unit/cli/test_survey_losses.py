"""Which volumes lose their data with a node."""

from hypothesis import given
from hypothesis import strategies as st

from app.kube.resource import AnyRecord
from cli.survey.losses import endangered
from tests.builders import node, replica, view_of, volume

NODES = [f"node-{n}" for n in range(4)]


def kept(name: str, nodes: list[str], *, chunks: int = 0) -> list[AnyRecord]:
    """Build a volume with healthy replicas on nodes."""
    replicas = [replica(f"{name}-r-{n}", of=name, on=on) for n, on in enumerate(nodes)]
    return [volume(name, replicas=3, data_chunks=chunks), *replicas]


def test_only_replicas_with_all_data_count():
    failed = replica("vol-r-8", on="node-2", failed=True)
    new = replica("vol-r-9", on="node-3", healthy_once=False)
    records = [*map(node, NODES), *kept("vol", ["node-0"]), failed, new]

    assert endangered(view_of(*records)) == {"node-0": ["vol"]}


def test_a_replica_on_a_node_that_is_gone_does_not_count():
    assert endangered(view_of(node("node-0"), *kept("vol", ["node-0", "node-1"]))) == {
        "node-0": ["vol"]
    }


def test_the_last_failed_replicas_are_data_to_lose():
    failed = replica(on="node-0", failed=True)

    assert endangered(view_of(node("node-0"), volume(), failed)) == {"node-0": ["vol"]}


def test_a_volume_that_is_being_deleted_has_nothing_to_lose():
    going = [volume("vol", replicas=3, deleting=True), replica(on="node-0")]

    assert endangered(view_of(*going)) == {}


def test_replicas_whose_volume_is_not_known_have_data_to_lose():
    assert endangered(view_of(node("node-0"), replica(on="node-0"))) == {"node-0": ["vol"]}


def test_an_erasure_coded_volume_needs_its_data_chunks():
    nodes = [*map(node, NODES)]
    assert endangered(view_of(*nodes, *kept("vol", NODES[:3], chunks=2))) == {}
    assert {*endangered(view_of(*nodes, *kept("vol", NODES[:3], chunks=3)))} == {*NODES[:3]}


@given(st.lists(st.lists(st.sampled_from(NODES), min_size=1, max_size=4), max_size=5))
def test_it_is_what_trying_all_nodes_finds(volumes):
    records = [each for n, nodes in enumerate(volumes) for each in kept(f"v{n}", nodes)]
    view = view_of(*map(node, NODES), *records)

    tried = {
        gone: lost
        for gone in NODES
        if (
            lost := [
                name
                for name, replicas in sorted(view.replicas.items())
                if all(each.node == gone for each in replicas)
            ]
        )
    }

    assert endangered(view) == tried
