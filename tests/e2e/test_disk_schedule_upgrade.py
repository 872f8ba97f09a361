"""DiskSchedules come to a cluster whose disks are in use, some of them beyond their limit."""

import asyncio
from collections.abc import Mapping

import pytest

from tests.actors import api as kinds
from tests.actors.api import Key
from tests.actors.longhorn import NAMESPACE, DiskSchedules, backing_image, disk_uuid
from tests.actors.longhorn.schedules import held_bytes
from tests.e2e.effort import is_for_report
from tests.e2e.requesting import Requesting, requesting
from tests.e2e.waiting import until
from tests.e2e.workloads import GIB

EACH_GIB = 10
DISKS_GIB = (105, 105)
ON_A_DISK = 10
OLD = [f"old-{number:02}" for number in range(75)]
"""On six disks, which have room for 60."""
NEW = [f"new-{number:02}" for number in range(10)]
ONE_MORE = "one-more"
"""A backing image; each disk that is too full is asked for room for a copy of 1 GiB."""
WITHIN_SECONDS = 180.0
WATCHED_SECONDS = 20.0 if is_for_report() else 6.0
READY = {
    "type": "Ready",
    "status": "True",
    "reason": "",
    "message": "",
    "lastProbeTime": "",
}


@pytest.mark.parametrize("disk_schedules", [DiskSchedules.MANAGED, DiskSchedules.USED])
async def test_disks_that_are_too_full_keep_what_they_have_and_take_nothing_more(
    control_plane, tmp_path, report, disk_schedules
):
    async with requesting(control_plane, tmp_path, disk_schedules=DiskSchedules.UNUSED) as cluster:
        await overcommit(cluster)
        before = places(cluster)
        full = [disk_uuid(each.node, each.disk) for each in cluster.beyond_limits()]

        await cluster.upgrade(disk_schedules)
        await until(lambda: granted(cluster) == before, within=WITHIN_SECONDS)
        await until(lambda: are_ready(cluster), within=WITHIN_SECONDS)
        held = held_on(cluster, full)
        await ask_for_one_more(cluster, full)
        await cluster.create_volumes(NEW, gib=EACH_GIB)
        await until(lambda: {*one_more(cluster)} == {"rejected"}, within=WITHIN_SECONDS)
        await asyncio.sleep(WATCHED_SECONDS)

        assert held_on(cluster, full) == held
        assert before.items() <= places(cluster).items()
        assert before.items() <= granted(cluster).items()

        await cluster.delete_volumes(beyond_ten(cluster, full))
        await until(lambda: {*one_more(cluster)} == {"scheduled"}, within=WITHIN_SECONDS)
        await cluster.delete_volumes([n for n in OLD if n in cluster.placed()][: len(NEW)])
        await until(
            lambda: {*NEW} <= cluster.placed() and not cluster.unsettled(), within=WITHIN_SECONDS
        )
        assert cluster.beyond_limits() == ()

    assert cluster.wrong == []
    assert not cluster.refused & before.keys()
    who = "Longhorn" if disk_schedules is DiskSchedules.MANAGED else "the controller"
    report.measured(
        f"DiskSchedules, made by {who}, for six disks with room for 60 replicas",
        f"{len(full)} disks had more than their limit: all {len(before)} replicas kept their room "
        "where they were, and nothing more was granted there until there was room",
    )


async def overcommit(cluster: Requesting) -> None:
    """Have Longhorn put more on some disks than they may take; all of it holds data."""
    await cluster.add_nodes(3, DISKS_GIB)
    await cluster.create_volumes(OLD, gib=EACH_GIB)
    await until(lambda: bool(cluster.beyond_limits()), within=WITHIN_SECONDS)
    await cluster.delete_volumes(sorted({*OLD} - cluster.placed()))
    await cluster.give_data()
    await until(
        lambda: all(each["spec"]["healthyAt"] for each in cluster.replicas()),
        within=WITHIN_SECONDS,
    )


def places(cluster: Requesting) -> dict[str, str]:
    """Return the disk of each replica that is placed."""
    replicas = [each for each in cluster.replicas() if each["spec"]["diskID"]]
    return {each["metadata"]["name"]: each["spec"]["diskID"] for each in replicas}


def granted(cluster: Requesting) -> dict[str, str]:
    """Return the disk of each replica whose whole size is held and asked for there."""
    size = EACH_GIB * GIB
    return {
        name: schedule["metadata"]["name"]
        for schedule in cluster.schedules()
        for name, entry in (schedule.get("status") or {}).get("replicas", {}).items()
        if entry == {"state": "scheduled", "scheduledSize": size}
        and schedule["spec"]["replicas"].get(name) == size
    }


def are_ready(cluster: Requesting) -> bool:
    """Whether each disk has the one condition that there is, with nothing to say."""
    conditions = [(each.get("status") or {}).get("conditions") for each in cluster.schedules()]
    return len(conditions) == 3 * len(DISKS_GIB) and all(
        found and len(found) == 1 and READY.items() <= found[0].items() for found in conditions
    )


def held_on(cluster: Requesting, disks: list[str]) -> Mapping[str, int]:
    return {
        each["metadata"]["name"]: held_bytes(each)
        for each in cluster.schedules()
        if each["metadata"]["name"] in disks
    }


def beyond_ten(cluster: Requesting, disks: list[str]) -> list[str]:
    """Name the old volumes that are too many on disks."""
    on = {
        disk: sorted(
            each["spec"]["volumeName"]
            for each in cluster.replicas()
            if each["spec"]["diskID"] == disk and each["spec"]["volumeName"] in OLD
        )
        for disk in disks
    }
    return [name for here in on.values() for name in here[ON_A_DISK:]]


async def ask_for_one_more(cluster: Requesting, disks: list[str]) -> None:
    await cluster.api.create(backing_image(ONE_MORE, GIB, copies=0), kinds.BACKING_IMAGES)
    for disk in disks:
        change = {"spec": {"backingImages": {ONE_MORE: GIB}}}
        await cluster.api.patch(kinds.DISK_SCHEDULES, Key(NAMESPACE, disk), change)


def one_more(cluster: Requesting) -> list[str]:
    """Return what each disk that was asked for one more says; "" if it does not."""
    return [
        (each["status"].get("backingImages") or {}).get(ONE_MORE, {}).get("state", "")
        for each in cluster.schedules()
        if ONE_MORE in each["spec"]["backingImages"]
    ]
