"""A new leader holds what the one before held: it finds it in the cluster."""

import asyncio
from collections.abc import Callable

import pytest

from tests.integration.instances import VIRTUAL_TIME, Process
from tests.integration.scheduling import ONE, THREE, TWO, World, serving

pytestmark = VIRTUAL_TIME

Step = Callable[[World], None]


def nominate(world: World) -> None:
    world.nominate("first", ONE)


def select(world: World) -> None:
    """As before 1.35: nothing but one claim tells of the node."""
    world.select("a", ONE)


def provision(world: World) -> None:
    """As before 1.35: the claims are bound and the pod is not yet."""
    for claim in ("a", "b"):
        world.select(claim, ONE)
        world.provision(claim)


def bind(world: World) -> None:
    provision(world)
    world.bind("first", ONE)


def place_one(world: World) -> None:
    bind(world)
    world.place("a", ONE)
    world.place("b")


STATES = pytest.mark.parametrize("state", [nominate, select, provision, bind, place_one])
ENDS = pytest.mark.parametrize("end", [Process.terminate, Process.kill])


@ENDS
@STATES
async def test_the_next_leader_holds_the_same(state: Step, end: Callable[[Process], None]) -> None:
    async with serving(2) as world:
        world.add_pod("first", "a", "b", gib=30)
        await world.add_pods("other", gib=50)
        await world.accept("first")
        state(world)
        await world.settled()
        before, leader = await world.held(), world.leader

        end(leader)
        await world.processes.until(lambda: not leader.is_leading, within=6)
        await world.answers()

        assert await world.held() == before
        assert (await world.ask("other")).accepted == [TWO, THREE]
        await world.settled()
        assert (await world.held())[0] == before[0]


@STATES
async def test_a_leader_that_was_away_holds_the_same_again(state: Step) -> None:
    async with serving() as world:
        world.add_pod("first", "a", "b", gib=30)
        await world.add_pods("other", gib=50)
        await world.accept("first")
        state(world)
        await world.settled()
        before, leader = await world.held(), world.leader

        with world.processes.server.outage():
            await world.processes.until(lambda: not leader.is_leading, within=6)
            await world.settled()
            assert await world.held(leader) == []
        await world.answers()

        assert await world.held() == before
        assert (await world.ask("other")).accepted == [TWO, THREE]


@ENDS
async def test_what_is_placed_meanwhile_is_held_no_more(end: Callable[[Process], None]) -> None:
    async with serving(2) as world:
        await world.add_pods("first")
        await world.accept("first")
        world.nominate("first", ONE)
        leader = world.leader
        end(leader)

        world.run("first", ONE)
        await world.processes.until(lambda: not leader.is_leading, within=6)
        await world.answers()

        assert await world.held() == []


async def test_a_frozen_leader_that_resumes_holds_nothing() -> None:
    async with serving(2) as world:
        await world.add_pods("first", "second", "other")
        await world.accept("first")
        world.select("first", ONE)
        await world.settled()
        old = world.leader
        old.freeze()
        await world.processes.until(lambda: not old.is_leading, within=6)
        await world.answers()
        await world.accept("second", TWO)

        old.resume()
        refused = await world.ask("other", of=old)
        await asyncio.sleep(2)

        assert refused.error == "this instance of the extender is not the leader"
        assert await world.held(old) == []
        assert (await world.ask("other")).accepted == [THREE]


async def test_a_leader_that_is_frozen_for_a_while_learns_what_it_missed() -> None:
    async with serving() as world:
        await world.add_pods("first", "second", "third")
        await world.accept("first", ONE)
        await world.accept("second", TWO, THREE)
        leader = world.leader
        leader.freeze()
        world.delete_pod("first")
        world.bind("second", THREE)
        await asyncio.sleep(3)

        leader.resume()
        await world.settled()

        assert leader.is_leading
        assert (await world.ask("third")).accepted == [ONE, TWO]
