"""Open holds take a bounded amount of memory, and each is of one pod."""

from collections.abc import Sequence

import pytest
from msgspec import structs

from extender import Extender, Hold, Ledger, PodRef
from extender.errors import OtherPodError, TooMuchHeldError
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


def made(number: int, nodes: Sequence[NodeName]) -> Hold:
    return hold(f"pod-{number}", nodes=nodes)


def fill(ledger: Ledger) -> int:
    """Make as many holds as there is memory for, each on other nodes; return how many."""
    number = 0
    while fits_memory_budget(new := made(number, NODES[number % 200 :]), ledger):
        ledger.put(new)
        number += 1
    return number


def test_open_holds_on_any_5_000_nodes_are_some_250():
    ledger = Ledger()

    assert 240 <= fill(ledger) <= 260
    assert size_bytes(ledger) < MOST_BYTES


def test_holds_on_the_same_nodes_share_them():
    ledger = Ledger()
    for number in range(1_000):
        nodes = node_set([*NODES], ledger)
        ledger.put(structs.replace(made(number, ()), nodes=nodes))

    assert size_bytes(ledger) < 7_000_000
    assert node_set(NODES[1:], ledger) == {*NODES[1:]}
    assert node_set([*NODES[1:], NodeName("other")], ledger) == {*NODES[1:], "other"}


def ask(extender: Extender, of: PodRef, candidates: Sequence[NodeName]) -> None:
    view = view_of(
        *(node(name, disk()) for name in NODES[:3]),
        *bound(volume()),
        storage_class(dataLocality="disabled"),
        claim("shared"),
    )
    answer = extender.filter(of, candidates, view)
    extender.hold(answer, Asked(), timeouts=TIMEOUTS, now=1.0)


def test_hold_is_not_made_where_there_is_no_memory_and_nothing_has_changed():
    extender = Extender(GENEROUS)
    ask(extender, pod("vol", name="real"), NODES[:1])
    fill(extender.ledger)
    while fits_memory_budget(made(len(extender.ledger), NODES[:9]), extender.ledger):
        extender.ledger.put(made(len(extender.ledger), NODES[: len(extender.ledger)]))
    before = [*extender.ledger]

    with pytest.raises(TooMuchHeldError):
        ask(extender, pod("vol", name="new"), NODES[:3])

    assert [*extender.ledger] == before


def test_hold_of_a_uid_is_for_the_pod_that_has_asked_first():
    extender = Extender(GENEROUS)
    real = pod("vol", name="real")
    ask(extender, real, NODES[:1])
    [before] = extender.ledger

    others = (
        structs.replace(pod("vol", name="other"), uid=real.uid),
        structs.replace(pod("shared", name="real"), uid=real.uid),
        structs.replace(real, namespace="elsewhere", claims=()),
    )
    for other in others:
        with pytest.raises(OtherPodError, match="not the one that has its uid and claims"):
            ask(extender, other, NODES[:3])

    assert [*extender.ledger] == [before]


def test_hold_of_a_pod_that_needs_nothing_on_its_node_remembers_only_known_nodes():
    extender = Extender(GENEROUS)

    ask(extender, pod("shared", name="real"), [*NODES[2:5], NodeName("invented")])

    [found] = extender.ledger
    assert found.nodes == {NODES[2]}
