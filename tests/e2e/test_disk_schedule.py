"""Many ask disks for room at once: replicas, copies of backing images, volumes that grow.

All on the real API server, with the conflicts that it makes of it, and granted by our controller:
two instances, with the shipped rights. The same without DiskSchedules is shown beside it.
"""

import asyncio
from collections.abc import Callable, Coroutine, Mapping, Sequence
from typing import Any

import pytest

from tests.actors import api as kinds
from tests.actors.api import Object, key_of
from tests.actors.longhorn import DiskSchedules, backing_image, disk_uuid
from tests.e2e.cases import NODES as GOAL_NODES
from tests.e2e.cases import SEVERAL, place_four_claims
from tests.e2e.cases import fill as fill_disks
from tests.e2e.effort import FOR_REPORT, is_for_report, runs
from tests.e2e.outcome import Outcome
from tests.e2e.report import Report
from tests.e2e.requesting import Conflicts, Requesting, requesting
from tests.e2e.waiting import until
from tests.e2e.workloads import GIB

EACH_GIB = 10
VOLUMES = [f"data-{number:03}" for number in range(200)]
NODES, DISKS_GIB = 5, (105, 105, 105)
"""With room for ten volumes on each of 15 disks."""
ROOM = 150
WITHIN_SECONDS = 240.0
SHOWN_SECONDS = 20.0 if is_for_report() else 5.0
TOUCH_SECONDS = 0.05

Fault = Callable[[Requesting], Coroutine[Any, Any, None]]
Crowd = Callable[[Requesting, Fault], Coroutine[Any, Any, None]]


async def no_fault(_: Requesting) -> None:
    """Let nothing happen."""


async def controller_killed(cluster: Requesting) -> None:
    """Three times the instance that decides gets SIGKILL, while it is granting."""
    assert cluster.controllers is not None
    held = cluster.held_gib()
    for granted in (20, 60, 100):
        await cluster.holds(held + granted * EACH_GIB, within=WITHIN_SECONDS)
        await cluster.controllers.kill_leader()


async def api_server_restarted(cluster: Requesting) -> None:
    held = cluster.held_gib()
    await cluster.holds(held + 50 * EACH_GIB, within=WITHIN_SECONDS)
    await cluster.restart_api_server()


async def conflicts_forced(cluster: Requesting) -> None:
    """Somebody else writes into all DiskSchedules without a pause until all room is granted."""
    held = cluster.held_gib()
    while cluster.held_gib() < held + ROOM * EACH_GIB:
        async with asyncio.TaskGroup() as tasks:
            for schedule in cluster.schedules():
                tasks.create_task(touch(cluster, schedule))
        await asyncio.sleep(TOUCH_SECONDS)


async def touch(cluster: Requesting, schedule: Object) -> None:
    before = (schedule["metadata"].get("annotations") or {}).get("touched", "0")
    change = {"metadata": {"annotations": {"touched": str(int(before) + 1)}}}
    await cluster.api.patch(kinds.DISK_SCHEDULES, key_of(schedule), change)


FAULTS = [controller_killed, api_server_restarted, conflicts_forced]
"""What holds in spite of them holds without."""
ALL_FAULTS = [no_fault, *FAULTS] if is_for_report() else FAULTS
SOME_FAULTS = ALL_FAULTS if is_for_report() else [conflicts_forced]


async def place_volumes(cluster: Requesting, fault: Fault) -> None:
    """Ten on each of 15 disks have room, and no disk is beyond its limit."""
    await cluster.add_nodes(NODES, DISKS_GIB)
    await at_once(cluster.create_volumes(VOLUMES, gib=EACH_GIB), fault(cluster))
    await until(
        lambda: len(cluster.placed()) == ROOM and not cluster.unsettled(),
        within=WITHIN_SECONDS,
        what=told(cluster, "settled"),
    )
    beyond = cluster.beyond_limits()
    await make_room(cluster)
    assert beyond == cluster.beyond_limits() == ()


