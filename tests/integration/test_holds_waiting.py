"""An answer waits if, and only if, the choice of another pod's node may change it."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from tests.integration.instances import VIRTUAL_TIME, Answer
from tests.integration.scheduling import HELD, ONE, THREE, TWO, World, serving

pytestmark = VIRTUAL_TIME

WAIT_SECONDS = 1.0
PROMPTLY_SECONDS = 0.1


@asynccontextmanager
async def with_open_hold(**settings: Any) -> AsyncIterator[World]:
    """Serve, with a first pod that may go to either of two nodes and leaves no room there."""
    async with serving(nodes=(ONE, TWO), wait_seconds=WAIT_SECONDS, **settings) as world:
        await world.add_pods("first", "second", "third")
        await world.accept("first")
        yield world


class Asked:
    """A question on its way."""

    def __init__(self, world: World, pod: str, *nodes: str) -> None:
        self._loop = asyncio.get_running_loop()
        self._began = self._loop.time()
        self._task = asyncio.create_task(world.ask(pod, *nodes))

    @property
    def is_waiting(self) -> bool:
        return not self._task.done()

    async def answer(self) -> tuple[Answer, float]:
        """Return the answer, and after how long it came if nobody asked for it before."""
        answer = await self._task
        return answer, self._loop.time() - self._began

    @classmethod
    async def and_waits(cls, world: World, pod: str, *nodes: str) -> "Asked":
        """Ask, and see that there is no answer at once."""
        asked = cls(world, pod, *nodes)
        await asyncio.sleep(0.2)
        assert asked.is_waiting
        return asked


async def test_a_choice_that_leaves_room_is_answered_at_once() -> None:
    async with with_open_hold() as world:
        asked = await Asked.and_waits(world, "second")

        world.nominate("first", ONE)

        answer, seconds = await asked.answer()
        assert (answer.accepted, answer.rejected) == ([TWO], {ONE: HELD})
        assert seconds < 0.2 + PROMPTLY_SECONDS
        assert await world.held_nodes("second") == (TWO,)


async def test_a_pod_that_is_deleted_leaves_its_room_at_once() -> None:
    async with with_open_hold() as world:
        asked = await Asked.and_waits(world, "second")

        world.delete_pod("first")

        answer, seconds = await asked.answer()
        assert answer.accepted == [ONE, TWO]
        assert seconds < 0.2 + PROMPTLY_SECONDS


async def test_a_wait_ends_with_the_answer_that_was_to_be_given() -> None:
    async with with_open_hold() as world:
        answer, seconds = await Asked(world, "second").answer()

        assert answer.rejected == {ONE: HELD, TWO: HELD}
        assert seconds == pytest.approx(WAIT_SECONDS, abs=0.01)


async def test_a_claim_that_is_deleted_meanwhile_is_named() -> None:
    async with with_open_hold() as world:
        asked = await Asked.and_waits(world, "second")
        world.delete_claim("second")

        world.nominate("first", ONE)

        answer, _ = await asked.answer()
        assert "default/second" in answer.error


async def test_a_leader_that_ends_lets_nobody_wait() -> None:
    async with with_open_hold(count=2) as world:
        asked = await Asked.and_waits(world, "second")

        world.leader.terminate()

        answer, seconds = await asked.answer()
        assert answer.error == "this instance of the extender is shutting down"
        assert answer.closes
        assert seconds < 0.2 + PROMPTLY_SECONDS


async def test_who_loses_the_lease_lets_nobody_wait() -> None:
    async with with_open_hold() as world:
        asked = await Asked.and_waits(world, "second")
        lease = world.processes.lease()
        assert lease is not None
        lease["spec"]["holderIdentity"] = "stranger"

        world.server.put(lease)

        answer, _ = await asked.answer()
        assert answer.error == "this instance of the extender is not the leader"
        assert answer.closes


async def test_what_was_held_before_stands_while_a_pod_waits() -> None:
    async with serving(wait_seconds=WAIT_SECONDS) as world:
        await world.add_pods("first", "second", "third")
        await world.accept("first", ONE, TWO)
        await world.accept("second", THREE)
        asked = await Asked.and_waits(world, "second", ONE, TWO)
        assert not (await world.ask("third", THREE)).accepted

        world.nominate("first", ONE)

        answer, _ = await asked.answer()
        assert answer.accepted == [TWO]
        assert await world.held_nodes("second") == (TWO,)
        assert (await world.ask("third", THREE)).accepted == [THREE]
