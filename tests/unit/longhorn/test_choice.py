"""Which candidate Longhorn takes; sizes in GiB."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from longhorn import Settings, choices
from longhorn.balance import level_of, most_even
from tests.unit.longhorn.objects import disk, failed, node, replica, search, volume

TWICE = Settings(over_provisioning_percent=200)


def chosen(*nodes: Any, size: float = 100, replicas: Any = (), **spec: Any) -> list[str]:
    of = volume(size, **spec)
    found = search(of, *nodes, replicas=replicas, settings=TWICE)
    return [candidate.disk for candidate in choices(found, of.size_bytes)]


def test_the_node_is_chosen_before_the_disk():
    """B has the largest disk; until v1.10 Longhorn took that."""
    assert chosen(node("a", disk(300), disk(200)), node("b", disk(400))) == ["a1"]


def test_greedy_choice_may_spoil_a_packing():
    """Volumes of 60 and 100 fit on disks of 60 and 100, but the 60 goes to the larger one."""
    two_disks = node("a", disk(100), disk(60))

    assert chosen(two_disks, size=60) == ["a1"]
    assert chosen(two_disks, size=100) == ["a1"]


def test_all_disks_of_all_nodes_are_balanced():
    """Of A's disks alone, taking from either would leave the same imbalance."""
    nodes = node("a", disk(400), disk(300)), node("b", disk(250))

    assert chosen(*nodes, size=100) == ["a1"]


def test_ties_are_arbitrary():
    assert chosen(node("a"), node("b"), size=10) == ["a1", "b1"]
    assert chosen(node("a", disk(), disk()), size=10) == ["a1", "a2"]


def test_tied_nodes_each_offer_their_best_disk():
    nodes = (node(name, disk(80), disk(120)) for name in ("a", "b"))

    assert chosen(*nodes, size=20) == ["a2", "b2"]


def test_without_unused_room_any_candidate_is_taken():
    """Over-provisioning lets them in; nothing is left to balance."""
    nodes = node("a", disk(100, scheduled=95)), node("b", disk(200, scheduled=195))

    assert chosen(*nodes, size=10) == ["a1", "b1"]


def test_disks_too_small_alone_may_win_as_a_node():
    """Then any candidate is taken, on any node."""
    nodes = node("a", disk(60), disk(60)), node("b", disk(60))

    assert chosen(*nodes, size=100) == ["a1", "a2", "b1"]


def test_a_size_that_just_fits_counts():
    nodes = node("a", disk(100), disk(40)), node("b", disk(50))

    assert chosen(*nodes, size=100) == ["a1"]


def test_exact_fill_of_everything_leaves_nothing_to_compare():
    nodes = node("a", disk(100)), node("b", disk(100, scheduled=100))

    assert chosen(*nodes, size=100) == ["a1", "b1"]


def test_reserved_and_scheduled_bytes_are_not_unused():
    """What is scheduled beyond the size counts as nothing, not as less."""
    reserved = disk(200, spec={"storageReserved": 120 * 2**30})
    over_scheduled = disk(100, scheduled=130)

    assert chosen(node("a", reserved), node("b", disk(100)), size=50) == ["b1"]
    found = search(volume(10), node("a", over_scheduled), settings=TWICE)
    assert [host.unused_bytes for host in found.hosts.values()] == [{"a1": 0}]


def test_no_candidates_no_choices():
    assert chosen(node("a"), size=300) == []


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
    nodes = node("a", disk(400)), node("b", disk(100)), node("c", disk(10))

    assert chosen(*nodes, size=50, dataLocality=locality, nodeID=attached_to) == expected


def test_local_disks_outside_the_winning_group_are_not_considered():
    nodes = (
        node("a", disk(100), status={"zone": "z1"}),
        node("b", disk(100), status={"zone": "z1"}),
        node("c", disk(100), status={"zone": "z2"}),
    )

    found = chosen(
        *nodes, size=10, dataLocality="best-effort", nodeID="b", replicas=[replica("a1")]
    )

    assert found == ["c1"]


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
    nodes = node("a", disk(100), disk(100)), node("b", disk(400))

    found = chosen(*nodes, size=10, replicas=[there], dataLocality="best-effort", nodeID="a")

    assert found == expected


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
