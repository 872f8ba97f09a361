"""What disks have left together, and whether it takes what lost nodes have scheduled."""

from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.kube.resource import AnyRecord
from extender.ahead.pieces import finish
from extender.ahead.room import Left, NodeClass, Room, room
from longhorn import Node
from tests.builders import GIB, disk, node, setting, view_of

PHYSICAL = setting("storage-minimal-available-percentage", "0")


def found(*records: AnyRecord) -> Room:
    view = view_of(PHYSICAL, *records)
    return finish(room(lambda: view))


def with_disk(name: str, scheduled: int, size: int = 100) -> Node:
    """Build a node with one disk, in GiB."""
    return node(name, disk(maximum_bytes=size * GIB, scheduled_bytes=scheduled * GIB))


def test_disks_are_summed_up_by_what_volumes_can_tell_apart() -> None:
    ssd = disk("ssd", tags=["ssd", "fast"], scheduled_bytes=30 * GIB)
    one = node("node-1", disk("hdd"), ssd, zone="a", tags=["storage"])
    two = node("node-2", disk("hdd", scheduled_bytes=40 * GIB), zone="a", tags=["storage"])

    by_class = found(one, two).by_class

    assert {name: (each.limit_bytes, each.headroom_bytes) for name, each in by_class.items()} == {
        NodeClass("a", "storage", "filesystem", ""): (200 * GIB, 160 * GIB),
        NodeClass("a", "storage", "filesystem", "fast,ssd"): (100 * GIB, 70 * GIB),
    }


def test_what_may_be_written_is_summed_up_too() -> None:
    [left] = found(node("node-1", disk(available_bytes=60 * GIB))).by_class.values()

    assert left == Left(100 * GIB, 100 * GIB, 60 * GIB - 1)


@pytest.mark.parametrize(
    "closed",
    [
        node("node-1", ready=False),
        node("node-1", evicting=True),
        node("node-1", disk(allow_scheduling=False)),
    ],
    ids=["node-not-ready", "node-evicted", "disk-closed"],
)
def test_disks_that_take_no_replicas_have_nothing_left(closed: Node) -> None:
    assert found(closed).by_class == {}


def test_a_disk_beyond_its_limit_takes_nothing_from_others() -> None:
    [left] = found(with_disk("node-1", 150), with_disk("node-2", 40)).by_class.values()

    assert left.headroom_bytes == 60 * GIB


@pytest.mark.parametrize(
    ("scheduled", "nodes"),
    [
        ([0, 0, 0], 2),
        ([33, 33, 33], 2),
        ([50, 50, 50], 1),
        ([70, 70, 70], 0),
        ([10], 0),  # nobody is left
        ([], 0),
    ],
)
def test_so_many_nodes_may_be_lost_by_room(scheduled: list[int], nodes: int) -> None:
    each = [with_disk(f"node-{n}", taken) for n, taken in enumerate(scheduled)]

    assert found(*each).nodes_with_room == nodes


def test_room_on_disks_of_another_type_does_not_help() -> None:
    block = disk("block", type_="block", maximum_bytes=900 * GIB)
    full = [with_disk(f"node-{n}", 90) for n in range(3)]

    assert found(*full, node("node-9", block)).nodes_with_room == 0


sizes = st.integers(0, 120)


@given(st.lists(sizes, min_size=3, max_size=6))
def test_it_is_what_trying_all_pairs_finds(scheduled: list[int]) -> None:
    each = [with_disk(f"node-{n}", taken) for n, taken in enumerate(scheduled)]

    def has_room(gone: tuple[int, ...]) -> bool:
        left = sum(max(0, 100 - taken) for n, taken in enumerate(scheduled) if n not in gone)
        return sum(scheduled[n] for n in gone) <= left

    numbers = range(len(scheduled))
    tried = [n for n in (1, 2) if all(map(has_room, combinations(numbers, n)))]

    assert found(*each).nodes_with_room == max(tried, default=0)
