"""Mode `node` locks all nodes until a pod is bound, and then its node; `capacity` counts bytes."""

import pytest

from extender import Answer, Basis, Extender, Mode
from extender.holds import Asked, Timeouts
from extender.holds.hold import Sighting, State
from extender.verdicts.rejections import NodeReserved, PodUnscheduled, UnknownNode
from extender.verdicts.shortages import InsufficientStorage
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
    storage_class,
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


def ask(extender: Extender, name: str, *nodes: str, now: float = 0.0) -> Answer:
    """Ask about a pod with a claim of its name, and hold what the answer says."""
    candidates = [NodeName(each) for each in nodes] or NODES
    asked = pod(name, name=name)
    result = extender.filter(asked, candidates, VIEW)
    extender.hold(result, Asked(), timeouts=TIMEOUTS, now=now)
    return result


def locked(*, bound_to: str = "") -> Extender:
    """Build mode `node` after an answer, and after the pod was bound if a node is given."""
    extender = Extender(GENEROUS, Mode.NODE)
    assert ask(extender, "first").accepted == NODES[:2]
    if bound_to:
        extender.ledger.see("uid-first", Sighting(node=NodeName(bound_to)), 1.0)
    return extender


def test_node_is_given_to_no_other_pod_while_one_is_not_bound():
    result = ask(locked(), "second")

    assert (result.basis, result.accepted) == (Basis.PLACEMENT, [])
    assert result.rejected == dict.fromkeys(NODES, PodUnscheduled())
    assert result.is_open


def test_node_of_a_bound_pod_is_no_other_pods():
    extender = locked(bound_to="node-1")

    result = ask(extender, "second")

    assert result.accepted == ["node-2"]
    assert result.rejected == {
        "node-1": NodeReserved(),
        "node-3": InsufficientStorage(size_bytes=GIB),
    }
    assert not ask(extender, "second", "node-1").is_open


def test_node_that_does_not_exist_is_not_reserved():
    result = ask(locked(bound_to="node-9"), "second", "node-9")

    assert result.rejected == {"node-9": UnknownNode()}


@pytest.mark.parametrize("bound_to", ["", "node-1"])
def test_pod_does_not_lock_itself_out(bound_to):
    assert ask(locked(bound_to=bound_to), "first").accepted == NODES[:2]


@pytest.mark.parametrize("bound_to", ["", "node-1"])
def test_pod_that_needs_no_room_is_let_through(bound_to):
    extender = locked(bound_to=bound_to)

    assert ask(extender, "plain").accepted == NODES
    assert ask(extender, "kept").accepted == ["node-2"]


def test_candidate_that_is_the_only_one_is_reserved_at_once():
    extender = Extender(GENEROUS, Mode.NODE)
    ask(extender, "first", "node-1")

    assert extender.ledger.count(State.OPEN) == 0
    assert ask(extender, "second").rejected[NODES[0]] == NodeReserved()


def test_mode_capacity_lets_small_pods_go_together():
    extender = Extender(GENEROUS)
    ask(extender, "first")
    extender.ledger.see("uid-first", Sighting(node=NodeName("node-1")), 1.0)

    assert ask(extender, "second").accepted == NODES[:2]


@pytest.mark.parametrize("mode", Mode)
def test_volumes_that_may_go_anywhere_are_held_and_lock_no_pod_out(mode):
    extender = Extender(GENEROUS, mode)
    view = view_of(
        node("node-1", disk(maximum_bytes=3 * GIB)),
        storage_class(dataLocality="disabled"),
        *(claim(name, size_bytes=2 * GIB) for name in ("first", "second")),
        *bound(volume("local", size_bytes=GIB)),
    )

    def accepted(name: str) -> list[NodeName]:
        result = extender.filter(pod(name, name=name), NODES[:1], view)
        extender.hold(result, Asked(), timeouts=TIMEOUTS, now=0.0)
        return [*result.accepted]

    assert accepted("first") == ["node-1"]
    assert accepted("second") == []
    assert accepted("local") == ["node-1"]
