"""Rules about nodes and disks, above all those that the recorded decisions do not reach."""

from collections.abc import Collection
from typing import Any

import pytest
from msgspec.structs import replace

from longhorn import (
    Candidate,
    DiskId,
    Node,
    NodeName,
    Reason,
    Replica,
    Settings,
    Volume,
    find_candidates,
    node_disks,
)
from tests.actors.longhorn.placement import around
from tests.builders import GIB, MIB, TIB, conditions
from tests.unit.longhorn.objects import (
    NOT_READY,
    NOT_SCHEDULABLE,
    NOW,
    Json,
    disk,
    disks_for,
    image,
    node,
    nodes,
    replica,
    search,
    volume,
)

KIB_OF_GIB = 2**-20
UNREADABLE = Settings(unreadable="replica-soft-anti-affinity")
DISKS_APART = Settings(disk_soft_anti_affinity=False)
DEFAULT = Settings()
EVICTED = {"evictionRequested": True}
IN_ZONE: dict[str, Any] = {
    "replicas": [replica("a1")],
    "settings": Settings(zone_soft_anti_affinity=False),
}


def at(uuid: str) -> Candidate:
    return Candidate(NodeName(uuid[0]), DiskId(uuid))


def test_candidates_are_sorted_by_node_and_disk():
    found = search(volume(), node("b"), node("a", disk(), disk()))

    assert found.disks == (at("a1"), at("a2"), at("b1"))
    assert found.errors == ()


NODES = {
    "deleting": {"deleting": True},
    "scheduling-disabled": {"spec": {"allowScheduling": False}},
    "not-ready": {"status": {"conditions": NOT_READY}},
    "cordoned": {"status": {"conditions": NOT_SCHEDULABLE}},
    "unknown": {"status": {"conditions": conditions(Ready="True")}},
    "conditions-null": {"status": {"conditions": None}},
}


@pytest.mark.parametrize("unusable", NODES.values(), ids=NODES)
def test_node_that_is_not_available_takes_none(unusable):
    found = search(volume(), node("a", **unusable))

    assert (found.disks, found.errors) == ((), (Reason.NODES_UNAVAILABLE,))


DISKS = {
    "scheduling-disabled": disk(spec={"allowScheduling": False}),
    "evicted": disk(spec=EVICTED),
    "unknown": disk(status={"conditions": conditions(Ready="True")}),
    "conditions-null": disk(status={"conditions": None}),
    "of-the-other-data-engine": disk(spec={"diskType": "block"}),
}


@pytest.mark.parametrize("unusable", DISKS.values(), ids=DISKS)
def test_disk_that_is_not_available_takes_none(unusable):
    found = search(volume(), node("a", unusable))

    assert (found.disks, found.errors) == ((), (Reason.DISKS_UNAVAILABLE,))


TWO_ENGINES = node("a", disk(), disk(spec={"diskType": "block"}))
CANDIDATES: dict[str, tuple[Volume, list[Node], dict[str, Any], str]] = {
    # The volume, the nodes, what else there is, and the disks of the candidates.
    "node-evicted": (volume(), [node(spec=EVICTED)], {}, "a1"),
    # Longhorn looks at Schedulable alone.
    "disk-not-ready": (volume(), [node("a", disk(status={"conditions": NOT_READY}))], {}, "a1"),
    "disk-not-in-spec": (volume(), [node(spec={"disks": None})], {}, ""),
    "disk-not-in-status": (volume(), [node(status={"diskStatus": None})], {}, ""),
    "pinned": (volume(dataLocality="strict-local"), nodes("a b"), {"pinned_to": "b"}, "b1"),
    "zone-shared": (volume(), nodes("a@z b@z"), IN_ZONE, ""),
    # Only the one node is a candidate, so that replicas elsewhere use no zone.
    "zone-shared-by-a-pinned-one": (volume(), nodes("a@z b@z"), IN_ZONE | {"pinned_to": "b"}, "b1"),
    "engine-not-starting": (volume(), nodes("a b"), {"not_starting": {"a"}}, "b1"),
    "engine-v1": (volume(dataEngine="v1"), [TWO_ENGINES], {}, "a1"),
    "engine-v2": (volume(dataEngine="v2"), [TWO_ENGINES], {}, "a2"),
    "engine-none": (volume(dataEngine=""), [TWO_ENGINES], {}, "a1"),
    "engine-unknown": (volume(dataEngine="v3"), [TWO_ENGINES], {}, "a1"),
    "backing-image-of-another-volume": (
        volume(), nodes("a"), {"backing_image": image(diskSelector=["ssd"])}, "a1"),
    "uuid-of-a-used-disk-elsewhere": (
        volume(), nodes("a"),
        {"replicas": [replica("b1", diskID="a1")], "settings": DISKS_APART}, ""),
}  # fmt: skip


