"""Rules about nodes and disks, above all those that the recorded decisions do not reach."""

from typing import Any

import pytest
from msgspec.structs import replace

from longhorn import (
    Candidate,
    DiskId,
    NodeName,
    Reason,
    Replica,
    Settings,
    find_candidates,
    node_disks,
)
from tests.actors.longhorn.placement import around
from tests.builders import GIB, MIB, TIB, conditions
from tests.unit.longhorn.objects import (
    NOW,
    Json,
    disk,
    disks_for,
    image,
    node,
    replica,
    search,
    volume,
)

KIB_OF_GIB = 2**-20
UNREADABLE = Settings(unreadable="replica-soft-anti-affinity")


def at(uuid: str) -> Candidate:
    return Candidate(NodeName(uuid[0]), DiskId(uuid))


def fits(of_disk: Json, *, size: float = 10, settings: Settings | None = None, **spec: Any) -> bool:
    return disks_for(volume(size, **spec), node("a", of_disk), settings=settings) == ["a1"]


def test_candidates_are_sorted_by_node_and_disk():
    found = search(volume(), node("b"), node("a", disk(), disk()))

    assert found.disks == (at("a1"), at("a2"), at("b1"))
    assert found.errors == ()


@pytest.mark.parametrize(
    "unusable",
    [
        pytest.param({"deleting": True}, id="deleting"),
        pytest.param({"spec": {"allowScheduling": False}}, id="scheduling-disabled"),
        pytest.param(
            {"status": {"conditions": conditions(Ready="False", Schedulable="True")}},
            id="not-ready",
        ),
        pytest.param(
            {"status": {"conditions": conditions(Ready="True", Schedulable="False")}},
            id="cordoned",
        ),
        pytest.param({"status": {"conditions": conditions(Ready="True")}}, id="unknown"),
        pytest.param({"status": {"conditions": None}}, id="conditions-null"),
    ],
)
def test_node_that_takes_nothing(unusable):
    found = search(volume(), node("a", **unusable))

    assert (found.disks, found.errors) == ((), (Reason.NODES_UNAVAILABLE,))


def test_eviction_of_a_node_is_not_looked_at():
    assert disks_for(volume(), node(spec={"evictionRequested": True})) == ["a1"]


@pytest.mark.parametrize(
    "unusable",
    [
        pytest.param(disk(spec={"allowScheduling": False}), id="scheduling-disabled"),
        pytest.param(disk(spec={"evictionRequested": True}), id="evicted"),
        pytest.param(disk(status={"conditions": conditions(Ready="True")}), id="unknown"),
        pytest.param(disk(status={"conditions": None}), id="conditions-null"),
        pytest.param(disk(spec={"diskType": "block"}), id="of-the-other-data-engine"),
    ],
)
def test_disk_that_takes_nothing(unusable):
    found = search(volume(), node("a", unusable))

    assert (found.disks, found.errors) == ((), (Reason.DISKS_UNAVAILABLE,))


def test_a_disk_that_is_not_ready_is_taken():
    """Longhorn looks at Schedulable alone."""
    assert fits(disk(status={"conditions": conditions(Ready="False", Schedulable="True")}))


@pytest.mark.parametrize(
    "lacking",
    [
        pytest.param({"spec": {"disks": None}}, id="spec"),
        pytest.param({"status": {"diskStatus": None}}, id="status"),
    ],
)
def test_a_disk_must_be_in_spec_and_status(lacking):
    assert disks_for(volume(), node("a", **lacking)) == []


def test_a_pinned_replica_goes_to_its_node_alone():
    nodes = node("a"), node("b")

    assert disks_for(volume(dataLocality="strict-local"), *nodes, pinned_to="b") == ["b1"]


def test_a_pinned_replica_has_no_other_node():
    cordoned = node("b", status={"conditions": conditions(Ready="True", Schedulable="False")})

    found = search(volume(), node("a"), cordoned, pinned_to="b")

    assert (found.disks, found.errors) == ((), (Reason.HARD_AFFINITY,))


def test_a_pinned_replica_may_share_the_zone_of_others():
    """Only the one node is a candidate, so that replicas elsewhere use no zone."""
    nodes = node("a", status={"zone": "z"}), node("b", status={"zone": "z"})
    settings = Settings(zone_soft_anti_affinity=False)

    free = disks_for(volume(), *nodes, replicas=[replica("a1")], settings=settings)
    pinned = disks_for(volume(), *nodes, replicas=[replica("a1")], settings=settings, pinned_to="b")

    assert (free, pinned) == ([], ["b1"])


@pytest.mark.parametrize(
    ("terms", "expected"),
    [
        pytest.param(None, ["a1", "b1"], id="null"),
        pytest.param([], ["a1", "b1"], id="none"),
        pytest.param([{"zone": "za"}], ["a1"], id="zone"),
        pytest.param([{"region": "r"}], ["a1", "b1"], id="region"),
        pytest.param([{"zone": "za", "region": "other"}], [], id="zone-of-another-region"),
        pytest.param([{"zone": "zc"}, {"zone": "zb", "region": "r"}], ["b1"], id="second-term"),
        pytest.param([{"zone": "", "region": ""}], ["a1", "b1"], id="empty-term"),
    ],
)
def test_topology_requirement(terms, expected):
    nodes = [node(n, status={"zone": f"z{n}", "region": "r"}) for n in ("a", "b")]

    found = search(volume(topologyRequirement=terms), *nodes)

    assert [each.disk for each in found.disks] == expected
    assert found.errors == (() if expected else (Reason.TOPOLOGY,))


