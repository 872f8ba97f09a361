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
RESTARTS = "longhorn_scheduler_extender_watch_restarts_total"
HAND_OVER_SECONDS = 4.0
"""Half of the lease duration: so soon only what is given back is taken over."""
TAKE_OVER_SECONDS = 20.0
"""The lease duration, a second to notice, a call that runs into its timeout, a busy machine."""


async def _nodes(world: World) -> None:
    await world.add_nodes({"disk": 100}, {"a": 2000, "b": 2000})


async def _burst(world: World, name: str = "web", *, others: int = 0) -> Scheduling:
    pods = stateful_set(name, pods=PODS, claims=2, size="60Gi")
    return await world.schedule((pods, kinds.STATEFUL_SETS), pods=PODS + others)


async def _accepted(world: World, since: float) -> None:
    """Wait until a pod was accepted, and so is on its way: its claims are not bound yet."""

    def is_accepted() -> bool:
        return any(call.accepted for call in world.extender.calls(since=since))

    await until(is_accepted, within=30, what="a pod that is accepted")


def _expect_placed(report: Report, fault: str, outcome: Outcome) -> None:
    report.run(f"fault: {fault}", EXTENDER[True], NODES, outcome)
    assert outcome.placement == FITTING
    assert outcome.without_room == 0


@pytest.mark.parametrize(
    ("signal", "longest_gap"), [("SIGTERM", HAND_OVER_SECONDS), ("SIGKILL", TAKE_OVER_SECONDS)]
)
async def test_the_leader_ends(
    make_world: MakeWorld, report: Report, signal: str, longest_gap: float
) -> None:
    """Some pods were accepted by the leader that ends, some come to the next one."""
    async with make_world() as world:
        await _nodes(world)
        leader = await world.extender.leader()
        async with world.extender.probed() as answered:
            await until(lambda: bool(answered), within=5)
            first = await _burst(world)
            await _accepted(world, first.began)
            if signal == "SIGTERM":
                leader.process.terminate()
            else:
                leader.process.kill()
            ended = time.monotonic()
            both = await _burst(world, "late", others=PODS)
            await until(lambda: answered[-1] > ended + 1, within=TAKE_OVER_SECONDS)
            outcome = await both.outcome()

        gap = max(later - earlier for earlier, later in pairwise(answered))
        answering = {call.backend for call in world.extender.calls() if call.accepted}
        report.measured(f"no answer to /filter after {signal} to the leader", f"{gap:.1f} s")
        report.run(f"fault: leader gets {signal}", EXTENDER[True], NODES, outcome)
        assert gap < longest_gap
        assert outcome.placement == {"node-2": 2 * PODS}
        assert outcome.without_room == 0
        assert leader.address in answering
        assert len(answering) > 1


async def test_the_leader_is_frozen_beyond_its_lease(make_world: MakeWorld, report: Report) -> None:
    async with make_world() as world:
        await _nodes(world)
        frozen = await world.extender.leader()
        frozen.process.freeze()
        scheduling = await _burst(world)
        await until(world.extender.answers_now, within=TAKE_OVER_SECONDS)
        frozen.process.resume()

        answer = await frozen.filter(_request())
        outcome = await scheduling.outcome()

    assert "not the leader" in answer["Error"]
    _expect_placed(report, "leader frozen beyond its lease", outcome)


async def test_the_api_server_is_killed_and_returns(make_world: MakeWorld, report: Report) -> None:
    """It is away for longer than a leader answers without it, with claims half provisioned."""
    async with make_world() as world:
        await _nodes(world)
        scheduling = await _burst(world)
        await _accepted(world, scheduling.began)
        world.control_plane.kill_api_server()
        await asyncio.sleep(6.0)
        assert not await world.extender.answers_now()

        await world.control_plane.start_api_server()
        back = await until(world.extender.answers_now, within=30)
        outcome = await scheduling.outcome()

    report.measured("answers again after the API server is ready again", f"{back:.1f} s")
    _expect_placed(report, "API server killed for 6 s", outcome)


async def test_the_connections_to_the_api_server_are_cut(
    make_world: MakeWorld, report: Report
) -> None:
    async with make_world() as world:
        await _nodes(world)
        leader = await world.extender.leader()
        restarts = await leader.metric(RESTARTS)
        scheduling = await _burst(world)
        while scheduling.bound() < PODS and time.time() < scheduling.began + 30:
            world.relay.cut()
            await asyncio.sleep(0.5)
        restarted = await leader.metric(RESTARTS) - restarts
        outcome = await scheduling.outcome()

    report.measured("watches of the leader begun anew while they were cut", f"{restarted:g}")
    _expect_placed(report, "watches cut every 0.5 s", outcome)
    assert restarted > 0


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
        await _accepted(world, scheduling.began)
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
