"""Where replicas are forecast that may go anywhere: by Longhorn's order."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from hypothesis import event, given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from app.kube.resource import AnyRecord
from extender import Extender, Hold, ViewBuilder
from extender.demand.requests import NOBODY
from extender.holds import State
from extender.upcoming.eligibility import Takers
from extender.upcoming.forecast import Forecast
from longhorn import Locality, Node, Volume, need_of
from tests.builders import (
    GENEROUS,
    GIB,
    disk,
    hold,
    node,
    replica,
    view_of,
    volume,
    wanted,
)
from tests.effort import examples
from tests.strategies import nodes, volumes
from tests.unit.extender.books import forecast_of

Forecasted = Mapping[str, Sequence[str]]
"""The nodes of each volume, sorted."""


def sized(name: str, gib: int = 100, **how: Any) -> Node:
    """Build a node of one disk."""
    return node(name, disk(maximum_bytes=gib * GIB), **how)


def remote(name: str = "vol", replicas: int = 1, *, gib: int = 10, **how: Any) -> Volume:
    """Build a new volume of locality disabled: all its replicas may go anywhere."""
    how = {"locality": Locality.DISABLED} | how
    return volume(name, size_bytes=gib * GIB, replicas=replicas, **how)


def held(*of: Volume, on: Iterable[str], pod: str = "pod") -> Hold:
    """Build the hold for a pod that may go to these nodes, or whose node it is if it is one."""
    found = hold(pod, volumes=(), nodes=on)
    local = tuple(wanted(each) for each in of if each.needs_local_replica)
    others = tuple(wanted(each) for each in of if not each.needs_local_replica)
    state = State.CHOSEN if len(found.nodes) == 1 else State.OPEN
    return replace(found, volumes=local, remote=others, state=state)


def by_volume(found: Forecast) -> dict[str, list[str]]:
    volumes: dict[str, list[str]] = {}
    for name, remotes in found.on.items():
        for each in remotes:
            volumes.setdefault(each.volume.name, []).append(name)
    return {volume: sorted(names) for volume, names in volumes.items()}


def forecast(*records: AnyRecord | Hold) -> tuple[Forecasted, Mapping[str, int]]:
    """Return where replicas are forecast, and how many of each volume nowhere."""
    view = view_of(*(each for each in records if not isinstance(each, Hold)))
    found = forecast_of(view, [each for each in records if isinstance(each, Hold)])
    return by_volume(found), {str(name): count for name, count in found.nowhere.items()}


def placed(*records: AnyRecord | Hold) -> Forecasted:
    """Return where replicas are forecast, all of which find room."""
    found, nowhere = forecast(*records)
    assert not nowhere
    return found


THREE = sized("a-1", 100, zone="a"), sized("a-2", 90, zone="a"), sized("b-1", 50, zone="b")
FOUR = tuple(sized(f"node-{number}") for number in range(1, 5))


def test_replicas_of_a_linked_clone_come_beside_what_it_shares():
    shared = [replica(f"source-r-{name}", of="source", on=name) for name in ("node-2", "node-4")]
    clone = remote("clone", 3, linked_to="source")

    found, nowhere = forecast(*FOUR, *shared, clone)

    assert found == {"clone": ["node-2", "node-4"]}
    assert nowhere == {"clone": 1}


def test_replica_of_a_linked_clone_comes_beside_the_one_it_shares_with():
    shared = [replica(f"source-r-{name}", of="source", on=name) for name in ("node-2", "node-4")]
    waits = replica("clone-r-1", of="clone", on="", healthy_once=False, source="source-r-node-4")

    found, nowhere = forecast(*FOUR, *shared, waits, remote("clone", 1, linked_to="source"))

    assert (found, nowhere) == ({"clone": ["node-4"]}, {})


def test_wall_within_a_node_is_seen():
    """Two of 60 GiB do not fit disks of 100 and 20 GiB, though the bytes would do."""
    two = node("node-1", disk("disk-1"), disk("disk-2", maximum_bytes=20 * GIB))

    assert placed(two, sized("node-2", 60), remote("a", gib=60), remote("b", gib=60)) == {
        "a": ["node-1"],
        "b": ["node-2"],
    }


def test_replica_that_fits_nowhere_takes_no_room():
    found, nowhere = forecast(*FOUR, remote("a", 3, gib=101), remote("b", 4, gib=100))

    assert (found, nowhere) == ({"b": [each.name for each in FOUR]}, {"a": 3})


def test_replica_that_was_forecast_first_stays():
    found, nowhere = forecast(
        sized("node-1", 60), sized("node-2", 60), remote("a", 2, gib=60), remote("b", gib=50)
    )

    assert (found, nowhere) == ({"a": ["node-1", "node-2"]}, {"b": 1})


def test_replicas_many_beside_one_that_does_not_fit_are_no_trouble():
    count = 1_800
    hosts = [sized(f"node-{number}", 35) for number in range(count // 3)]

    found, nowhere = forecast(*hosts, *(remote(f"v-{number:04}") for number in range(count + 3)))

    assert len(found) == count
    assert len(nowhere) == 3


# --- the same input ---

SMALL = st.integers(1, 4).map(lambda tens: 10 * tens)
LOCALITIES = st.sampled_from([Locality.DISABLED, Locality.DISABLED, Locality.BEST_EFFORT])


@st.composite
def situations(draw: st.DrawFn) -> tuple[list[AnyRecord], list[Hold]]:
    """Draw nodes that are about full, volumes of which replicas are due, and pods with a node."""
    hosts = [
        node(
            f"node-{number}",
            *(
                disk(f"disk-{n}", maximum_bytes=draw(SMALL) * GIB, tags=draw(tags))
                for n in range(draw(st.integers(1, 2)))
            ),
            zone=draw(st.sampled_from("ab")),
        )
        for number in range(draw(st.integers(2, 5)))
    ]
    names = [str(each.name) for each in hosts]
    shown = [draw(small_volumes(f"shown-{number}", names)) for number in range(3)]
    unborn = [draw(small_volumes(f"held-{number}", [])) for number in range(3)]
    holds = [
        held(
            *draw(st.lists(st.sampled_from(unborn), min_size=1, max_size=2, unique=True)),
            on=draw(st.lists(st.sampled_from(names), min_size=1, max_size=2, unique=True)),
            pod=f"pod-{number}",
        )
        for number in range(draw(st.integers(0, 4)))
    ]
    return [*hosts, *shown], holds


tags = st.sampled_from([[], [], ["ssd"]])


@st.composite
def small_volumes(draw: st.DrawFn, name: str, names: Sequence[str]) -> Volume:
    return volume(
        name,
        size_bytes=draw(SMALL) * GIB,
        locality=draw(LOCALITIES),
        replicas=draw(st.integers(1, 3)),
        disk_selector=draw(tags),
        node=draw(st.sampled_from([None, *names])),
        soft=draw(st.sampled_from([None, None, True])),
        zone_soft=draw(st.sampled_from([None, None, False])),
    )


@given(situations(), st.randoms(use_true_random=False))
def test_order_of_objects_and_holds_does_not_change_the_forecast(situation, random):
    records, holds = situation

    found = forecast(*records, *holds)
    event(f"nowhere: {bool(found[1])}")

    shuffled = random.sample([*records, *holds], len(records) + len(holds))
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
    builder, kept = ViewBuilder(), Extender(GENEROUS)
    known: dict[str, Node] = {}
    for _ in range(6):
        for name in data.draw(st.lists(st.sampled_from(["node-1", "node-2", "node-3"]))):
            old = known.pop(name, None)
            new = data.draw(st.none() | nodes(name))
            builder.apply(old, new)
            if new is not None:
                known[name] = new
        builder.settle()
        live = kept.situation(NOBODY, builder.view).book.forecast.eligibility
        for need in data.draw(st.lists(st.sampled_from(needs))):
            anew = forecast_of(builder.view).eligibility.takers(need)

            assert contents(live.takers(need)) == contents(anew)
