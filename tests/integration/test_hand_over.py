"""An instance that ends, told to or not, leaves nothing behind that would keep others waiting."""

import asyncio

import pytest

from tests.fakes import Fault, Hang
from tests.integration.instances import VIRTUAL_TIME, Answer, Processes

pytestmark = VIRTUAL_TIME

HAND_OVER_SECONDS = 2.0
"""From the signal until kube-scheduler is answered again."""
STOP_SECONDS = 5.0
"""Most that an end takes, whatever the API server does."""


@pytest.mark.parametrize("count", [2, 3])
@pytest.mark.parametrize("seed", range(3))
async def test_another_instance_answers_within_two_seconds(seed, count):
    async with Processes(seed) as processes:
        await processes.start_all(count)
        leaving = processes.leader
        await asyncio.sleep(processes.random.uniform(0, 2))

        leaving.terminate()
        await processes.until(lambda: not leaving.is_leading, within=1.1, glance=0.001)

        await processes.until(processes.is_answered, within=HAND_OVER_SECONDS)
        assert processes.points_at(processes.leader)
        assert leaving.ended.done()
        assert not leaving.is_connected


async def test_an_instance_that_ends_says_so_as_long_as_requests_may_come():
    async with Processes() as processes:
        await processes.start_all(2)
        processes.server.latency = lambda _: (0.1, 0.1)
        leaving = processes.leader
        answers: list[Answer | None] = []

        leaving.terminate()
        await asyncio.sleep(0.01)
        assert await leaving.unready() == "shutting down"
        while processes.points_at(leaving):
            answers.append(await leaving.filter())
            await asyncio.sleep(0.005)

        assert {(answer.error, answer.closes) if answer else None for answer in answers} == {
            ("this instance of the extender is shutting down", True)
        }


async def test_a_part_that_fails_ends_the_process_which_hands_over_all_the_same():
    async with Processes() as processes:
        await processes.start_all(2)
        failing = processes.leader

        failing.fail(RuntimeError("a bug"))
        await processes.until(failing.ended.done, within=2)

        await processes.until(processes.is_answered, within=HAND_OVER_SECONDS)
        assert not failing.is_connected
        assert isinstance(failing.ended.exception(), ExceptionGroup)


@pytest.mark.parametrize("milliseconds", range(0, 420, 30))
async def test_an_end_at_any_moment_of_the_start_leaves_lease_and_endpoints_free(milliseconds):
    async with Processes(milliseconds, latency_seconds=0.1) as processes:
        processes.server.latency = lambda _: (0.02, 0.02)
        leaving = processes.start(0)
        await asyncio.sleep(milliseconds / 1000)

        leaving.terminate()
        await processes.until(leaving.ended.done, within=1)

        assert processes.holder == ""
        assert processes.addresses() == []


async def test_an_end_before_the_first_list_is_complete_writes_nothing():
    async with Processes() as processes:
        processes.server.faults = [Fault(Hang(), lambda call: call.resource == "volumes")]
        leaving = processes.start(0)
        await asyncio.sleep(3)

        leaving.terminate()
        await processes.until(leaving.ended.done, within=0.1)

        assert {call.verb for call in processes.server.calls} <= {"watch", "list", "get"}


@pytest.mark.parametrize("silent", [False, True], ids=["refused", "silent"])
@pytest.mark.parametrize("away_seconds", [0.0, 1.0, 7.0])
async def test_an_end_while_the_api_server_is_away_is_bounded(away_seconds, *, silent):
    async with Processes() as processes:
        [leaving] = await processes.start_all(1)
        with processes.server.outage(silent=silent):
            await asyncio.sleep(away_seconds)

            leaving.terminate()
            await processes.until(leaving.ended.done, within=STOP_SECONDS)


async def test_an_end_of_a_standby_is_not_noticed():
    async with Processes() as processes:
        await processes.start_all(3)
        leader, leaving = processes.leader, processes.standbys[0]

        leaving.terminate()

        await processes.always(processes.is_answered, seconds=12)
        assert processes.leader is leader
        assert leaving.ended.done()


async def test_a_rolling_restart_never_stops_the_answers_for_long():
    async with Processes() as processes:
        await processes.start_all(3)
        for number, old in enumerate([*processes.all]):
            old.terminate()
            await processes.until(old.ended.done, within=1)
            started = processes.start(number)
            await processes.until(started.is_ready, within=1)
            await processes.until(processes.is_answered, within=HAND_OVER_SECONDS)

        assert len(processes.leaders) == 1
