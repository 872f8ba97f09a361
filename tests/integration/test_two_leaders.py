"""Somebody changes the lease by hand, or leads by mistake: whose update is refused steps down."""

import asyncio
from typing import Any

import pytest

from app.config import NAME
from tests.fakes.installed import NAMESPACE
from tests.integration.instances import VIRTUAL_TIME, Processes
from tests.integration.processes import LEASES

pytestmark = VIRTUAL_TIME

RENEWAL_SECONDS = 1.1
"""Between two renewals, requests included."""


def edit(processes: Processes, **fields: Any) -> None:
    lease = processes.lease()
    assert lease is not None
    lease["spec"].update(fields)
    processes.server.put(lease)


async def test_a_leader_whose_lease_was_given_away_steps_down_at_once():
    async with Processes() as processes:
        await processes.start_all(3)
        leader = processes.leader

        edit(processes, holderIdentity="stranger")

        await processes.until(lambda: not leader.is_leading, within=RENEWAL_SECONDS, glance=0.01)
        answer = await leader.filter()
        assert answer is not None
        assert answer.error == "this instance of the extender is not the leader"
        assert answer.closes


@pytest.mark.parametrize("change", ["deleted", "given-to-nobody"])
async def test_a_lease_that_was_tampered_with_has_one_holder_after_a_renewal(change):
    """What any change of it means is told in unit/leader/test_lease.py."""
    async with Processes() as processes:
        await processes.start_all(3)

        if change == "deleted":
            processes.server.delete(LEASES, NAME, NAMESPACE)
        else:
            edit(processes, holderIdentity="")
        await asyncio.sleep(RENEWAL_SECONDS)

        await processes.always(lambda: len(processes.leaders) <= 1, seconds=9, glance=0.01)
        assert await processes.is_answered()
        assert processes.points_at(processes.leader)


async def test_somebody_who_renews_the_lease_stops_the_service_and_leads_to_nobody_else():
    async with Processes() as processes:
        await processes.start_all(1)
        for second in range(20):
            renewed = f"2026-01-01T00:00:{second:02}.000000Z"
            edit(processes, holderIdentity="stranger", renewTime=renewed)
            await asyncio.sleep(1)

        assert (processes.leaders, processes.addresses()) == ([], [])
        await processes.until(processes.is_answered, within=20)
