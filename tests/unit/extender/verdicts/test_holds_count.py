"""What is held for other pods takes room until Longhorn's objects show it."""

from collections.abc import Iterable
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from extender import Answer, Basis, ClusterView, Extender, PodRef, StepLimits
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
    pending,
    pod,
    replica,
    setting,
    view_of,
    volume,
)
from tests.unit.extender.singly import judged_singly

TIMEOUTS = Timeouts(choosing_seconds=5.0, placing_seconds=5.0)
TWO = [node("node-1"), node("node-2")]
FIRST, SECOND = volume("first", size_bytes=60 * GIB), volume("second", size_bytes=60 * GIB)


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


def test_an_open_hold_counts_on_every_node_that_was_accepted() -> None:
    extender, view = Extender(GENEROUS), view_of(*TWO, *bound(FIRST, SECOND))
    hold(extender, view, pod("first", name="first"), "node-1", "node-2")

    result = ask_second(extender, view)

    assert result.accepted == []
    assert result.rejected == {"node-1": RoomHeld(by_open=True), "node-2": RoomHeld(by_open=True)}
    assert result.is_open


def test_an_open_hold_does_not_count_elsewhere() -> None:
    extender, view = Extender(GENEROUS), view_of(*TWO, *bound(FIRST, SECOND))
    hold(extender, view, pod("first", name="first"), "node-1")

    result = ask_second(extender, view)

    assert (result.accepted, result.is_open) == (["node-2"], False)


def test_a_second_replica_beside_the_local_one_of_an_open_hold_counts_as_well() -> None:
    """The first pod goes to the only node or nowhere, and both replicas of its volume do."""
    first = volume("first", size_bytes=40 * GIB, replicas=2)
    settings = [setting("replica-soft-anti-affinity", "true")]
    view = view_of(TWO[0], *bound(first, SECOND), *settings)
    extender = Extender(GENEROUS)
    hold(extender, view, pod("first", name="first"), "node-1")

    assert ask_second(extender, view).rejected == {"node-1": RoomHeld(by_open=True)}


def test_a_chosen_hold_counts_on_the_chosen_node_alone() -> None:
    extender, view = Extender(GENEROUS), view_of(*TWO, *bound(FIRST, SECOND))
    hold(extender, view, pod("first", name="first"), "node-1", "node-2")
    extender.ledger.see("uid-first", Sighting(nominated=NodeName("node-1")), 1.0)

    result = ask_second(extender, view)

    assert result.accepted == ["node-2"]
    assert result.rejected == {"node-1": RoomHeld(by_open=False)}


def test_a_chosen_hold_leaves_nothing_open() -> None:
    extender, view = Extender(GENEROUS), view_of(node(), *bound(FIRST, SECOND))
    hold(extender, view, pod("first", name="first"), "node-1", only=True)

    result = ask_second(extender, view)

    assert result.rejected == {"node-1": RoomHeld(by_open=False)}
    assert not result.is_open


def test_a_pod_is_not_in_its_own_way() -> None:
    extender, view = Extender(GENEROUS), view_of(*TWO, *bound(FIRST, SECOND))
    asked = pod("second", name="second")
    hold(extender, view, asked, "node-1", "node-2")

    assert ask_second(extender, view).accepted == ["node-1", "node-2"]


def test_two_pods_of_one_claim_need_its_room_once() -> None:
    extender, view = Extender(GENEROUS), view_of(*TWO, *bound(SECOND))
    hold(extender, view, pod("second", name="other"), "node-1", "node-2")

    assert ask_second(extender, view).accepted == ["node-1", "node-2"]


def test_holds_and_the_pod_are_packed_together() -> None:
    disks = disk("disk-1", maximum_bytes=60 * GIB), disk("disk-2", maximum_bytes=60 * GIB)
    third = volume("third", size_bytes=60 * GIB)
    extender, view = (
        Extender(GENEROUS),
        view_of(node("node-1", *disks), *bound(FIRST, SECOND, third)),
    )
    hold(extender, view, pod("first", name="first"), "node-1")

    assert ask_second(extender, view).accepted == ["node-1"]

    hold(extender, view, pod("third", name="third"), "node-1")

    assert ask_second(extender, view).rejected == {"node-1": RoomHeld(by_open=True)}


def test_a_replica_that_is_placed_is_counted_once() -> None:
    small = volume("first", size_bytes=40 * GIB)
    placed = replica("first-r-1", of="first", on="node-1", size_bytes=40 * GIB)
    extender = Extender(GENEROUS)
    hold(extender, view_of(node(), *bound(small)), pod("first", name="first"), "node-1", only=True)

    result = ask_second(extender, view_of(node(), *bound(small, SECOND), placed))

    assert result.accepted == ["node-1"]


def test_a_replica_that_must_come_here_is_counted_once() -> None:
    small = volume("first", size_bytes=40 * GIB)
    coming = pending(of="first", size_bytes=40 * GIB)
    view = view_of(node(), *bound(small, SECOND), coming)
    extender = Extender(GENEROUS)
    hold(extender, view, pod("first", name="first"), "node-1", only=True)

    assert ask_second(extender, view).accepted == ["node-1"]


def test_a_hold_that_fits_nowhere_here_closes_no_node() -> None:
    """A pod that was bound to a node we had rejected: Longhorn puts its replica elsewhere."""
    huge = volume("first", size_bytes=200 * GIB)
    extender, view = Extender(GENEROUS), view_of(node(), *bound(huge, SECOND))
    hold(extender, view, pod("first", name="first"), "node-1", only=True)

    assert ask_second(extender, view).accepted == ["node-1"]


