"""A leader that is told to end leaves nothing open, and the next one misses nothing."""

import asyncio

import pytest

from tests.integration.instances import VIRTUAL_TIME
from tests.integration.scheduling import ONE, THREE, TWO, Held, serving

pytestmark = VIRTUAL_TIME


async def test_a_leader_that_ends_waits_until_the_last_choice_shows() -> None:
    async with serving(2) as world:
        await world.add_pods("first", "other")
        await world.accept("first")
        leader = world.leader

        leader.terminate()
        await asyncio.sleep(0.6)
        assert leader.is_leading
        world.select("first", TWO)
        took = await world.processes.until(lambda: not leader.is_leading, within=1, glance=0.001)
        await world.answers()

        assert took < 0.1
        assert await world.held_nodes("first") == (TWO,)
        assert (await world.ask("other")).accepted == [ONE, THREE]


async def test_a_leader_that_ends_does_not_wait_for_what_was_chosen() -> None:
    """One of two candidates was accepted."""
    async with serving(2, nodes=(ONE, TWO)) as world:
        await world.add_pods("full", "first")
        world.run("full", TWO)
        await world.settled()
        assert (await world.ask("first")).accepted == [ONE]
        leader = world.leader
        leader.terminate()
        await asyncio.sleep(0.1)

        world.select("first", ONE)

        took = await world.processes.until(lambda: not leader.is_leading, within=1, glance=0.001)
        assert took < 0.1


async def test_a_leader_that_ends_waits_a_second_at_most() -> None:
    async with serving(2) as world:
        await world.add_pods("first")
        await world.accept("first")
        leader = world.leader

        leader.terminate()
        took = await world.processes.until(lambda: not leader.is_leading, within=2, glance=0.001)

        assert took == pytest.approx(1.0, abs=0.05)


async def test_a_leader_that_ends_answers_nobody_while_it_waits() -> None:
    async with serving(2) as world:
        await world.add_pods("first", "other")
        await world.accept("first")
        leader = world.leader

        leader.terminate()
        await asyncio.sleep(0.5)

        answer = await world.ask("other", of=leader)
        assert answer.error == "this instance of the extender is shutting down"


async def test_turning_the_service_off_and_on_keeps_what_shows_in_the_cluster() -> None:
    async with serving() as world:
        await world.add_pods("first")
        await world.accept("first")
        world.select("first", ONE)
        await world.settled()
        before, leader = await world.held(), world.leader
        world.set_config(enabled="false")
        await world.processes.until(lambda: not leader.is_leading, within=2)
        assert await world.held(leader) == []

        world.set_config(enabled="true")
        await world.answers()

        assert await world.held() == before


@pytest.mark.parametrize(
    "nominated",
    [
        pytest.param(True, id="1.35"),
        pytest.param(False, id="1.34"),
    ],
)
async def test_a_claim_heard_of_before_its_volume_is_held(*, nominated: bool) -> None:
    async with serving(2) as world:
        await world.add_pods("first", "other")
        await world.accept("first")
        if nominated:
            world.nominate("first", ONE)
        world.select("first", ONE)
        await world.settled()
        held, leader = await world.held(), world.leader
        world.server.watch_delay = lambda call: 1.0 if call.resource == "persistentvolumes" else 0.0

        world.provision("first")
        leader.terminate()
        await world.processes.until(lambda: not leader.is_leading, within=2)
        await world.answers()
        await asyncio.sleep(2)

        assert held == [Held("first", "chosen", (ONE,), (world.volume("first"),))]
        assert await world.held() == held


async def test_a_pod_whose_volume_is_gone_delays_no_take_over() -> None:
    """It has a node and waits for ever for what its claim was bound to."""
    async with serving(2) as world:
        await world.add_pods("stuck")
        claim = world.of("persistentvolumeclaims", "stuck")
        world.server.put({**claim, "spec": {**claim["spec"], "volumeName": "gone"}})
        world.bind("stuck", ONE)
        await world.settled()
        leader = world.leader

        leader.terminate()
        await world.processes.until(lambda: not leader.is_leading, within=0.1)

        assert await world.processes.until(world.processes.addresses, within=5) < 2
        await world.answers(within=0.1)


async def test_a_claim_that_is_being_deleted_is_held_as_long_as_its_pod_is_bound() -> None:
    """It stays until no pod uses it, and Longhorn attaches its volume."""
    async with serving(2) as world:
        await world.add_pods("first")
        await world.accept("first")
        world.select("first", ONE)
        world.provision("first")
        world.bind("first", ONE)
        claim = world.of("persistentvolumeclaims", "first")
        claim["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z"
        world.server.put(claim)
        await world.settled()
        before, leader = await world.held(), world.leader
        assert before

        leader.terminate()
        await world.processes.until(lambda: not leader.is_leading, within=2)
        await world.answers()

        assert await world.held() == before
