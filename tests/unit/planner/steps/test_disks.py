"""The steps `remove-disk` and `add-disk`."""

import pytest

from planner.steps.disks import AddDisk, RemoveDisk
from tests.builders import GIB, replica
from tests.unit.planner.notation import found_in, records_of, result_of, scheduled_in, step_of
from tests.unit.planner.plans import error_of, plan_of

GONE = "changed Disk 1-disk 1"


def stays(volumes: str) -> str:
    return f"refused Disk 1-disk 1: stays: the replicas of {volumes} cannot be moved elsewhere"


ROWS = {
    "its-replicas-move": ("ab db@1", "remove-disk 1",
        f"replica_placed db 2 | replica_removed db 1 | {GONE}", "db@1[2]", "1: 2:10"),
    "replica-moves-to-another-disk-of-its-node": ("a db@1", "add-disk 1 50; remove-disk 1",
        f"replica_placed db 1 | replica_removed db 1 | {GONE}", "db@1[1]", "1:10"),
    "replica-of-a-detached-volume-moves": ("ab old[1]~", "remove-disk 1",
        f"replica_placed old 2 | replica_removed old 1 | {GONE}", "old[2]", "1: 2:10"),
    "elsewhere-is-no-room": ("a db-0@1 db-1@1", "remove-disk 1", stays("db-0, db-1"),
        "db-0@1[1] db-1@1[1]", "1:20"),
    "replica-moves-once-there-is-room": ("a db@1", "remove-disk 1; add-disk 1 50",
        "replica_placed db 1 | replica_removed db 1", "db@1[1]", "1:0,10"),
    "disk-goes-once-there-was-room": ("a db@1", "remove-disk 1; add-disk 1 50; remove-disk 1",
        GONE, "db@1[1]", "1:10"),
    "rebuilds-are-off": ("ab concurrent-replica-rebuild-per-node-limit=0 db@1", "remove-disk 1",
        stays("db"), "db@1[1]", "1:10 2:0"),
    "replica-of-a-lost-volume-stays": (
        "ab vol[1x]", "remove-disk 1", stays("vol"), "vol[1x]", "1:10 2:0"),
    "new-disk-gets-what-waits": ("a:5", "place 1; add-disk 1 50", "placed new-0 1",
        ".new-0@1 data-new-0[1]", "1:0,10"),
    "new-disk-gets-replicas-that-volumes-lack": ("ab:100,5", "place 1*2; add-disk 2 50",
        "replica_placed data-new-0 2", ".new-0@1 data-new-0[1,2]", "1:10 2:0,10"),
}  # fmt: skip
"""Cluster, steps, what the last one told, what is found then, and what is scheduled by node."""


@pytest.mark.parametrize(("cluster", "steps", "told", "left", "scheduled"), ROWS.values(), ids=ROWS)
def test_disk(cluster, steps, told, left, scheduled):
    plan = plan_of(*records_of(cluster))

    assert (result_of(plan, steps), found_in(plan)) == (told, left)
    assert scheduled_in(plan) == scheduled


def test_replica_that_cannot_move_does_not_degrade_its_volume():
    plan = plan_of(*records_of("a db@1"))
    plan.take(step_of("remove-disk 1"))

    assert all(each.healthy for each in plan.cluster.view.volumes.values())


def test_failed_replica_goes_with_its_disk_if_the_volume_lives_on():
    failed = replica("old", of="db", disk="node-1-disk", failed=True, rebuild_retries=5)
    plan = plan_of(*records_of("ab db@2"), failed)

    assert result_of(plan, "remove-disk 1") == GONE
    assert found_in(plan) == "db@2[2]"


def test_reserved_bytes_of_a_new_disk_count():
    plan = plan_of(*records_of("a:5"))
    plan.take(AddDisk(node="node-1", disk="more", size_bytes=50 * GIB, reserved_bytes=10 * GIB))

    [[_, added]] = (each.disks for each in plan.cluster.view.spaces.values())
    assert added.limit_bytes == 40 * GIB


def test_tags_of_a_new_disk_count():
    plan = plan_of(*records_of("a allow-empty-disk-selector-volume=false"))

    plan.take(AddDisk(node="node-1", disk="fast", size_bytes=50 * GIB, tags=("ssd",)))
    plan.take(step_of("place 1"))

    assert scheduled_in(plan) == "1:10,0"


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
def test_step_that_cannot_be_taken_says_why(step, text):
    assert text in error_of(plan_of(*records_of("ab")), step)