async def copy_images(cluster: Requesting, fault: Fault) -> None:
    """Two copies are wanted of each of 100 images; ten on each of 15 disks have room."""
    await cluster.add_nodes(NODES, DISKS_GIB)
    await at_once(create_images(cluster), fault(cluster))
    await until(lambda: len(copies(cluster)) == ROOM, within=WITHIN_SECONDS)
    await asyncio.sleep(SHOWN_SECONDS)
    found = copies(cluster)
    assert len(found) == ROOM
    assert max(map(found.count, set(found))) <= 10

    whole = [each for each in cluster.images() if len(copies_of(each)) == 2]
    for image in whole[:30]:  # with room for 25 more, the last copies may have one disk alone
        cluster.longhorn.delete_image(image["metadata"]["name"])
    await until(
        lambda: [len(copies_of(each)) for each in cluster.images()] == [2] * 70,
        within=WITHIN_SECONDS,
        what=lambda: f"{len(copies(cluster))} copies",
    )


async def grow_volumes(cluster: Requesting, fault: Fault) -> None:
    """Twenty on each of ten disks; fifteen of these get twice their size."""
    await cluster.add_nodes(NODES, (205, 205))
    await cluster.create_volumes(VOLUMES, gib=EACH_GIB)
    await until(
        lambda: len(cluster.placed()) == len(VOLUMES) and not cluster.unsettled(),
        within=WITHIN_SECONDS,
        what=told(cluster, "placed"),
    )
    await cluster.over_provision(175)
    await at_once(cluster.expand_volumes(VOLUMES, gib=2 * EACH_GIB), fault(cluster))
    await until(lambda: len(grown(cluster, VOLUMES)) == ROOM, within=WITHIN_SECONDS)
    refused = set(VOLUMES) - grown(cluster, VOLUMES)
    await until(
        lambda: {allocation(cluster, name) for name in refused} == {"False"},
        within=WITHIN_SECONDS,
    )

    await cluster.delete_volumes(three_on_each_disk(cluster, grown(cluster, VOLUMES)))
    await until(lambda: refused <= grown(cluster, [*refused]), within=WITHIN_SECONDS)
    assert cluster.beyond_limits() == ()


NAMES: Mapping[Crowd, str] = {
    place_volumes: "volumes",
    copy_images: "copies of backing images",
    grow_volumes: "volumes that grow",
}


@pytest.mark.parametrize(
    ("crowd", "fault"),
    [
        *((place_volumes, fault) for fault in ALL_FAULTS),
        *((crowd, fault) for crowd in (copy_images, grow_volumes) for fault in SOME_FAULTS),
    ],
)
async def test_of_200_that_ask_at_once_the_150_that_fit_have_room_and_no_disk_is_overcommitted(
    control_plane, tmp_path, report, crowd, fault
):
    conflicts = []
    for seed in range(runs(1, report=3)):
        async with requesting(
            control_plane, tmp_path, disk_schedules=DiskSchedules.USED, seed=seed
        ) as cluster:
            await crowd(cluster, fault)
            conflicts.append(await conflicts_of(cluster))

    show(report, NAMES[crowd], fault, conflicts)


async def make_room(cluster: Requesting) -> None:
    """Delete as many volumes as found no room, and wait until these have it."""
    refused = set(VOLUMES) - cluster.placed()
    await cluster.delete_volumes(sorted(cluster.placed())[: len(refused)])
    await until(
        lambda: refused <= cluster.placed() and not cluster.unsettled(),
        within=WITHIN_SECONDS,
        what=told(cluster, "room has appeared"),
    )


async def at_once(crowd: Coroutine[Any, Any, None], fault: Coroutine[Any, Any, None]) -> None:
    """Let all ask, and a fault happen meanwhile."""
    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(crowd)
        tasks.create_task(fault)


async def conflicts_of(cluster: Requesting) -> Conflicts:
    """Return the conflicts there were, once nothing is wrong."""
    conflicts = await cluster.conflicts()
    assert cluster.wrong == []
    assert sum(conflicts) > 0
    return conflicts


def show(report: Report, what: str, fault: Fault, conflicts: Sequence[Conflicts]) -> None:
    """Put what all runs of one case showed into the report, once it is as it must be."""
    of_requesters, of_controllers = (span(counts) for counts in zip(*conflicts, strict=True))
    report.measured(
        f"200 {what} at once, room for {ROOM}, {fault.__name__.replace('_', ' ')}",
        f"runs: {len(conflicts)}; in each {ROOM} granted, the others once there was room, and no "
        f"disk beyond its limit at any time; conflicts: {of_requesters} of requesters, "
        f"{of_controllers} of the controller",
    )


