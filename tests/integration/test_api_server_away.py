"""The API server goes away, for all or for some, and comes back."""

import asyncio

import pytest

from tests.fakes import Call, Delay, Fault, WatchCut
from tests.fakes.installed import LONGHORN
from tests.integration.instances import VIRTUAL_TIME, Processes

pytestmark = VIRTUAL_TIME

RECOVERY_SECONDS = 10.0
LOST_REQUEST_SECONDS = 10.0
"""How long a request that was swallowed is waited for."""

refused_or_silent = pytest.mark.parametrize("silent", [False, True], ids=["refused", "silent"])


@refused_or_silent
async def test_the_leader_answers_from_what_it_knows_until_its_lease_runs_out(*, silent):
    async with Processes() as processes:
        await processes.start_all(3)

        with processes.server.outage(silent=silent):
            await processes.always(processes.is_answered, seconds=5.3)
            took = await processes.until(lambda: not processes.leaders, within=1.3)

        assert took > 0


@refused_or_silent
async def test_after_a_minute_without_it_one_leads_soon_and_only_one(*, silent):
    async with Processes() as processes:
        await processes.start_all(3)
        with processes.server.outage(silent=silent):
            await processes.always(lambda: len(processes.leaders) <= 1, seconds=60)

        await processes.until(processes.is_answered, within=RECOVERY_SECONDS)

        await processes.always(processes.is_answered, seconds=12)
        assert processes.points_at(processes.leader)


@refused_or_silent
async def test_after_an_absence_longer_than_knowledge_may_be_old_answers_come_back(*, silent):
    async with Processes() as processes:
        await processes.start_all(2)
        with processes.server.outage(silent=silent):
            await asyncio.sleep(400)

        await processes.until(
            processes.is_answered, within=LOST_REQUEST_SECONDS + RECOVERY_SECONDS, glance=0.5
        )


@refused_or_silent
async def test_an_instance_started_meanwhile_becomes_ready(*, silent):
    async with Processes() as processes:
        with processes.server.outage(silent=silent):
            started = processes.start(0)
            await asyncio.sleep(60)
            assert "volumes.longhorn.io" in await started.unready()

        await processes.until(started.is_ready, within=LOST_REQUEST_SECONDS + RECOVERY_SECONDS)


@refused_or_silent
async def test_a_leader_that_alone_is_cut_off_is_replaced_after_it_has_stopped(*, silent):
    async with Processes() as processes:
        await processes.start_all(3)
        cut_off = processes.leader

        with processes.server.outage(cut_off.pod, silent=silent):
            await processes.until(lambda: not processes.leaders, within=6.6, glance=0.01)
            await processes.until(processes.is_answered, within=4)
            follower = processes.leader

        await processes.always(lambda: processes.leaders == [follower], seconds=20)
        assert processes.points_at(follower)


@refused_or_silent
async def test_a_short_absence_is_not_noticed(*, silent):
    async with Processes() as processes:
        await processes.start_all(3)
        leader = processes.leader

        for _ in range(3):
            with processes.server.outage(silent=silent):
                await processes.always(processes.is_answered, seconds=1)
            await processes.always(processes.is_answered, seconds=10)

        assert processes.leader is leader


@pytest.mark.parametrize("seconds", [2.6, 6.0, 9.0])
async def test_a_write_that_arrives_long_after_its_sender_gave_it_up_does_no_harm(seconds):
    async with Processes() as processes:
        await processes.start_all(3)
        processes.server.faults = [
            Fault(Delay(seconds), lambda call: call.verb == "update", times=6),
        ]

        await processes.always(lambda: len(processes.leaders) <= 1, seconds=30, glance=0.01)

        assert await processes.is_answered()
        assert processes.points_at(processes.leader)


def follows(call: Call) -> bool:
    return call.verb in ("list", "watch") and call.resource not in ("leases", "endpointslices")


async def test_answers_go_on_while_no_watch_succeeds():
    async with Processes() as processes:
        await processes.start_all(2)
        processes.server.faults = [Fault(WatchCut(), follows, times=None)]
        processes.server.outage().end()

        await processes.always(processes.is_answered, seconds=30, glance=0.2)

        node = processes.server.get("nodes.longhorn.io", "node-3", LONGHORN)
        assert node is not None
        processes.server.put({**node, "spec": {**node["spec"], "allowScheduling": False}})
        processes.server.faults = []

        async def is_known() -> bool:
            answer = await processes.ask("pair")
            assert answer is not None
            return answer.accepted == ["node-2", "node-4"]

        await processes.until(is_known, within=10)
