"""What is held for other pods takes room until Longhorn's objects show it."""

from collections.abc import Iterable
from random import Random
from typing import NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.kube.resource import AnyRecord
from extender import Answer, Basis, ClusterView, Extender, PodRef, Rejection, StepLimits
from extender.demand.requests import resolve
from extender.holds import Asked, Timeouts
from extender.holds.hold import Sighting
from extender.verdicts.rejections import UnknownNode
from extender.verdicts.shortages import InsufficientStorage, RoomHeld
from longhorn import Node, NodeName
from packing import Bin, Item, Packed, pack
from tests.builders import (
    GENEROUS,
    GIB,
    bound,
    disk,
    node,
    nodes_of,
    pod,
    replica,
    replicas_of,
    setting,
    view_of,
    volume,
    volumes_of,
)
from tests.unit.extender.singly import judged_singly

TIMEOUTS = Timeouts(choosing_seconds=5.0, placing_seconds=5.0)
TWO = nodes_of("1 2")


def hold(
    extender: Extender, view: ClusterView, asked: PodRef, *nodes: str, only: bool = False
) -> None:
    """Hold for a pod what an answer says that accepts these nodes, of more unless they are all."""
    request = resolve(asked, view)
    answer = Answer(
        request=request,
        view=view,
        situation=extender.situation(request, view),
        basis=Basis.PLACEMENT,
        candidates=[NodeName(each) for each in nodes],
        accepted=[NodeName(each) for each in nodes],
        rejected={} if only else {NodeName("another"): UnknownNode()},
    )
    extender.hold(answer, Asked(), timeouts=TIMEOUTS, now=0.0)


def ask_second(extender: Extender, view: ClusterView) -> Answer:
    return extender.filter(pod("second", name="second"), sorted(view.spaces), view)


class Held(NamedTuple):
    """A hold: of the pod of this name, with its claims, on nodes; `!` is all that it may go to."""

    pod: str
    claims: str
    nodes: str

    def put(self, extender: Extender, view: ClusterView) -> None:
        asked, nodes = pod(*self.claims.split(), name=self.pod), self.nodes.rstrip("!")
        only = self.nodes.endswith("!")
        hold(extender, view, asked, *(f"node-{n}" for n in nodes), only=only)


def first(nodes: str) -> Held:
    return Held("first", "first", nodes)


def held(*nodes: int, by_open: bool = True) -> dict[str, Rejection]:
    return {f"node-{number}": RoomHeld(by_open=by_open) for number in nodes}


