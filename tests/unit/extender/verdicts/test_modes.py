"""Mode `node` locks all nodes until a pod is bound, and then its node; `capacity` counts bytes."""

import pytest

from extender import Basis, End, Extender, FilterResult, Mode, PodStatus, Timeouts
from extender.holds.hold import Sighting, State
from extender.verdicts.rejections import (
    InsufficientStorage,
    NodeReserved,
    PodUnscheduled,
    RoomPromised,
    UnknownNode,
)
from longhorn import NodeName
from tests.builders import (
    GENEROUS,
    GIB,
    bound,
    claim,
    disk,
    node,
    persistent_volume,
    pod,
    replica,
    view_of,
    volume,
)

NODES = [NodeName("node-1"), NodeName("node-2"), NodeName("node-3")]
TIMEOUTS = Timeouts(choosing_seconds=5.0, placing_seconds=7.0)
SMALL = [volume(name, size_bytes=GIB) for name in ("first", "second")]
VIEW = view_of(
    *(node(name) for name in NODES[:2]),
    node("node-3", disk(maximum_bytes=GIB // 2)),
    *bound(*SMALL, volume("kept", size_bytes=GIB)),
    replica("kept-r-1", of="kept", on="node-2", size_bytes=GIB),
    claim("plain", persistent_volume="plain"),
    persistent_volume("plain", driver="nfs"),
)


def ask(extender: Extender, name: str, *nodes: str, now: float = 0.0) -> FilterResult:
    """Ask about a pod with a claim of its name, and promise what the answer says."""
    candidates = [NodeName(each) for each in nodes] or NODES
    asked = pod(name, name=name)
    result = extender.filter(asked, candidates, VIEW)
    extender.promise(asked, PodStatus(), result, VIEW, timeouts=TIMEOUTS, now=now)
    return result


def locked(*, bound_to: str = "") -> Extender:
    """Build mode `node` after an answer, and after the pod was bound if a node is given."""
    extender = Extender(GENEROUS, Mode.NODE)
    assert ask(extender, "first").accepted == NODES[:2]
    if bound_to:
        extender.ledger.see("uid-first", Sighting(node=NodeName(bound_to)), 1.0)
    return extender


def test_nobody_else_gets_a_node_while_one_is_not_bound() -> None:
    result = ask(locked(), "second")

    assert result == FilterResult(
        basis=Basis.PLACEMENT,
        accepted=[],
        rejected=dict.fromkeys(NODES, PodUnscheduled()),
        is_open=True,
    )


def test_the_node_of_a_bound_pod_is_nobody_elses() -> None:
    result = ask(locked(bound_to="node-1"), "second")

    assert result.accepted == ["node-2"]
    assert result.rejected == {
        "node-1": NodeReserved(),
        "node-3": InsufficientStorage(size_bytes=GIB),
    }
    assert not result.is_open


def test_nothing_is_open_when_the_only_candidate_is_reserved() -> None:
    result = ask(locked(bound_to="node-1"), "second", "node-1")

    assert (result.rejected, result.is_open) == ({"node-1": NodeReserved()}, False)


def test_a_node_that_does_not_exist_is_not_reserved() -> None:
    result = ask(locked(bound_to="node-9"), "second", "node-9")

    assert result.rejected == {"node-9": UnknownNode()}


@pytest.mark.parametrize("bound_to", ["", "node-1"])
def test_a_pod_does_not_lock_itself_out(bound_to: str) -> None:
    assert ask(locked(bound_to=bound_to), "first").accepted == NODES[:2]


@pytest.mark.parametrize("bound_to", ["", "node-1"])
def test_who_needs_no_room_is_let_through(bound_to: str) -> None:
    extender = locked(bound_to=bound_to)

    assert ask(extender, "plain").accepted == NODES
    assert ask(extender, "kept").accepted == ["node-2"]


def test_one_candidate_is_reserved_at_once() -> None:
    extender = Extender(GENEROUS, Mode.NODE)
    ask(extender, "first", "node-1")

    assert extender.ledger.count(State.OFFERED) == 0
    assert ask(extender, "second").rejected[NODES[0]] == NodeReserved()


def test_what_is_over_locks_nothing() -> None:
    extender = locked()

    extender.ledger.drop("uid-first", End.POD_GONE, 1.0)

    assert ask(extender, "second").accepted == NODES[:2]


def test_replicas_that_are_placed_free_the_node() -> None:
    extender = locked(bound_to="node-1")
    placed = {SMALL[0].name: [replica("first-r-1", of="first", on="node-1")]}

    ended = extender.ledger.settle(placed, TIMEOUTS, 2.0)

    assert [each.why for each in ended] == [End.CONFIRMED]
    assert ask(extender, "second").accepted == NODES[:2]


@pytest.mark.parametrize(
    ("bound_to", "now", "why"), [("", 5.0, End.NOT_CHOSEN), ("node-1", 8.0, End.NOT_PLACED)]
)
def test_time_frees_what_was_locked(bound_to: str, now: float, why: End) -> None:
    extender = locked(bound_to=bound_to)
    assert extender.ledger.settle({}, TIMEOUTS, now - 0.001) == []

    ended = extender.ledger.settle({}, TIMEOUTS, now)

    assert [each.why for each in ended] == [why]
    assert ask(extender, "second").accepted == NODES[:2]


def test_in_mode_capacity_small_pods_go_together() -> None:
    extender = Extender(GENEROUS)
    ask(extender, "first")
    extender.ledger.see("uid-first", Sighting(node=NodeName("node-1")), 1.0)

    assert ask(extender, "second").accepted == NODES[:2]


def test_in_mode_capacity_only_room_counts() -> None:
    large = [volume(name, size_bytes=60 * GIB) for name in ("first", "second")]
    view = view_of(node(), *bound(*large))
    extender = Extender(GENEROUS)
    first, second = (pod(each.name, name=each.name) for each in large)
    result = extender.filter(first, NODES[:1], view)
    extender.promise(first, PodStatus(), result, view, timeouts=TIMEOUTS, now=0.0)

    assert extender.filter(second, NODES[:1], view).rejected == {"node-1": RoomPromised()}
