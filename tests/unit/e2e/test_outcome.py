"""What came of scheduling: where pods are, and how many volumes have no room there."""

from collections.abc import Mapping
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.actors.api import Object
from tests.actors.longhorn import DiskSpec, longhorn_node
from tests.actors.longhorn.objects import disk_uuid
from tests.e2e.outcome import Outcome, placement, volumes_without_room

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


def without_room(
    disks: Mapping[str, int | DiskSpec],
    sizes: tuple[int, ...],
    *replicas: Object,
    over_provisioning: int = 100,
) -> int:
    """Count the volumes v0, v1 and so on of these sizes that do not fit on one node."""
    wanted = {NODE: {f"v{number}": size for number, size in enumerate(sizes)}}
    settings = {OVER_PROVISIONING: str(over_provisioning)}
    return volumes_without_room([longhorn_node(NODE, disks)], replicas, wanted, settings)


def pod(node: str | None) -> Object:
    return {"spec": {} if node is None else {"nodeName": node}}


def test_pods_are_counted_by_node_in_order_of_names() -> None:
    found = placement([pod("node-2"), pod("node-1"), pod(None), pod("node-2"), pod("")])

    assert list(found.items()) == [("node-1", 1), ("node-2", 2)]


def test_a_placement_is_written_in_the_order_of_nodes() -> None:
    outcome = Outcome(
        placement={"node-1": 4, "node-3": 2},
        bound_seconds=0.0,
        attempts=0,
        filter_calls=0,
        longest_filter_seconds=0.0,
        without_room=0,
        elsewhere=0,
        overcommitted_disks=0,
    )

    assert outcome.pods(("node-3", "node-2", "node-1")) == "2/0/4"


@pytest.mark.parametrize(
    ("disks", "sizes", "expected"),
    [
        pytest.param({"a": 100}, (), 0, id="nothing-wanted"),
        pytest.param({"a": 100}, (60, 40), 0, id="exactly-full"),
        pytest.param({"a": 100}, (60, 41), 1, id="one-byte-too-many"),
        pytest.param({"a": 100, "b": 100}, (60, 60), 0, id="two-disks"),
        pytest.param({"a": 100, "b": 100}, (60, 60, 60), 1, id="enough-in-sum-but-not-on-a-disk"),
        pytest.param({"a": 100, "b": 60}, (60, 60, 40), 0, id="only-one-arrangement"),
        pytest.param({"a": 100}, (100, 20, 20, 20), 1, id="the-large-one-is-left-out"),
        pytest.param({"a": 50, "b": 60}, (60, 50, 20), 1, id="the-small-one-costs-a-large-one"),
        pytest.param({"a": DiskSpec(size_bytes=100, reserved_bytes=30)}, (71,), 1, id="reserved"),
        pytest.param(
            {"a": DiskSpec(size_bytes=100, reserved_bytes=130)}, (0, 1), 2, id="all-reserved"
        ),
        pytest.param({}, (0, 1), 2, id="no-disk"),
    ],
)
def test_volumes_fit_on_a_nodes_disks(
    disks: Mapping[str, int | DiskSpec], sizes: tuple[int, ...], expected: int
) -> None:
    assert without_room(disks, sizes) == expected


@pytest.mark.parametrize(
    ("percent", "expected"),
    [
        pytest.param(50, 2, id="less-than-the-disk"),
        pytest.param(100, 1, id="the-disk"),
        pytest.param(200, 0, id="more-than-the-disk"),
    ],
)
def test_over_provisioning_counts(percent: int, expected: int) -> None:
    disks = {"a": DiskSpec(size_bytes=100, reserved_bytes=10)}

    assert without_room(disks, (46, 46), over_provisioning=percent) == expected


def test_where_longhorn_put_the_volumes_themselves_does_not_matter() -> None:
    replicas = (replica("v0", 60), replica("v1", 60), replica("v1", 60, node="node-2"))

    assert without_room({"a": 100, "b": 100}, (60, 60), *replicas) == 0


@pytest.mark.parametrize(
    ("other", "expected"),
    [
        pytest.param(replica("other", 50), 1, id="on-the-same-disk"),
        pytest.param(replica("other", 50, disk="b"), 0, id="on-the-other-disk"),
        pytest.param(replica("other", 50, node="node-2"), 0, id="on-another-node"),
        pytest.param(replica("other", 50, disk=""), 0, id="on-none"),
    ],
)
def test_replicas_of_other_volumes_take_their_room(other: Object, expected: int) -> None:
    assert without_room({"a": 100, "b": 50}, (60, 40), other) == expected


def test_backing_images_take_their_room() -> None:
    node = longhorn_node(NODE, {"a": 100})
    node["status"]["diskStatus"]["a"]["scheduledBackingImage"] = {"image": 30}

    assert volumes_without_room([node], [], {NODE: {"v": 70}}, {}) == 0
    assert volumes_without_room([node], [], {NODE: {"v": 71}}, {}) == 1


def test_nothing_fits_on_a_node_that_longhorn_does_not_know() -> None:
    node = longhorn_node(NODE, {"a": 100})
    wanted = {NODE: {"v0": 10}, "node-2": {"v1": 10, "v2": 10}}

    assert volumes_without_room([node], [], wanted, {}) == 2


def test_the_volumes_of_all_nodes_are_counted() -> None:
    nodes = [longhorn_node(name, {"a": 100}) for name in ("node-1", "node-2", "node-3")]
    wanted = {"node-1": {"v0": 60, "v1": 60}, "node-2": {"v2": 100, "v3": 100, "v4": 100}}

    assert volumes_without_room(nodes, [], wanted, {}) == 3


@given(
    sizes=st.lists(st.integers(0, 12), max_size=5).map(tuple),
    rooms=st.lists(st.integers(0, 20), min_size=1, max_size=3),
)
def test_no_arrangement_has_room_for_more(sizes: tuple[int, ...], rooms: list[int]) -> None:
    disks: dict[str, int | DiskSpec] = {f"disk-{n}": room for n, room in enumerate(rooms)}

    assert without_room(disks, sizes) == fewest_left_out(sizes, rooms)


def fewest_left_out(sizes: tuple[int, ...], rooms: list[int]) -> int:
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
