"""How a volume's replicas spread: used nodes and zones, eviction, auto-balance, shared disks.

Each row is where a volume's next replica may go, with those that it has.
"""

from typing import Any

import pytest

from longhorn import Reason, Settings
from tests.unit.longhorn.objects import (
    NOT_SCHEDULABLE,
    degraded,
    disk,
    disks_for,
    failed,
    node,
    nodes,
    replicas,
    search,
    volume,
)

HARD = Settings()
NODE_SOFT = Settings(soft_anti_affinity=True)
DISK_HARD = Settings(soft_anti_affinity=True, disk_soft_anti_affinity=False)
ZONE_HARD = Settings(zone_soft_anti_affinity=False)
ZONE_BALANCED = Settings(zone_soft_anti_affinity=False, auto_balance="best-effort")
ZONE_LEAST = Settings(zone_soft_anti_affinity=False, auto_balance="least-effort")

SPREAD: dict[str, tuple[str, str, Settings, str]] = {
    # The nodes, the replicas, the settings, and the disks that the next one may go to.
    "zone-that-is-fresh-comes-first": ("a@y b@y c@z", "a1", HARD, "c1"),
    "zone-that-is-full-gives-way-to-an-unused-node": ("a@y b@y c:100/1@z", "a1", HARD, "b1"),
    "zone-that-is-full-if-zones-are-hard": ("a@y b@y c:100/1@z", "a1", ZONE_HARD, ""),
    "zone-of-nodes-without-one": ("a b", "a1", ZONE_HARD, ""),
    "node-that-is-used-if-hard": ("a:100,100", "a1", HARD, ""),
    "node-that-is-used-if-zones-are-hard": ("a:100,100", "a1", ZONE_HARD, ""),
    "node-that-is-used-if-soft": ("a:100,100", "a1", NODE_SOFT, "a2"),
    "node-that-is-unused-is-not-merged-with-others": ("a:100,100 b", "a1", NODE_SOFT, "b1"),
    "node-of-a-replica-being-deleted": ("a:100,100", "a1/deleting", HARD, "a2"),
    "evicted-moves-within-its-node": ("a:100,100", "a1/evicting", HARD, "a2"),
    "evicted-moves-within-its-node-if-zones-are-hard": (
        "a:100,100", "a1/evicting", ZONE_HARD, "a2"),
    "evicted-beside-one-that-stays-on-the-node": ("a:100,100,100", "a1/evicting a2", HARD, ""),
    "evicted-goes-to-an-unused-node-first": ("a:100,100 b", "a1/evicting", HARD, "b1"),
    "evicted-beside-one-that-stays-in-the-zone": (
        "a:100,100@z b@z", "a1/evicting b1", ZONE_HARD, ""),
    "evicted-beside-one-in-the-zone-balanced": (
        "a:100,100@z b@z", "a1/evicting b1", ZONE_BALANCED, "a2"),
    "evicted-beside-one-in-the-zone-with-least-effort": (
        "a:100,100@z b@z", "a1/evicting b1", ZONE_LEAST, ""),
    "failed-may-come-back": ("a", "a1/failed", HARD, ""),
    "failed-and-given-up": ("a", "a1/given-up", HARD, "a1"),
    "failed-and-evicted": ("a", "a1/failed/evicting", HARD, "a1"),
}  # fmt: skip


@pytest.mark.parametrize(("on", "there", "settings", "expected"), SPREAD.values(), ids=SPREAD)
def test_next_replica_goes_to_the_first_group_that_takes_it(on, there, settings, expected):
    found = disks_for(volume(), *nodes(on), replicas=replicas(there), settings=settings)

    assert found == expected.split()


OF_VOLUME: dict[str, tuple[str, dict[str, str], Settings, str]] = {
    "node-hard": ("a:100,100", {"replicaSoftAntiAffinity": "disabled"}, NODE_SOFT, ""),
    "node-soft": ("a:100,100", {"replicaSoftAntiAffinity": "enabled"}, HARD, "a2"),
    "node-indifferent": ("a:100,100", {"replicaSoftAntiAffinity": "ignored"}, NODE_SOFT, "a2"),
    "zone-hard-means-node-hard": (
        "a:100,100", {"replicaZoneSoftAntiAffinity": "disabled"}, NODE_SOFT, ""),
    "disk-soft-by-setting": ("a", {}, NODE_SOFT, "a1"),
    "disk-hard-by-setting": ("a", {}, DISK_HARD, ""),
    "disk-hard": ("a", {"replicaDiskSoftAntiAffinity": "disabled"}, NODE_SOFT, ""),
    "disk-soft": ("a", {"replicaDiskSoftAntiAffinity": "enabled"}, DISK_HARD, "a1"),
}  # fmt: skip


