"""Mode `node`: nobody else is answered until a pod is bound, and then not with its node."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest

from extender import End, Mode
from tests.integration.instances import VIRTUAL_TIME, Process
from tests.integration.scheduling import (
    ONE,
    THREE,
    TWO,
    World,
    serving,
)

pytestmark = VIRTUAL_TIME

LOCKED = "another pod that was given this node may still be bound to it"
RESERVED = "the node is reserved until the replicas of another pod are placed"


@asynccontextmanager
async def locking(count: int = 1, **settings: Any) -> AsyncIterator[World]:
    """Serve in mode `node`; three small pods would fit on one node together."""
    async with serving(count, reservation_mode=Mode.NODE, **settings) as world:
        await world.add_pods("first", "second", "third", gib=10)
        yield world


def now() -> float:
    return asyncio.get_running_loop().time()


async def test_the_next_pod_waits_until_the_first_is_bound() -> None:
    async with locking() as world:
        await world.accept("first")
        asked = asyncio.create_task(world.ask("second"))
        await asyncio.sleep(2)
        world.nominate("first", TWO)
        world.select("first", TWO)
        await asyncio.sleep(1)
        assert not asked.done()

        world.bind("first", TWO)
        began = now()
        answer = await asked

        assert now() - began < 0.1
        assert (answer.accepted, answer.rejected) == ([ONE, THREE], {TWO: RESERVED})


async def test_a_node_is_nobody_elses_until_the_replicas_are_placed() -> None:
    async with locking() as world:
        await world.accept("first")
        world.bind("first", ONE)
        await world.settled()
        assert (await world.ask("second", ONE)).rejected == {ONE: RESERVED}

        world.provision("first")
        world.place("first", ONE)
        await world.settled()

        assert (await world.ask("second", ONE)).accepted == [ONE]


async def test_who_waited_in_vain_is_woken_when_the_lock_is_gone() -> None:
    """Only kube-schedulers that ask about two pods at once come to this."""
    async with locking() as world:
        await world.accept("first")
        second = asyncio.create_task(world.ask("second", ONE, TWO))
        await asyncio.sleep(0.1)
        third = asyncio.create_task(world.ask("third", THREE))
        assert (await second).accepted == [ONE, TWO]
        assert (await third).rejected == {THREE: LOCKED}

        world.bind("second", ONE)
        await world.settled()

        assert world.woken_at("third")


@pytest.mark.parametrize(
    ("name", "ended"),
    [("pod_scheduling_timeout", End.NOT_CHOSEN), ("node_reservation_timeout", End.NOT_PLACED)],
)
async def test_a_timeout_of_zero_ends_its_part_at_once(name: str, ended: End) -> None:
    async with locking() as world:
        await world.accept("first")
        if ended is End.NOT_PLACED:
            world.bind("first", ONE)

        world.set_config(**{name: "0"})

        await world.ends(ended)
        began = now()
        assert (await world.ask("second")).accepted == [ONE, TWO, THREE]
        assert now() == began


@pytest.mark.parametrize("end", [Process.terminate, Process.kill])
async def test_the_next_leader_locks_for_a_pod_that_is_not_bound_yet(
    end: Callable[[Process], None],
) -> None:
    async with locking(2) as world:
        await world.accept("first")
        world.nominate("first", ONE)
        world.select("first", ONE)
        await world.settled()
        leader = world.leader
        end(leader)
        await world.processes.until(lambda: not leader.is_leading, within=6)
        await world.answers()
        asked = asyncio.create_task(world.ask("second"))
        await asyncio.sleep(1)
        assert not asked.done()

        world.bind("first", ONE)

        assert (await asked).accepted == [TWO, THREE]


async def test_the_next_leader_keeps_the_node_of_a_pod_that_is_bound() -> None:
    async with locking(2) as world:
        await world.accept("first")
        world.bind("first", ONE)
        await world.settled()
        leader = world.leader
        leader.terminate()
        await world.processes.until(lambda: not leader.is_leading, within=6)
        await world.answers()

        assert (await world.ask("second")).rejected == {ONE: RESERVED}
