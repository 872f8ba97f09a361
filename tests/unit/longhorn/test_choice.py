"""Which candidate Longhorn takes; sizes in GiB."""

from collections.abc import Iterable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from longhorn import Node, Settings, choices
from longhorn.balance import level_of, most_even
from tests.unit.longhorn.objects import disk, failed, node, nodes, replica, search, volume

TWICE = Settings(over_provisioning_percent=200)


def chosen(on: Iterable[Node], size: float = 100, replicas: Any = (), **spec: Any) -> list[str]:
    of = volume(size, **spec)
    found = search(of, *on, replicas=replicas, settings=TWICE)
    return [candidate.disk for candidate in choices(found, of.size_bytes)]


CHOSEN = {
    # B has the largest disk; until v1.10 Longhorn took that.
    "node-before-the-disk": ("a:300,200 b:400", 100, "a1"),
    # Volumes of 60 and 100 fit on disks of 60 and 100, but the 60 goes to the larger one.
    "greedy-choice-that-spoils-a-packing": ("a:100,60", 60, "a1"),
    "greedy-choice-without-an-alternative": ("a:100,60", 100, "a1"),
    # Of A's disks alone, taking from either would leave the same imbalance.
    "balance-of-all-disks-of-all-nodes": ("a:400,300 b:250", 100, "a1"),
    "tie-of-nodes": ("a b", 10, "a1 b1"),
    "tie-of-disks": ("a:100,100", 10, "a1 a2"),
    "tie-of-nodes-each-with-its-best-disk": ("a:80,120 b:80,120", 20, "a2 b2"),
    # Over-provisioning lets them in; nothing is left to balance.
    "any-without-unused-room": ("a:100-95 b:200-195", 10, "a1 b1"),
    # Then any candidate is taken, on any node.
    "node-of-disks-too-small-alone": ("a:60,60 b:60", 100, "a1 a2 b1"),
    "size-that-just-fits": ("a:100,40 b:50", 100, "a1"),
    "exact-fill-leaves-nothing-to-compare": ("a b:100-100", 100, "a1 b1"),
    "none-without-candidates": ("a", 300, ""),
}


@pytest.mark.parametrize(("on", "size", "expected"), CHOSEN.values(), ids=CHOSEN)
def test_candidate_that_leaves_disks_most_even_is_chosen(on, size, expected):
    assert chosen(nodes(on), size) == expected.split()


def test_reserved_and_scheduled_bytes_are_not_unused():
    """What is scheduled beyond the size counts as nothing, not as less."""
    reserved = disk(200, spec={"storageReserved": 120 * 2**30})
    over_scheduled = disk(100, scheduled=130)

    assert chosen([node("a", reserved), node("b")], size=50) == ["b1"]
    found = search(volume(10), node("a", over_scheduled), settings=TWICE)
    assert [host.unused_bytes for host in found.hosts.values()] == [{"a1": 0}]


@pytest.mark.parametrize(
    ("locality", "attached_to", "expected"),
    [
        pytest.param("best-effort", "b", ["b1"], id="best-effort"),
        pytest.param("best-effort", "", ["a1"], id="detached"),
        pytest.param("best-effort", "c", ["a1"], id="local-node-is-no-candidate"),
        pytest.param("disabled", "b", ["a1"], id="disabled"),
    ],
)
def test_best_effort_prefers_the_local_node(locality, attached_to, expected):
    on = nodes("a:400 b:100 c:10")

    assert chosen(on, size=50, dataLocality=locality, nodeID=attached_to) == expected


def test_local_disks_outside_the_winning_group_are_not_considered():
    of = {"dataLocality": "best-effort", "nodeID": "b"}

    assert chosen(nodes("a@y b@y c@z"), size=10, replicas=[replica("a1")], **of) == ["c1"]


@pytest.mark.parametrize(
    ("there", "expected"),
    [
        pytest.param(replica("a1", evictionRequested=True), ["b1"], id="evicted"),
        pytest.param(replica("a1", deleting=True), ["b1"], id="being-deleted"),
        pytest.param(failed("a1", rebuildRetryCount=5), ["a1", "a2"], id="failed-is-none"),
    ],
)
def test_a_local_replica_ends_the_preference(there, expected):
    """Longhorn asks only whether it has failed."""
    of = {"dataLocality": "best-effort", "nodeID": "a"}

    assert chosen(nodes("a:100,100 b:400"), size=10, replicas=[there], **of) == expected


@given(
    unused=st.lists(st.integers(0, 12), min_size=1, max_size=6),
    takers=st.sets(st.integers(0, 5), min_size=1),
    size=st.integers(1, 8),
)
def test_most_even_is_least_spread_relative_to_the_mean(unused, takers, size):
    """As Longhorn writes it: it takes the size from each in turn and compares what is left."""
    mean = (sum(unused) - size) / len(unused)
    spreads = {}
    for taker in sorted(takers & {*range(len(unused))}):
        left = [value - size * (place == taker) for place, value in enumerate(unused)]
        if unused[taker] >= size and mean > 0:
            spreads[taker] = (max(left) - min(left)) / mean
    least = min(spreads.values(), default=None)

    given_takers = {place: unused[place] for place in sorted(takers) if place < len(unused)}
    found = most_even(level_of(unused), given_takers, size)

    assert found == [taker for taker, spread in spreads.items() if spread == least]
