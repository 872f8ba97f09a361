"""How a volume's replicas spread: used nodes and zones, eviction, auto-balance, shared disks."""

from typing import Any

import pytest

from longhorn import Node, Reason, Settings
from tests.builders import conditions
from tests.unit.longhorn.objects import disk, disks_for, failed, node, replica, search, volume

NODE_SOFT = Settings(soft_anti_affinity=True)
ZONE_HARD = Settings(zone_soft_anti_affinity=False)
EVICTED = {"evictionRequested": True}


def in_zone(name: str, zone: str, *disks: Any, **how: Any) -> Node:
    return node(name, *disks, status={"zone": zone}, **how)


def test_a_fresh_zone_comes_first():
    nodes = in_zone("a", "z1"), in_zone("b", "z1"), in_zone("c", "z2")

    assert disks_for(volume(), *nodes, replicas=[replica("a1")]) == ["c1"]


def test_a_full_fresh_zone_gives_way_to_an_unused_node():
    nodes = in_zone("a", "z1"), in_zone("b", "z1"), in_zone("c", "z2", disk(available=1))

    assert disks_for(volume(), *nodes, replicas=[replica("a1")]) == ["b1"]
    assert disks_for(volume(), *nodes, replicas=[replica("a1")], settings=ZONE_HARD) == []


def test_nodes_without_a_zone_share_one():
    nodes = node("a"), node("b")

    assert disks_for(volume(), *nodes, replicas=[replica("a1")], settings=ZONE_HARD) == []


@pytest.mark.parametrize(
    ("settings", "of_volume", "expected"),
    [
        pytest.param(Settings(), {}, [], id="hard"),
        pytest.param(NODE_SOFT, {}, ["a2"], id="soft"),
        pytest.param(NODE_SOFT, {"replicaSoftAntiAffinity": "disabled"}, [], id="volume-hard"),
        pytest.param(Settings(), {"replicaSoftAntiAffinity": "enabled"}, ["a2"], id="volume-soft"),
        pytest.param(
            NODE_SOFT, {"replicaSoftAntiAffinity": "ignored"}, ["a2"], id="volume-indifferent"
        ),
        pytest.param(
            NODE_SOFT,
            {"replicaZoneSoftAntiAffinity": "disabled"},
            [],
            id="a-hard-zone-means-a-hard-node",
        ),
    ],
)
def test_two_replicas_on_one_node(settings, of_volume, expected):
    two_disks = node("a", disk(), disk())

    found = disks_for(volume(**of_volume), two_disks, replicas=[replica("a1")], settings=settings)

    assert found == expected


@pytest.mark.parametrize(
    ("settings", "of_volume", "expected"),
    [
        (NODE_SOFT, "", ["a1"]),
        (NODE_SOFT, "disabled", []),
        (Settings(soft_anti_affinity=True, disk_soft_anti_affinity=False), "", []),
        (Settings(soft_anti_affinity=True, disk_soft_anti_affinity=False), "enabled", ["a1"]),
    ],
)
def test_two_replicas_on_one_disk(settings, of_volume, expected):
    shared = volume(replicaDiskSoftAntiAffinity=of_volume)

    found = search(shared, node(), replicas=[replica("a1")], settings=settings)

    assert [each.disk for each in found.disks] == expected
    assert found.errors == ()


def test_groups_are_not_merged():
    """The used node would do, but an unused one has a disk."""
    nodes = node("a", disk(), disk()), node("b")

    assert disks_for(volume(), *nodes, replicas=[replica("a1")], settings=NODE_SOFT) == ["b1"]


def test_reasons_of_all_groups_add_up():
    nodes = in_zone("a", "z1", disk(available=1)), in_zone("b", "z2", disk(spec=EVICTED))

    found = search(volume(), *nodes, replicas=[replica("a1")], settings=NODE_SOFT)

    assert found.errors == (Reason.DISKS_UNAVAILABLE, Reason.INSUFFICIENT_STORAGE)


def test_used_nodes_are_taken_whatever_their_tags():
    wants_fast = volume(nodeSelector=["fast"])

    assert disks_for(wants_fast, node(), settings=NODE_SOFT) == []
    assert disks_for(
        wants_fast, node("a", disk(), disk()), replicas=[replica("a1")], settings=NODE_SOFT
    ) == ["a2"]


def test_a_replica_on_a_cordoned_node_uses_neither_node_nor_zone():
    cordoned = node(
        "a", status={"zone": "z", "conditions": conditions(Ready="True", Schedulable="False")}
    )

    found = disks_for(
        volume(), cordoned, in_zone("b", "z"), replicas=[replica("a1")], settings=ZONE_HARD
    )

    assert found == ["b1"]


def test_a_replica_being_deleted_uses_its_disk_but_not_its_node():
    going = replica("a1", deleting=True)

    assert disks_for(volume(), node("a", disk(), disk()), replicas=[going]) == ["a2"]


