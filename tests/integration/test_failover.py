"""A leader that is killed is replaced by another one, without help."""

import asyncio

import pytest

from tests.integration.instances import VIRTUAL_TIME, Replicas

pytestmark = VIRTUAL_TIME

LEASE_SECONDS = 8


@pytest.mark.parametrize("count", [2, 3])
@pytest.mark.parametrize("seed", range(6))
async def test_another_replica_answers_within_the_lease_and_a_second(seed: int, count: int) -> None:
    async with Replicas(seed) as replicas:
        await replicas.start_all(count)
        killed = replicas.leader
        await asyncio.sleep(replicas.random.uniform(0, 2))

        killed.kill()

        await replicas.until(replicas.is_answered, within=LEASE_SECONDS + 1)
        assert replicas.points_at(replicas.leader)


async def test_a_process_started_in_the_pod_of_a_killed_leader_is_another_candidate() -> None:
    async with Replicas() as replicas:
        [killed] = await replicas.start_all(1)
        before = replicas.holder

        killed.kill()
        restarted = replicas.start(0)

        took = await replicas.until(replicas.is_answered, within=LEASE_SECONDS + 1)
        assert took > LEASE_SECONDS - 2
        assert replicas.leader is restarted
        assert replicas.holder != before


async def test_of_two_processes_with_one_pod_name_one_leads() -> None:
    async with Replicas() as replicas:
        twins = [replicas.start(0), replicas.start(0)]
        await replicas.until(lambda: replicas.leaders, within=5)

        await replicas.always(lambda: len(replicas.leaders) == 1, seconds=20)

        assert [twin.is_running for twin in twins] == [True, True]


async def test_one_replica_after_another_is_replaced() -> None:
    async with Replicas() as replicas:
        await replicas.start_all(3)
        for _ in range(2):
            replicas.leader.kill()
            await replicas.until(replicas.is_answered, within=LEASE_SECONDS + 1)

        [last] = [each for each in replicas.all if each.is_running]
        assert replicas.points_at(last)