@pytest.mark.parametrize(("of", "on", "how", "expected"), CANDIDATES.values(), ids=CANDIDATES)
def test_candidates_are_all_disks_that_will_do(of, on, how, expected):
    assert disks_for(of, *on, **how) == expected.split()


def test_pinned_replica_has_no_other_node():
    cordoned = node("b", status={"conditions": NOT_SCHEDULABLE})

    found = search(volume(), node("a"), cordoned, pinned_to="b")

    assert (found.disks, found.errors) == ((), (Reason.HARD_AFFINITY,))


TERMS: dict[str, tuple[list[dict[str, str]] | None, str]] = {
    "null": (None, "a1 b1"),
    "none": ([], "a1 b1"),
    "zone": ([{"zone": "za"}], "a1"),
    "region": ([{"region": "r"}], "a1 b1"),
    "zone-of-another-region": ([{"zone": "za", "region": "other"}], ""),
    "second-term": ([{"zone": "zc"}, {"zone": "zb", "region": "r"}], "b1"),
    "empty-term": ([{"zone": "", "region": ""}], "a1 b1"),
}


@pytest.mark.parametrize(("terms", "expected"), TERMS.values(), ids=TERMS)
def test_topology_requirement_is_met_by_one_of_its_terms(terms, expected):
    on = [node(n, status={"zone": f"z{n}", "region": "r"}) for n in ("a", "b")]

    found = search(volume(topologyRequirement=terms), *on)

    assert [each.disk for each in found.disks] == expected.split()
    assert found.errors == (() if expected else (Reason.TOPOLOGY,))


CLONE = replace(volume(), linked_to="source")


def source(disk: str, **spec: Any) -> Replica:
    return replica(disk, name=f"source-r-{disk}", volumeName="source", **spec)


SOURCES = {
    "beside-each": ([source("a1"), source("b2")], "a1 b2"),
    "evicting": ([source("a1", evictionRequested=True), source("b1")], "b1"),
    "rebuilding": ([source("a1"), source("b1", healthyAt="")], "a1"),
    "failed": ([source("a1"), source("b1", failedAt="2026-08-20")], "a1"),
    "inactive": ([source("a1", active=False)], "a1"),
    "being-deleted": ([source("a1", deleting=True)], "a1"),
    "its-own": ([replica("b1", name="vol-r-1"), source("a2")], "a2"),
}


@pytest.mark.parametrize(("sources", "expected"), SOURCES.values(), ids=SOURCES)
def test_linked_clone_goes_where_its_source_is(sources, expected):
    on = nodes("a:100,100 b:100,100")

    assert disks_for(CLONE, *on, replicas=sources) == expected.split()


@pytest.mark.parametrize("sources", [[], [source("c1")]], ids=["none", "on-no-node"])
def test_linked_clone_without_its_source_goes_nowhere(sources):
    found = search(CLONE, node("a"), node("b"), replicas=sources, pinned_to="a")

    assert found.disks == ()
    assert found.errors == (Reason.LINKED_CLONE,)


def test_topology_is_met_nowhere_if_no_node_takes_replicas():
    limited = volume(topologyRequirement=[{"zone": "z"}])

    assert search(limited).errors == (Reason.TOPOLOGY,)


def test_data_engine_that_starts_nowhere_gives_the_reason():
    found = search(volume(), *nodes("a b"), not_starting={"a", "b"})

    assert found.errors == (Reason.ENGINE_IMAGE_NOT_READY,)