def span(counts: Sequence[int]) -> str:
    least, most = min(counts), max(counts)
    return f"{least}" if least == most else f"{least} to {most}"


def told(cluster: Requesting, what: str) -> Callable[[], str]:
    return lambda: f"{what}: {len(cluster.placed())} placed, {cluster.unsettled()[:5]}"


async def test_without_disk_schedules_the_same_volumes_overcommit_disks(
    control_plane, tmp_path, report
):
    async with requesting(control_plane, tmp_path, disk_schedules=DiskSchedules.UNUSED) as cluster:
        await cluster.add_nodes(NODES, DISKS_GIB)
        await cluster.create_volumes(VOLUMES, gib=10)
        await until(lambda: bool(cluster.beyond_limits()), within=WITHIN_SECONDS)
        await asyncio.sleep(SHOWN_SECONDS)

        beyond = cluster.beyond_limits()
    report.measured(
        "200 volumes at once with room for 150, without DiskSchedules",
        f"{len(beyond)} of 15 disks beyond their limit",
    )
    assert beyond


async def test_of_volumes_that_grow_at_once_only_those_grow_that_fit(
    control_plane, tmp_path, report
):
    """Each of three disks has nine replicas of 10 GiB, and room for one of them to have 20."""
    names = VOLUMES[:9]
    async with requesting(control_plane, tmp_path, disk_schedules=DiskSchedules.MANAGED) as cluster:
        await cluster.add_nodes(3, (105,))
        await cluster.create_volumes(names, gib=10, replicas=3)
        await until(
            lambda: len(cluster.replicas()) == 27 and not cluster.unsettled(),
            within=WITHIN_SECONDS,
        )
        await cluster.expand_volumes(names, gib=20)
        await until(lambda: len(grown(cluster, names)) == 1, within=WITHIN_SECONDS)
        await asyncio.sleep(SHOWN_SECONDS)

        found, refused = grown(cluster, names), set(names) - grown(cluster, names)
        conditions = {name: allocation(cluster, name) for name in refused}
    report.measured(
        "9 volumes of three replicas grow at once with room for 1, DiskSchedules",
        f"{len(found)} grown as a whole, {len(conditions)} refused with a reason",
    )
    assert len(found) == 1
    assert set(conditions.values()) == {"False"}
    assert cluster.wrong == []


async def test_if_one_disk_has_no_room_nothing_grows_and_everything_is_given_back(
    control_plane, tmp_path
):
    async with requesting(control_plane, tmp_path, disk_schedules=DiskSchedules.MANAGED) as cluster:
        await cluster.add_nodes(3, (105,))
        await cluster.create_volumes(["data"], gib=10, replicas=3)
        await cluster.create_volumes(["other"], gib=80)
        await until(
            lambda: len(cluster.replicas()) == 4 and not cluster.unsettled(),
            within=WITHIN_SECONDS,
        )
        [other] = cluster.replicas("other")
        await cluster.expand_volumes(["data"], gib=30)
        await until(lambda: allocation(cluster, "data") == "False", within=WITHIN_SECONDS)
        await until(
            lambda: asked(cluster, "data") == held(cluster, "data") == [10 * GIB] * 3,
            within=WITHIN_SECONDS,
        )

        message = str(cluster.volume("data")["status"]["conditions"])
        sizes = {each["spec"]["volumeSize"] for each in cluster.replicas("data")}
        await cluster.delete_volumes(["other"])
        await until(lambda: grown(cluster, ["data"], gib=30) == {"data"}, within=WITHIN_SECONDS)

    assert sizes == {str(10 * GIB)}
    assert other["spec"]["diskID"] in message
    assert other["spec"]["diskID"] in {disk_uuid(f"node-{n}", "disk-1") for n in (1, 2, 3)}
    assert cluster.wrong == []


@pytest.mark.parametrize(
    "disk_schedules",
    [pytest.param(DiskSchedules.UNUSED, marks=FOR_REPORT), DiskSchedules.MANAGED],
)
async def test_a_pod_whose_claims_fill_four_disks_overcommits_none_with_disk_schedules(
    make_world, report, disk_schedules
):
    """Goal 2, with a Longhorn whose figures lag."""
    async with make_world(disk_schedules=disk_schedules) as world:
        outcomes = [
            await place_four_claims(world, extender=True) for _ in range(runs(3, report=10))
        ]

    report_overcommitted(report, "goal 2", disk_schedules, outcomes)
    assert {outcome.pods(GOAL_NODES) for outcome in outcomes} == {"0/0/0/1"}


