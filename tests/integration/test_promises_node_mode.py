"""Mode `node`: nobody else is answered until a pod is bound, and then not with its node."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest

from extender import End, Mode
from tests.integration.instances import VIRTUAL_TIME, Replica
from tests.integration.promising import (
    ONE,
    PLACING_SECONDS,
    SCHEDULING_SECONDS,
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
        await world.offer("first")
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


async def test_the_next_pod_is_answered_when_the_first_is_bound_to_the_one_accepted_node() -> None:
    async with locking() as world:
        await world.add_pods("large", gib=100)
        world.run("third", TWO)
        await world.settled()
        assert (await world.ask("large", ONE, TWO)).accepted == [ONE]
        asked = asyncio.create_task(world.ask("second"))
        await world.settled()

        world.bind("large", ONE)
        began = now()
        answer = await asked

        assert answer.accepted == [TWO, THREE]
        assert now() - began < 0.1


async def test_a_pod_that_is_never_bound_locks_as_long_as_its_timeout() -> None:
    async with locking() as world:
        await world.offer("first")
        began = now()

        answer = await world.ask("second")

        assert answer.accepted == [ONE, TWO, THREE]
        assert now() - began == pytest.approx(SCHEDULING_SECONDS, abs=0.1)
        assert world.ended(End.NOT_CHOSEN) == 1


async def test_a_pod_that_is_gone_locks_no_more() -> None:
    async with locking() as world:
        await world.offer("first")
        asked = asyncio.create_task(world.ask("second"))
        await world.settled()

        world.delete_pod("first")
        began = now()

        assert (await asked).accepted == [ONE, TWO, THREE]
        assert now() - began < 0.1


async def test_a_node_is_nobody_elses_until_the_replicas_are_placed() -> None:
    async with locking() as world:
        await world.offer("first")
        world.bind("first", ONE)
        await world.settled()
        assert (await world.ask("second", ONE)).rejected == {ONE: RESERVED}

        world.provision("first")
        world.place("first", ONE)
        await world.settled()

        assert (await world.ask("second", ONE)).accepted == [ONE]


async def test_a_node_is_free_again_after_the_reservation_timeout() -> None:
    async with locking() as world:
        await world.offer("first")
        world.bind("first", ONE)
        took = await world.ends(End.NOT_PLACED, within=10)

        assert took == pytest.approx(PLACING_SECONDS, abs=0.4)
        assert (await world.ask("second", ONE)).accepted == [ONE]


async def test_the_only_candidate_is_reserved_and_locks_nobody() -> None:
    async with locking() as world:
        await world.offer("first", ONE)

        answer = await world.ask("second")

        assert (answer.accepted, answer.rejected) == ([TWO, THREE], {ONE: RESERVED})


async def test_who_needs_no_room_waits_for_nobody() -> None:
    async with locking() as world:
        world.provision("third")
        world.place("third", ONE, healthyAt="2026-01-01T00:00:00Z")
        await world.settled()
        await world.offer("first")
        began = now()

        assert (await world.ask("third")).accepted == [ONE]
        assert now() == began


async def test_a_pod_does_not_lock_itself_out() -> None:
    async with locking() as world:
        await world.offer("first")
        began = now()

        await world.offer("first")

        assert now() == began


async def test_who_waits_is_answered_in_turn() -> None:
    async with locking() as world:
        await world.offer("first")
        second = asyncio.create_task(world.ask("second"))
        await asyncio.sleep(0.1)
        third = asyncio.create_task(world.ask("third"))
        await asyncio.sleep(0.1)

        world.bind("first", ONE)
        assert (await second).accepted == [TWO, THREE]
        await world.settled()
        assert not third.done()
        world.bind("second", TWO)

        assert (await third).accepted == [THREE]


async def test_who_waited_in_vain_is_woken_when_the_lock_is_gone() -> None:
    """Only kube-schedulers that ask about two pods at once come to this."""
    async with locking() as world:
        await world.offer("first")
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
        await world.offer("first")
        if ended is End.NOT_PLACED:
            world.bind("first", ONE)

        world.set_config(**{name: "0"})

        await world.ends(ended)
        began = now()
        assert (await world.ask("second")).accepted == [ONE, TWO, THREE]
        assert now() == began


@pytest.mark.parametrize("end", [Replica.terminate, Replica.kill])
async def test_the_next_leader_locks_for_a_pod_that_is_not_bound_yet(
    end: Callable[[Replica], None],
) -> None:
    async with locking(2) as world:
        await world.offer("first")
        world.nominate("first", ONE)
        world.select("first", ONE)
        await world.settled()
        leader = world.leader
        end(leader)
        await world.replicas.until(lambda: not leader.is_leading, within=6)
        await world.answers()
        asked = asyncio.create_task(world.ask("second"))
        await asyncio.sleep(1)
        assert not asked.done()

        world.bind("first", ONE)

        assert (await asked).accepted == [TWO, THREE]


async def test_the_next_leader_keeps_the_node_of_a_pod_that_is_bound() -> None:
    async with locking(2) as world:
        await world.offer("first")
        world.bind("first", ONE)
        await world.settled()
        leader = world.leader
        leader.terminate()
        await world.replicas.until(lambda: not leader.is_leading, within=6)
        await world.answers()

        assert (await world.ask("second")).rejected == {ONE: RESERVED}
