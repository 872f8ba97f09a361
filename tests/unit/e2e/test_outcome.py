"""Volumes without room are counted: what the end-to-end tests call a wrong node."""

from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.actors.api import Object
from tests.actors.longhorn import DiskSpec, longhorn_node
from tests.actors.longhorn.objects import disk_uuid
from tests.e2e.outcome import volumes_without_room

NODE = "node-1"
OVER_PROVISIONING = "storage-over-provisioning-percentage"


def replica(volume: str, size: int, *, disk: str = "a", node: str = NODE) -> Object:
    spec = {
        "volumeName": volume,
        "volumeSize": str(size),
        "nodeID": node,
        "diskID": disk_uuid(node, disk) if disk else "",
    }
    return {"metadata": {"name": f"{volume}-r-1"}, "spec": spec}


def without_room(node: Object, *sizes: int, replicas: tuple[Object, ...] = (), percent: int) -> int:
    """Count the volumes v0, v1 and so on of these sizes that do not fit on a node."""
    wanted = {NODE: {f"v{number}": size for number, size in enumerate(sizes)}}
    return volumes_without_room([node], replicas, wanted, {OVER_PROVISIONING: str(percent)})


@pytest.mark.parametrize(("percent", "expected"), [(50, 2), (100, 1), (200, 0)])
def test_reserved_bytes_and_over_provisioning_count(percent, expected):
    node = longhorn_node(NODE, {"a": DiskSpec(size_bytes=100, reserved_bytes=10)})

    assert without_room(node, 46, 46, percent=percent) == expected


OTHERS = {
    "on the same disk": (replica("other", 50), 1),
    "on the other disk": (replica("other", 50, disk="b"), 0),
    "on another node": (replica("other", 50, node="node-2"), 0),
    "on none": (replica("other", 50, disk=""), 0),
    "of a volume that is wanted": (replica("v1", 50), 0),
}


@pytest.mark.parametrize(("other", "expected"), OTHERS.values(), ids=OTHERS)
def test_replicas_of_other_volumes_take_their_room(other, expected):
    node = longhorn_node(NODE, {"a": 100, "b": 50})

    assert without_room(node, 60, 40, replicas=(other,), percent=100) == expected


def test_backing_images_take_their_room():
    node = longhorn_node(NODE, {"a": 100})
    node["status"]["diskStatus"]["a"]["scheduledBackingImage"] = {"image": 30}

    assert [without_room(node, size, percent=100) for size in (70, 71)] == [0, 1]


def test_nothing_fits_on_a_node_that_longhorn_does_not_know():
    node = longhorn_node(NODE, {"a": 100})
    wanted = {NODE: {"v0": 10}, "node-2": {"v1": 10, "v2": 10}}

    assert volumes_without_room([node], [], wanted, {}) == 2


@given(
    sizes=st.lists(st.integers(0, 12), max_size=5),
    rooms=st.lists(st.integers(0, 20), min_size=1, max_size=3),
)
def test_as_few_volumes_are_left_out_as_can_be(sizes, rooms):
    node = longhorn_node(NODE, {f"disk-{number}": room for number, room in enumerate(rooms)})

    assert without_room(node, *sizes, percent=100) == fewest_left_out(sizes, rooms)


def fewest_left_out(sizes: list[int], rooms: list[int]) -> int:
    """Try every way to put each volume on a disk, or on none."""
    none = len(rooms)
    return min(
        places.count(none)
        for places in product(range(none + 1), repeat=len(sizes))
        if all(
            sum(size for size, place in zip(sizes, places, strict=True) if place == disk) <= room
            for disk, room in enumerate(rooms)
        )
    )
