"""What disks have left, in Longhorn's arithmetic."""

from collections.abc import Iterable
from pathlib import Path

import pytest
from msgspec.structs import replace

from extender.space import NodeSpace, There, node_space, why_unusable
from longhorn import Disk, DiskId, DiskKind, Node, NodeName, Replica, limit_bytes, read_settings
from packing import Bin
from tests.builders import (
    GIB,
    MIB,
    backing_image,
    bound,
    disk,
    fits,
    node,
    replica,
    replicas_of,
    setting,
    view_of,
    volume,
    volumes_of,
)

ACCOUNTING_PAGE = Path(__file__).parents[3] / "docs" / "accounting.md"
HERE, ELSEWHERE = NodeName("node-1"), NodeName("node-2")


def space_of(
    node: Node, replicas: Iterable[Replica] = (), over: str = "100", minimal: str = "25"
) -> NodeSpace:
    """Work out a node's space with these percentages, or those that Longhorn has by default."""
    values = {
        "storage-over-provisioning-percentage": over,
        "storage-minimal-available-percentage": minimal,
    }
    return node_space(node, There(replicas), read_settings(values), {})


def listing(gib: int, name: str = "vol-r-1") -> Disk:
    """Build a disk that lists a replica."""
    return disk(listed={name: gib * GIB})


def test_a_volume_of_that_extra_byte_fits():
    limit = limit_bytes(709688309550471, 0, 252)
    tight = disk(filesystem="xfs", maximum_bytes=709688309550471)
    percent = setting("storage-over-provisioning-percentage", "252")

    assert fits(view_of(node("node-1", tight), *bound(volume(size_bytes=limit)), percent))
    assert not fits(view_of(node("node-1", tight), *bound(volume(size_bytes=limit + 1)), percent))


MADE_FROM_IT = volume(backing_image="image")
SECOND = volume("b", backing_image="image")
IMAGE = backing_image(size_bytes=2 * GIB)
WITH_COPY = disk(listed_images={"image": 2 * GIB})
SCHEDULED = {
    # A disk, all replicas, all volumes and images, and the GiB that count as scheduled on it.
    "disk-as-longhorn-says": (disk(scheduled_bytes=7 * GIB), "", [], 7),
    "disk-without-uuid": (disk(uuid=""), "vol@1", [], 0),
    "disk-is-another": (disk("disk-2"), "vol@1", [], 0),
    "replica-listed-once": (listing(10), "vol@1", [], 10),
    "replica-unlisted-once": (disk(), "vol@1", [], 10),
    "replica-grown-by-the-rest": (listing(10), "vol:15@1", [], 15),
    "replica-shrunk-is-not-credited": (listing(10), "vol:5@1", [], 10),
    "replica-listed-though-its-object-is-gone": (listing(10, "gone"), "", [], 10),
    "replicas-unlisted-of-all-volumes": (disk(), "a:1@1 b:2@1", [], 3),
    "replica-failed": (disk(), "vol@1/failed", [], 10),
    "replica-evicting": (disk(), "vol@1/evicting", [], 10),
    "replica-being-deleted": (disk(), "vol@1/deleting", [], 10),
    "replica-inactive-duplicate": (disk(), "vol@1/inactive", [], 10),
    "replica-never-healthy": (disk(), "vol@1/new", [], 10),
    "replica-not-placed-yet": (disk(), "vol>1", [], 0),
    "volume-expanded-not-listed-at-all": (disk(), "vol@1", volumes_of("vol:15"), 15),
    "volume-expanded-listed-as-it-was": (listing(10), "vol@1", volumes_of("vol:15"), 15),
    "volume-expanded-listed-as-larger": (listing(20), "vol@1", volumes_of("vol:15"), 20),
    "volume-expanded-just-fits": (disk(), "vol@1", volumes_of("vol:100"), 100),
    "volume-expanded-does-not-fit": (disk(), "vol@1", volumes_of("vol:101"), 10),
    "volume-to-shrink": (disk(), "vol@1", volumes_of("vol:5"), 10),
    "volume-expanded-deleting": (disk(), "vol@1", volumes_of("vol:15", deleting=True), 10),
    "volume-expanded-is-another": (disk(), "vol@1", volumes_of("other:15"), 10),
    "image-copy-to-come": (disk(), "vol@1", [MADE_FROM_IT, IMAGE], 12),
    "image-copy-came": (WITH_COPY, "vol@1", [MADE_FROM_IT, IMAGE], 12),
    "image-copy-came-its-size-not-listed": (
        disk(listed_images={"image": 0}), "vol@1", [MADE_FROM_IT, IMAGE], 12),
    "image-copy-of-another-came": (
        disk(listed_images={"another": GIB}), "vol@1", [MADE_FROM_IT, IMAGE], 13),
    "image-of-no-volume": (disk(), "vol@1", [volume(), IMAGE], 10),
    "image-not-known": (disk(), "vol@1", [MADE_FROM_IT], 10),
    "image-size-not-known": (disk(), "vol@1", [MADE_FROM_IT, backing_image()], 10),
    "image-volume-not-known": (disk(), "vol@1", [IMAGE], 10),
    "image-volume-goes": (disk(), "vol@1", [replace(MADE_FROM_IT, deleting=True), IMAGE], 10),
    "image-copy-for-two-volumes": (disk(), "vol@1 b@1", [MADE_FROM_IT, IMAGE, SECOND], 22),
    "image-copy-asks-for-no-room": (
        disk(maximum_bytes=11 * GIB), "vol@1", [MADE_FROM_IT, IMAGE], 12),
}  # fmt: skip


