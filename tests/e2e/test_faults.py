"""Faults while pods are placed: none is lost, and none goes where its volumes do not fit.

Each pod has two claims of 60 GiB. Node 1 has one disk of 100 GiB: kube-scheduler, which looks at
each claim alone, would take it. Node 2 has room for all of them, so nothing here depends on when
Longhorn shows what it has placed.
"""

import asyncio
import time
from itertools import pairwise

import pytest

from tests.actors import api as kinds
from tests.actors.api import Object
from tests.e2e.conftest import MakeWorld
from tests.e2e.outcome import Outcome
from tests.e2e.report import EXTENDER, Report
from tests.e2e.scheduling import Scheduling
from tests.e2e.waiting import until
from tests.e2e.workloads import claim, pod, stateful_set
from tests.e2e.world import World

NODES = ("node-1", "node-2")
PODS = 6
FITTING = {"node-2": PODS}
TAKE_OVER_SECONDS = 12.0
"""Lease duration, a second to notice, and what a busy machine adds."""


async def _nodes(world: World) -> None:
    await world.add_nodes({"disk": 100}, {"a": 1000, "b": 1000})


async def _burst(world: World) -> Scheduling:
    web = stateful_set("web", pods=PODS, claims=2, size="60Gi")
    return await world.schedule((web, kinds.STATEFUL_SETS), pods=PODS)


def _expect_placed(report: Report, fault: str, outcome: Outcome) -> None:
    report.run(f"fault: {fault}", EXTENDER[True], NODES, outcome)
    assert outcome.placement == FITTING
    assert outcome.without_room == 0


@pytest.mark.parametrize("signal", ["SIGTERM", "SIGKILL"])
async def test_the_leader_ends(make_world: MakeWorld, report: Report, signal: str) -> None:
    async with make_world() as world:
        await _nodes(world)
        leader = await world.extender.leader()
        async with world.extender.probed() as answered:
            await until(lambda: bool(answered), within=5)
            scheduling = await _burst(world)
            if signal == "SIGTERM":
                leader.process.terminate()
            else:
                leader.process.kill()
            ended = time.monotonic()
            await until(lambda: answered[-1] > ended + 1, within=TAKE_OVER_SECONDS)
            outcome = await scheduling.outcome()

        gap = max(later - earlier for earlier, later in pairwise(answered))
        report.measured(f"no answer to /filter after {signal} to the leader", f"{gap:.1f} s")
        _expect_placed(report, f"leader gets {signal}", outcome)
        assert (await world.extender.leader()) is not leader


async def test_the_leader_is_frozen_beyond_its_lease(make_world: MakeWorld, report: Report) -> None:
    async with make_world() as world:
        await _nodes(world)
        frozen = await world.extender.leader()
        frozen.process.freeze()
        scheduling = await _burst(world)
        await until(world.extender.answers_now, within=2 * TAKE_OVER_SECONDS)
        frozen.process.resume()

        answer = await frozen.filter(_request())
        outcome = await scheduling.outcome()

    assert "not the leader" in answer["Error"]
    _expect_placed(report, "leader frozen beyond its lease", outcome)


async def test_the_api_server_is_killed_and_returns(make_world: MakeWorld, report: Report) -> None:
    async with make_world() as world:
        await _nodes(world)
        world.control_plane.kill_api_server()
        await asyncio.sleep(6.0)  # longer than a leader answers without it
        assert not await world.extender.answers_now()

        await world.control_plane.start_api_server()
        back = await until(world.extender.answers_now, within=30)
        scheduling = await _burst(world)
        outcome = await scheduling.outcome()

    report.measured("answers again after the API server is ready again", f"{back:.1f} s")
    _expect_placed(report, "API server killed for 6 s", outcome)


async def test_the_connections_to_the_api_server_are_cut(
    make_world: MakeWorld, report: Report
) -> None:
    async with make_world() as world:
        await _nodes(world)
        scheduling = await _burst(world)
        cut = 0
        while scheduling.bound() < PODS and time.time() < scheduling.began + 30:
            cut += world.relay.cut()
            await asyncio.sleep(0.5)
        outcome = await scheduling.outcome()

    assert cut > 0
    _expect_placed(report, "watches cut every 0.5 s", outcome)


async def test_the_api_server_is_slow(make_world: MakeWorld, report: Report) -> None:
    async with make_world() as world:
        await _nodes(world)
        world.relay.delay_seconds = 1.0
        outcome = await (await _burst(world)).outcome()

    _expect_placed(report, "API server answers 1 s late", outcome)


async def test_kube_scheduler_is_killed_and_returns(make_world: MakeWorld, report: Report) -> None:
    async with make_world() as world:
        await _nodes(world)
        scheduling = await _burst(world)
        await until(lambda: bool(world.extender.calls(since=scheduling.began)), within=30)
        await world.kill_scheduler()
        await world.start_scheduler()
        outcome = await scheduling.outcome()

    _expect_placed(report, "kube-scheduler killed after its first call", outcome)


async def test_the_extender_is_down_and_only_its_own_pods_wait(
    make_world: MakeWorld, report: Report
) -> None:
    async with make_world() as world:
        await _nodes(world)
        await _end_all(world)
        scheduling = await _burst(world)
        await world.api.create(claim("other"), kinds.CLAIMS)
        await world.api.create(pod("other", "other", extender=False), kinds.PODS)

        await until(lambda: bool(world.seen.node_of().get("other")), within=30)
        await until(lambda: "SchedulerError" in _reasons(world), within=30)
        assert scheduling.bound() == 1
        await world.api.delete(kinds.PODS, kinds.Key("default", "other"))
        await until(lambda: world.seen.pod("other") is None, within=30)
        for replica in world.extender.replicas:
            replica.restart()
        await until(world.extender.answers_now, within=60)
        outcome = await scheduling.outcome()

    _expect_placed(report, "extender down, then back (ignorable: false)", outcome)


async def test_the_extender_is_down_and_ignored(make_world: MakeWorld, report: Report) -> None:
    """With `ignorable: true` pods are placed as if there were no extender, and some badly."""
    async with make_world(ignorable=True) as world:
        await _nodes(world)
        await _end_all(world)
        outcome = await (await _burst(world)).outcome()

    report.run("fault: extender down (ignorable: true)", EXTENDER[True], NODES, outcome)
    assert sum(outcome.placement.values()) == PODS
    assert outcome.without_room > 0


async def _end_all(world: World) -> None:
    for replica in world.extender.replicas:
        replica.process.kill()


def _reasons(world: World) -> set[str]:
    return {
        condition.get("reason", "")
        for each in world.seen.pods()
        for condition in each["status"].get("conditions") or ()
    }


def _request() -> Object:
    metadata = {"namespace": "default", "name": "late", "uid": "late"}
    return {"Pod": {"metadata": metadata, "spec": {}}, "Nodes": None, "NodeNames": ["node-1"]}