FIRST: dict[str, tuple[bool, str, str, Collection[str], Reason]] = {
    # Whether it is linked, where it is pinned, its zone, and nodes on which it does not start.
    "2-linked-clone": (True, "b", "z", {"a"}, Reason.LINKED_CLONE),
    "3-hard-affinity": (False, "b", "z", {"a"}, Reason.HARD_AFFINITY),
    "4-topology": (False, "", "z", {"a"}, Reason.TOPOLOGY),
    "7-engine-image": (False, "", "", {"a"}, Reason.ENGINE_IMAGE_NOT_READY),
    "then-its-disks": (False, "", "", (), Reason.INSUFFICIENT_STORAGE),
}


@pytest.mark.parametrize(
    ("linked", "pinned_to", "zone", "not_starting", "expected"), FIRST.values(), ids=FIRST
)
def test_first_test_that_leaves_no_node_gives_the_reason(
    pinned_to, zone, not_starting, expected, *, linked
):
    of = volume(20, topologyRequirement=[{"zone": zone}] if zone else [])
    of = replace(of, linked_to="source") if linked else of

    found = search(of, *nodes("a:10"), pinned_to=pinned_to, not_starting=not_starting)

    assert (found.disks, found.errors) == ((), (expected,))


@pytest.mark.parametrize(
    ("selectors", "settings", "expected"),
    [
        ({}, Settings(), ["a1"]),
        ({"diskSelector": ["ssd"], "nodeSelector": ["fast"]}, Settings(), ["a1"]),
        ({"diskSelector": ["hdd"]}, Settings(), []),
        ({"nodeSelector": ["slow"]}, Settings(), []),
        ({}, Settings(allow_empty_disk_selector=False), []),
        ({}, Settings(allow_empty_node_selector=False), []),
    ],
)
def test_selectors_of_a_backing_image_apply_as_well(selectors, settings, expected):
    tagged = node("a", disk(spec={"tags": ["ssd"]}), spec={"tags": ["fast"]})
    of_image = volume(backingImage="image", diskSelector=["ssd"], nodeSelector=["fast"])

    found = disks_for(of_image, tagged, settings=settings, backing_image=image(**selectors))

    assert found == expected


def test_missing_backing_image_is_an_error():
    found = search(volume(backingImage="image"), node())

    assert (found.disks, found.errors) == ((), (Reason.CLIENT_OPERATION_FAILED,))


LARGEST = {
    "ext-at-its-limit": (16 * TIB, {}, "ext2/ext3", False),
    "ext4-at-its-limit": (16 * TIB, {}, "ext4", False),
    "ext-below-its-limit": (16 * TIB - 2 * MIB, {}, "ext2/ext3", True),
    "xfs": (16 * TIB, {}, "xfs", True),
    "xfs-at-its-limit": (2**63 - 1, {}, "xfs", False),
    "btrfs": (2**63 - 1, {}, "btrfs", True),
    "block": (16 * TIB, {"diskType": "block"}, "ext2/ext3", True),
}


@pytest.mark.parametrize(("size", "spec", "filesystem", "expected"), LARGEST.values(), ids=LARGEST)
def test_file_as_large_as_the_volume_must_be_possible(size, spec, filesystem, *, expected):
    huge = dict.fromkeys(("storageMaximum", "storageAvailable"), 2**63 - 1)
    on = node("a", disk(spec=spec, status={"filesystemType": filesystem, **huge}))

    found = search(volume(size_bytes=size, dataEngine="v2" if spec else "v1"), on)

    assert bool(found.disks) is expected
    assert found.errors == (() if expected else (Reason.INCOMPATIBLE_SIZE,))


def reserved(gib: int, available: float = 100) -> Json:
    return disk(available=available, spec={"storageReserved": gib * GIB})