@pytest.mark.parametrize(
    ("disk", "replicas", "records", "expected"), SCHEDULED.values(), ids=SCHEDULED
)
def test_scheduled_bytes(disk, replicas, records, expected):
    nodes = node("node-1", disk), node("node-2")

    view = view_of(*nodes, *replicas_of(replicas), *records)

    found = [view.spaces[name].disks[0].scheduled_bytes for name in (HERE, ELSEWHERE)]
    assert found == [expected * GIB, 0]


def test_of_two_that_are_being_expanded_one_may_find_room():
    """60 GiB are left, and each of the two is to get 50 more."""
    view = view_of(node(), *volumes_of("a:70 b:70"), *replicas_of("a:20@1 b:20@1"))

    assert view.spaces[HERE].disks[0].unlisted == {"a-r-1": 70 * GIB, "b-r-1": 20 * GIB}


def test_same_uuid_on_two_nodes_is_two_disks():
    clones = node("node-1", disk(uuid="same")), node("node-2", disk(uuid="same"))
    unlisted = replace(replica(size_bytes=60 * GIB, on="node-2"), disk=DiskId("same"))

    view = view_of(*clones, unlisted)

    assert view.spaces[HERE].disks[0].scheduled_bytes == 0
    assert view.spaces[ELSEWHERE].disks[0].scheduled_bytes == 60 * GIB


EXAMPLE = disk(
    maximum_bytes=500 * GIB,
    reserved_bytes=50 * GIB,
    available_bytes=200 * GIB,
    listed={"mail-r-1": 300 * GIB, "logs-r-1": 180 * GIB},
)
"""The disk of the accounting page."""
PARTLY_USED = disk(reserved_bytes=20 * GIB, available_bytes=60 * GIB, listed={"a": 30 * GIB})
HEADROOMS = {
    # A disk, its replicas and two percentages; GiB: limit, scheduled, left of that, minimum, and
    # what may be written, less one byte.
    "disk-partly-used": (PARTLY_USED, "b:10@1", "150", "10", (120, 40, 80, 10, 50)),
    "disk-over-scheduled": (listing(130), "", "100", "25", (100, 130, -30, 25, 75)),
    "disk-of-the-accounting-page": (
        EXAMPLE, "mail:300@1 logs:180@1/failed shop:60@1", "150", "25", (675, 540, 135, 125, 75)),
}  # fmt: skip


@pytest.mark.parametrize(
    ("disk", "replicas", "over", "minimal", "expected"), HEADROOMS.values(), ids=HEADROOMS
)
def test_headrooms_of_a_disk(disk, replicas, over, minimal, expected):
    space = space_of(node("node-1", disk), replicas_of(replicas), over, minimal).disks[0]

    found = (
        space.limit_bytes,
        space.scheduled_bytes,
        space.logical_headroom_bytes,
        space.minimal_available_bytes,
        space.physical_headroom_bytes + 1,
    )
    assert found == tuple(gib * GIB for gib in expected)


UNUSABLE = {
    "usable": (disk(), None),
    "no-uuid": (disk(uuid=""), "has no UUID yet"),
    "disabled": (disk(allow_scheduling=False), "scheduling is disabled"),
    "evicting": (disk(evicting=True), "is being evicted"),
    "not-ready": (disk(ready=False), "is not ready"),
    "not-schedulable": (disk(schedulable=False), "is not schedulable"),
    "no-maximum": (disk(maximum_bytes=0), "has no size or nothing available"),
    "nothing-available": (disk(available_bytes=0), "has no size or nothing available"),
}


@pytest.mark.parametrize(("disk", "why"), UNUSABLE.values(), ids=UNUSABLE)
def test_why_a_disk_is_unusable(disk, why):
    space = space_of(node("node-1", disk))

    assert why_unusable(space.disks[0].disk) == why
    assert [bin_.id for bin_ in space.bins] == ([] if why else ["disk-1"])


def test_disk_needs_a_byte_available_for_new_volumes_even_without_a_minimum():
    empty, byte = (node("node-1", disk(available_bytes=available)) for available in (0, 1))

    assert space_of(empty, minimal="0").bins == ()
    assert space_of(byte, minimal="0").bins == (
        Bin(id="disk-1", kind=0, logical_bytes=100 * GIB, physical_bytes=0),
    )


PLACED = replica(pinned_to="node-1")


def test_replica_is_pending_that_is_bound_to_the_node_and_not_placed():
    [coming] = replicas_of("vol>1")
    others = [*replicas_of("a>1/deleting b>1/failed"), PLACED]

    assert space_of(node(), [coming, *others]).pending == (coming,)


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


VERDICTS = {
    "new-135": ([volume("a", size_bytes=135 * GIB)], True),
    "new-135-and-2-MiB": ([volume("a", size_bytes=135 * GIB + 2 * MIB)], False),
    "new-100-and-new-35": (volumes_of("a:100 b:35"), True),
    "moved-holding-75": (volumes_of("a:100", actual_bytes=75 * GIB), False),
    "moved-holding-a-byte-less": (volumes_of("a:100", actual_bytes=75 * GIB - 1), True),
    "two-moved-holding-40-each": (volumes_of("a:50 b:50", actual_bytes=40 * GIB), False),
}


@pytest.mark.parametrize(("volumes", "expected"), VERDICTS.values(), ids=VERDICTS)
def test_verdicts_of_the_accounting_page(volumes, *, expected):
    view = view_of(
        node("node-1", EXAMPLE),
        *replicas_of("shop:60@1"),
        setting("storage-over-provisioning-percentage", "150"),
        *bound(*volumes),
    )

    assert fits(view, *(each.name for each in volumes)) is expected


def test_accounting_page_shows_the_numbers_tested_here():
    page = ACCOUNTING_PAGE.read_text(encoding="utf-8")

    numbers = ["500", "50", "200", "675", "540", "135", "125", "75 GiB less one byte"]
    assert [number for number in numbers if number not in page] == []
