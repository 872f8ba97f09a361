"""What takes a disk, by name. The disk has 100 GiB; sizes in tables are GiB."""

from collections.abc import Mapping, Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import structs

from longhorn import (
    BackingImage,
    Disk,
    DiskSchedule,
    DiskSpace,
    Growth,
    NodeName,
    Part,
    Replica,
    ReplicaName,
    Settings,
    Standing,
    VolumeName,
    account,
    parts,
)
from tests import builders
from tests.builders import GIB, backing_image, disk, disk_schedule
from tests.strategies import disk_schedules, sizes_bytes
from tests.unit.longhorn.schedules import entry, gib_of, is_image, schedule, there

NODE = NodeName("node-1")


def listing(text: str = "", *, total: int | None = None, ready: bool = True) -> Disk:
    """Build the disk as its Node shows it: `a:60 i:5` is listed, and *total* is scheduled."""
    sizes = gib_of(text)
    return disk(
        listed={name: size for name, size in sizes.items() if not is_image(name)},
        listed_images={name: size for name, size in sizes.items() if is_image(name)},
        scheduled_bytes=None if total is None else total * GIB,
        ready=ready,
    )


def new(text: str) -> list[Replica]:
    return there(text, healthy_once=False)


def accounted(
    of: Disk,
    by: DiskSchedule | None,
    replicas: Sequence[Replica] = (),
    *,
    expanded: str = "",
    images: Mapping[VolumeName, BackingImage] | None = None,
) -> DiskSpace:
    grown = {VolumeName(name): size for name, size in gib_of(expanded).items()}
    growth = Growth(expanded=grown, images=images or {})
    return account(of, Settings(), replicas, node=NODE, schedule=by, growth=growth)


def headroom(space: DiskSpace) -> int:
    """Return what is left in whole GiB, floored at 0."""
    return max(0, space.logical_headroom_bytes) // GIB


ZEROS = disk(maximum_bytes=0, available_bytes=0, ready=False)
COUNTED: dict[str, tuple[Disk, DiskSchedule | None, int, int]] = {
    # What the Node lists, the DiskSchedule, and what counts; and what of that is contested.
    "e1-granted-and-pending": (listing(), schedule("a:60 b:20", "a:S60"), 80, 0),
    "e2-listed-too": (listing("a:60 b:20"), schedule("a:60 b:20", "a:S60"), 80, 0),
    "e3-refused": (listing("a:60 b:50"), schedule("a:60 b:50", "a:S60 b:R0"), 60, 0),
    "e4-refused-fits-now": (listing(), schedule("a:60 b:30", "a:S60 b:R0"), 90, 30),
    "e5-only-the-node-knows-it": (listing("a:60 x:10"), schedule("a:60", "a:S60"), 70, 0),
    "e6-shards": (listing("a:60 i:5", total=75), schedule("a:60 i:5", "a:S60 i:S5"), 75, 0),
    "e7-growing": (listing("a:30"), schedule("a:50", "a:S30"), 50, 0),
    "e8-shrinking": (listing(), schedule("a:20", "a:S50"), 50, 0),
    "e8-shrunk": (listing(), schedule("a:20", "a:S20"), 20, 0),
    "e9-zeros-of-a-disk-that-is-not-ready": (ZEROS, schedule("a:60", "a:S60"), 60, 0),
    "e11-no-disk-schedule": (listing("a:40"), None, 40, 0),
}


@pytest.mark.parametrize(("of", "by", "counted", "contested"), COUNTED.values(), ids=COUNTED)
def test_name_counts_by_its_disk_schedule_and_else_as_listed(of, by, counted, contested):
    found = accounted(of, by)

    assert (found.scheduled_bytes, found.contested_bytes) == (counted * GIB, contested * GIB)
    assert headroom(found) == (100 - counted if of.maximum_bytes else 0)


@pytest.mark.parametrize(
    ("nameless_gib", "left_gib"),
    [(0, 20), (10, 20), (15, 20), (20, 20), (35, 5)],
    ids=["none-counted", "one", "part-of-one", "both", "one-more-that-is-gone"],
)
def test_shards_count_once_whatever_the_node_has_counted(nameless_gib, left_gib):
    shards = [builders.shard(f"{name}-0", size_bytes=10 * GIB) for name in "bc"]
    of = listing("a:60", total=60 + nameless_gib)

    for replicas in (shards, [*reversed(shards)]):
        assert headroom(account(of, Settings(), replicas, node=NODE)) == left_gib


