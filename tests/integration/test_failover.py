"""A leader that is killed is replaced by another one, without help."""

import asyncio

import pytest

from tests.integration.instances import VIRTUAL_TIME, Processes

pytestmark = VIRTUAL_TIME

LEASE_SECONDS = 8


@pytest.mark.parametrize("count", [2, 3])
@pytest.mark.parametrize("seed", range(3))
async def test_another_instance_answers_within_the_lease_and_a_second(
    seed: int, count: int
) -> None:
    async with Processes(seed) as processes:
        await processes.start_all(count)
        killed = processes.leader
        await asyncio.sleep(processes.random.uniform(0, 2))

        killed.kill()

        await processes.until(processes.is_answered, within=LEASE_SECONDS + 1)
        assert processes.points_at(processes.leader)


async def test_a_process_started_in_the_pod_of_a_killed_leader_is_another_candidate() -> None:
    async with Processes() as processes:
        [killed] = await processes.start_all(1)
        before = processes.holder

        killed.kill()
        restarted = processes.start(0)

        took = await processes.until(processes.is_answered, within=LEASE_SECONDS + 1)
        assert took > LEASE_SECONDS - 2
        assert processes.leader is restarted
        assert processes.holder != before


async def test_of_two_processes_with_one_pod_name_one_leads() -> None:
    async with Processes() as processes:
        twins = [processes.start(0), processes.start(0)]
        await processes.until(lambda: processes.leaders, within=5)

        await processes.always(lambda: len(processes.leaders) == 1, seconds=20)

        assert [twin.is_running for twin in twins] == [True, True]
