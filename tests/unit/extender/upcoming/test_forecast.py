"""Where replicas are forecast that may go anywhere: by Longhorn's order."""

from collections.abc import Iterable, Mapping, Sequence

import pytest
from hypothesis import event, given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from app.kube.resource import AnyRecord
from extender import Extender, Hold
from extender.demand.requests import NOBODY
from extender.holds import State
from extender.upcoming.eligibility import Takers
from longhorn import Locality, Node, Volume, need_of
from tests.builders import (
    GENEROUS,
    GIB,
    disk,
    hold,
    node,
    nodes_of,
    replicas_of,
    view_of,
    volume,
    volumes_of,
    wanted,
)
from tests.effort import examples
from tests.strategies import nodes, volumes
from tests.unit.extender.books import forecast_of
from tests.unit.extender.live import LiveView


def forecast(
    records: Iterable[AnyRecord], holds: Iterable[Hold] = ()
) -> tuple[Mapping[str, Sequence[str]], Mapping[str, int]]:
    """Return the nodes where each volume is forecast, sorted, and how many replicas nowhere."""
    found = forecast_of(view_of(*records), holds)
    by_volume: dict[str, list[str]] = {}
    for name, remotes in found.on.items():
        for each in remotes:
            by_volume.setdefault(each.volume.name, []).append(name)
    nowhere = {str(name): count for name, count in found.nowhere.items()}
    return {volume: sorted(names) for volume, names in by_volume.items()}, nowhere


SHARED = replicas_of("source@2 source@4")
CLONE = volumes_of("clone*3~", linked_to="source")
ONE_COPY = volumes_of("clone~", linked_to="source")
BESIDE_4 = replicas_of("clone@/new", source="source-r-2")
FORECASTS: dict[str, tuple[str, Sequence[AnyRecord], dict[str, str], dict[str, int]]] = {
    # Nodes, what is due and placed on them; the nodes of each volume, and what finds no room.
    "linked-clone-comes-beside-what-it-shares": (
        "1 2 3 4", [*SHARED, *CLONE], {"clone": "2 4"}, {"clone": 1}),
    "linked-clone-comes-beside-the-replica-it-shares-with": (
        "1 2 3 4", [*SHARED, *BESIDE_4, *ONE_COPY], {"clone": "4"}, {}),
    # Two of 60 GiB do not fit disks of 100 and 20 GiB, though the bytes would do.
    "wall-within-a-node-is-seen": (
        "1:100,20 2:60", volumes_of("a:60~ b:60~"), {"a": "1", "b": "2"}, {}),
    "replica-that-fits-nowhere-takes-no-room": (
        "1 2 3 4", volumes_of("a:101*3~ b:100*4~"), {"b": "1 2 3 4"}, {"a": 3}),
    "replica-that-was-forecast-first-stays": (
        "1:60 2:60", volumes_of("a:60*2~ b:50~"), {"a": "1 2"}, {"b": 1}),
}  # fmt: skip


@pytest.mark.parametrize(
    ("nodes", "records", "expected", "nowhere"), FORECASTS.values(), ids=FORECASTS
)
def test_forecast(nodes, records, expected, nowhere):
    numbers = {name: [f"node-{n}" for n in there.split()] for name, there in expected.items()}

    assert forecast([*nodes_of(nodes), *records]) == (numbers, nowhere)


def test_replicas_many_beside_one_that_does_not_fit_are_no_trouble():
    count = 1_800
    hosts = nodes_of(" ".join(f"{number}:35" for number in range(count // 3)))
    due = volumes_of(" ".join(f"v-{number:04}~" for number in range(count + 3)))

    found, nowhere = forecast([*hosts, *due])

    assert len(found) == count
    assert len(nowhere) == 3


# --- the same input ---

SMALL = st.integers(1, 4).map(lambda tens: 10 * tens * GIB)
LOCALITIES = st.sampled_from([Locality.DISABLED, Locality.DISABLED, Locality.BEST_EFFORT])
tags = st.sampled_from([[], [], ["ssd"]])


@st.composite
def situations(draw: st.DrawFn) -> tuple[list[AnyRecord], list[Hold]]:
    """Draw nodes that are about full, volumes of which replicas are due, and pods with a node."""
    hosts = [
        node(
            f"node-{number}",
            *(
                disk(f"disk-{n}", maximum_bytes=draw(SMALL), tags=draw(tags))
                for n in range(draw(st.integers(1, 2)))
            ),
            zone=draw(st.sampled_from("ab")),
        )
        for number in range(draw(st.integers(2, 5)))
    ]
    names = [str(each.name) for each in hosts]
    shown = [draw(small_volumes(f"shown-{number}", names)) for number in range(3)]
    unborn = [draw(small_volumes(f"held-{number}", [])) for number in range(3)]
    some = st.lists(st.sampled_from(unborn), min_size=1, max_size=2, unique=True)
    candidates = st.lists(st.sampled_from(names), min_size=1, max_size=2, unique=True)
    holds = [
        held(f"pod-{number}", draw(some), draw(candidates))
        for number in range(draw(st.integers(0, 4)))
    ]
    return [*hosts, *shown], holds


@st.composite
def small_volumes(draw: st.DrawFn, name: str, names: Sequence[str]) -> Volume:
    return volume(
        name,
        size_bytes=draw(SMALL),
        locality=draw(LOCALITIES),
        replicas=draw(st.integers(1, 3)),
        disk_selector=draw(tags),
        node=draw(st.sampled_from([None, *names])),
        soft=draw(st.sampled_from([None, None, True])),
        zone_soft=draw(st.sampled_from([None, None, False])),
    )


def held(pod: str, of: Iterable[Volume], on: Sequence[str]) -> Hold:
    """Build the hold for a pod that may go to these nodes, or whose node it is if it is one."""
    local = tuple(wanted(each) for each in of if each.needs_local_replica)
    others = tuple(wanted(each) for each in of if not each.needs_local_replica)
    state = State.CHOSEN if len(on) == 1 else State.OPEN
    return replace(hold(pod, volumes=(), nodes=on), volumes=local, remote=others, state=state)


@given(situations(), st.randoms(use_true_random=False))
def test_order_of_objects_and_holds_does_not_change_the_forecast(situation, random):
    records, holds = situation

    found = forecast(records, holds)
    event(f"nowhere: {bool(found[1])}")

    shuffled = [random.sample(each, len(each)) for each in situation]
    assert forecast(*shuffled) == found


# --- hosts ---


def contents(hosts: Takers) -> tuple[object, ...]:
    zones = sorted(hosts.zones)
    ranks = {zone: hosts.ranks(zone) for zone in zones}
    names = [name for zone in zones for _, name in ranks[zone]]
    return ranks, [(name, hosts.unused_bytes(name), hosts.zone_of(name)) for name in names]


@settings(max_examples=examples(20))
@given(st.data(), st.lists(volumes("vol"), min_size=1, max_size=3))
def test_hosts_that_are_kept_up_equal_new_ones(data, of):
    needs = [need_of(each, None) for each in of]
    live, kept = LiveView(), Extender(GENEROUS)
    for _ in range(6):
        for name in data.draw(st.lists(st.sampled_from(["node-1", "node-2", "node-3"]))):
            new = data.draw(st.none() | nodes(name))
            if new is not None:
                live.put(new)
            elif (Node, name) in live.known:
                live.drop(Node, name)
        eligibility = kept.situation(NOBODY, live.view).book.forecast.eligibility
        for need in data.draw(st.lists(st.sampled_from(needs))):
            anew = forecast_of(live.view).eligibility.takers(need)

            assert contents(eligibility.takers(need)) == contents(anew)
