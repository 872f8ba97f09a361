"""A process or a machine that stood still does not know it, and must not act on what it knew."""

import asyncio

import pytest

from tests.integration.instances import (
    NOT_KNOWING,
    NOT_THE_LEADER,
    VIRTUAL_TIME,
    Process,
    Processes,
)

pytestmark = VIRTUAL_TIME

HOUR = 3600.0


async def freeze_leader(processes: Processes) -> Process:
    """Stop the leader somewhere between two renewals."""
    await processes.start_all(3)
    frozen = processes.leader
    await asyncio.sleep(processes.random.uniform(0, 2))
    frozen.freeze()
    return frozen


@pytest.mark.parametrize("seed", range(3))
async def test_a_leader_frozen_beyond_its_lease_refuses_at_once_and_takes_nothing_back(seed):
    async with Processes(seed) as processes:
        frozen = await freeze_leader(processes)
        await processes.until(processes.is_answered, within=9)
        follower, holder = processes.leader, processes.holder

        frozen.resume()
        answer = await frozen.filter()

        assert answer is not None
        assert (answer.error, answer.closes) == (NOT_THE_LEADER, True)
        await processes.always(
            lambda: processes.holder == holder and processes.points_at(follower),
            seconds=15,
            glance=0.01,
        )


@pytest.mark.parametrize("milliseconds", range(0, 400, 30))
async def test_a_leader_frozen_while_it_publishes_takes_nothing_back(milliseconds):
    async with Processes(milliseconds) as processes:
        processes.server.latency = lambda _: (0.02, 0.02)
        frozen = processes.start(0)
        await asyncio.sleep(milliseconds / 1000)
        frozen.freeze()
        follower = processes.start(1)
        await processes.until(processes.is_answered, within=10)
        holder = processes.holder

        frozen.resume()

        await processes.always(
            lambda: processes.holder == holder and processes.points_at(follower),
            seconds=15,
            glance=0.01,
        )


async def test_a_leader_frozen_beyond_its_lease_leads_again_when_it_is_needed():
    async with Processes() as processes:
        frozen = await freeze_leader(processes)
        await processes.until(processes.is_answered, within=9)
        frozen.resume()
        await asyncio.sleep(1)
        for other in (each for each in processes.all if each is not frozen):
            other.kill()

        await processes.until(processes.is_answered, within=9)

        assert processes.points_at(frozen)


@pytest.mark.parametrize("seconds_before", [3.0, 4.0, 5.0, 8.0])
async def test_a_leader_frozen_for_less_than_its_lease_keeps_it(seconds_before):
    """It may not act for longer than 6.5 s without renewal, and the others wait for 8 s."""
    async with Processes() as processes:
        await processes.start_all(3)
        frozen = processes.leader
        await asyncio.sleep(seconds_before)
        frozen.freeze()
        await asyncio.sleep(6.9)

        frozen.resume()
        answer = await frozen.filter()

        assert answer is not None
        assert answer.error == NOT_THE_LEADER
        await asyncio.sleep(2)
        await processes.always(processes.is_answered, seconds=10)
        assert processes.leader is frozen
        assert processes.lease_spec["leaseTransitions"] == 0


async def test_a_frozen_standby_is_not_noticed():
    async with Processes() as processes:
        await processes.start_all(2)
        [standby] = processes.standbys

        standby.freeze()
        await processes.always(processes.is_answered, seconds=20)
        standby.resume()

        await processes.always(processes.is_answered, seconds=12)


async def test_a_machine_that_was_suspended_knows_it_by_its_clock():
    """The timers of the loop stand still with the machine; the clock of leadership does not."""
    async with Processes() as processes:
        frozen = await freeze_leader(processes)
        await processes.until(processes.is_answered, within=9)
        follower = processes.leader
        frozen.clock_ahead += HOUR

        frozen.resume()
        answer = await frozen.filter()

        assert answer is not None
        assert (answer.error, answer.closes) == (NOT_KNOWING, True)
        await processes.always(lambda: processes.leaders == [follower], seconds=20, glance=0.01)


@pytest.mark.parametrize("seconds", [HOUR, -HOUR])
async def test_a_leader_with_a_wrong_date_stays_the_leader(seconds):
    async with Processes() as processes:
        await processes.start_all(3)
        leader = processes.leader

        leader.wall_clock_ahead += seconds

        await processes.always(processes.is_answered, seconds=12)
        assert processes.leader is leader
