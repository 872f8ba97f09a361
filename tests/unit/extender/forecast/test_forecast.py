"""Where replicas are forecast that may go anywhere: by Longhorn's order, moved at walls."""

from collections.abc import Iterable, Mapping, Sequence
from random import Random
from typing import Any

import pytest
from hypothesis import event, given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from app.kube.resources import AnyRecord
from extender import ClusterView, Hold, State, ViewBuilder
from extender.forecast.forecast import Forecast
from extender.forecast.moving import MOST_MOVED
from extender.forecast.ranking import Places, Rankings
from longhorn import Locality, Node, NodeName, Volume, need_of
from packing import Item
from tests.builders import (
    GIB,
    backing_image,
    disk,
    hold,
    node,
    replica,
    setting,
    view_of,
    volume,
    wanted,
)
from tests.strategies import nodes, volumes
from tests.unit.extender.outlooks import forecast_of

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
            volumes.setdefault(each.coming.volume.name, []).append(name)
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


@pytest.mark.parametrize(
    ("replicas", "expected"), [(1, ["a-1"]), (2, ["a-1", "b-1"]), (3, ["a-1", "a-2", "b-1"])]
)
def test_replicas_go_to_fresh_zones_and_then_to_unused_nodes(
    replicas: int, expected: list[str]
) -> None:
    assert placed(*THREE, remote(replicas=replicas)) == {"vol": expected}


def test_the_node_with_the_most_unused_bytes_is_taken() -> None:
    written = node("written", disk(maximum_bytes=500 * GIB, available_bytes=200 * GIB))

    assert placed(sized("small", 100), sized("large", 300), written, remote()) == {"vol": ["large"]}


def test_what_is_forecast_counts_for_the_next() -> None:
    nodes = sized("node-1", 100), sized("node-2", 90), sized("node-3", 85)

    found = placed(*nodes, *(remote(name) for name in "uvw"))

    assert found == {"u": ["node-1"], "v": ["node-1"], "w": ["node-2"]}


def test_what_is_held_counts_though_nothing_is_forecast_there() -> None:
    local = volume("local", size_bytes=60 * GIB)

    found = placed(sized("node-1", 100), sized("node-2", 50), remote(), held(local, on=["node-1"]))

    assert found == {"vol": ["node-2"]}


def test_with_fewer_zones_than_replicas_some_go_nowhere_and_take_no_room() -> None:
    nodes = [sized(f"{zone}-{number}", 30, zone=zone) for zone in "ab" for number in range(2)]
    hard = [remote(name, 3, zone_soft=False) for name in "tuvwxy"]

    found, nowhere = forecast(*nodes, *hard)

    assert all([name[0] for name in names] == ["a", "b"] for names in found.values())
    assert nowhere == dict.fromkeys("tuvwxy", 1)


def test_without_zones_all_nodes_are_of_one() -> None:
    found, nowhere = forecast(*FOUR, remote(replicas=3, zone_soft=False))

    assert (found, nowhere) == ({"vol": ["node-1"]}, {"vol": 2})


def test_with_fewer_nodes_than_replicas_some_go_nowhere() -> None:
    assert forecast(*FOUR[:2], remote(replicas=3)) == (
        {"vol": ["node-1", "node-2"]},
        {"vol": 1},
    )


@pytest.mark.parametrize(
    ("of_volume", "by_setting"), [(True, "false"), (None, "true")], ids=["of-volume", "by-setting"]
)
def test_replicas_may_share_a_node(of_volume: bool | None, by_setting: str) -> None:  # noqa: FBT001
    soft = setting("replica-soft-anti-affinity", by_setting)

    found = placed(*FOUR[:2], soft, remote(replicas=4, soft=of_volume))

    assert found == {"vol": ["node-1", "node-1", "node-2", "node-2"]}


def test_replicas_that_may_share_a_node_use_each_node_first() -> None:
    assert placed(sized("large", 400), sized("small"), remote(replicas=3, soft=True)) == {
        "vol": ["large", "large", "small"]
    }


def test_a_hard_zone_means_a_hard_node() -> None:
    hard = remote(replicas=3, soft=True, zone_soft=False)

    assert forecast(*FOUR, hard) == ({"vol": ["node-1"]}, {"vol": 2})


def test_tags_and_topology() -> None:
    fast = node("fast", disk(tags=["ssd"]), tags=["fast"], zone="z")
    slow = node("slow", disk(maximum_bytes=500 * GIB))

    assert placed(fast, slow, remote()) == {"vol": ["slow"]}
    for selected in (
        {"node_selector": ["fast"]},
        {"disk_selector": ["ssd"]},
        {"topology": [("z", "")]},
    ):
        assert placed(fast, slow, remote(**selected)) == {"vol": ["fast"]}


