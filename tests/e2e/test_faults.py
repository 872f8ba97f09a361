"""Faults while pods are placed: none is lost, and none goes where its volume does not fit.

The pods and nodes are those of goal 1b: all disks are filled exactly, which kube-scheduler alone
would not do, and neither would an extender that forgets its holds.
"""

import asyncio
import time
from itertools import pairwise

import pytest

from tests.actors import api as kinds
from tests.actors.api import Object
from tests.e2e.cases import NODES, PODS, TAKE_OVER_SECONDS, UNEVEN
from tests.e2e.lending import ONE_LOOP
from tests.e2e.outcome import Outcome
from tests.e2e.report import EXTENDER, Report
from tests.e2e.scheduling import Scheduling
from tests.e2e.waiting import until
from tests.e2e.workloads import pod, stateful_set
from tests.e2e.world import World

pytestmark = ONE_LOOP

RESTARTS = "longhorn_scheduler_extender_watch_restarts_total"
HAND_OVER_SECONDS = 4.0
"""Half of the lease duration: so soon only what is given back is taken over."""
WITHIN_SECONDS = 120.0
"""While calls of /filter fail, kube-scheduler tries again after 10 s at the latest."""


async def _nodes(world: World) -> None:
    await world.add_nodes(*UNEVEN.nodes)


async def _burst(world: World, name: str = "web", *, pods: int = PODS) -> Scheduling:
    """Create pods; what is waited for is that all have nodes, those before included."""
    return await world.schedule((stateful_set(name, pods=pods), kinds.STATEFUL_SETS), pods=PODS)


async def _accepted(world: World, since: float) -> None:
    """Wait until a pod was accepted, and so is on its way: its claims are not bound yet."""

    def is_accepted() -> bool:
        return any(call.accepted for call in world.extender.calls(since=since))

    await until(is_accepted, within=30, what="a pod that is accepted")


def _expect_placed(report: Report, fault: str, outcome: Outcome) -> None:
    report.run(f"fault: {fault}", EXTENDER[True], NODES, outcome)
    assert outcome.pods(NODES) == UNEVEN.pods
    assert (outcome.without_room, outcome.overcommitted_disks) == (0, 0)


