"""Faults while volumes of three replicas are made, attached and placed: no disk gets too much.

16 pods want a volume of 100 GiB with three replicas each, on four disks of 300 GiB: room for four
of them. What a leader knew of the rest of a volume, the next one must know as well.
"""

import asyncio
import time
from collections.abc import Callable

import pytest

from tests.actors import api as kinds
from tests.e2e.cases import TAKE_OVER_SECONDS
from tests.e2e.lending import ONE_LOOP
from tests.e2e.report import Report
from tests.e2e.scheduling import Scheduling
from tests.e2e.waiting import until
from tests.e2e.whole_volumes import (
    CASES,
    DELAYS_HERE,
    come_to_rest,
    missing,
    optimum,
    start,
)
from tests.e2e.world import World

pytestmark = ONE_LOOP

CASE = CASES[0]
NODES = [f"node-{number}" for number in range(1, len(CASE.gib) + 1)]
Stage = Callable[[World], bool]


def is_created(world: World) -> bool:
    return bool(world.seen.replica_counts())


def is_attaching(world: World) -> bool:
    return bool(world.seen.attaching())


def is_placed_in_part(world: World) -> bool:
    placed = [placed for placed, _ in world.seen.replica_counts().values()]
    return 0 < sum(placed) < 3 * len(placed)


STAGES = {
    "created": is_created,
    "attaching": is_attaching,
    "placed in part": is_placed_in_part,
}


async def _expect_right(
    world: World, report: Report, fault: str, scheduling: Scheduling, *, on: int = len(CASE.gib)
) -> None:
    """Expect disks within their limits, and volumes beside their pods on the first *on* nodes."""
    bound = await come_to_rest(world, CASE, scheduling, since=time.time())
    report.measured(
        f"{CASE.name}, {fault}",
        f"{len(bound)} pods bound, all of them running, {missing(world, CASE)} replicas missing; "
        f"{optimum(CASE)} pods have room with all replicas",
    )
    assert len(bound) >= CASE.least
    assert world.seen.overcommitted_disks() == []
    assert all(placed for placed, _ in world.seen.replica_counts().values())
    node_of = world.seen.node_of()
    apart = [name for name in bound if not world.seen.is_beside(name, f"{name}-0")]
    assert [name for name in apart if node_of[name] in NODES[:on]] == []


@pytest.mark.parametrize("stage", STAGES)
async def test_the_next_leader_knows_what_is_still_to_come(share_world, report, stage):
    async with share_world(stale=False, delays=DELAYS_HERE) as world:
        leader = await world.extender.leader()
        scheduling = await start(world, CASE)
        await until(lambda: STAGES[stage](world), within=30, what=stage)
        leader.process.kill()
        await until(world.extender.answers_now, within=TAKE_OVER_SECONDS)

        fault = f"leader killed with a volume {stage}"
        await _expect_right(world, report, fault, scheduling)


async def test_the_api_server_is_away_while_replicas_are_placed(share_world, report):
    async with share_world(stale=False, delays=DELAYS_HERE) as world:
        scheduling = await start(world, CASE)
        await until(lambda: is_placed_in_part(world), within=30)
        world.control_plane.kill_api_server()
        await asyncio.sleep(6.0)
        await world.control_plane.start_api_server()
        await until(world.extender.answers_now, within=30)

        await _expect_right(world, report, "API server away for 6 s", scheduling)


async def test_replicas_are_heard_of_late(share_world, report):
    async with share_world(stale=False, delays=DELAYS_HERE) as world:
        world.relay.delay_seconds = 1.0
        scheduling = await start(world, CASE)

        await _expect_right(world, report, "all is heard of 1 s late", scheduling)


async def test_replicas_are_deleted_under_way(share_world, report):
    """Longhorn makes others for a volume that is attached."""
    async with share_world(stale=False, delays=DELAYS_HERE) as world:
        scheduling = await start(world, CASE)
        await until(lambda: is_placed_in_part(world), within=30)
        for key in world.seen.unplaced_replicas()[:2]:
            await world.api.delete(kinds.REPLICAS, key)

        fault = "two replicas deleted before they had disks"
        await _expect_right(world, report, fault, scheduling)


async def test_a_node_is_cordoned_under_way(share_world, report):
    async with share_world(stale=False, delays=DELAYS_HERE) as world:
        scheduling = await start(world, CASE)
        await until(lambda: is_attaching(world), within=30)
        await world.cordon(NODES[-1])
        await come_to_rest(world, CASE, scheduling)
        assert world.seen.overcommitted_disks() == []
        await world.cordon(NODES[-1], on=False)

        await _expect_right(world, report, "a node cordoned, and back", scheduling, on=3)


async def test_a_node_is_lost_under_way(share_world, report):
    """The manager of the node is away: Longhorn puts nothing there until it is back."""
    async with share_world(stale=False, delays=DELAYS_HERE) as world:
        scheduling = await start(world, CASE)
        await until(lambda: is_created(world), within=30)
        world.longhorn.set_ready(NODES[-1], "ManagerPodDown")
        await asyncio.sleep(5.0)
        world.longhorn.set_ready(NODES[-1], "")

        await _expect_right(world, report, "a node lost for 5 s", scheduling, on=3)