@pytest.mark.parametrize(
    ("asked", "said", "expected"),
    [
        (5, None, (Standing.PENDING, 5, 0)),
        (5, "S5", (Standing.GRANTED, 5, 0)),
        (5, "S3", (Standing.GROWING, 5, 0)),
        (5, "S7", (Standing.SHRINKING, 7, 0)),
        (5, "R7", (Standing.SHRINKING, 7, 0)),
        (5, "R0", (Standing.REFUSED, 0, 5)),
        (5, "R3", (Standing.REFUSED, 3, 2)),
        (5, "R5", (Standing.REFUSED, 5, 0)),
        (5, "R-1", (Standing.REFUSED, 0, 5)),
        (0, "S5", (Standing.RELEASING, 5, 0)),
        (-1, "R5", (Standing.RELEASING, 5, 0)),
    ],
)
def test_request_counts_with_what_it_holds_or_will(asked, said, expected):
    found = parts({"a": asked * GIB}, {"a": entry(said)} if said else {})["a"]

    standing, counts, is_refused = expected
    assert found.standing is standing
    assert (found.bytes, found.refused_bytes) == (counts * GIB, is_refused * GIB)


def test_request_of_nothing_that_holds_nothing_is_none():
    assert parts({"a": 0, "b": -1}, {}) == {}


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({}, True),
        ({"name": "uuid-of-another"}, False),
        ({"node": "node-2"}, False),
        ({"disk": "renamed"}, False),
        ({"deleting": True}, False),
    ],
)
def test_disk_schedule_is_that_of_its_disk_alone(fields, *, expected):
    found = structs.replace(disk_schedule(), **fields)

    assert (accounted(disk(), found).schedule is found) is expected


def test_disk_without_uuid_has_no_disk_schedule():
    assert accounted(disk(uuid=""), disk_schedule()).schedule is None


NAMED_ALIKE = structs.replace(schedule("i:5", "i:S5"), replicas={ReplicaName("i"): 10 * GIB})
ON_EMPTY: dict[str, tuple[DiskSchedule, list[Replica], int]] = {
    # The DiskSchedule, the replicas on the disk, and what counts.
    "placed-and-not-asked-for-yet": (schedule(), there("y:10"), 10),
    "going-until-its-object-is-gone": (schedule(), there("y:10", deleting=True), 10),
    "placed-and-pending": (schedule("y:10"), there("y:10"), 10),
    "grown-not-asked": (schedule("y:10", "y:S10"), there("y:15"), 15),
    "granted-more": (schedule("y:10", "y:S10"), there("y:5"), 10),
    "refused-fits-now": (schedule("y:10", "y:R0"), [], 10),
    "refused-fits-now-placed": (schedule("y:10", "y:R0"), there("y:10"), 10),
    "both-do-not-fit": (schedule("y:70 z:60", "y:R0 z:R0"), [], 100),
    "refused-never-fits": (schedule("y:101", "y:R0"), there("y:101"), 0),
    "growth-refused": (schedule("a:90 y:30", "a:S90 y:R10"), there("y:30"), 100),
    "replica-and-image-of-one-name": (NAMED_ALIKE, [], 15),
    "image-fits-now": (schedule("i:20", "i:R0"), [], 20),
    "image-does-not-fit": (schedule("i:120", "i:R0"), [], 0),
}


@pytest.mark.parametrize(("by", "replicas", "counted"), ON_EMPTY.values(), ids=ON_EMPTY)
def test_replica_that_is_not_listed_counts_once(by, replicas, counted):
    assert accounted(listing(), by, replicas).scheduled_bytes == counted * GIB


@pytest.mark.parametrize("ready", [None, False])
def test_disk_schedule_that_is_not_ready_counts_besides_the_node(*, ready):
    by = schedule("a:10 b:20 c:5 i:3 image:4", "d:S2", ready=ready)

    found = accounted(listing("a:15 i:1", total=26), by, there("b:10"))

    counted = dict(found.disk.listed) | {str(k): v for k, v in found.unlisted.items()}
    assert found.schedule is None
    assert counted == gib_of("a:15 b:20 c:5 d:2")
    assert found.scheduled_bytes == (26 + 20 + 5 + 2 + 4) * GIB