CLONE = replace(volume(), linked_to="source")


def source(disk: str, **spec: Any) -> Replica:
    return replica(disk, name=f"source-r-{disk}", volumeName="source", **spec)


@pytest.mark.parametrize(
    ("sources", "expected"),
    [
        pytest.param([source("a1"), source("b2")], ["a1", "b2"], id="beside-each"),
        pytest.param([source("a1", evictionRequested=True), source("b1")], ["b1"], id="evicting"),
        pytest.param([source("a1"), source("b1", healthyAt="")], ["a1"], id="rebuilding"),
        pytest.param([source("a1"), source("b1", failedAt="2026-08-20")], ["a1"], id="failed"),
        pytest.param([source("a1", active=False)], ["a1"], id="inactive"),
        pytest.param([source("a1", deleting=True)], ["a1"], id="being-deleted"),
        pytest.param([replica("b1", name="vol-r-1"), source("a2")], ["a2"], id="its-own"),
    ],
)
def test_a_linked_clone_goes_where_what_it_shares_is(sources, expected):
    nodes = node("a", disk(), disk()), node("b", disk(), disk())

    assert disks_for(CLONE, *nodes, replicas=sources) == expected


@pytest.mark.parametrize("sources", [[], [source("c1")]], ids=["none", "on-no-node"])
def test_a_linked_clone_without_what_it_shares_goes_nowhere(sources):
    found = search(CLONE, node("a"), node("b"), replicas=sources, pinned_to="a")

    assert found.disks == ()
    assert found.errors == (Reason.LINKED_CLONE,)


def test_no_topology_is_met_where_no_node_takes_replicas():
    limited = volume(topologyRequirement=[{"zone": "z"}])

    assert search(limited).errors == (Reason.TOPOLOGY,)


def test_nodes_whose_data_engine_is_not_ready_are_left_out():
    nodes = node("a"), node("b")

    assert disks_for(volume(), *nodes, not_starting={"a"}) == ["b1"]
    found = search(volume(), *nodes, not_starting={"a", "b"})
    assert found.errors == (Reason.ENGINE_IMAGE_NOT_READY,)


@pytest.mark.parametrize(
    ("linked", "pinned_to", "zone", "not_starting", "expected"),
    [
        pytest.param(True, "b", "z", {"a"}, Reason.LINKED_CLONE, id="2-linked-clone"),
        pytest.param(False, "b", "z", {"a"}, Reason.HARD_AFFINITY, id="3-hard-affinity"),
        pytest.param(False, "", "z", {"a"}, Reason.TOPOLOGY, id="4-topology"),
        pytest.param(False, "", "", {"a"}, Reason.ENGINE_IMAGE_NOT_READY, id="7-engine-image"),
        pytest.param(False, "", "", set(), Reason.INSUFFICIENT_STORAGE, id="then-its-disks"),
    ],
)
def test_the_first_test_that_leaves_no_node_gives_the_reason(
    pinned_to, zone, not_starting, expected, *, linked
):
    of = volume(20, topologyRequirement=[{"zone": zone}] if zone else [])
    of = replace(of, linked_to="source") if linked else of
    small = node("a", disk(10))

    found = search(of, small, pinned_to=pinned_to, not_starting=not_starting)

    assert (found.disks, found.errors) == ((), (expected,))


@pytest.mark.parametrize(
    ("engine", "expected"), [("v1", ["a1"]), ("v2", ["a2"]), ("", ["a1"]), ("v3", ["a1"])]
)
def test_the_data_engine_decides_the_type_of_disk(engine, expected):
    two_disks = node("a", disk(), disk(spec={"diskType": "block"}))

    assert disks_for(volume(dataEngine=engine), two_disks) == expected


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


def test_a_backing_image_of_another_volume_is_no_matter():
    assert disks_for(volume(), node(), backing_image=image(diskSelector=["ssd"])) == ["a1"]


def test_a_missing_backing_image_is_an_error():
    found = search(volume(backingImage="image"), node())

    assert (found.disks, found.errors) == ((), (Reason.CLIENT_OPERATION_FAILED,))


@pytest.mark.parametrize(
    ("filesystem", "engine", "size", "expected"),
    [
        ("ext2/ext3", "v1", 16 * TIB, False),
        ("ext4", "v1", 16 * TIB, False),
        ("ext2/ext3", "v1", 16 * TIB - 2 * MIB, True),
        ("xfs", "v1", 16 * TIB, True),
        ("xfs", "v1", 2**63 - 1, False),
        ("btrfs", "v1", 2**63 - 1, True),
        ("ext2/ext3", "v2", 16 * TIB, True),
    ],
)
def test_largest_file(filesystem, engine, size, *, expected):
    type_ = "block" if engine == "v2" else "filesystem"
    huge = disk(
        spec={"diskType": type_},
        status={
            "filesystemType": filesystem,
            "storageMaximum": 2**63 - 1,
            "storageAvailable": 2**63 - 1,
        },
    )

    found = search(volume(size_bytes=size, dataEngine=engine), node("a", huge))

    assert bool(found.disks) is expected
    assert found.errors == (() if expected else (Reason.INCOMPATIBLE_SIZE,))


