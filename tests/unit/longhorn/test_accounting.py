"""What takes a disk, by name. The disk has 100 GiB; sizes in tables are GiB."""

from collections.abc import Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import structs

from longhorn import (
    BackingImage,
    Disk,
    DiskSchedule,
    DiskSpace,
    Entry,
    EntryState,
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

NODE = NodeName("node-1")
Sizes = Mapping[str, int]
"""GiB by name."""


def gib(sizes: Sizes) -> dict[str, int]:
    return {name: size * GIB for name, size in sizes.items()}


def schedule(
    asks: Sizes,
    granted: Sizes | None = None,
    refused: Sizes | None = None,
    *,
    images: Sizes | None = None,
    granted_images: Sizes | None = None,
    refused_images: Sizes | None = None,
    ready: bool | None = True,
) -> DiskSchedule:
    return disk_schedule(
        asks=gib(asks),
        granted=gib(granted or {}),
        refused=gib(refused or {}),
        asks_images=gib(images or {}),
        granted_images=gib(granted_images or {}),
        refused_images=gib(refused_images or {}),
        ready=ready,
    )


def listing(
    listed: Sizes, *, images: Sizes | None = None, total: int | None = None, ready: bool = True
) -> Disk:
    """Build the disk as its Node shows it."""
    return disk(
        listed=gib(listed),
        listed_images=gib(images or {}),
        scheduled_bytes=None if total is None else total * GIB,
        ready=ready,
    )


def there(
    name: str, size: int = 10, *, deleting: bool = False, healthy_once: bool = True
) -> Replica:
    return builders.replica(
        name,
        of=f"of-{name}",
        size_bytes=size * GIB,
        deleting=deleting,
        healthy_once=healthy_once,
    )


def accounted(
    of: Disk,
    by: DiskSchedule | None,
    *replicas: Replica,
    expanded: Sizes | None = None,
    images: Mapping[VolumeName, BackingImage] | None = None,
) -> DiskSpace:
    return account(
        of,
        Settings(),
        replicas,
        node=NODE,
        schedule=by,
        growth=Growth(
            expanded={VolumeName(name): size for name, size in gib(expanded or {}).items()},
            images=images or {},
        ),
    )


def headroom(space: DiskSpace) -> int:
    """Return what is left in whole GiB, floored at 0."""
    return max(0, space.logical_headroom_bytes) // GIB


A60 = {"a": 60}
ZEROS = disk(maximum_bytes=0, available_bytes=0, ready=False)
SHARDS = listing(A60, images={"i": 5}, total=75)


@pytest.mark.parametrize(
    ("of", "by", "counted", "contested"),
    [
        pytest.param(
            listing({}), schedule({**A60, "b": 20}, A60), 80, 0, id="e1-granted-and-pending"
        ),
        pytest.param(
            listing({**A60, "b": 20}), schedule({**A60, "b": 20}, A60), 80, 0, id="e2-listed-too"
        ),
        pytest.param(
            listing({**A60, "b": 50}),
            schedule({**A60, "b": 50}, A60, {"b": 0}),
            60,
            0,
            id="e3-refused",
        ),
        pytest.param(
            listing({}), schedule({**A60, "b": 30}, A60, {"b": 0}), 90, 30, id="e4-refused-fits-now"
        ),
        pytest.param(
            listing({**A60, "x": 10}), schedule(A60, A60), 70, 0, id="e5-only-the-node-knows-it"
        ),
        pytest.param(
            SHARDS,
            schedule(A60, A60, images={"i": 5}, granted_images={"i": 5}),
            75,
            0,
            id="e6-shards",
        ),
        pytest.param(listing({"a": 30}), schedule({"a": 50}, {"a": 30}), 50, 0, id="e7-growing"),
        pytest.param(listing({}), schedule({"a": 20}, {"a": 50}), 50, 0, id="e8-shrinking"),
        pytest.param(listing({}), schedule({"a": 20}, {"a": 20}), 20, 0, id="e8-shrunk"),
        pytest.param(ZEROS, schedule(A60, A60), 60, 0, id="e9-zeros-of-a-disk-that-is-not-ready"),
        pytest.param(listing({"a": 40}), None, 40, 0, id="e11-no-disk-schedule"),
    ],
)
def test_what_counts_on_a_disk(of, by, counted, contested):
    found = accounted(of, by)

    assert (found.scheduled_bytes, found.contested_bytes) == (counted * GIB, contested * GIB)
    assert headroom(found) == (100 - counted if of.maximum_bytes else 0)


@pytest.mark.parametrize(
    ("nameless_gib", "left_gib"),
    [
        pytest.param(0, 20, id="none-is-counted"),
        pytest.param(10, 20, id="one-is"),
        pytest.param(15, 20, id="part-of-one-is"),
        pytest.param(20, 20, id="both-are"),
        pytest.param(35, 5, id="and-one-that-is-gone"),
    ],
)
def test_shards_count_once_whatever_the_node_has_counted(nameless_gib, left_gib):
    shards = [builders.shard(f"{name}-0", size_bytes=10 * GIB) for name in "bc"]
    of = builders.disk(listed={"a": 60 * GIB}, scheduled_bytes=(60 + nameless_gib) * GIB)

    for replicas in (shards, [*reversed(shards)]):
        found = account(of, Settings(), replicas, node=NODE)

        assert headroom(found) == left_gib


@pytest.mark.parametrize(
    ("asked", "entry", "expected"),
    [
        (5, None, (Standing.PENDING, 5, 0)),
        (5, Entry(EntryState.SCHEDULED, 5 * GIB), (Standing.GRANTED, 5, 0)),
        (5, Entry(EntryState.SCHEDULED, 3 * GIB), (Standing.GROWING, 5, 0)),
        (5, Entry(EntryState.SCHEDULED, 7 * GIB), (Standing.SHRINKING, 7, 0)),
        (5, Entry(EntryState.REJECTED, 7 * GIB), (Standing.SHRINKING, 7, 0)),
        (5, Entry(EntryState.REJECTED, 0), (Standing.REFUSED, 0, 5)),
        (5, Entry(EntryState.REJECTED, 3 * GIB), (Standing.REFUSED, 3, 2)),
        (5, Entry(EntryState.REJECTED, 5 * GIB), (Standing.REFUSED, 5, 0)),
        (5, Entry(EntryState.REJECTED, -GIB), (Standing.REFUSED, 0, 5)),
        (0, Entry(EntryState.SCHEDULED, 5 * GIB), (Standing.RELEASING, 5, 0)),
        (-1, Entry(EntryState.REJECTED, 5 * GIB), (Standing.RELEASING, 5, 0)),
    ],
)
def test_what_a_request_counts_with(asked, entry, expected):
    found = parts({"a": asked * GIB}, {} if entry is None else {"a": entry})["a"]

    standing, counts, is_refused = expected
    assert found.standing is standing
    assert (found.bytes, found.refused_bytes) == (counts * GIB, is_refused * GIB)


def test_a_request_of_nothing_that_holds_nothing_is_none():
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
def test_which_disk_it_is_about(fields, *, expected):
    found = structs.replace(disk_schedule(), **fields)

    assert (accounted(disk(), found).schedule is found) is expected


def test_a_disk_without_uuid_has_none():
    assert accounted(disk(uuid=""), disk_schedule()).schedule is None


@pytest.mark.parametrize(
    ("by", "replicas", "expected"),
    [
        pytest.param(schedule({}), [there("y")], 10, id="placed-and-not-asked-for-yet"),
        pytest.param(
            schedule({}), [there("y", deleting=True)], 10, id="going-until-its-object-is-gone"
        ),
        pytest.param(schedule({"y": 10}), [there("y")], 10, id="placed-and-pending"),
        pytest.param(schedule({"y": 10}, {"y": 10}), [there("y", 15)], 15, id="grown-not-asked"),
        pytest.param(schedule({"y": 10}, {"y": 10}), [there("y", 5)], 10, id="granted-more"),
        pytest.param(schedule({"y": 10}, refused={"y": 0}), [], 10, id="refused-fits-now"),
        pytest.param(
            schedule({"y": 10}, refused={"y": 0}), [there("y")], 10, id="refused-fits-now-placed"
        ),
        pytest.param(
            schedule({"y": 70, "z": 60}, refused={"y": 0, "z": 0}), [], 100, id="both-do-not-fit"
        ),
        pytest.param(
            schedule({"y": 101}, refused={"y": 0}), [there("y", 101)], 0, id="refused-never-fits"
        ),
        pytest.param(
            schedule({"a": 90, "y": 30}, {"a": 90}, {"y": 10}),
            [there("y", 30)],
            100,
            id="growth-refused",
        ),
        pytest.param(
            schedule({"y": 10}, images={"y": 5}, granted_images={"y": 5}),
            [],
            15,
            id="a-replica-and-an-image-of-one-name",
        ),
        pytest.param(
            schedule({}, images={"i": 20}, refused_images={"i": 0}), [], 20, id="image-fits-now"
        ),
        pytest.param(
            schedule({}, images={"i": 120}, refused_images={"i": 0}), [], 0, id="image-does-not-fit"
        ),
    ],
)
def test_what_counts_on_an_empty_disk(by, replicas, expected):
    assert accounted(listing({}), by, *replicas).scheduled_bytes == expected * GIB


@pytest.mark.parametrize("ready", [None, False])
def test_one_that_is_not_ready_counts_besides_the_node(*, ready):
    by = schedule(
        {"a": 10, "b": 20, "c": 5},
        {"d": 2},
        images={"i": 3, "k": 4},
        ready=ready,
    )

    found = accounted(listing({"a": 15}, images={"i": 1}, total=26), by, there("b", 10))

    counted = {"a": 15, "b": 20, "c": 5, "d": 2}
    assert found.schedule is None
    assert dict(found.disk.listed) | {str(k): v for k, v in found.unlisted.items()} == gib(counted)
    assert found.scheduled_bytes == (26 + 20 + 5 + 2 + 4) * GIB


@pytest.mark.parametrize("by", [schedule({"y": 30}, {"y": 10}), schedule({"y": 10}, {"y": 10})])
def test_growth_of_a_volume_counts_once_asked_for_or_not(by):
    found = accounted(listing({}), by, there("y"), expanded={"of-y": 30})

    assert found.scheduled_bytes == 30 * GIB


def test_growth_that_was_refused_does_not_count_twice():
    by = schedule({"y": 30}, refused={"y": 10})

    found = accounted(listing({}), by, there("y"), expanded={"of-y": 30})

    assert (found.scheduled_bytes, found.contested_bytes) == (30 * GIB, 20 * GIB)


IMAGES = {VolumeName("of-y"): backing_image("i", size_bytes=5 * GIB)}


@pytest.mark.parametrize(
    ("by", "expected"),
    [
        pytest.param(schedule({"y": 10}, {"y": 10}), 15, id="a-copy-is-to-come"),
        pytest.param(
            schedule({"y": 10}, {"y": 10}, images={"i": 4}), 14, id="asked-for-by-another-size"
        ),
        pytest.param(
            schedule({"y": 101}, refused={"y": 0}), 0, id="none-for-a-replica-that-is-not-started"
        ),
        pytest.param(
            schedule({"y": 101}, refused={"y": 10}), 15, id="one-for-a-replica-that-may-not-grow"
        ),
    ],
)
def test_copies_of_backing_images(by, expected):
    found = accounted(listing({}), by, there("y"), images=IMAGES)

    assert found.scheduled_bytes == expected * GIB


def test_stale_images_of_a_disk_that_is_not_ready_are_no_shards():
    stale = listing({}, images={"i": 5}, total=40, ready=False)

    assert accounted(stale, schedule({})).scheduled_bytes == 5 * GIB


@pytest.mark.parametrize(
    ("by", "expected"),
    [
        (None, True),
        (schedule({}), False),
        (schedule({"y": 10}), False),
        (schedule({"y": 10}, {"y": 10}), True),
        (schedule({"y": 10}, refused={"y": 10}), False),
        (schedule({"y": 15}, {"y": 10}), False),
        (schedule({"y": 15}, {"y": 15}), False),
        (schedule({}, {"y": 10}), False),
        (schedule({"y": 10}, ready=None), True),
    ],
    ids=[
        "no-disk-schedule",
        "not-asked-for",
        "pending",
        "granted",
        "refused-and-taken-back",
        "asks-for-more",
        "of-another-size",
        "not-asked-for-any-more",
        "not-ready",
    ],
)
def test_what_is_granted(by, *, expected):
    space = accounted(listing({}), by, there("y", healthy_once=False))

    assert (not space.undecided) is expected


def test_what_has_data_stays_whatever_its_disk_decides():
    assert not accounted(listing({}), schedule({"y": 10}), there("y")).undecided


@pytest.mark.parametrize(
    ("replica", "expected"),
    [
        pytest.param(there("new", 101, healthy_once=False), True, id="new-and-without-room"),
        pytest.param(there("with-data", 101), False, id="has-data"),
        pytest.param(there("small", 10, healthy_once=False), False, id="would-fit"),
        pytest.param(there("grows", 101, healthy_once=False), False, id="holds-something"),
        pytest.param(there("asked", 1, healthy_once=False), False, id="not-decided"),
        pytest.param(there("other", 10, healthy_once=False), False, id="not-asked-for"),
    ],
)
def test_what_a_disk_turns_away(replica, *, expected):
    by = schedule(
        {"new": 101, "with-data": 101, "small": 10, "grows": 101, "asked": 1},
        refused={"new": 0, "with-data": 0, "small": 0, "grows": 5},
    )

    found = accounted(listing({}), by, replica).turned_away

    assert [*found] == ([replica.name] if expected else [])


@pytest.mark.parametrize(
    ("asks", "replica", "expected"),
    [
        pytest.param({"new": 41}, there("new", 41, healthy_once=False), True, id="too-much"),
        pytest.param({"new": 40}, there("new", 40, healthy_once=False), False, id="fits"),
        pytest.param({"new": 41}, there("new", 41), False, id="has-data"),
        pytest.param({"new": 41}, there("old", 60, healthy_once=False), False, id="granted"),
        pytest.param({}, there("new", 41, healthy_once=False), True, id="has-not-asked-yet"),
        pytest.param({}, there("gone", 41, healthy_once=False), True, id="asks-no-more"),
        pytest.param(
            {"new": 40, "newer": 1}, there("new", 40, healthy_once=False), True, id="not-both-fit"
        ),
    ],
)
def test_what_a_disk_may_turn_away_that_cannot_take_all_it_is_to_decide_on(
    asks, replica, *, expected
):
    by = schedule({"old": 60, **asks}, {"old": 60}, {"gone": 0})
    space = accounted(listing({}), by, replica)

    assert [*space.turned_away] == ([replica.name] if expected else [])


def test_what_is_turned_away_is_not_placed_and_says_where_its_object_is():
    new = there("y", 101, healthy_once=False)

    [found] = accounted(
        listing({}), schedule({"y": 101}, refused={"y": 0}), new
    ).turned_away.values()

    assert (found.node, found.disk) == (None, None)
    assert found.named_place == ("node-1", "uuid-disk-1")


@pytest.mark.parametrize(("logs", "left"), [(60, 22), (15, 7)])
def test_a_refused_name_counts_as_far_as_it_would_fit(logs, left):
    of = listing(
        {"mail": 40, "shop": 20, "logs": 60, "old": 10}, images={"ubuntu": 4}, total=130 + 4 + 3
    )
    by = schedule(
        {"mail": 40, "shop": 20, "logs": logs},
        {"mail": 40},
        {"logs": 0},
        images={"ubuntu": 5},
        granted_images={"ubuntu": 5},
    )

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
def test_each_name_counts_once(scene):
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
def test_never_less_than_longhorn_itself_counts(scene):
    of, by, replicas = scene
    found = account(of, Settings(), replicas, node=NODE, schedule=structs.replace(by, ready=True))

    held = [*by.held_replicas.values(), *by.held_images.values()]
    assert found.scheduled_bytes >= sum(max(0, each.scheduled_bytes) for each in held)


@given(scenes())
def test_what_is_contested_fits(scene):
    of, by, replicas = scene
    found = account(of, Settings(), replicas, node=NODE, schedule=structs.replace(by, ready=True))

    assert found.contested_bytes == 0 or found.logical_headroom_bytes >= 0


@given(scenes())
def test_one_that_is_not_ready_only_adds(scene):
    of, by, replicas = scene
    without = account(of, Settings(), replicas, node=NODE)

    found = account(of, Settings(), replicas, node=NODE, schedule=structs.replace(by, ready=None))

    assert found.scheduled_bytes >= without.scheduled_bytes
