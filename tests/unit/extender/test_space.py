"""What disks have left, in Longhorn's arithmetic."""

from pathlib import Path

import msgspec
import pytest
from msgspec.structs import replace

from extender.space import NodeSpace, There, node_space, why_unusable
from extender.verdicts import node_rejection
from extender.verdicts.rejections import (
    NodeDeleting,
    NodeEvicting,
    NodeNotReady,
    NodeNotSchedulable,
    NodeSchedulingDisabled,
)
from longhorn import (
    Disk,
    DiskId,
    DiskKind,
    Node,
    NodeName,
    Replica,
    limit_bytes,
    read_settings,
)
from packing import Bin
from tests.builders import (
    GIB,
    MIB,
    backing_image,
    bound,
    disk,
    fits,
    node,
    pending,
    replica,
    setting,
    view_of,
    volume,
)

ACCOUNTING_PAGE = Path(__file__).parents[3] / "docs" / "accounting.md"


def space_of(node: Node, *replicas: Replica, **values: str) -> NodeSpace:
    settings = read_settings({name.replace("_", "-"): value for name, value in values.items()})
    return node_space(node, There(replicas), settings, {})


def scheduled_bytes(disk: Disk, *replicas: Replica) -> int:
    return space_of(node("node-1", disk), *replicas).disks[0].scheduled_bytes


def test_a_volume_of_that_extra_byte_fits():
    limit = limit_bytes(709688309550471, 0, 252)
    tight = disk(filesystem="xfs", maximum_bytes=709688309550471)
    percent = setting("storage-over-provisioning-percentage", "252")

    assert fits(view_of(node("node-1", tight), *bound(volume(size_bytes=limit)), percent))
    assert not fits(view_of(node("node-1", tight), *bound(volume(size_bytes=limit + 1)), percent))


@pytest.mark.parametrize(
    ("disk", "replicas", "expected"),
    [
        pytest.param(disk(scheduled_bytes=7, listed={}), [], 7, id="what-longhorn-scheduled"),
        pytest.param(
            disk(listed={"vol-r-1": 10}), [replica(size_bytes=10)], 10, id="listed-replica-once"
        ),
        pytest.param(disk(), [replica(size_bytes=10)], 10, id="unlisted-replica-once"),
        pytest.param(
            disk(listed={"vol-r-1": 10}),
            [replica(size_bytes=15)],
            15,
            id="grown-by-the-rest",
        ),
        pytest.param(
            disk(listed={"vol-r-1": 10}), [replica(size_bytes=5)], 10, id="shrunk-is-not-credited"
        ),
        pytest.param(disk(listed={"gone": 10}), [], 10, id="listed-though-its-object-is-gone"),
        pytest.param(
            disk(),
            [replica("a", size_bytes=1), replica("b", of="other", size_bytes=2)],
            3,
            id="unlisted-replicas-of-all-volumes",
        ),
        pytest.param(disk(), [replica(size_bytes=10, failed=True)], 10, id="failed"),
        pytest.param(disk(), [replica(size_bytes=10, evicting=True)], 10, id="evicting"),
        pytest.param(disk(), [replica(size_bytes=10, deleting=True)], 10, id="being-deleted"),
        pytest.param(disk(), [replica(size_bytes=10, active=False)], 10, id="inactive-duplicate"),
        pytest.param(disk(), [replica(size_bytes=10, healthy_once=False)], 10, id="never-healthy"),
        pytest.param(disk(), [replica(size_bytes=10, disk="disk-2")], 0, id="on-another-disk"),
        pytest.param(disk(), [pending(size_bytes=10)], 0, id="not-placed-yet"),
        pytest.param(disk(uuid=""), [replica(size_bytes=10)], 0, id="disk-without-uuid"),
    ],
)
def test_scheduled_bytes(disk, replicas, expected):
    assert scheduled_bytes(disk, *replicas) == expected