@pytest.mark.parametrize("settings", [Settings(), ZONE_HARD], ids=["zone-soft", "zone-hard"])
def test_an_evicted_replica_may_move_within_its_node(settings):
    two_disks = node("a", disk(), disk())
    staying, leaving = replica("a1"), replica("a1", evictionRequested=True)

    assert disks_for(volume(), two_disks, replicas=[leaving], settings=settings) == ["a2"]
    assert disks_for(volume(), two_disks, replicas=[staying], settings=settings) == []


def test_a_replica_that_stays_keeps_the_node_used():
    three_disks = node("a", disk(), disk(), disk())
    both = [replica("a1", evictionRequested=True), replica("a2", name="vol-r-2")]

    assert disks_for(volume(), three_disks, replicas=both) == []


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        (ZONE_HARD, []),
        (Settings(zone_soft_anti_affinity=False, auto_balance="best-effort"), ["a2"]),
        (Settings(zone_soft_anti_affinity=False, auto_balance="least-effort"), []),
    ],
)
def test_a_replica_that_stays_keeps_the_zone_used(settings, expected):
    nodes = in_zone("a", "z", disk(), disk()), in_zone("b", "z")
    both = [replica("a1", evictionRequested=True), replica("b1", name="vol-r-2")]

    assert disks_for(volume(), *nodes, replicas=both, settings=settings) == expected


def test_evicted_nodes_come_after_unused_ones():
    nodes = node("a", disk(), disk()), node("b")

    assert disks_for(volume(), *nodes, replicas=[replica("a1", evictionRequested=True)]) == ["b1"]


@pytest.mark.parametrize(
    ("available", "settings", "of_volume", "expected"),
    [
        pytest.param(8, {}, "best-effort", ["a2"], id="under-pressure"),
        pytest.param(10, {}, "best-effort", [], id="just-no-pressure"),
        pytest.param(9.99, {}, "best-effort", ["a2"], id="percent-rounded-down"),
        pytest.param(8, {}, "least-effort", [], id="least-effort"),
        pytest.param(8, {}, "", [], id="off"),
        pytest.param(8, {"auto_balance": "best-effort"}, "ignored", ["a2"], id="by-setting"),
        pytest.param(8, {"auto_balance": "best-effort"}, "disabled", [], id="off-by-volume"),
        pytest.param(8, {"disk_pressure_percent": 0}, "best-effort", [], id="pressure-off"),
    ],
)
def test_a_used_node_under_pressure_counts_as_unused(available, settings, of_volume, expected):
    pressed = node("a", disk(available=available), disk())

    found = disks_for(
        volume(replicaAutoBalance=of_volume),
        pressed,
        replicas=[replica("a1")],
        settings=Settings(**settings),
    )

    assert found == expected


@pytest.mark.parametrize("broken", [{"storageMaximum": 0}, {"storageAvailable": 0}])
def test_a_disk_without_size_is_under_pressure(broken):
    nodes = node("a", disk(status=broken), disk(), disk())

    found = disks_for(volume(replicaAutoBalance="best-effort"), nodes, replicas=[replica("a2")])

    assert found == ["a3"]


def test_reserved_bytes_count_as_used_for_pressure():
    reserved = disk(available=95, spec={"storageReserved": 90 * 2**30})
    nodes = node("a", reserved, disk(), disk())

    found = disks_for(volume(20, replicaAutoBalance="best-effort"), nodes, replicas=[replica("a2")])

    assert found == ["a3"]


@pytest.mark.parametrize(
    ("there", "status", "expected"),
    [
        pytest.param(failed("a1"), {}, [], id="may-come-back"),
        pytest.param(failed("a1", rebuildRetryCount=4), {}, [], id="last-try"),
        pytest.param(failed("a1", rebuildRetryCount=5), {}, ["a1"], id="tried-too-often"),
        pytest.param(failed("a1", evictionRequested=True), {}, ["a1"], id="evicted"),
        pytest.param(failed("a1", diskID=""), {}, ["a1"], id="without-disk"),
        pytest.param(
            failed("a1"),
            {"robustness": "degraded", "lastDegradedAt": "2026-08-20T11:50:01Z"},
            [],
            id="waited-for",
        ),
        pytest.param(
            failed("a1"),
            {"robustness": "healthy", "lastDegradedAt": "2026-08-20T11:00:00Z"},
            [],
            id="not-degraded",
        ),
    ],
)
def test_failed_replicas(there, status, expected):
    assert disks_for(volume(status=status), node(), replicas=[there]) == expected


def test_after_the_wait_a_failed_replica_frees_its_node_but_not_its_disk():
    waited = {"robustness": "degraded", "lastDegradedAt": "2026-08-20T11:50:00Z"}

    found = disks_for(volume(status=waited), node("a", disk(), disk()), replicas=[failed("a1")])

    assert found == ["a2"]


@pytest.mark.parametrize("when", ["", "yesterday", "2026-08-20"])
def test_a_degraded_volume_that_does_not_say_since_when_is_an_error(when):
    found = search(volume(status={"robustness": "degraded", "lastDegradedAt": when}), node())

    assert (found.disks, found.errors) == ((), (Reason.CLIENT_OPERATION_FAILED,))
