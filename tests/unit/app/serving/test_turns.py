"""Requests begin one in a round of the event loop, and clients in turn."""

import asyncio

from app.serving.turns import Turns


class Queue:
    """Requests that take their turns, and who has begun in which round."""

    def __init__(self) -> None:
        self.turns = Turns()
        self.begun: list[str] = []

    async def ask(self, client: str) -> bool:
        waited = await self.turns.take(client)
        self.begun.append(client)
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