def test_selectors_of_the_backing_image() -> None:
    fast = node("fast", disk(tags=["ssd"]), tags=["fast"])
    slow = node("slow", disk(maximum_bytes=500 * GIB))
    of_image = remote(backing_image="image")

    assert placed(fast, slow, of_image, backing_image()) == {"vol": ["slow"]}
    for image in (backing_image(node_selector=["fast"]), backing_image(disk_selector=["ssd"])):
        assert placed(fast, slow, of_image, image) == {"vol": ["fast"]}


def test_a_volume_whose_image_is_gone_takes_no_room() -> None:
    assert placed(*FOUR, remote(backing_image="image")) == {}


@pytest.mark.parametrize(
    ("how", "expected"),
    [
        pytest.param({}, ["node-2"], id="healthy"),
        pytest.param({"evicting": True}, ["node-2"], id="evicting"),
        pytest.param({"failed": True}, ["node-2"], id="failed-may-come-back"),
        pytest.param({"failed": True, "rebuild_retries": 5}, ["node-1"], id="failed-for-good"),
        pytest.param({"deleting": True}, ["node-1"], id="deleting"),
    ],
)
def test_a_replica_keeps_others_of_its_volume_away(
    how: dict[str, Any], expected: list[str]
) -> None:
    waiting = replica("vol-r-2", on="", healthy_once=False)

    found = placed(
        sized("node-1", 300), sized("node-2"), remote(), replica(on="node-1", **how), waiting
    )

    assert found == {"vol": expected}


def test_a_replica_keeps_others_out_of_its_zone() -> None:
    one_there = [replica(on="b-1", healthy_once=False)]

    assert placed(*THREE, remote(replicas=2), *one_there) == {"vol": ["a-1"]}
    assert placed(*THREE, remote(replicas=3), *one_there) == {"vol": ["a-1", "a-2"]}
    assert forecast(*THREE, remote(replicas=3, zone_soft=False), *one_there) == (
        {"vol": ["a-1"]},
        {"vol": 1},
    )


def test_a_replica_on_a_node_that_takes_none_blocks_neither_node_nor_zone() -> None:
    cordoned = node("a-1", disk(maximum_bytes=900 * GIB), zone="a", schedulable=False)
    hard = remote(replicas=2, zone_soft=False)
    there = replica(on="a-1", healthy_once=False)

    assert placed(cordoned, *THREE[1:], hard, there) == {"vol": ["a-2"]}


def test_a_replica_may_move_within_its_node_if_no_other_is_left() -> None:
    two_disks = node("node-1", disk("disk-1"), disk("disk-2"))
    leaving = replica(evicting=True)
    of = remote(node="node-1", attached_to="node-1", healthy=True)

    assert placed(two_disks, of, leaving) == {"vol": ["node-1"]}
    assert placed(two_disks, sized("node-2", 20), of, leaving) == {"vol": ["node-2"]}


def best_effort(**how: Any) -> Volume:
    return volume(size_bytes=10 * GIB, **how)


def test_the_first_goes_to_the_node_that_the_volume_is_to_be_attached_to() -> None:
    nodes = sized("node-1", 500), sized("node-2"), sized("node-3", 400)

    for replicas, expected in ((1, ["node-2"]), (2, ["node-1", "node-2"])):
        of = best_effort(replicas=replicas, node="node-2")
        assert placed(*nodes, of) == {"vol": expected}


def test_only_the_first_prefers_it() -> None:
    of = best_effort(replicas=3, node="node-2", soft=True)

    assert placed(sized("node-1", 500), sized("node-2"), of) == {
        "vol": ["node-1", "node-1", "node-2"]
    }


def test_it_is_preferred_among_unused_nodes_too() -> None:
    """All zones are used: then the group of unused nodes is that of the choice."""
    nodes = sized("node-1", 500), sized("node-2"), sized("node-3", 400), sized("node-4", 300)
    of = best_effort(replicas=2, node="node-2", attached_to="node-2", degraded=True)

    assert placed(*nodes, of, replica(on="node-3")) == {"vol": ["node-2"]}


def test_it_is_not_preferred_to_a_fresh_zone() -> None:
    of = best_effort(replicas=2, node="a-1", attached_to="a-1", degraded=True)

    assert placed(*THREE, of, replica(on="a-2")) == {"vol": ["b-1"]}


@pytest.mark.parametrize(
    "of",
    [
        best_effort(replicas=2, node="node-2", locality=Locality.DISABLED),
        best_effort(replicas=1, node="full"),
    ],
    ids=["disabled", "full"],
)
def test_it_is_not_preferred(of: Volume) -> None:
    there = [replica(on="node-3", healthy_once=False)] if of.wanted_replicas == 2 else []

    assert placed(sized("node-1", 500), *FOUR[1:3], sized("full", 5), of, *there) == {
        "vol": ["node-1"]
    }


