"""Room in sums: what is free beside all that comes, and once the node is lost that has most."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from prometheus_client import CollectorRegistry

from app.instance.room import Room, Rooms, show_room
from app.kube.resource import AnyRecord
from extender import Ledger, Mode, ViewBuilder
from longhorn import Locality, Node
from tests.builders import GIB, disk, hold, node, replica, view_of, volume


def room(*records: AnyRecord, ledger: Ledger | None = None) -> dict[str, Room]:
    return Rooms().by_type(view_of(*records), ledger or Ledger(Mode.CAPACITY))


def with_disk(
    name: str, scheduled_gib: int, size_gib: int = 100, type_: str = "filesystem"
) -> Node:
    return node(
        name,
        disk(type_=type_, maximum_bytes=size_gib * GIB, scheduled_bytes=scheduled_gib * GIB),
    )


def in_gib(found: dict[str, Room]) -> dict[str, tuple[int, ...]]:
    return {name: tuple(size_bytes // GIB for size_bytes in sums) for name, sums in found.items()}


def test_the_disks_of_each_type_are_summed_up():
    disks = [
        with_disk("node-1", 30),
        with_disk("node-2", 40, 200),
        with_disk("node-3", 1, 10, "block"),
    ]

    assert in_gib(room(*disks)) == {"block": (10, 9, -1), "filesystem": (300, 230, 30)}


@pytest.mark.parametrize(
    "closed",
    [
        node("node-1", disk(scheduled_bytes=30 * GIB), ready=False),
        node("node-1", disk(scheduled_bytes=30 * GIB), evicting=True),
        node("node-1", disk(scheduled_bytes=30 * GIB, allow_scheduling=False)),
    ],
    ids=["node-not-ready", "node-evicted", "disk-closed"],
)
def test_what_is_on_disks_that_take_nothing_needs_room_once_they_are_lost(closed):
    found = room(closed, with_disk("node-2", 0, 20), with_disk("node-3", 0, 20))

    assert in_gib(found) == {"filesystem": (40, 40, 10)}


def test_a_disk_beyond_its_limit_takes_nothing_from_others():
    found = room(with_disk("node-1", 150), with_disk("node-2", 40))

    assert in_gib(found) == {"filesystem": (200, 60, -90)}


def test_what_longhorn_is_about_to_place_is_not_free():
    anywhere = volume("remote", locality=Locality.DISABLED, replicas=3, size_bytes=10 * GIB)
    pinned = replica(
        "pinned-r-1", of="pinned", on="", size_bytes=5 * GIB, pinned_to="node-1", healthy_once=False
    )

    found = room(with_disk("node-1", 0), with_disk("node-2", 0), anywhere, volume("pinned"), pinned)

    assert found["filesystem"].free_bytes == (200 - 30 - 5) * GIB


def test_what_is_held_for_pods_is_not_free_and_counts_once():
    ledger = Ledger(Mode.CAPACITY)
    ledger.put(hold("pod", volumes=["new"], nodes=["node-1", "node-2"]))
    ledger.put(hold("pod-2", volumes=["new"], nodes=["node-1"]))
    ledger.put(hold("pod-3", volumes=["due"], nodes=["node-1"]))
    due = volume("due", locality=Locality.DISABLED, replicas=1, size_bytes=10 * GIB)

    found = room(with_disk("node-1", 0), with_disk("node-2", 0), due, ledger=ledger)

    assert found["filesystem"].free_bytes == 180 * GIB


def test_a_cluster_without_nodes_has_no_figures():
    assert room() == {}


def test_figures_follow_the_nodes():
    builder, rooms, ledger = ViewBuilder(), Rooms(), Ledger(Mode.CAPACITY)
    first, second = with_disk("node-1", 30), with_disk("node-2", 0)
    for each in (first, second):
        builder.apply(None, each)
    builder.settle()
    rooms.by_type(builder.view, ledger)

    builder.apply(first, with_disk("node-1", 50))
    builder.apply(second, None)
    builder.settle()

    assert in_gib(rooms.by_type(builder.view, ledger)) == {"filesystem": (100, 50, -50)}


@given(st.lists(st.integers(0, 120), min_size=1, max_size=6))
def test_it_is_what_losing_each_node_leaves(scheduled):
    nodes = [with_disk(f"node-{n}", taken) for n, taken in enumerate(scheduled)]

    left = [
        sum(max(0, 100 - taken) for n, taken in enumerate(scheduled) if n != gone) - scheduled[gone]
        for gone in range(len(scheduled))
    ]

    assert room(*nodes)["filesystem"].after_loss_bytes == min(left) * GIB


def test_what_there_is_is_shown_by_type_of_disk():
    registry = CollectorRegistry()
    show_room(registry, lambda: {"block": Room(3, 2, -1)})

    assert {each.name: each.value for family in registry.collect() for each in family.samples} == {
        "longhorn_scheduler_extender_room_limit_bytes": 3,
        "longhorn_scheduler_extender_room_free_bytes": 2,
        "longhorn_scheduler_extender_room_free_after_loss_bytes": -1,
    }
