"""Requests begin one in a round of the event loop, and clients in turn."""

import asyncio

import pytest

from app.serving.turns import Turns


class Queue:
    """Requests that take their turns, and who has begun in which round.

    Args:
        known: The clients that are known; if none is given, all are.
    """

    def __init__(self, *known: str) -> None:
        self.turns = Turns(lambda client: not known or client in known, self.now)
        self.begun: list[str] = []
        self._worked_seconds = 0.0

    def now(self) -> float:
        return asyncio.get_running_loop().time() + self._worked_seconds

    async def ask(self, client: str, seconds: float = 0.0) -> bool:
        """Take a turn, and so long without giving way."""
        waited = await self.turns.take(client)
        self.begun.append(client)
        self._worked_seconds += seconds
        return waited

    async def rounds_until(self, count: int) -> int:
        """Let the loop go round until *count* requests have begun."""
        rounds = 0
        while len(self.begun) < count:
            await asyncio.sleep(0)
            rounds += 1
        return rounds


async def test_a_request_alone_does_not_wait() -> None:
    queue = Queue()

    for _ in range(3):
        assert await queue.ask("a") is False
        await queue.rounds_until(1)
        await asyncio.sleep(0)


async def test_others_have_their_turn_between_two_requests() -> None:
    queue = Queue()
    async with asyncio.TaskGroup() as tasks:
        for _ in range(50):
            tasks.create_task(queue.ask("a"))

        assert await queue.rounds_until(50) >= 50


async def test_a_client_waits_for_one_request_of_each_other_client_only() -> None:
    queue = Queue()
    async with asyncio.TaskGroup() as tasks:
        for client in ("busy", "busy", "busy", "busy", "other", "other", "kube-scheduler"):
            tasks.create_task(queue.ask(client))

    assert queue.begun == ["busy", "busy", "other", "kube-scheduler", "busy", "other", "busy"]


async def test_requests_of_one_client_keep_their_order_and_say_that_they_waited() -> None:
    queue = Queue()
    async with asyncio.TaskGroup() as tasks:
        asked = [tasks.create_task(queue.ask("a")) for _ in range(5)]

    assert [each.result() for each in asked] == [False, True, True, True, True]


async def test_a_request_that_is_given_up_takes_no_turn() -> None:
    queue = Queue()
    async with asyncio.TaskGroup() as tasks:
        asked = [tasks.create_task(queue.ask(client)) for client in ("a", "a", "b", "a")]
        await asyncio.sleep(0)
        asked[1].cancel()
        asked[2].cancel()

        assert await queue.rounds_until(2) <= 2

    assert queue.begun == ["a", "a"]


async def test_clients_that_are_not_known_come_after_those_that_are() -> None:
    queue = Queue("known", "too")
    async with asyncio.TaskGroup() as tasks:
        for client in ("first", "stranger", "other", "stranger", "known", "known", "too"):
            tasks.create_task(queue.ask(client))

    assert queue.begun == ["first", "known", "too", "known", "stranger", "other", "stranger"]


@pytest.mark.looptime
async def test_they_take_a_tenth_of_the_time_and_others_need_not_wait_for_that() -> None:
    queue = Queue("known")
    waiting = [asyncio.create_task(queue.ask("stranger", seconds=0.01)) for _ in range(1_000)]
    rounds: list[int] = []

    while queue.now() < 10.0:
        await asyncio.sleep(0.1)
        asked = asyncio.create_task(queue.ask("known"))
        rounds.append(await queue.rounds_until(queue.begun.count("stranger") + len(rounds) + 1))
        await asked

    assert 100 <= queue.begun.count("stranger") <= 120
    assert max(rounds) <= 2
    for each in waiting:
        each.cancel()
    await asyncio.wait(waiting)


@pytest.mark.looptime
async def test_one_that_is_not_known_waits_for_nothing_else() -> None:
    queue = Queue("known")

    for _ in range(10):
        await asyncio.sleep(1)
        assert await queue.ask("stranger", seconds=0.1) is False
        await asyncio.sleep(0)