def test_of_a_pod_whose_node_is_chosen_the_others_keep_away_from_it() -> None:
    of = best_effort(replicas=3)

    found = placed(sized("node-1", 500), *FOUR[1:], of, held(of, on=["node-1"]))

    assert found == {"vol": ["node-2", "node-3"]}


def test_a_volume_that_does_not_exist_yet_counts_as_it_will_be() -> None:
    of = remote("pvc-uid-data", 3)

    assert placed(*FOUR, held(of, on=["node-1"])) == {
        "pvc-uid-data": ["node-1", "node-2", "node-3"]
    }


def test_what_is_sure_finds_room_first() -> None:
    """Each takes the only disk."""
    holds = [held(remote("a"), on=["node-1", "node-2"], pod="open")]
    one = sized("node-1", 10)

    assert forecast(one, remote("b"), *holds) == ({"b": ["node-1"]}, {"a": 1})
    assert forecast(one, held(remote("b"), on=["node-1"]), *holds) == ({"b": ["node-1"]}, {"a": 1})


def test_pods_that_share_a_volume_need_its_room_once() -> None:
    of = remote("shared", 2)

    assert placed(*FOUR, held(of, on=["node-1"]), held(of, on=["node-2"], pod="other")) == {
        "shared": ["node-1", "node-2"]
    }


def test_of_pods_that_share_a_volume_it_does_not_matter_which_was_first() -> None:
    of = best_effort(replicas=3)
    nodes = sized("node-1", 500), sized("node-2", 400), sized("node-3"), sized("node-4")
    holds = held(of, on=["node-1"], pod="a"), held(of, on=["node-2"], pod="b")

    assert forecast(*nodes, *holds) == forecast(*nodes, *reversed(holds))


# --- walls ---


def test_a_replica_is_moved_to_make_room() -> None:
    """The first takes most where most is left, but the second fits nowhere else."""
    nodes = sized("large", 100), sized("small", 60)

    assert placed(*nodes, remote("a", gib=60), remote("b", gib=100)) == {
        "a": ["small"],
        "b": ["large"],
    }


def test_several_are_moved_to_make_room() -> None:
    """Three volumes of two replicas for three nodes: each pair of nodes must be taken once."""
    nodes = [sized(f"node-{number}", 20) for number in range(1, 4)]
    confined = remote("c", 2, node_selector=["tag"])
    tagged = [replace(each, tags=frozenset(["tag"])) for each in nodes[:2]]

    found = placed(*tagged, nodes[2], remote("a", 2), remote("b", 2), confined)

    assert found["c"] == ["node-1", "node-2"]
    assert sorted([*found["a"], *found["b"]]) == ["node-1", "node-2", "node-3", "node-3"]


def test_several_are_moved_to_as_many_other_nodes() -> None:
    large = sized("node-1", 200, tags=["tag"])

    found = placed(
        large,
        *(sized(name, 60) for name in ("node-2", "node-3")),
        *(remote(name, gib=60) for name in "ab"),
        remote("c", gib=200, node_selector=["tag"]),
    )

    assert found == {"a": ["node-2"], "b": ["node-3"], "c": ["node-1"]}


def test_what_was_moved_counts_where_it_is() -> None:
    nodes = sized("large", 130), sized("small", 80)

    found = placed(*nodes, remote("a", gib=60), remote("b", gib=100), remote("c", gib=5))

    assert found == {"a": ["small"], "b": ["large"], "c": ["large"]}


def test_a_wall_within_a_node_is_seen() -> None:
    """Two of 60 GiB do not fit disks of 100 and 20 GiB, though the bytes would do."""
    two = node("node-1", disk("disk-1"), disk("disk-2", maximum_bytes=20 * GIB))

    assert placed(two, sized("node-2", 60), remote("a", gib=60), remote("b", gib=60)) == {
        "a": ["node-1"],
        "b": ["node-2"],
    }


def test_what_fits_nowhere_takes_no_room() -> None:
    found, nowhere = forecast(*FOUR, remote("a", 3, gib=101), remote("b", 4, gib=100))

    assert (found, nowhere) == ({"b": [each.name for each in FOUR]}, {"a": 3})


def test_what_cannot_be_moved_stays() -> None:
    found, nowhere = forecast(
        sized("node-1", 60), sized("node-2", 60), remote("a", 2, gib=60), remote("b", gib=50)
    )

    assert (found, nowhere) == ({"a": ["node-1", "node-2"]}, {"b": 1})


def test_one_is_moved_beyond_nodes_that_others_need() -> None:
    """Two nodes with more unused bytes are held for pods, so that only the last one has room."""
    room = node("node-1", disk(maximum_bytes=90 * GIB), tags=["tag"])
    others = sized("node-2", 80), sized("node-3", 80), sized("node-4", 60)
    holds = [
        held(volume(name, size_bytes=80 * GIB), on=[name], pod=name)
        for name in ("node-2", "node-3")
    ]

    found = placed(
        room, *others, *holds, remote("a", gib=50), remote("b", gib=90, node_selector=["tag"])
    )

    assert found == {"a": ["node-4"], "b": ["node-1"]}