SIXTY = "first:60 second:60"
SOFT = setting("replica-soft-anti-affinity", "true")
TWO_KINDS = node("node-1", disk("disk-1"), disk("disk-2", type_="block"))
ALMOST_FULL = [
    node("node-1", disk(listed={"old-r-1": 60 * GIB})),
    replica("old-r-1", of="old", size_bytes=60 * GIB),
]
"""Longhorn may still count a replica that is deleted."""
THREE = "first:60 second:60 third:60"
BLOCK = [*volumes_of("first:60", disk_type="block"), *volumes_of("second:60")]
ROWS: dict[str, tuple[list[AnyRecord], list[Held], dict[str, Rejection]]] = {
    # The cluster, holds, and why nodes are rejected for the pod that uses volume second.
    "open-hold-counts-on-every-node-accepted": (
        [*TWO, *bound(*volumes_of(SIXTY))], [first("12")], held(1, 2)),
    "open-hold-does-not-count-elsewhere": (
        [*TWO, *bound(*volumes_of(SIXTY))], [first("1")], held(1)),
    # The first pod goes to the only node or nowhere, and both replicas of its volume do.
    "open-hold-counts-a-second-replica-beside-the-local-one": (
        [TWO[0], *bound(*volumes_of("first:40*2 second:60")), SOFT], [first("1")], held(1)),
    "chosen-hold-counts-and-leaves-nothing-open": (
        [node(), *bound(*volumes_of(SIXTY))], [first("1!")], held(1, by_open=False)),
    "own-hold-is-not-in-the-way": (
        [*TWO, *bound(*volumes_of(SIXTY))], [Held("second", "second", "12")], {}),
    "claim-of-two-pods-needs-its-room-once": (
        [*TWO, *bound(*volumes_of("second:60"))], [Held("other", "second", "12")], {}),
    "hold-is-packed-with-the-pod": (
        [*nodes_of("1:60,60"), *bound(*volumes_of(THREE))], [first("1")], {}),
    "holds-are-packed-with-the-pod": ([*nodes_of("1:60,60"), *bound(*volumes_of(THREE))],
        [first("1"), Held("third", "third", "1")], held(1)),
    "replica-that-must-come-here-counts-once": (
        [node(), *bound(*volumes_of("first:40 second:60")), *replicas_of("first:40>1")],
        [first("1!")], {}),
    # A pod was bound to a node that was rejected: Longhorn puts its replica elsewhere.
    "hold-that-fits-nowhere-here-closes-no-node": (
        [node(), *bound(*volumes_of("first:200 second:60"))], [first("1!")], {}),
    "hold-of-the-other-data-engine-does-not-compete": (
        [TWO_KINDS, *bound(*BLOCK)], [first("1")], {}),
    "hold-counts-on-a-disk-that-is-full-now": (
        [*ALMOST_FULL, *bound(*volumes_of("first:90 second:30"))], [first("1!")],
        held(1, by_open=False)),
    "shortage-of-the-pod-itself-is-said-first": (
        [node(), *bound(*volumes_of("first:60 second:200"))], [first("1")],
        {"node-1": InsufficientStorage(size_bytes=200 * GIB)}),
    **{f"volume-of-two-pods-takes-its-room-once-{name}": (
        [node(), *bound(*volumes_of("first:60 second:40"))],
        [first(nodes), Held("also-first", "first", "1")], {})
        for name, nodes in (("chosen", "1!"), ("open", "1"))},
}  # fmt: skip


@pytest.mark.parametrize("name", ROWS)
def test_holds_take_room(name):
    records, holds, expected = ROWS[name]
    extender, view = Extender(GENEROUS), view_of(*records)
    for each in holds:
        each.put(extender, view)

    result = ask_second(extender, view)

    assert result.rejected == expected
    assert result.accepted == [each for each in sorted(view.spaces) if each not in expected]
    is_open = any(each == RoomHeld(by_open=True) for each in expected.values())
    assert result.is_open is (is_open and not result.accepted)


def test_chosen_hold_counts_on_the_chosen_node_alone():
    extender, view = Extender(GENEROUS), view_of(*TWO, *bound(*volumes_of(SIXTY)))
    first("12").put(extender, view)
    extender.ledger.see("uid-first", Sighting(nominated=NodeName("node-1")), 1.0)

    assert ask_second(extender, view).rejected == held(1, by_open=False)


def test_replica_that_is_placed_is_counted_once():
    small, second = volumes_of("first:40 second:60")
    extender = Extender(GENEROUS)
    first("1!").put(extender, view_of(node(), *bound(small)))

    then = view_of(node(), *bound(small, second), *replicas_of("first:40@1"))

    assert ask_second(extender, then).accepted == ["node-1"]


def test_verdict_beside_a_hold_does_not_outlive_it():
    extender, view = Extender(GENEROUS), view_of(*TWO, *bound(*volumes_of(SIXTY)))
    before = ask_second(extender, view)
    first("12").put(extender, view)
    during = ask_second(extender, view)
    extender.ledger.see("uid-first", Sighting(exists=False), 1.0)

    assert (before.accepted, during.accepted) == (["node-1", "node-2"], [])
    assert ask_second(extender, view).accepted == before.accepted


@pytest.mark.parametrize("known", [True, False], ids=["remembered", "new"])
def test_text_is_the_same_for_every_pod_that_room_is_held_for(known):
    extender, view = Extender(GENEROUS), view_of(*TWO, *bound(*volumes_of(SIXTY)))
    if known:
        ask_second(extender, view)
    first("1").put(extender, view)
    Held("else", "first", "2").put(extender, view)

    texts = {str(each) for each in ask_second(extender, view).rejected.values()}

    assert texts == {"Longhorn node's room is held for other pods that are being scheduled"}