@pytest.mark.parametrize("by", [schedule("y:30", "y:S10"), schedule("y:10", "y:S10")])
def test_growth_of_a_volume_counts_once_asked_for_or_not(by):
    found = accounted(listing(), by, there("y:10"), expanded="of-y:30")

    assert found.scheduled_bytes == 30 * GIB


def test_growth_that_was_refused_does_not_count_twice():
    found = accounted(listing(), schedule("y:30", "y:R10"), there("y:10"), expanded="of-y:30")

    assert (found.scheduled_bytes, found.contested_bytes) == (30 * GIB, 20 * GIB)


COPIES = {
    "copy-is-to-come": (schedule("y:10", "y:S10"), 15),
    "copy-asked-for-by-another-size": (schedule("y:10 i:4", "y:S10"), 14),
    "none-for-a-replica-that-is-not-started": (schedule("y:101", "y:R0"), 0),
    "one-for-a-replica-that-may-not-grow": (schedule("y:101", "y:R10"), 15),
}


@pytest.mark.parametrize(("by", "counted"), COPIES.values(), ids=COPIES)
def test_copies_of_backing_images_count_with_their_replica(by, counted):
    images = {VolumeName("of-y"): backing_image("i", size_bytes=5 * GIB)}

    found = accounted(listing(), by, there("y:10"), images=images)

    assert found.scheduled_bytes == counted * GIB


def test_stale_images_of_a_disk_that_is_not_ready_are_no_shards():
    stale = listing("i:5", total=40, ready=False)

    assert accounted(stale, schedule()).scheduled_bytes == 5 * GIB


GRANTED = {
    "no-disk-schedule": (None, True),
    "not-asked-for": (schedule(), False),
    "pending": (schedule("y:10"), False),
    "granted": (schedule("y:10", "y:S10"), True),
    "refused-and-taken-back": (schedule("y:10", "y:R10"), False),
    "asks-for-more": (schedule("y:15", "y:S10"), False),
    "of-another-size": (schedule("y:15", "y:S15"), False),
    "not-asked-for-any-more": (schedule("", "y:S10"), False),
    "not-ready": (schedule("y:10", ready=None), True),
}


@pytest.mark.parametrize(("by", "expected"), GRANTED.values(), ids=GRANTED)
def test_new_replica_is_undecided_until_it_is_granted(by, *, expected):
    assert (not accounted(listing(), by, new("y:10")).undecided) is expected


def test_replica_with_data_stays_whatever_its_disk_decides():
    assert not accounted(listing(), schedule("y:10"), there("y:10")).undecided


TURNED_AWAY = {
    # What is asked for, the entries, and the replica a or b on the disk.
    "new-and-without-room": ("a:101 b:10", "a:R0 b:R0", new("a:101"), True),
    "has-data": ("a:101", "a:R0", there("a:101"), False),
    "would-fit": ("a:101 b:10", "a:R0 b:R0", new("b:10"), False),
    "holds-something": ("a:101", "a:R5", new("a:101"), False),
    "not-decided": ("a:1", "", new("a:1"), False),
    "not-asked-for": ("b:101", "b:R0", new("a:10"), False),
    "pending-too-much": ("x:60 a:41", "x:S60", new("a:41"), True),
    "pending-fits": ("x:60 a:40", "x:S60", new("a:40"), False),
    "pending-has-data": ("x:60 a:41", "x:S60", there("a:41"), False),
    "granted-beside-what-does-not-fit": ("a:60 b:41", "a:S60", new("a:60"), False),
    "has-not-asked-yet": ("x:60", "x:S60", new("a:41"), True),
    "asks-no-more": ("x:60", "x:S60 a:R0", new("a:41"), True),
    "pending-and-not-both-fit": ("x:60 a:40 b:1", "x:S60", new("a:40"), True),
}