def test_holds_of_the_other_data_engine_do_not_compete() -> None:
    disks = disk("disk-1"), disk("disk-2", type_="block")
    other = volume("first", size_bytes=60 * GIB, disk_type="block")
    extender, view = Extender(GENEROUS), view_of(node("node-1", *disks), *bound(other, SECOND))
    hold(extender, view, pod("first", name="first"), "node-1")

    assert ask_second(extender, view).accepted == ["node-1"]


def test_a_hold_counts_on_a_disk_that_is_full_at_the_moment() -> None:
    """Longhorn may still count a replica that is deleted."""
    leaving = replica("old-r-1", of="old", size_bytes=60 * GIB)
    full = disk(listed={"old-r-1": 60 * GIB})
    small = volume("second", size_bytes=30 * GIB)
    extender = Extender(GENEROUS)
    view = view_of(
        node("node-1", full), leaving, *bound(volume("first", size_bytes=90 * GIB), small)
    )
    hold(extender, view, pod("first", name="first"), "node-1", only=True)

    assert ask_second(extender, view).accepted == []


def test_what_the_pod_lacks_by_itself_is_said_first() -> None:
    huge = volume("second", size_bytes=200 * GIB)
    extender, view = Extender(GENEROUS), view_of(node(), *bound(FIRST, huge))
    hold(extender, view, pod("first", name="first"), "node-1")

    result = ask_second(extender, view)

    assert result.rejected == {"node-1": InsufficientStorage(size_bytes=200 * GIB)}
    assert not result.is_open


def test_a_verdict_beside_a_hold_does_not_outlive_it() -> None:
    extender, view = Extender(GENEROUS), view_of(*TWO, *bound(FIRST, SECOND))
    before = ask_second(extender, view)
    hold(extender, view, pod("first", name="first"), "node-1", "node-2")
    during = ask_second(extender, view)
    extender.ledger.see("uid-first", Sighting(exists=False), 1.0)

    assert (before.accepted, during.accepted) == (["node-1", "node-2"], [])
    assert ask_second(extender, view).accepted == before.accepted


@pytest.mark.parametrize("known", [True, False], ids=["remembered", "new"])
def test_the_text_is_the_same_whoever_the_room_is_held_for(*, known: bool) -> None:
    extender, view = Extender(GENEROUS), view_of(*TWO, *bound(FIRST, SECOND))
    if known:
        ask_second(extender, view)
    hold(extender, view, pod("first", name="first"), "node-1")
    hold(extender, view, pod("first", name="else"), "node-2")

    texts = {str(each) for each in ask_second(extender, view).rejected.values()}

    assert texts == {"Longhorn node's room is held for other pods that are being scheduled"}


def test_a_hold_is_in_the_way_of_who_fits_without_it_as_far_as_is_known() -> None:
    """Only a search would find that the pod fits beside the hold, too."""
    disks = disk("disk-1", maximum_bytes=10 * GIB), disk("disk-2", maximum_bytes=10 * GIB)
    own = [volume(f"v{n}", size_bytes=size * GIB) for n, size in enumerate((5, 4, 4, 3, 2))]
    view = view_of(node("node-1", *disks), *bound(*own, volume("other", size_bytes=2 * GIB)))
    extender = Extender(StepLimits(per_node=0, per_request=100))
    hold(extender, view, pod("other", name="other"), "node-1")

    answer = extender.filter(pod(*(each.name for each in own)), sorted(view.spaces), view)

    assert answer.rejected == {"node-1": RoomHeld(by_open=True)}


SIZES = st.lists(st.sampled_from([1, 10, 20, 30, 60]), min_size=1, max_size=3)
"""Few, so that pods need what others needed before."""


@given(
    nodes=st.lists(st.lists(st.integers(20, 120), min_size=1, max_size=3), min_size=1, max_size=3),
    pods=st.lists(SIZES, min_size=1, max_size=7),
    seed=st.integers(0, 2**16),
)
def test_wherever_pods_go_all_that_is_held_fits(
    nodes: list[list[int]], pods: list[list[int]], seed: int
) -> None:
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


@pytest.mark.parametrize("only", [True, False], ids=["chosen", "open"])
def test_a_volume_that_two_pods_share_takes_its_room_once(*, only: bool) -> None:
    small = volume("second", size_bytes=40 * GIB)
    extender, view = Extender(GENEROUS), view_of(node(), *bound(FIRST, small))
    hold(extender, view, pod("first", name="first"), "node-1", only=only)
    hold(extender, view, pod("first", name="also-first"), "node-1")

    assert ask_second(extender, view).accepted == ["node-1"]


@pytest.mark.parametrize(("node", "is_held"), [("node-1", False), ("node-2", True)])
def test_what_is_due_where_a_pod_leaves_is_held_for_where_it_goes(
    node: str, *, is_held: bool
) -> None:
    """While a volume is detached and attached again, nothing of it is due."""
    degraded = volume(replicas=2, node=node, attached_to=node, degraded=True)
    there = replica(on="node-1")
    view = view_of(*TWO, *bound(degraded), there)
    extender, first = Extender(GENEROUS), pod("vol", name="first")

    answer = extender.filter(first, [NodeName("node-1")], view)
    extender.hold(answer, Asked(), timeouts=TIMEOUTS, now=0.0)

    assert answer.accepted == ["node-1"]
    assert bool([*extender.ledger]) is is_held