def test_one_is_moved_beyond_nodes_that_hold_others_of_its_volume() -> None:
    room = node("node-1", disk(maximum_bytes=90 * GIB), tags=["tag"])
    others = sized("node-2", 80), sized("node-3", 80), sized("node-4", 60)
    there = [
        replica(name, of="a", on=name, size_bytes=0, healthy_once=False)
        for name in ("node-2", "node-3")
    ]

    found = placed(
        room, *others, *there, remote("a", 3, gib=50), remote("b", gib=90, node_selector=["tag"])
    )

    assert found == {"a": ["node-4"], "b": ["node-1"]}


def test_many_replicas_beside_one_that_does_not_fit_are_no_trouble() -> None:
    """Only so many are moved to make room for one more, however many there are."""
    count = 9 * MOST_MOVED
    hosts = [sized(f"node-{number}", 35) for number in range(count // 3)]

    found, nowhere = forecast(*hosts, *(remote(f"v-{number:04}") for number in range(count + 3)))

    assert len(found) == count
    assert len(nowhere) == 3


# --- making way ---


def test_what_is_forecast_gives_way_if_it_finds_another_node() -> None:
    found = forecast_of(view_of(sized("large", 100), sized("small", 60), remote(gib=60)))
    item = Item("new", 60 * GIB, 0, frozenset({0}))

    assert by_volume(found) == {"vol": ["large"]}
    assert found.gives_way(NodeName("large"), [item])
    assert by_volume(found) == {"vol": ["large"]}


def test_what_is_forecast_does_not_give_way_if_it_finds_none() -> None:
    found = forecast_of(view_of(sized("large", 100), sized("small", 59), remote(gib=60)))

    assert not found.gives_way(NodeName("large"), [Item("new", 60 * GIB, 0, frozenset({0}))])


def test_that_all_are_full_is_seen_however_many_there_are() -> None:
    count = MOST_MOVED + 10
    full = [sized(f"node-{number}", 10) for number in range(count)]
    spare = sized("spare", 10)
    of = [remote(f"v-{number}") for number in range(count)]
    item = Item("new", 10 * GIB, 0, frozenset({0}))

    assert not forecast_of(view_of(*full, *of)).gives_way(NodeName("node-1"), [item])
    assert forecast_of(view_of(*full, spare, *of)).gives_way(NodeName("node-1"), [item])


def test_others_are_moved_so_that_it_finds_one() -> None:
    view = view_of(
        node("node-1", tags=["one"]),
        node("node-2", tags=["one", "two"]),
        sized("node-3", 60),
        remote("a", gib=60, node_selector=["one"]),
        remote("b", gib=60),
    )
    found = forecast_of(view)
    assert by_volume(found) == {"a": ["node-1"], "b": ["node-2"]}

    assert found.gives_way(NodeName("node-1"), [Item("new", 60 * GIB, 0, frozenset({0}))])


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
def test_order_of_objects_and_holds_does_not_change_the_forecast(
    situation: tuple[list[AnyRecord], list[Hold]], random: Random
) -> None:
    records, holds = situation

    found = forecast(*records, *holds)
    event(f"nowhere: {bool(found[1])}")

    shuffled = random.sample([*records, *holds], len(records) + len(holds))
    assert forecast(*shuffled) == found


# --- rankings ---


def contents(places: Places, view: ClusterView) -> tuple[object, ...]:
    ranking = places.ranking
    return (
        ranking.by_zone,
        ranking.largest_bytes,
        [(name, ranking.unused_bytes(name)) for name in sorted(view.spaces) if name in ranking],
        [name for name in sorted(view.spaces) if name in places],
        places.item,
        places.are_none,
    )


@settings(max_examples=20)
@given(st.data(), st.lists(volumes("vol"), min_size=1, max_size=3))
def test_rankings_that_are_kept_up_equal_new_ones(data: st.DataObject, of: list[Volume]) -> None:
    needs = [need_of(each, None) for each in of]
    builder, kept = ViewBuilder(), Rankings()
    known: dict[str, Node] = {}
    for _ in range(6):
        for name in data.draw(st.lists(st.sampled_from(["node-1", "node-2", "node-3"]))):
            old = known.pop(name, None)
            new = data.draw(st.none() | nodes(name))
            builder.apply(old, new)
            if new is not None:
                known[name] = new
        builder.settle()
        view = builder.view
        for need in data.draw(st.lists(st.sampled_from(needs))):
            anew = Rankings().places(need, view)

            assert contents(kept.places(need, view), view) == contents(anew, view)