async def test_the_leader_is_told_to_end(share_world, report):
    """Some pods were accepted by the leader that ends, some come to the next one."""
    async with share_world() as world:
        await _nodes(world)
        leader = await world.extender.leader()
        async with world.extender.probed() as answered:
            await until(lambda: bool(answered), within=5)
            first = await _burst(world, pods=PODS // 2)
            await _accepted(world, first.began)
            leader.process.terminate()
            ended = time.monotonic()
            both = await _burst(world, "late", pods=PODS // 2)
            await until(lambda: answered[-1] > ended + 1, within=TAKE_OVER_SECONDS)
            outcome = await both.outcome(within=WITHIN_SECONDS)
        answering = {call.backend for call in world.extender.calls() if call.accepted}

    gap = max(later - earlier for earlier, later in pairwise(answered))
    report.measured("no answer to /filter after SIGTERM to the leader", f"{gap:.1f} s")
    _expect_placed(report, "leader gets SIGTERM", outcome)
    assert gap < HAND_OVER_SECONDS
    assert leader.address in answering
    assert len(answering) > 1


async def test_the_leader_is_frozen_beyond_its_lease(share_world, report):
    async with share_world() as world:
        await _nodes(world)
        frozen = await world.extender.leader()
        first = await _burst(world, pods=PODS // 2)
        await _accepted(world, first.began)
        frozen.process.freeze()
        both = await _burst(world, "late", pods=PODS // 2)
        await until(world.extender.answers_now, within=TAKE_OVER_SECONDS)
        frozen.process.resume()

        answer = await frozen.filter(_request())
        outcome = await both.outcome(within=WITHIN_SECONDS)

    assert "not the leader" in answer["Error"]
    _expect_placed(report, "leader frozen beyond its lease", outcome)


@pytest.mark.gate
async def test_the_api_server_is_killed_and_returns(share_world, report):
    """It is away for longer than a leader answers without it, with claims half provisioned."""
    async with share_world() as world:
        await _nodes(world)
        scheduling = await _burst(world)
        await _accepted(world, scheduling.began)
        world.control_plane.kill_api_server()
        await asyncio.sleep(6.0)
        assert not await world.extender.answers_now()

        await world.control_plane.start_api_server()
        back = await until(world.extender.answers_now, within=30)
        outcome = await scheduling.outcome(within=WITHIN_SECONDS)

    report.measured("answers again after the API server is ready again", f"{back:.1f} s")
    _expect_placed(report, "API server killed for 6 s", outcome)


async def test_the_connections_to_the_api_server_are_cut(share_world, report):
    async with share_world() as world:
        await _nodes(world)
        leader = await world.extender.leader()
        restarts = await leader.metric(RESTARTS)
        scheduling = await _burst(world)
        while scheduling.bound() < PODS and time.time() < scheduling.began + 30:
            world.relay.cut()
            await asyncio.sleep(0.5)
        restarted = await leader.metric(RESTARTS) - restarts
        outcome = await scheduling.outcome(within=WITHIN_SECONDS)

    report.measured("watches of the leader started again while they were cut", f"{restarted:g}")
    _expect_placed(report, "watches cut every 0.5 s", outcome)
    assert restarted > 0


async def test_the_api_server_is_slow(share_world, report):
    async with share_world() as world:
        await _nodes(world)
        world.relay.delay_seconds = 1.0
        outcome = await (await _burst(world)).outcome(within=WITHIN_SECONDS)

    _expect_placed(report, "API server answers 1 s late", outcome)


async def test_kube_scheduler_is_killed_and_returns(share_world, report):
    async with share_world() as world:
        await _nodes(world)
        scheduling = await _burst(world)
        await _accepted(world, scheduling.began)
        await world.kill_scheduler()
        await world.start_scheduler()
        outcome = await scheduling.outcome(within=WITHIN_SECONDS)

    _expect_placed(report, "kube-scheduler killed after its first call", outcome)


async def test_the_extender_is_down_and_only_its_own_pods_wait(share_world, report):
    async with share_world() as world:
        await _nodes(world)
        await _end_all(world)
        scheduling = await _burst(world)
        await world.api.create(pod("other", extender=False), kinds.PODS)

        await until(lambda: bool(world.seen.node_of().get("other")), within=30)
        await until(lambda: "SchedulerError" in _reasons(world), within=30)
        assert scheduling.bound() == 1
        await world.api.delete(kinds.PODS, kinds.Key("default", "other"))
        await until(lambda: world.seen.pod("other") is None, within=30)
        for instance in world.extender.instances:
            instance.start()
        await until(world.extender.answers_now, within=60)
        outcome = await scheduling.outcome(within=WITHIN_SECONDS)

    _expect_placed(report, "extender down, then back (ignorable: false)", outcome)


async def test_the_extender_is_down_and_ignored(share_world, report):
    """With `ignorable: true` pods are placed as if there were no extender, and some badly."""
    async with share_world(ignorable=True) as world:
        await _nodes(world)
        await _end_all(world)
        outcome = await (await _burst(world)).outcome(within=WITHIN_SECONDS)

    report.run("fault: extender down (ignorable: true)", EXTENDER[True], NODES, outcome)
    assert sum(outcome.placement.values()) == PODS
    assert outcome.without_room > 0


async def _end_all(world: World) -> None:
    for instance in world.extender.instances:
        instance.process.kill()


def _reasons(world: World) -> set[str]:
    return {
        condition.get("reason", "")
        for each in world.seen.pods()
        for condition in each["status"].get("conditions") or ()
    }


def _request() -> Object:
    metadata = {"namespace": "default", "name": "late", "uid": "late"}
    return {"Pod": {"metadata": metadata, "spec": {}}, "Nodes": None, "NodeNames": ["node-1"]}
