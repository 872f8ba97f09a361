"""Which volumes lose their data with a node."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.kube.resource import AnyRecord
from cli.survey.losses import endangered
from tests.builders import nodes_of, replicas_of, view_of, volume

NODES = [f"node-{n}" for n in range(4)]
ALL, FIRST = nodes_of("0 1 2 3"), nodes_of("0")
THREE = replicas_of("vol@0 vol@1 vol@2")
ROWS: dict[str, tuple[list[AnyRecord], str]] = {
    "replica-with-all-data":
        ([*ALL, volume(replicas=3), *replicas_of("vol@0 vol@2/failed vol@3/new")], "0"),
    "replica-on-a-node-that-is-gone":
        ([*FIRST, volume(replicas=3), *replicas_of("vol@0 vol@1")], "0"),
    "replica-failed-last": ([*FIRST, volume(), *replicas_of("vol@0/failed")], "0"),
    "volume-being-deleted": ([volume(replicas=3, deleting=True), *replicas_of("vol@0")], ""),
    "volume-not-known": ([*FIRST, *replicas_of("vol@0")], "0"),
    # It needs its data chunks.
    "volume-erasure-coded": ([*ALL, volume(replicas=3, data_chunks=2), *THREE], ""),
    "volume-erasure-coded-without-spare":
        ([*ALL, volume(replicas=3, data_chunks=3), *THREE], "0 1 2"),
}  # fmt: skip
"""What there is, and the nodes with which the volume would lose its data."""


@pytest.mark.parametrize(("records", "nodes"), ROWS.values(), ids=ROWS)
def test_a_volume_loses_its_data_with_a_node(records, nodes):
    assert endangered(view_of(*records)) == {f"node-{n}": ["vol"] for n in nodes.split()}


@given(st.lists(st.lists(st.integers(0, 3), min_size=1, max_size=4), max_size=5))
def test_it_is_what_trying_all_nodes_finds(volumes):
    records: list[AnyRecord] = [volume(f"v{n}", replicas=3) for n, _ in enumerate(volumes)]
    words = [f"v{n}@{on}" for n, nodes in enumerate(volumes) for on in nodes]
    view = view_of(*ALL, *records, *replicas_of(" ".join(words)))

    tried = {
        gone: [
            name
            for name, replicas in sorted(view.replicas.items())
            if all(each.node == gone for each in replicas)
        ]
        for gone in NODES
    }

    assert endangered(view) == {gone: lost for gone, lost in tried.items() if lost}
