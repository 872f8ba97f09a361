"""An instance that does not know the cluster says what it lacks, and leaves leading to others."""

import asyncio

import pytest

from tests.fakes import Call, Fault, Hang, Refused
from tests.integration.instances import NOT_KNOWING, VIRTUAL_TIME, Processes

pytestmark = VIRTUAL_TIME

MENDED_SECONDS = 9.0
"""Longest pause between two attempts, and the list."""
PROVEN_SECONDS = 4.0
"""A watch must have lasted for 2 s, and the lease be taken."""
LEASE_SECONDS = 8.0
"""Who did not look at the lease meanwhile must see it stand still for its duration."""
LOST_REQUEST_SECONDS = 10.0
"""How long a request that was swallowed is waited for."""
AGE_LIMIT_SECONDS = 120.0

KINDS = (
    "persistentvolumeclaims",
    "persistentvolumes",
    "storageclasses.storage.k8s.io",
    "csinodes.storage.k8s.io",
    "nodes.longhorn.io",
    "volumes.longhorn.io",
    "replicas.longhorn.io",
    "backingimages.longhorn.io",
    "settings.longhorn.io",
    "diskschedules.longhorn.io",
    "engineimages.longhorn.io",
    "instancemanagers.longhorn.io",
    "shards.longhorn.io",
    "instancemanagerupgrades.longhorn.io",
    "nodes",
    "configmaps",
)


async def test_before_its_first_lists_an_instance_names_every_kind():
    async with Processes() as processes:
        started = processes.start(0)

        assert await started.unready() == "; ".join(
            [
                *(f"{kind}: not listed yet" for kind in KINDS),
                "the addresses of pod extender-0 are not known",
            ]
        )


async def test_without_the_right_to_read_a_kind_nobody_leads_until_it_is_granted():
    async with Processes() as processes:
        processes.denied = {"volumes.longhorn.io"}
        started = processes.start(0)
        await asyncio.sleep(60)

        unready = await started.unready()
        assert unready.startswith("volumes.longhorn.io: not listed yet: 403: ")
        assert "cannot " in unready
        assert processes.lease() is None

        processes.denied = set()

        await processes.until(started.is_ready, within=MENDED_SECONDS)
        await processes.until(processes.is_answered, within=2)


async def test_an_instance_that_knows_less_leaves_the_lease_to_one_that_knows_all():
    async with Processes() as processes:
        processes.server.faults = [
            Fault(Refused(), lambda call: call.client == "extender-0" and reads_volumes(call), None)
        ]
        blind = processes.start(0)
        await asyncio.sleep(5)

        knowing = processes.start(1)

        await processes.until(processes.is_answered, within=2)
        assert processes.leaders == [knowing]
        answer = await blind.filter()
        assert answer is not None
        assert (answer.error, answer.closes) == (NOT_KNOWING, True)


def reads_volumes(call: Call) -> bool:
    return call.resource == "volumes"


@pytest.mark.parametrize("fault", [Refused(), Hang()])
async def test_a_leader_that_does_not_hear_of_a_kind_for_too_long_stops_until_it_does(fault):
    async with Processes() as processes:
        [leader] = await processes.start_all(1)
        processes.server.faults = [Fault(fault, reads_volumes, times=None)]
        processes.server.outage().end()

        await processes.always(processes.is_answered, seconds=60, glance=1)
        await asyncio.sleep(AGE_LIMIT_SECONDS)
        answers = [await leader.filter() for _ in range(3)]

        assert not leader.is_leading
        assert {(answer.error, answer.closes) for answer in answers if answer} == {
            (NOT_KNOWING, True)
        }
        assert (await leader.unready()).startswith("volumes.longhorn.io: not heard of")

        processes.server.faults = []

        within = LOST_REQUEST_SECONDS + MENDED_SECONDS + PROVEN_SECONDS
        await processes.until(processes.is_answered, within=within)
        assert await leader.unready() == ""


async def test_a_leader_that_is_kept_from_a_kind_leaves_the_lease_to_one_that_is_not():
    async with Processes() as processes:
        [leader] = await processes.start_all(1)
        standby = processes.start(1)
        await processes.until(standby.is_ready, within=5)
        processes.server.faults = [
            Fault(Refused(), lambda call: call.client == "extender-0" and reads_volumes(call), None)
        ]
        processes.server.outage().end()

        await asyncio.sleep(AGE_LIMIT_SECONDS + 5)

        assert processes.leaders == [standby]
        assert await processes.is_answered()
        assert not leader.is_leading


async def test_a_standby_that_misses_something_does_not_take_over():
    async with Processes() as processes:
        [leader] = await processes.start_all(1)
        standby = processes.start(1)
        await processes.until(standby.is_ready, within=5)
        blinded = Fault(
            Refused(), lambda call: call.client == "extender-1" and reads_volumes(call), None
        )
        processes.server.faults = [blinded]
        processes.server.outage("extender-1").end()
        await asyncio.sleep(5)

        leader.kill()
        await processes.always(lambda: not standby.is_leading, seconds=20, glance=1)
        processes.server.faults = []

        within = MENDED_SECONDS + PROVEN_SECONDS + LEASE_SECONDS
        await processes.until(processes.is_answered, within=within)