GROWN = 15 * GIB
"""What a volume is to have of which there is a replica of 10 GiB."""


@pytest.mark.parametrize(
    ("disk", "volume", "expected"),
    [
        pytest.param(disk(), volume(size_bytes=GROWN), GROWN, id="not-listed-at-all"),
        pytest.param(
            disk(listed={"vol-r-1": 10 * GIB}),
            volume(size_bytes=GROWN),
            GROWN,
            id="listed-as-it-was",
        ),
        pytest.param(
            disk(listed={"vol-r-1": 20 * GIB}),
            volume(size_bytes=GROWN),
            20 * GIB,
            id="listed-as-larger",
        ),
        pytest.param(disk(), volume(size_bytes=100 * GIB), 100 * GIB, id="just-fits"),
        pytest.param(disk(), volume(size_bytes=101 * GIB), 10 * GIB, id="does-not-fit"),
        pytest.param(disk(), volume(size_bytes=5 * GIB), 10 * GIB, id="to-shrink"),
        pytest.param(disk(), volume(size_bytes=GROWN, deleting=True), 10 * GIB, id="deleting"),
        pytest.param(disk(), volume("other", size_bytes=GROWN), 10 * GIB, id="another-volume"),
    ],
)
def test_a_volume_that_is_being_expanded(disk, volume, expected):
    view = view_of(node("node-1", disk), replica(), volume)

    [space] = view.spaces[NodeName("node-1")].disks
    assert space.scheduled_bytes == expected


def test_of_two_that_are_being_expanded_one_may_find_room():
    """60 GiB are left, and each of the two is to get 50 more."""
    both = [volume(name, size_bytes=70 * GIB) for name in "ab"]
    there = [replica(f"{name}-r-1", of=name, size_bytes=20 * GIB) for name in "ab"]

    [space] = view_of(node(), *both, *there).spaces[NodeName("node-1")].disks

    assert dict(space.unlisted) == {"a-r-1": 70 * GIB, "b-r-1": 20 * GIB}


MADE_FROM_IT = volume(backing_image="image")
IMAGE = backing_image(size_bytes=2 * GIB)


@pytest.mark.parametrize(
    ("disk", "records", "expected"),
    [
        pytest.param(disk(), [MADE_FROM_IT, IMAGE], 12 * GIB, id="a-copy-is-to-come"),
        pytest.param(
            disk(listed_images={"image": 2 * GIB}), [MADE_FROM_IT, IMAGE], 12 * GIB, id="it-came"
        ),
        pytest.param(
            disk(listed_images={"image": 0}), [MADE_FROM_IT, IMAGE], 12 * GIB, id="size-not-listed"
        ),
        pytest.param(
            disk(listed_images={"another": GIB}), [MADE_FROM_IT, IMAGE], 13 * GIB, id="another-came"
        ),
        pytest.param(disk(), [volume(), IMAGE], 10 * GIB, id="not-made-from-it"),
        pytest.param(disk(), [MADE_FROM_IT], 10 * GIB, id="image-not-known"),
        pytest.param(disk(), [MADE_FROM_IT, backing_image()], 10 * GIB, id="size-not-known"),
        pytest.param(disk(), [IMAGE], 10 * GIB, id="volume-not-known"),
        pytest.param(
            disk(), [replace(MADE_FROM_IT, deleting=True), IMAGE], 10 * GIB, id="volume-goes"
        ),
        pytest.param(
            disk(),
            [MADE_FROM_IT, IMAGE, volume("b", backing_image="image"), replica("b-r", of="b")],
            22 * GIB,
            id="one-copy-for-two-volumes",
        ),
        pytest.param(
            disk(maximum_bytes=11 * GIB),
            [MADE_FROM_IT, IMAGE],
            12 * GIB,
            id="room-is-not-asked-for",
        ),
    ],
)
def test_a_disk_that_gets_a_copy_of_a_backing_image(disk, records, expected):
    view = view_of(node("node-1", disk), node("node-2"), replica(), *records)

    [space] = view.spaces[NodeName("node-1")].disks
    [other] = view.spaces[NodeName("node-2")].disks
    assert (space.scheduled_bytes, other.scheduled_bytes) == (expected, 0)


