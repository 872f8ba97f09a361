"""Many ask disks for room at once: replicas, copies of backing images, volumes that grow.

All on the real API server, with the conflicts that it makes of it. The same without DiskSchedules
is shown beside it.
"""

import asyncio
from collections.abc import Callable, Coroutine, Sequence
from functools import partial
from typing import Any

import pytest

from tests.actors import api as kinds
from tests.actors.longhorn import DiskSchedules, backing_image, disk_uuid
from tests.e2e.cases import NODES as GOAL_NODES
from tests.e2e.cases import SEVERAL, place_four_claims
from tests.e2e.cases import fill as fill_disks
from tests.e2e.conftest import MakeWorld
from tests.e2e.control_plane import ControlPlane
from tests.e2e.effort import runs
from tests.e2e.outcome import Outcome
from tests.e2e.report import Report
from tests.e2e.requesting import Requesting, requesting
from tests.e2e.waiting import until
from tests.e2e.workloads import GIB

VOLUMES = [f"data-{number:03}" for number in range(200)]
"""Of 10 GiB each."""
NODES, DISKS_GIB = 5, (105, 105, 105)
"""With room for ten volumes on each of 15 disks."""
ROOM = 150
WITHIN_SECONDS = 180.0
SHOWN_SECONDS = 20.0

Fault = Callable[[Requesting], Coroutine[Any, Any, None]]


async def nothing(_: Requesting) -> None:
    """Let no fault happen."""


async def kill_the_controller(cluster: Requesting) -> None:
    """Three times, at moments when it is granting."""
    for granted in (20, 60, 100):
        await until(partial(has_placed, cluster, granted), within=WITHIN_SECONDS)
        cluster.kill_controller()
        await asyncio.sleep(1)
        cluster.start_controller()


def has_placed(cluster: Requesting, count: int) -> bool:
    return len(cluster.placed()) >= count


async def restart_the_api_server(cluster: Requesting) -> None:
    await until(partial(has_placed, cluster, 50), within=WITHIN_SECONDS)
    await cluster.restart_api_server()


FAULTS = [
    pytest.param(nothing, id="no-fault"),
    pytest.param(kill_the_controller, id="controller-killed"),
    pytest.param(restart_the_api_server, id="api-server-restarted"),
]


def told(cluster: Requesting, what: str) -> Callable[[], str]:
    return lambda: f"{what}: {len(cluster.placed())} placed, {cluster.unsettled()[:5]}"


@pytest.mark.parametrize("fault", FAULTS)
async def test_of_200_volumes_at_once_the_150_that_fit_are_placed_and_no_disk_is_overcommitted(
    control_plane: ControlPlane, report: Report, fault: Fault
) -> None:
    for seed in range(runs(1, report=4)):
        async with requesting(
            control_plane, disk_schedules=DiskSchedules.MANAGED, seed=seed
        ) as cluster:
            await fill(cluster, fault)
            beyond = cluster.beyond_limits()
            await make_room(cluster)
            conflicts = cluster.conflicts

        report.measured(
            f"200 volumes at once with room for 150, DiskSchedules, {fault.__name__}",
            f"150 placed, 0 of 15 disks beyond their limit, {conflicts} conflicts",
        )
        assert cluster.wrong == []
        assert beyond == cluster.beyond_limits() == ()
        assert conflicts > 0


async def fill(cluster: Requesting, fault: Fault) -> None:
    """Create all volumes at once, and wait until as many have room as can."""
    await cluster.add_nodes(NODES, DISKS_GIB)
    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(cluster.create_volumes(VOLUMES, gib=10))
        tasks.create_task(fault(cluster))
    await until(
        lambda: len(cluster.placed()) == ROOM and not cluster.unsettled(),
        within=WITHIN_SECONDS,
        what=told(cluster, "settled"),
    )


async def make_room(cluster: Requesting) -> None:
    """Delete as many volumes as found no room, and wait until these have it."""
    refused = set(VOLUMES) - cluster.placed()
    await cluster.delete_volumes(sorted(cluster.placed())[: len(refused)])
    await until(
        lambda: refused <= cluster.placed() and not cluster.unsettled(),
        within=WITHIN_SECONDS,
        what=told(cluster, "room has appeared"),
    )


async def test_without_disk_schedules_the_same_volumes_overcommit_disks(
    control_plane: ControlPlane, report: Report
) -> None:
    async with requesting(control_plane, disk_schedules=DiskSchedules.UNUSED) as cluster:
        await cluster.add_nodes(NODES, DISKS_GIB)
        await cluster.create_volumes(VOLUMES, gib=10)
        await asyncio.sleep(SHOWN_SECONDS)

        beyond = cluster.beyond_limits()
    report.measured(
        "200 volumes at once with room for 150, without DiskSchedules",
        f"{len(beyond)} of 15 disks beyond their limit",
    )
    assert beyond


