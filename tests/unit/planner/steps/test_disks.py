"""The steps `remove-disk` and `add-disk`."""

import pytest

from longhorn import Locality, NodeName
from planner.steps.disks import AddDisk, RemoveDisk
from tests.builders import GIB, bound, disk, node, replica, setting, volume
from tests.unit.planner.clusters import kubernetes_node, nodes_of
from tests.unit.planner.plans import (
    copies_of,
    error_of,
    place,
    plan_of,
    running,
    scheduled_gib,
    texts,
    told,
    warned,
)

REMOVE = RemoveDisk(node="node-1", disk="node-1-disk")


def disks_of(plan: object, name: str = "node-1") -> list[str]:
    found = plan.cluster.view.spaces[NodeName(name)].disks  # type: ignore[attr-defined]
    return [str(each.disk.name) for each in found]


def test_its_replicas_move_and_the_disk_goes():
    plan = plan_of(*nodes_of("ab"), *running("db-0", "node-1"))

    report = plan.take(REMOVE)

    assert told(report) == [
        "replica_placed default/db-0 node-2",
        "replica_removed default/db-0 node-1",
        "changed Disk node-1-disk node-1",
    ]
    assert disks_of(plan) == []
    assert scheduled_gib(plan, "node-2") == [10]


def test_a_replica_may_move_to_another_disk_of_its_node():
    two = node("node-1", disk("node-1-disk"), disk("second"))
    plan = plan_of(kubernetes_node("node-1"), two, *running("db-0", "node-1"))

    plan.take(REMOVE)

    assert disks_of(plan) == ["second"]
    assert scheduled_gib(plan, "node-1") == [10]


def test_without_room_elsewhere_it_stays_and_the_volumes_are_named():
    plan = plan_of(*nodes_of("a"), *running("db-0", "node-1"), *running("db-1", "node-1"))

    report = plan.take(REMOVE)

    assert texts(report) == [
        "stays: the replicas of default/db-0, default/db-1 cannot be moved elsewhere"
    ]
    assert disks_of(plan) == ["node-1-disk"]


def test_a_replica_that_cannot_move_does_not_degrade_its_volume():
    plan = plan_of(*nodes_of("a"), *running("db-0", "node-1"))

    assert warned(plan.take(REMOVE)) == []
    assert plan.cluster.view.volumes[volume("db-0").name].healthy


def test_what_waits_for_room_goes_on_once_there_is_some():
    plan = plan_of(*nodes_of("a"), *running("db-0", "node-1"))
    plan.take(REMOVE)

    plan.take(AddDisk(node="node-1", disk="second", size_bytes=50 * GIB))

    assert scheduled_gib(plan, "node-1") == [0, 10]
    assert told(plan.take(REMOVE)) == ["changed Disk node-1-disk node-1"]


def test_a_detached_volume_moves_too():
    plan = plan_of(
        *nodes_of("ab"),
        *bound(volume("old", locality=Locality.DISABLED)),
        replica("old-r", of="old", disk="node-1-disk"),
    )

    plan.take(REMOVE)

    assert copies_of(plan, "old") == ["node-2"]


def test_without_rebuilds_nothing_moves():
    off = setting("concurrent-replica-rebuild-per-node-limit", "0")
    plan = plan_of(*nodes_of("ab"), off, *running("db-0", "node-1"))

    assert len(texts(plan.take(REMOVE))) == 1


def test_a_failed_replica_goes_with_its_disk_if_the_volume_lives_on():
    plan = plan_of(
        *nodes_of("ab"),
        *running("db-0", "node-2"),
        replica("db-0-r-old", of="db-0", disk="node-1-disk", failed=True, rebuild_retries=5),
    )

    plan.take(REMOVE)

    assert disks_of(plan) == []
    assert copies_of(plan, "db-0") == ["node-2"]
    assert len(plan.cluster.view.replicas[volume("db-0").name]) == 1


def test_the_replicas_of_a_lost_volume_keep_their_disk():
    plan = plan_of(
        *nodes_of("ab"), *bound(volume()), replica("vol-r-1", disk="node-1-disk", failed=True)
    )

    assert len(texts(plan.take(REMOVE))) == 1


def test_a_new_disk_is_empty_and_gets_what_waits():
    plan = plan_of(*nodes_of("a", size_bytes=5 * GIB))
    place(plan, 1)

    report = plan.take(
        AddDisk(node="node-1", disk="more", size_bytes=50 * GIB, reserved_bytes=10 * GIB)
    )

    assert told(report) == ["placed default/new-0 node-1"]
    [_, added] = plan.cluster.view.spaces[NodeName("node-1")].disks
    assert (added.limit_bytes, added.scheduled_bytes) == (40 * GIB, 10 * GIB)


def test_a_new_disk_gets_the_replicas_that_volumes_lack():
    small = [kubernetes_node("node-2"), node("node-2", disk("small", maximum_bytes=5 * GIB))]
    plan = plan_of(*nodes_of("a"), *small)
    assert warned(place(plan, 1, copies=2)) == ["volume_degraded Volume of default/data-new-0"]

    report = plan.take(AddDisk(node="node-2", disk="more", size_bytes=50 * GIB))

    assert told(report) == ["replica_placed default/data-new-0 node-2"]


def test_tags_of_a_new_disk_count():
    plan = plan_of(*nodes_of("a"), setting("allow-empty-disk-selector-volume", "false"))

    plan.take(AddDisk(node="node-1", disk="fast", size_bytes=50 * GIB, tags=("ssd",)))
    place(plan, 1)

    assert scheduled_gib(plan, "node-1") == [10, 0]


@pytest.mark.parametrize(
    ("step", "text"),
    [
        (RemoveDisk(node="node-9", disk="x"), "there is no Longhorn Node node-9"),
        (RemoveDisk(node="node-1", disk="x"), "there is no disk of node node-1 called x"),
        (AddDisk(node="node-9", disk="x", size_bytes=GIB), "there is no Longhorn Node node-9"),
        (AddDisk(node="node-1", disk="node-1-disk", size_bytes=GIB), "choose another name"),
        (AddDisk(node="node-1", disk="x", size_bytes=0), "has no size"),
        (
            AddDisk(node="node-1", disk="x", size_bytes=GIB, reserved_bytes=GIB),
            "is not less than its size",
        ),
    ],
)
def test_what_cannot_be_says_why(step, text):
    assert text in error_of(plan_of(*nodes_of("ab")), step)