def test_same_uuid_on_two_nodes_is_two_disks():
    clones = node("node-1", disk(uuid="same")), node("node-2", disk(uuid="same"))
    unlisted = replica(of="other", size_bytes=60 * GIB, on="node-2")
    unlisted = msgspec.structs.replace(unlisted, disk=DiskId("same"))

    view = view_of(*clones, unlisted)

    assert view.spaces[clones[0].name].disks[0].scheduled_bytes == 0
    assert view.spaces[clones[1].name].disks[0].scheduled_bytes == 60 * GIB


def test_headrooms_of_a_disk():
    partly_used = disk(reserved_bytes=20 * GIB, available_bytes=60 * GIB, listed={"a": 30 * GIB})

    space = space_of(
        node("node-1", partly_used),
        replica("b", size_bytes=10 * GIB),
        storage_over_provisioning_percentage="150",
        storage_minimal_available_percentage="10",
    ).disks[0]

    assert space.limit_bytes == 120 * GIB
    assert space.logical_headroom_bytes == 80 * GIB
    assert space.minimal_available_bytes == 10 * GIB
    assert space.physical_headroom_bytes == 50 * GIB - 1


def test_over_scheduled_disk_has_negative_headroom():
    space = space_of(node("node-1", disk(listed={"a": 130 * GIB}))).disks[0]

    assert space.logical_headroom_bytes == -30 * GIB


@pytest.mark.parametrize(
    ("disk", "why"),
    [
        pytest.param(disk(), None, id="usable"),
        pytest.param(disk(uuid=""), "has no UUID yet", id="no-uuid"),
        pytest.param(disk(allow_scheduling=False), "scheduling is disabled", id="disabled"),
        pytest.param(disk(evicting=True), "is being evicted", id="evicting"),
        pytest.param(disk(ready=False), "is not ready", id="not-ready"),
        pytest.param(disk(schedulable=False), "is not schedulable", id="not-schedulable"),
        pytest.param(disk(maximum_bytes=0), "has no size or nothing available", id="no-maximum"),
        pytest.param(
            disk(available_bytes=0), "has no size or nothing available", id="nothing-available"
        ),
    ],
)
def test_why_a_disk_is_unusable(disk, why):
    space = space_of(node("node-1", disk))

    assert why_unusable(space.disks[0].disk) == why
    assert [bin_.id for bin_ in space.bins] == ([] if why else ["disk-1"])


def test_disk_with_nothing_available_takes_nothing_even_without_a_minimum():
    space = space_of(
        node("node-1", disk(available_bytes=0)), storage_minimal_available_percentage="0"
    )

    assert space.bins == ()


def test_disk_with_a_byte_available_takes_new_volumes_without_a_minimum():
    space = space_of(
        node("node-1", disk(available_bytes=1)), storage_minimal_available_percentage="0"
    )

    assert space.bins == (Bin(id="disk-1", kind=0, logical_bytes=100 * GIB, physical_bytes=0),)


@pytest.mark.parametrize(
    ("node", "expected"),
    [
        pytest.param(node(), None, id="open"),
        pytest.param(node(deleting=True), NodeDeleting(), id="deleting"),
        pytest.param(node(ready=False), NodeNotReady(), id="not-ready"),
        pytest.param(node(schedulable=False), NodeNotSchedulable(), id="not-schedulable"),
        pytest.param(node(allow_scheduling=False), NodeSchedulingDisabled(), id="disabled"),
        pytest.param(node(evicting=True), NodeEvicting(), id="evicting"),
    ],
)
def test_node_that_takes_nothing_new(node, expected):
    assert node_rejection(space_of(node)) == expected