@pytest.mark.parametrize(("on", "spec", "settings", "expected"), OF_VOLUME.values(), ids=OF_VOLUME)
def test_volume_says_what_counts_instead_of_the_setting(on, spec, settings, expected):
    found = search(volume(**spec), *nodes(on), replicas=replicas("a1"), settings=settings)

    assert [each.disk for each in found.disks] == expected.split()
    assert found.errors == ()


def test_reasons_of_all_groups_add_up():
    leaving = node("b", disk(spec={"evictionRequested": True}), status={"zone": "z2"})

    found = search(
        volume(), *nodes("a:100/1@z1"), leaving, replicas=replicas("a1"), settings=NODE_SOFT
    )

    assert found.errors == (Reason.DISKS_UNAVAILABLE, Reason.INSUFFICIENT_STORAGE)


def test_used_nodes_are_taken_whatever_their_tags():
    wants_fast, two_disks = volume(nodeSelector=["fast"]), nodes("a:100,100")

    assert disks_for(wants_fast, node(), settings=NODE_SOFT) == []
    assert disks_for(wants_fast, *two_disks, replicas=replicas("a1"), settings=NODE_SOFT) == ["a2"]


def test_replica_on_a_cordoned_node_uses_neither_node_nor_zone():
    cordoned = node("a", status={"zone": "z", "conditions": NOT_SCHEDULABLE})

    found = disks_for(
        volume(), cordoned, *nodes("b@z"), replicas=replicas("a1"), settings=ZONE_HARD
    )

    assert found == ["b1"]


RESERVED = disk(available=95, spec={"storageReserved": 90 * 2**30})
BEST = {"auto_balance": "best-effort"}
PRESSURE: dict[str, tuple[str, str, dict[str, Any], str]] = {
    # The node, auto-balance of the volume and by setting, and where the next replica may go.
    "under-pressure": ("a:100/8,100", "best-effort", {}, "a2"),
    "just-not-under-pressure": ("a:100/10,100", "best-effort", {}, ""),
    "under-pressure-as-percent-are-rounded-down": ("a:100/9.99,100", "best-effort", {}, "a2"),
    "balance-of-least-effort": ("a:100/8,100", "least-effort", {}, ""),
    "balance-off": ("a:100/8,100", "", {}, ""),
    "balance-by-setting": ("a:100/8,100", "ignored", BEST, "a2"),
    "balance-off-by-volume": ("a:100/8,100", "disabled", BEST, ""),
    "pressure-off": ("a:100/8,100", "best-effort", {"disk_pressure_percent": 0}, ""),
}


@pytest.mark.parametrize(
    ("on", "of_volume", "settings", "expected"), PRESSURE.values(), ids=PRESSURE
)
def test_used_node_under_pressure_counts_as_unused(on, of_volume, settings, expected):
    of = volume(replicaAutoBalance=of_volume)

    found = disks_for(of, *nodes(on), replicas=replicas("a1"), settings=Settings(**settings))

    assert found == expected.split()


@pytest.mark.parametrize(
    "pressed",
    [disk(status={"storageMaximum": 0}), disk(status={"storageAvailable": 0}), RESERVED],
    ids=["without-size", "without-room", "reserved-bytes-count-as-used"],
)
def test_disk_under_pressure_lets_another_of_its_node_take_a_replica(pressed):
    on = node("a", pressed, disk(), disk())

    found = disks_for(volume(20, replicaAutoBalance="best-effort"), on, replicas=replicas("a2"))

    assert found == ["a3"]


LONG_AGO = "2026-08-20T11:00:00Z"
WAITED_FOR = {
    "failed-last-try": (failed("a1", rebuildRetryCount=4), {}, []),
    "failed-without-disk": (failed("a1", diskID=""), {}, ["a1"]),
    "waited-for": (failed("a1"), degraded("2026-08-20T11:50:01Z"), []),
    "not-degraded": (failed("a1"), {"robustness": "healthy", "lastDegradedAt": LONG_AGO}, []),
}


@pytest.mark.parametrize(("there", "status", "expected"), WAITED_FOR.values(), ids=WAITED_FOR)
def test_failed_replica_uses_its_node_while_it_may_come_back(there, status, expected):
    assert disks_for(volume(status=status), node(), replicas=[there]) == expected


def test_failed_replica_frees_its_node_but_not_its_disk_after_the_wait():
    waited = volume(status=degraded("2026-08-20T11:50:00Z"))

    assert disks_for(waited, *nodes("a:100,100"), replicas=replicas("a1/failed")) == ["a2"]


@pytest.mark.parametrize("when", ["", "yesterday", "2026-08-20"])
def test_volume_that_does_not_say_since_when_it_is_degraded_is_an_error(when):
    found = search(volume(status=degraded(when)), node())

    assert (found.disks, found.errors) == ((), (Reason.CLIENT_OPERATION_FAILED,))