@pytest.mark.parametrize(
    "disk_schedules",
    [pytest.param(DiskSchedules.UNUSED, marks=FOR_REPORT), DiskSchedules.USED],
)
async def test_pods_that_fill_several_disks_in_a_node_overcommit_none_with_disk_schedules(
    make_world, report, disk_schedules
):
    """Goal 1b on several disks, with a Longhorn whose figures lag."""
    async with make_world(disk_schedules=disk_schedules) as world:
        outcomes = [
            await fill_disks(world, SEVERAL, extender=True, within=WITHIN_SECONDS)
            for _ in range(runs(2, report=10))
        ]

    report_overcommitted(report, "several disks", disk_schedules, outcomes)
    assert {outcome.pods(GOAL_NODES) for outcome in outcomes} == {SEVERAL.pods}


def report_overcommitted(
    report: Report, case: str, disk_schedules: DiskSchedules, outcomes: Sequence[Outcome]
) -> None:
    """Show in how many runs a disk was over-committed; with DiskSchedules in none."""
    beyond = sum(outcome.overcommitted_disks > 0 for outcome in outcomes)
    mode = "without" if disk_schedules is DiskSchedules.UNUSED else "with"
    report.measured(
        f"{case}, {mode} DiskSchedules: runs with an over-committed disk",
        f"{beyond} of {len(outcomes)}",
    )
    assert disk_schedules is DiskSchedules.UNUSED or beyond == 0


async def create_images(cluster: Requesting) -> None:
    for number in range(100):
        owner = f"node-{number % NODES + 1}"
        image = backing_image(f"image-{number:03}", EACH_GIB * GIB, copies=2, owner=owner)
        await cluster.api.ensure(image, kinds.BACKING_IMAGES)  # tried again, it may be there


def copies(cluster: Requesting) -> list[str]:
    """Return the disk of each copy that is made."""
    return [disk for each in cluster.images() for disk in copies_of(each)]


def copies_of(image: Object) -> list[str]:
    """Return the disks on which an image has a copy."""
    return [*image["status"]["diskFileStatusMap"]]


def grown(cluster: Requesting, names: list[str], gib: int = 20) -> set[str]:
    """Name the volumes all of whose replicas have the new size."""
    sizes: dict[str, set[str]] = {}
    for each in cluster.replicas():
        sizes.setdefault(each["spec"]["volumeName"], set()).add(each["spec"]["volumeSize"])
    return {name for name in names if sizes.get(name) == {str(gib * GIB)}}


def three_on_each_disk(cluster: Requesting, names: set[str]) -> list[str]:
    """Choose three volumes of one replica on each disk."""
    on: dict[str, list[str]] = {}
    for each in cluster.replicas():
        if each["spec"]["volumeName"] in names:
            on.setdefault(each["spec"]["diskID"], []).append(each["spec"]["volumeName"])
    return [name for here in on.values() for name in sorted(here)[:3]]


def asked(cluster: Requesting, volume: str) -> list[int]:
    """Return what is asked for the replicas of a volume."""
    names = [each["metadata"]["name"] for each in cluster.replicas(volume)]
    maps = [each["spec"]["replicas"] for each in cluster.schedules()]
    return [sizes[name] for sizes in maps for name in names if name in sizes]


def held(cluster: Requesting, volume: str) -> list[int]:
    """Return what is held for the replicas of a volume, -1 for one that is refused more."""
    names = [each["metadata"]["name"] for each in cluster.replicas(volume)]
    maps = [each["status"]["replicas"] for each in cluster.schedules()]
    found = [entries[name] for entries in maps for name in names if name in entries]
    return [each["scheduledSize"] if each["state"] == "scheduled" else -1 for each in found]


def allocation(cluster: Requesting, name: str) -> str:
    """Return the status of a volume's condition DiskAllocation; "" if it has none."""
    conditions = cluster.volume(name)["status"]["conditions"]
    return next((e["status"] for e in conditions if e["type"] == "DiskAllocation"), "")
