"""A leader that is killed is replaced by another one, without help."""

import asyncio

import pytest

from tests.fakes.faults import Call, Fault, FaultKind, Hang, LostAnswer
from tests.integration.instances import VIRTUAL_TIME, Processes

pytestmark = VIRTUAL_TIME

LEASE_SECONDS = 8
LEADING = frozenset({"leases", "endpointslices"})
NEVER = 1_000
"""No process writes so often."""
WRITES = frozenset({"create", "update", "patch", "delete"})


@pytest.mark.parametrize("count", [2, 3])
async def test_another_instance_answers_within_the_lease_and_a_second(count):
    async with Processes() as processes:
        await processes.start_all(count)
        killed = processes.leader
        await asyncio.sleep(processes.random.uniform(0, 2))

        killed.kill()

        await processes.until(processes.is_answered, within=LEASE_SECONDS + 1)
        assert processes.points_at(processes.leader)


async def test_a_process_started_in_the_pod_of_a_killed_leader_is_another_candidate():
    async with Processes() as processes:
        [killed] = await processes.start_all(1)
        before = processes.holder

        killed.kill()
        restarted = processes.start(0)

        took = await processes.until(processes.is_answered, within=LEASE_SECONDS + 1)
        assert took > LEASE_SECONDS - 2
        assert processes.leader is restarted
        assert processes.holder != before


async def test_of_two_processes_with_one_pod_name_one_leads():
    async with Processes() as processes:
        twins = [processes.start(0), processes.start(0)]
        await processes.until(lambda: processes.leaders, within=5)

        await processes.always(lambda: len(processes.leaders) == 1, seconds=20)

        assert [twin.is_running for twin in twins] == [True, True]


@pytest.mark.parametrize("fault", [Hang(), LostAnswer(hang=True)], ids=["before", "after"])
async def test_leader_killed_at_each_write_of_lease_and_slices_is_replaced(fault):
    """Killed as its request is sent, or when the API server has done it; from start to end."""
    writes = await _killed_at(NEVER, fault)
    assert writes > 4, "it wrote less than a lease, two slices and some renewals"

    for number in range(writes):
        assert await _killed_at(number, fault) == number + 1


async def _killed_at(number: int, fault: FaultKind) -> int:
    """Kill the first process at its write of this number; return how many writes it began."""
    async with Processes() as processes:
        first, seen = processes.start(0), 0

        def kills(call: Call) -> bool:
            nonlocal seen
            if call.client != first.pod or call.resource not in LEADING or call.verb not in WRITES:
                return False
            seen += 1
            if seen == number + 1:
                first.kill()
            return first.is_killed

        processes.server.faults = [Fault(fault, kills, times=None)]
        await asyncio.sleep(1)
        for standby in (1, 2):
            processes.start(standby)
        await asyncio.sleep(6)
        first.terminate()
        await asyncio.sleep(2)

        if number < NEVER:
            await processes.until(processes.is_answered, within=LEASE_SECONDS + 1)
            assert processes.points_at(processes.leader)
            await processes.always(processes.is_answered, seconds=3)
            assert first not in processes.leaders
            assert processes.holder.startswith(processes.leader.pod)
        return seen
