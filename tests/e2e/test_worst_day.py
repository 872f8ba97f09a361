"""The worst day: a zone has gone, disks are full, pods wait, and then the leader is killed.

Of 300 nodes 100 go, and with them one replica of each of 300 volumes; a good half of these find no
place. 100 pods wait for room. So it is for the report; else there are 30 of each 100.
"""

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator, Collection
from random import Random

import msgspec
import pytest

from tests.actors import api as kinds
from tests.e2e.waiting import until
from tests.e2e.workloads import claim, claims, pod
from tests.e2e.world import DELAYS, World
from tests.e2e.worst_day import (
    LOST,
    NODES,
    PER_ZONE,
    SPARE,
    VOLUMES,
    ZONE_OF,
    disks_for,
    draw_tenants,
    lose_zone,
    moved_in,
    without_place,
)

# Changed capacities wake pods, too; external-provisioner looks every minute.
DELAYS_HERE = msgspec.structs.replace(DELAYS, capacity_poll=600.0)
PAIRS = [f"pair-{number}" for number in range(PER_ZONE)]
PAIR = "60Gi"
"""Two such claims pass kube-scheduler's own check of disks with 100 GiB left, each by itself."""
LATE = "late"
PATIENCE_SECONDS = 120.0
REST_SECONDS = 5.0
NODE_SECONDS = 30.0
"""From the end of the leader to the node of a pod that fits."""


@pytest.mark.alone
async def test_pods_that_fit_get_their_nodes_although_the_leader_is_killed(make_world, report):
    """One is new, and one of those that wait fits on a disk that takes replicas again."""
    async with (
        make_world(delays=DELAYS_HERE, percentageOfNodesToScore=100) as world,
        _without_a_zone(world),
    ):
        # A claim that comes wakes all pods that wait, as kube-scheduler cannot know whom it helps.
        await world.api.create(claim(LATE, "10Gi"), kinds.CLAIMS)
        await _have_refused(world)
        leader = await world.extender.leader()

        leader.process.kill()
        killed = time.time()
        await world.let_schedule(SPARE, "b", on=True)
        await world.api.create(pod(LATE, LATE), kinds.PODS)
        late = await _bound_at(world, [LATE]) - killed
        woken = await _bound_at(world, PAIRS) - killed

    report.measured(
        f"{len(LOST)} of {len(NODES)} nodes gone, {VOLUMES} volumes degraded, "
        f"{len(PAIRS)} pods wait, leader gets SIGKILL",
        f"a new pod has its node after {late:.1f} s, one that waited after {woken:.1f} s",
    )
    assert max(late, woken) < NODE_SECONDS


@contextlib.asynccontextmanager
async def _without_a_zone(world: World) -> AsyncIterator[None]:
    """Fill the cluster with volumes, and take away a zone; Longhorn has then looked at all."""
    tenants = draw_tenants(Random(0))
    await world.set_longhorn("replica-replenishment-wait-interval", "0")
    await world.add_nodes(*disks_for(tenants), zones=[ZONE_OF[node] for node in NODES])
    await world.let_schedule(SPARE, "b", on=False)
    async with moved_in(world, tenants):
        await lose_zone(world)
        lost = sum(each.is_too_large for each in tenants)
        await until(lambda: without_place(world) >= lost, within=PATIENCE_SECONDS)
        yield


async def _have_refused(world: World) -> None:
    """Create pods without room, and wait until each was refused and kube-scheduler is at rest.

    Else a new pod waits for its turn behind all of them.
    """
    for name in PAIRS:
        for each in claims(name, 2, PAIR):
            await world.api.create(each, kinds.CLAIMS)
        await world.api.create(pod(name, f"{name}-0", f"{name}-1"), kinds.PODS)

    def left() -> list[str]:
        return [name for name in PAIRS if not _is_refused(world, name)]

    await until(lambda: not left(), within=PATIENCE_SECONDS, what=left)

    async def is_at_rest() -> bool:
        before = await world.attempts()
        await asyncio.sleep(REST_SECONDS)
        return before == await world.attempts()

    await until(is_at_rest, within=PATIENCE_SECONDS)


def _is_refused(world: World, name: str) -> bool:
    found = world.seen.pod(name)
    conditions = (found["status"].get("conditions") or ()) if found else ()
    return any(each.get("reason") == "Unschedulable" for each in conditions)


async def _bound_at(world: World, names: Collection[str]) -> float:
    """Wait until one of these pods has a node; return when it got it, since the epoch."""
    bound_at = world.seen.bound_at

    def found() -> list[float]:
        uids = [each["metadata"]["uid"] for name in names if (each := world.seen.pod(name))]
        return [bound_at[uid] for uid in uids if uid in bound_at]

    await until(lambda: bool(found()), within=PATIENCE_SECONDS)
    return min(found())