def test_hold_is_in_the_way_of_a_pod_that_fits_without_it_as_far_as_is_known():
    """Only a search would find that the pod fits beside the hold, too."""
    own, [other] = volumes_of("v0:5 v1:4 v2:4 v3:3 v4:2"), volumes_of("other:2")
    view = view_of(*nodes_of("1:10,10"), *bound(*own, other))
    extender = Extender(StepLimits(per_node=0, per_request=100))
    Held("other", "other", "1").put(extender, view)

    answer = extender.filter(pod(*(each.name for each in own)), sorted(view.spaces), view)

    assert answer.rejected == held(1)


SIZES = st.lists(st.sampled_from([1, 10, 20, 30, 60]), min_size=1, max_size=3)
"""Few, so that pods need what others needed before."""


@given(
    nodes=st.lists(st.lists(st.integers(20, 120), min_size=1, max_size=3), min_size=1, max_size=3),
    pods=st.lists(SIZES, min_size=1, max_size=7),
    seed=st.integers(0, 2**16),
)
def test_holds_all_fit_wherever_pods_go(nodes, pods, seed):
    """Pods come one after another; for some the node is chosen at once, for others at the end.

    Each answer is that of packing each node by itself.
    """
    random = Random(seed)
    records = [_node(f"node-{n}", sizes) for n, sizes in enumerate(nodes)]
    volumes = {
        f"pod-{p}": [volume(f"v-{p}-{n}", size_bytes=size * GIB) for n, size in enumerate(sizes)]
        for p, sizes in enumerate(pods)
    }
    view = view_of(*records, *bound(*(each for of_pod in volumes.values() for each in of_pod)))
    extender, accepted = Extender(GENEROUS), dict[str, list[NodeName]]()
    for name, wanted in volumes.items():
        asked = pod(*(each.name for each in wanted), name=name)
        answer = extender.filter(asked, sorted(view.spaces), view)
        assert answer.rejected == judged_singly(answer, view, extender.ledger)
        found = list(answer.accepted)
        if found:
            accepted[name] = found
            hold(extender, view, asked, *found)
            if random.random() < 0.5:
                accepted[name] = [random.choice(found)]
                sighting = Sighting(nominated=accepted[name][0])
                extender.ledger.see(asked.uid, sighting, 1.0)

    chosen = {name: random.choice(found) for name, found in accepted.items()}

    for record in records:
        here = [each for name, at in chosen.items() if at == record.name for each in volumes[name]]
        assert _fit(record, (each.size_bytes for each in here))


def _node(name: str, sizes: Iterable[int]) -> Node:
    return node(name, *(disk(f"d{n}", maximum_bytes=size * GIB) for n, size in enumerate(sizes)))


def _fit(record: Node, sizes: Iterable[int]) -> bool:
    items = [Item(str(n), size, 0, frozenset({0})) for n, size in enumerate(sizes)]
    bins = [Bin(each.name, 0, each.maximum_bytes, 1) for each in record.disks]
    return isinstance(pack(items, bins, step_limit=10**6), Packed)


@pytest.mark.parametrize(("node", "is_held"), [("node-1", False), ("node-2", True)])
def test_replica_due_where_a_pod_leaves_is_held_for_where_it_goes(node, is_held):
    """While a volume is detached and attached again, nothing of it is due."""
    degraded = volume(replicas=2, node=node, attached_to=node, degraded=True)
    view = view_of(*TWO, *bound(degraded), *replicas_of("vol@1"))
    extender = Extender(GENEROUS)

    answer = extender.filter(pod("vol", name="first"), [NodeName("node-1")], view)
    extender.hold(answer, Asked(), timeouts=TIMEOUTS, now=0.0)

    assert answer.accepted == ["node-1"]
    assert bool([*extender.ledger]) is is_held