@pytest.mark.parametrize(
    ("replica", "is_pending"),
    [
        pytest.param(pending(), True, id="bound-to-the-node-and-not-placed"),
        pytest.param(replica(pinned_to="node-1"), False, id="placed"),
        pytest.param(replica(on="", pinned_to="node-1", deleting=True), False, id="being-deleted"),
        pytest.param(
            replica(on="", pinned_to="node-1", failed=True), False, id="failed-before-first-use"
        ),
    ],
)
def test_pending_replicas(replica, *, is_pending):
    assert space_of(node(), replica).pending == ((replica,) if is_pending else ())


def test_disks_that_the_same_volumes_may_use_share_a_kind():
    kinds: dict[DiskKind, int] = {}
    disks = (
        disk("a", tags=["x", "y"]),
        disk("b", tags=["y", "x"]),
        disk("c"),
        disk("d", filesystem="xfs"),
    )

    space = node_space(node("node-1", *disks), There(()), read_settings({}), kinds)

    assert [bin_.kind for bin_ in space.bins] == [0, 0, 1, 2]


def test_worked_example_of_the_accounting_page():
    example = disk(
        maximum_bytes=500 * GIB,
        reserved_bytes=50 * GIB,
        available_bytes=200 * GIB,
        listed={"mail-r-1": 300 * GIB, "logs-r-1": 180 * GIB},
    )

    space = space_of(
        node("node-1", example),
        replica("mail-r-1", of="mail", size_bytes=300 * GIB),
        replica("logs-r-1", of="logs", size_bytes=180 * GIB, failed=True),
        replica("shop-r-1", of="shop", size_bytes=60 * GIB),
        storage_over_provisioning_percentage="150",
        storage_minimal_available_percentage="25",
    ).disks[0]

    assert space.limit_bytes == 675 * GIB
    assert space.scheduled_bytes == 540 * GIB
    assert space.logical_headroom_bytes == 135 * GIB
    assert space.minimal_available_bytes == 125 * GIB
    assert space.physical_headroom_bytes == 75 * GIB - 1


@pytest.mark.parametrize(
    ("volumes", "expected"),
    [
        pytest.param([volume("a", size_bytes=135 * GIB)], True, id="new-135"),
        pytest.param([volume("a", size_bytes=135 * GIB + 2 * MIB)], False, id="new-135-and-2-MiB"),
        pytest.param(
            [volume("a", size_bytes=100 * GIB), volume("b", size_bytes=35 * GIB)],
            True,
            id="new-100-and-new-35",
        ),
        pytest.param(
            [volume("a", size_bytes=100 * GIB, actual_bytes=75 * GIB)], False, id="moved-holding-75"
        ),
        pytest.param(
            [volume("a", size_bytes=100 * GIB, actual_bytes=75 * GIB - 1)],
            True,
            id="moved-holding-a-byte-less",
        ),
        pytest.param(
            [volume(name, size_bytes=50 * GIB, actual_bytes=40 * GIB) for name in "ab"],
            False,
            id="two-moved-holding-40-each",
        ),
    ],
)
def test_verdicts_of_the_accounting_page(volumes, *, expected):
    example = disk(
        maximum_bytes=500 * GIB,
        reserved_bytes=50 * GIB,
        available_bytes=200 * GIB,
        listed={"mail-r-1": 300 * GIB, "logs-r-1": 180 * GIB},
    )
    view = view_of(
        node("node-1", example),
        replica("shop-r-1", of="shop", size_bytes=60 * GIB),
        setting("storage-over-provisioning-percentage", "150"),
        *bound(*volumes),
    )

    assert fits(view, *(each.name for each in volumes)) is expected


@pytest.mark.parametrize(
    "number", ["500", "50", "200", "675", "540", "135", "125", "75 GiB less one byte"]
)
def test_accounting_page_shows_the_numbers_tested_here(number):
    page = ACCOUNTING_PAGE.read_text(encoding="utf-8")

    assert number in page
