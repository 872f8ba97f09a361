"""Somebody changes the lease by hand, or leads by mistake: whose update is refused steps down."""

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from app.config import NAME
from tests.integration.instances import LEASES, NAMESPACE, VIRTUAL_TIME, Replicas

pytestmark = VIRTUAL_TIME

RENEWAL_SECONDS = 1.1
"""Between two renewals, requests included."""


def give_to_stranger(replicas: Replicas) -> None:
    edit(replicas, holderIdentity="stranger")


def give_to_nobody(replicas: Replicas) -> None:
    edit(replicas, holderIdentity="")


def empty(replicas: Replicas) -> None:
    lease = replicas.lease()
    assert lease is not None
    replicas.server.put({**lease, "spec": {}})


def delete(replicas: Replicas) -> None:
    replicas.server.delete(LEASES, NAME, NAMESPACE)


def touch(replicas: Replicas) -> None:
    lease = replicas.lease()
    assert lease is not None
    lease["metadata"]["annotations"] = {"seen": "yes"}
    replicas.server.put(lease)


def edit(replicas: Replicas, **fields: Any) -> None:
    lease = replicas.lease()
    assert lease is not None
    lease["spec"].update(fields)
    replicas.server.put(lease)


async def test_a_leader_whose_lease_was_given_away_steps_down_at_once() -> None:
    async with Replicas() as replicas:
        await replicas.start_all(3)
        leader = replicas.leader

        give_to_stranger(replicas)

        await replicas.until(lambda: not leader.is_leading, within=RENEWAL_SECONDS, glance=0.01)
        answer = await leader.filter()
        assert answer is not None
        assert answer.error == "this replica of the extender is not the leader"
        assert answer.closes


async def test_a_stranger_who_does_not_renew_is_replaced() -> None:
    async with Replicas() as replicas:
        await replicas.start_all(3)

        give_to_stranger(replicas)
        await replicas.until(lambda: not replicas.leaders, within=RENEWAL_SECONDS, glance=0.01)

        await replicas.until(replicas.is_answered, within=9)
        assert replicas.lease_spec["leaseTransitions"] == 1


async def test_a_stranger_who_renews_is_left_alone() -> None:
    async with Replicas() as replicas:
        await replicas.start_all(3)

        for number in range(20):
            edit(replicas, holderIdentity="stranger", leaseTransitions=number)
            await replicas.until(lambda: not replicas.leaders, within=RENEWAL_SECONDS)
            await replicas.always(lambda: not replicas.leaders, seconds=1)

        assert replicas.holder == "stranger"


@pytest.mark.parametrize("change", [give_to_nobody, empty, delete, touch])
@pytest.mark.parametrize("seed", range(4))
async def test_a_lease_that_was_tampered_with_has_one_holder_after_a_renewal(
    seed: int, change: Callable[[Replicas], None]
) -> None:
    async with Replicas(seed) as replicas:
        await replicas.start_all(3)

        change(replicas)
        await asyncio.sleep(RENEWAL_SECONDS)

        await replicas.always(lambda: len(replicas.leaders) <= 1, seconds=9, glance=0.01)
        assert await replicas.is_answered()
        assert replicas.points_at(replicas.leader)


async def test_a_lease_that_is_no_lease_to_read_ends_the_leadership_until_it_is_one() -> None:
    async with Replicas() as replicas:
        await replicas.start_all(2)
        edit(replicas, leaseDurationSeconds=None, holderIdentity=None, renewTime=None)

        await replicas.until(replicas.is_answered, within=9)

        assert len(replicas.leaders) == 1