@pytest.mark.parametrize(
    ("asked", "entries", "replicas", "expected"), TURNED_AWAY.values(), ids=TURNED_AWAY
)
def test_new_replica_is_turned_away_where_its_disk_has_no_room(
    asked, entries, replicas, *, expected
):
    found = accounted(listing(), schedule(asked, entries), replicas)

    assert [*found.turned_away] == [each.name for each in replicas if expected]


def test_replica_turned_away_is_not_placed_and_says_where_its_object_is():
    by = schedule("y:101", "y:R0")

    [found] = accounted(listing(), by, new("y:101")).turned_away.values()

    assert (found.node, found.disk) == (None, None)
    assert found.named_place == ("node-1", "uuid-disk-1")


@pytest.mark.parametrize(("logs", "left"), [(60, 22), (15, 7)])
def test_refused_name_counts_as_far_as_it_would_fit(logs, left):
    of = listing("mail:40 shop:20 logs:60 old:10 image:4", total=130 + 4 + 3)
    by = schedule(f"mail:40 shop:20 logs:{logs} image:5", "mail:S40 logs:R0 image:S5")

    assert headroom(accounted(of, by)) == left


NAMES = ("a", "b", "c", "d")


@st.composite
def scenes(draw: st.DrawFn) -> tuple[Disk, DiskSchedule, list[Replica]]:
    """Draw a disk with its DiskSchedule and the replicas on it, all of a few names."""
    sizes = sizes_bytes(most_gib=30)
    listed = draw(st.dictionaries(st.sampled_from(NAMES), sizes))
    images = draw(st.dictionaries(st.sampled_from(NAMES), sizes))
    shards = draw(st.just(0) | sizes)
    of = disk(
        "disk-0",
        listed=listed,
        listed_images=images,
        scheduled_bytes=sum(listed.values()) + sum(images.values()) + shards,
        ready=draw(st.sampled_from([True, True, False])),
    )
    by = draw(disk_schedules("uuid-disk-0", on=[NODE], replicas=NAMES, images=NAMES))
    by = structs.replace(by, disk=of.name, deleting=False)
    replicas = [
        builders.replica(name, of=name, disk="disk-0", size_bytes=draw(sizes))
        for name in draw(st.lists(st.sampled_from(NAMES), unique=True))
    ]
    return of, by, replicas


@given(scenes())
def test_name_counts_once(scene):
    """By a sum over names that knows nothing of how the disk is put together."""
    of, by, replicas = scene
    by = structs.replace(by, ready=True)
    sizes = {each.name: each.size_bytes for each in replicas}

    found = account(of, Settings(), replicas, node=NODE, schedule=by)

    known = parts(by.replicas, by.held_replicas)
    of_images = parts(by.images, by.held_images)
    total = found.contested_bytes
    for name in map(ReplicaName, NAMES):
        part = known.get(name, Part(standing=Standing.PENDING, held_bytes=0, asked_bytes=0))
        if part.standing is Standing.REFUSED:
            total += part.held_bytes
        elif name in known:
            total += max(part.bytes, sizes.get(name, 0))
        else:
            total += max(of.listed.get(name, 0), sizes.get(name, 0))
        total += of_images[name].bytes if name in of_images else of.listed_images.get(name, 0)
    if of.ready.is_true:
        named = sum(of.listed.values()) + sum(of.listed_images.values())
        total += of.scheduled_bytes - named
    assert found.scheduled_bytes == total


@given(scenes())
def test_disk_counts_no_less_than_longhorn_itself_does(scene):
    of, by, replicas = scene
    found = account(of, Settings(), replicas, node=NODE, schedule=structs.replace(by, ready=True))

    held = [*by.held_replicas.values(), *by.held_images.values()]
    assert found.scheduled_bytes >= sum(max(0, each.scheduled_bytes) for each in held)


@given(scenes())
def test_contested_names_fit(scene):
    of, by, replicas = scene
    found = account(of, Settings(), replicas, node=NODE, schedule=structs.replace(by, ready=True))

    assert found.contested_bytes == 0 or found.logical_headroom_bytes >= 0


@given(scenes())
def test_disk_schedule_that_is_not_ready_only_adds(scene):
    of, by, replicas = scene
    without = account(of, Settings(), replicas, node=NODE)

    found = account(of, Settings(), replicas, node=NODE, schedule=structs.replace(by, ready=None))

    assert found.scheduled_bytes >= without.scheduled_bytes