async def test_of_copies_of_images_at_once_those_that_fit_are_made(
    control_plane: ControlPlane, report: Report
) -> None:
    """100 images of which two copies of 10 GiB are wanted."""
    async with requesting(control_plane, disk_schedules=DiskSchedules.MANAGED) as cluster:
        await cluster.add_nodes(NODES, DISKS_GIB)
        for number in range(100):
            owner = f"node-{number % NODES + 1}"
            image = backing_image(f"image-{number:03}", 10 * GIB, copies=2, owner=owner)
            await cluster.api.create(image, kinds.BACKING_IMAGES)
        await until(lambda: len(copies(cluster)) == ROOM, within=WITHIN_SECONDS)
        await asyncio.sleep(SHOWN_SECONDS)

        found, conflicts = copies(cluster), cluster.conflicts
    report.measured(
        "200 copies of backing images at once with room for 150, DiskSchedules",
        f"{len(found)} made, {conflicts} conflicts",
    )
    assert len(found) == ROOM
    assert max(map(found.count, set(found))) <= 10
    assert cluster.wrong == []


async def test_of_volumes_that_grow_at_once_only_those_grow_that_fit(
    control_plane: ControlPlane, report: Report
) -> None:
    """Each of three disks has nine replicas of 10 GiB, and room for one of them to have 20."""
    names = VOLUMES[:9]
    async with requesting(control_plane, disk_schedules=DiskSchedules.MANAGED) as cluster:
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
    control_plane: ControlPlane,
) -> None:
    async with requesting(control_plane, disk_schedules=DiskSchedules.MANAGED) as cluster:
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
        await until(lambda: set(asked(cluster, "data")) == {10 * GIB}, within=WITHIN_SECONDS)

        message = str(cluster.volume("data")["status"]["conditions"])
        sizes = {each["spec"]["volumeSize"] for each in cluster.replicas("data")}
        await cluster.delete_volumes(["other"])
        await until(lambda: grown(cluster, ["data"], gib=30) == {"data"}, within=WITHIN_SECONDS)

    assert sizes == {str(10 * GIB)}
    assert other["spec"]["diskID"] in message
    assert other["spec"]["diskID"] in {disk_uuid(f"node-{n}", "disk-1") for n in (1, 2, 3)}
    assert cluster.wrong == []


@pytest.mark.parametrize("disk_schedules", [DiskSchedules.UNUSED, DiskSchedules.MANAGED])
async def test_a_pod_whose_claims_fill_four_disks_overcommits_none_with_disk_schedules(
    make_world: MakeWorld, report: Report, disk_schedules: DiskSchedules
) -> None:
    """Goal 2, with a Longhorn whose figures lag."""
    async with make_world(disk_schedules=disk_schedules) as world:
        outcomes = [
            await place_four_claims(world, extender=True) for _ in range(runs(3, report=10))
        ]

    report_overcommitted(report, "goal 2", disk_schedules, outcomes)
    assert {outcome.pods(GOAL_NODES) for outcome in outcomes} == {"0/0/0/1"}


@pytest.mark.parametrize("disk_schedules", [DiskSchedules.UNUSED, DiskSchedules.MANAGED])
async def test_pods_that_fill_several_disks_in_a_node_overcommit_none_with_disk_schedules(
    make_world: MakeWorld, report: Report, disk_schedules: DiskSchedules
) -> None:
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
    mode = "with" if disk_schedules is DiskSchedules.MANAGED else "without"
    report.measured(
        f"{case}, {mode} DiskSchedules: runs with an over-committed disk",
        f"{beyond} of {len(outcomes)}",
    )
    assert disk_schedules is DiskSchedules.UNUSED or beyond == 0


def copies(cluster: Requesting) -> list[str]:
    """Return the disk of each copy that is made."""
    return [disk for each in cluster.images() for disk in each["status"]["diskFileStatusMap"]]


def grown(cluster: Requesting, names: list[str], gib: int = 20) -> set[str]:
    """Name the volumes all of whose replicas have the new size."""
    sizes = {name: {e["spec"]["volumeSize"] for e in cluster.replicas(name)} for name in names}
    return {name for name, found in sizes.items() if found == {str(gib * GIB)}}


def asked(cluster: Requesting, volume: str) -> list[int]:
    """Return what is asked for the replicas of a volume."""
    return [
        size
        for each in cluster.schedules()
        for name, size in each["spec"]["replicas"].items()
        if name.startswith(f"{volume}-r-")
    ]


def allocation(cluster: Requesting, name: str) -> str:
    """Return the status of a volume's condition DiskAllocation; "" if it has none."""
    conditions = cluster.volume(name)["status"]["conditions"]
    return next((e["status"] for e in conditions if e["type"] == "DiskAllocation"), "")
