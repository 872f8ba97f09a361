"""Open holds take a bounded amount of memory, and no client takes what others need."""

from collections.abc import Sequence

import pytest
from msgspec import structs

from extender import Extender, Hold, Ledger, PodRef
from extender.errors import TooMuchHeldError
from extender.holds import Asked, Timeouts
from extender.holds.new_hold import MOST_BYTES, fits_memory_budget, node_set, size_bytes
from longhorn import NodeName
from tests.builders import (
    GENEROUS,
    bound,
    claim,
    disk,
    hold,
    node,
    pod,
    storage_class,
    view_of,
    volume,
)

NODES = [NodeName(f"node-{number}") for number in range(5_200)]
TIMEOUTS = Timeouts(choosing_seconds=5.0, placing_seconds=7.0)


def made(client: str, number: int, nodes: Sequence[NodeName]) -> Hold:
    of = hold(f"{client}-{number}", nodes=nodes)
    return structs.replace(of, client=client)


def fill(ledger: Ledger, client: str) -> int:
    """Make as many holds as one client may have, each on other nodes; return how many."""
    number = 0
    while fits_memory_budget(new := made(client, number, NODES[number:]), ledger):
        ledger.put(new)
        number += 1
    return number


def test_a_client_may_have_so_much_that_as_much_is_left() -> None:
    ledger = Ledger()

    first, second = fill(ledger, "first"), fill(ledger, "second")

    assert 120 <= first <= 130
    assert 2 * second == pytest.approx(first, abs=2)
    assert size_bytes(ledger) < MOST_BYTES
    assert not fits_memory_budget(made("first", first, NODES), ledger)
    assert fits_memory_budget(made("third", 0, NODES), ledger)


def test_holds_on_the_same_nodes_share_them() -> None:
    ledger = Ledger()
    for number in range(1_000):
        nodes = node_set([*NODES], ledger)
        ledger.put(structs.replace(made("client", number, ()), nodes=nodes))

    assert size_bytes(ledger) < 7_000_000
    assert node_set(NODES[1:], ledger) == {*NODES[1:]}
    assert node_set([*NODES[1:], NodeName("other")], ledger) == {*NODES[1:], "other"}


def ask(extender: Extender, of: PodRef, candidates: Sequence[NodeName], client: str) -> None:
    view = view_of(
        *(node(name, disk()) for name in NODES[:3]),
        *bound(volume()),
        storage_class(dataLocality="disabled"),
        claim("shared"),
    )
    answer = extender.filter(of, candidates, view)
    is_anothers = extender.ledger.get(of.uid) is not None
    extender.hold(
        answer, Asked(client=client), timeouts=TIMEOUTS, now=1.0, keeps_earlier=is_anothers
    )


def test_beyond_its_share_a_client_gets_no_hold_and_nothing_has_changed() -> None:
    extender = Extender(GENEROUS)
    ask(extender, pod("vol", name="real"), NODES[:1], "client")
    fill(extender.ledger, "client")
    before = [*extender.ledger]

    for name, client in (("real", "other"), ("new", "client")):
        while fits_memory_budget(made("client", len(before), NODES[:9]), extender.ledger):
            extender.ledger.put(made("client", len(before), NODES[: len(before)]))
            before = [*extender.ledger]
        with pytest.raises(TooMuchHeldError):
            ask(extender, pod("vol", name=name), NODES[:3], client)

    assert [*extender.ledger] == before


def test_who_asks_about_a_pod_of_another_one_adds_nodes_at_the_cost_of_that_one() -> None:
    extender = Extender(GENEROUS)
    ask(extender, pod("vol", name="real"), NODES[:1], "first")
    ask(extender, pod("vol", name="real"), NODES[1:3], "second")

    [found] = extender.ledger
    assert (found.nodes, found.client) == (frozenset(NODES[:3]), "first")


def test_of_a_pod_that_needs_nothing_on_its_node_only_known_nodes_are_remembered() -> None:
    extender = Extender(GENEROUS)

    ask(extender, pod("shared", name="real"), [*NODES[2:5], NodeName("invented")], "client")

    [found] = extender.ledger
    assert found.nodes == {NODES[2]}