ROOM: dict[str, tuple[Json, float, Settings, bool]] = {
    "exactly-what-is-left": (disk(scheduled=40), 60, DEFAULT, True),
    "more-than-is-left": (disk(scheduled=40), 60 + KIB_OF_GIB, DEFAULT, False),
    "available-is-the-minimum": (disk(available=25), 1, DEFAULT, False),
    "available-is-not-asked-for-the-size": (disk(available=25 + 2**-30), 75, DEFAULT, True),
    "no-size": (disk(maximum=0, available=1), 0, DEFAULT, False),
    "nothing-available": (disk(available=0), 0, DEFAULT, False),
    "nothing-available-whatever-the-minimum": (
        disk(available=0), 10, Settings(minimal_available_percent=-1), False),
    "not-reserved": (reserved(30), 70, DEFAULT, True),
    "reserved": (reserved(30), 70.01, DEFAULT, False),
    "reserve-over-size": (reserved(101), 0, DEFAULT, False),
    "reserve-is-not-asked-of-available": (reserved(50, available=26), 50, DEFAULT, True),
    "over-provisioned-twice": (disk(), 200, Settings(over_provisioning_percent=200), True),
    "over-provisioned-more": (disk(), 200.01, Settings(over_provisioning_percent=200), False),
    "over-provisioned-never": (disk(), 1, Settings(over_provisioning_percent=0), False),
    "minimum-of-all": (disk(), 1, Settings(minimal_available_percent=100), False),
    "minimum-of-none": (disk(), 1, Settings(minimal_available_percent=0), True),
}  # fmt: skip


@pytest.mark.parametrize(("of_disk", "size", "settings", "expected"), ROOM.values(), ids=ROOM)
def test_room_that_a_replica_takes_must_be_left(of_disk, size, settings, *, expected):
    found = search(volume(size), node("a", of_disk), settings=settings)

    assert bool(found.disks) is expected
    assert found.errors == (() if expected else (Reason.INSUFFICIENT_STORAGE,))


@pytest.mark.parametrize(("actual_bytes", "expected"), [(35 * GIB, False), (35 * GIB - 1, True)])
def test_data_of_the_volume_is_asked_of_available(actual_bytes, *, expected):
    moving = volume(status={"actualSize": actual_bytes})

    assert bool(disks_for(moving, node("a", disk(available=60)))) is expected


MISSED: dict[str, tuple[Replica, dict[str, int] | None, bool]] = {
    "not-listed-yet": (replica("a1", size=50), {}, False),
    "listed": (replica("a1", size=50), {"vol-r-1": 50 * GIB}, True),
    "nothing-listed": (replica("a1", size=50), None, False),
    "on-another-disk": (replica("a2", size=50), {}, True),
    "on-another-node": (replica("b1", size=50, diskID="a1"), {}, True),
    "of-another-volume": (replica("a1", size=50, volumeName="other"), {}, True),
    "being-deleted": (replica("a1", size=50, deleting=True), {}, False),
    "dead": (replica("a1", size=50, failedAt="x", rebuildRetryCount=5), {}, False),
}


@pytest.mark.parametrize(("there", "listed", "expected"), MISSED.values(), ids=MISSED)
def test_replica_of_the_volume_takes_room_that_is_not_listed_yet(there, listed, *, expected):
    of_disk = disk(status={"scheduledReplica": listed})
    shares = Settings(soft_anti_affinity=True)

    found = disks_for(volume(60), node("a", of_disk), replicas=[there], settings=shares)

    assert (found == ["a1"]) is expected


def test_unreadable_setting_leaves_no_candidate():
    unreadable = around([node_disks(node(), UNREADABLE)], UNREADABLE)

    found = find_candidates(replica(), volume(), [], unreadable, NOW)

    assert (found.disks, found.errors) == ((), (Reason.CLIENT_OPERATION_FAILED,))


def test_disk_gives_its_first_reason_only():
    """Tags come before room; another disk adds its own."""
    full_and_untagged = disk(available=1)
    full = disk(available=1, spec={"tags": ["ssd"]})
    wants_ssd = volume(diskSelector=["ssd"])

    assert search(wants_ssd, node("a", full_and_untagged)).errors == (Reason.TAGS,)
    assert search(wants_ssd, node("a", full_and_untagged, full)).errors == (
        Reason.INSUFFICIENT_STORAGE,
        Reason.TAGS,
    )


def test_nodes_without_the_tags_give_no_reason():
    found = search(volume(nodeSelector=["fast"]), node())

    assert (found.disks, found.errors) == ((), ())


def test_replica_itself_is_passed_over():
    """One that is placed already finds its own disk again."""
    placed = replica("a1", name="vol-r-1")

    one = around([node_disks(node(), Settings())], Settings())
    found = find_candidates(placed, volume(), [placed], one, NOW)

    assert found.disks == (at("a1"),)
