"""An instance that begins to lead answers nobody before it has listed the pods that wait."""

import asyncio

import pytest

from tests.fakes import Answer, Call, Delay, Fault, FaultKind
from tests.integration.instances import VIRTUAL_TIME
from tests.integration.scheduling import ONE, THREE, TWO, serving

pytestmark = VIRTUAL_TIME

TAKE_OVER_SECONDS = 9.5
JUST_BEGUN = "this instance of the extender has just begun to lead; ask again"


def lists_pods(call: Call) -> bool:
    return (call.verb, call.resource, call.name) == ("list", "pods", "")


async def test_a_new_leader_answers_only_when_it_knows_what_to_hold() -> None:
    async with serving(2) as world:
        await world.add_pods("first", "other")
        await world.accept("first")
        world.select("first", ONE)
        world.server.faults.append(Fault(Delay(3.0), lists_pods))
        leader = world.leader
        leader.terminate()
        await world.processes.until(lambda: not leader.is_leading, within=2)
        await world.processes.until(lambda: world.processes.leaders, within=2)

        for _ in range(5):
            assert (await world.ask("other")).error == JUST_BEGUN
            assert world.processes.addresses() == []
            await asyncio.sleep(0.5)
        await world.answers(within=2)

        assert (await world.ask("other")).accepted == [TWO, THREE]


@pytest.mark.parametrize("failure", [Answer(403), Answer(500), Answer(410), Answer(200, b"{")])
async def test_a_new_leader_that_cannot_list_the_pods_tries_until_it_can(
    failure: FaultKind,
) -> None:
    async with serving(2) as world:
        await world.add_pods("first")
        await world.accept("first")
        world.select("first", ONE)
        failing = Fault(failure, lists_pods, times=None)
        world.server.faults.append(failing)
        world.leader.kill()
        await world.processes.until(lambda: world.processes.leaders, within=TAKE_OVER_SECONDS)
        await asyncio.sleep(20)
        assert (await world.ask("first")).error == JUST_BEGUN

        world.server.faults.remove(failing)
        await world.answers(within=8.5)

        assert await world.held_nodes("first") == (ONE,)


async def test_a_listing_that_outlives_its_term_counts_for_nothing() -> None:
    """The pod is bound and runs before the second term begins."""
    async with serving() as world:
        await world.add_pods("first")
        await world.accept("first")
        world.select("first", ONE)
        leader = world.leader
        with world.server.outage():
            await world.processes.until(lambda: not leader.is_leading, within=6)
        world.server.latency = lambda call: (0.0, 3.0) if lists_pods(call) else (0.0, 0.0)
        # The longest pause of a watch, what proves that it goes on, and the lease.
        await world.processes.until(lambda: leader.is_leading, within=13)
        world.set_config(enabled="false")
        await world.processes.until(lambda: not leader.is_leading, within=2)
        world.run("first", ONE)

        world.set_config(enabled="true")
        await world.answers()

        assert await world.held() == []