@pytest.mark.parametrize(
    ("of_disk", "size", "expected"),
    [
        pytest.param(disk(scheduled=40), 60, True, id="exactly-what-is-left"),
        pytest.param(disk(scheduled=40), 60 + KIB_OF_GIB, False, id="more-than-is-left"),
        pytest.param(disk(available=25), 1, False, id="available-is-the-minimum"),
        pytest.param(disk(available=25 + 2**-30), 75, True, id="size-is-not-asked-of-available"),
        pytest.param(disk(maximum=0, available=1), 0, False, id="no-size"),
        pytest.param(disk(available=0), 0, False, id="nothing-available"),
        pytest.param(disk(spec={"storageReserved": 30 * GIB}), 70, True, id="not-reserved"),
        pytest.param(disk(spec={"storageReserved": 30 * GIB}), 70.01, False, id="reserved"),
        pytest.param(disk(spec={"storageReserved": 101 * GIB}), 0, False, id="reserve-over-size"),
        pytest.param(
            disk(available=26, spec={"storageReserved": 50 * GIB}),
            50,
            True,
            id="reserve-is-not-asked-of-available",
        ),
    ],
)
def test_room(of_disk, size, *, expected):
    found = search(volume(size), node("a", of_disk))

    assert bool(found.disks) is expected
    assert found.errors == (() if expected else (Reason.INSUFFICIENT_STORAGE,))


@pytest.mark.parametrize(("actual_bytes", "expected"), [(35 * GIB, False), (35 * GIB - 1, True)])
def test_data_of_the_volume_is_asked_of_available(actual_bytes, *, expected):
    moving = volume(status={"actualSize": actual_bytes})

    assert bool(disks_for(moving, node("a", disk(available=60)))) is expected


@pytest.mark.parametrize(
    ("settings", "size", "expected"),
    [
        (Settings(over_provisioning_percent=200), 200, True),
        (Settings(over_provisioning_percent=200), 200.01, False),
        (Settings(over_provisioning_percent=0), 1, False),
        (Settings(minimal_available_percent=100), 1, False),
        (Settings(minimal_available_percent=0), 1, True),
    ],
)
def test_percentages(settings, size, *, expected):
    assert fits(disk(), size=size, settings=settings) is expected


def test_a_disk_with_nothing_available_is_full_whatever_the_minimum():
    assert not fits(disk(available=0), settings=Settings(minimal_available_percent=-1))


@pytest.mark.parametrize(
    ("there", "listed", "expected"),
    [
        pytest.param(replica("a1", size=50), {}, False, id="not-listed-yet"),
        pytest.param(replica("a1", size=50), {"vol-r-1": 50 * GIB}, True, id="listed"),
        pytest.param(replica("a1", size=50), None, False, id="nothing-listed"),
        pytest.param(replica("a2", size=50), {}, True, id="on-another-disk"),
        pytest.param(replica("b1", size=50, diskID="a1"), {}, True, id="on-another-node"),
        pytest.param(replica("a1", size=50, volumeName="other"), {}, True, id="of-another-volume"),
        pytest.param(replica("a1", size=50, deleting=True), {}, False, id="being-deleted"),
        pytest.param(
            replica("a1", size=50, failedAt="x", rebuildRetryCount=5), {}, False, id="dead"
        ),
    ],
)
def test_replicas_that_storage_scheduled_misses(there, listed, *, expected):
    of_disk = disk(status={"scheduledReplica": listed})
    shares = Settings(soft_anti_affinity=True)

    found = disks_for(volume(60), node("a", of_disk), replicas=[there], settings=shares)

    assert (found == ["a1"]) is expected


def test_a_replica_on_the_disk_of_the_same_uuid_elsewhere_keeps_this_one_used():
    elsewhere = replica("b1", diskID="a1")
    apart = Settings(disk_soft_anti_affinity=False)

    assert disks_for(volume(), node("a"), replicas=[elsewhere], settings=apart) == []


def test_an_unreadable_setting_leaves_no_candidate():
    unreadable = around([node_disks(node(), UNREADABLE)], UNREADABLE)

    found = find_candidates(replica(), volume(), [], unreadable, NOW)

    assert (found.disks, found.errors) == ((), (Reason.CLIENT_OPERATION_FAILED,))


def test_a_disk_gives_its_first_reason_only():
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


def test_the_replica_itself_is_passed_over():
    """One that is placed already finds its own disk again."""
    placed = replica("a1", name="vol-r-1")

    one = around([node_disks(node(), Settings())], Settings())
    found = find_candidates(placed, volume(), [placed], one, NOW)

    assert found.disks == (at("a1"),)
