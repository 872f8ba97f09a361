"""The work queue: what is worked on, when, and how often."""

import asyncio
from collections.abc import Awaitable, Callable

import pytest

from tests.actors.api import RefusedError
from tests.actors.controller import Controller
from tests.unit.actors.world import VIRTUAL_TIME

pytestmark = VIRTUAL_TIME

WORK_SECONDS = 1.0


class Work:
    """Work that takes a second and is written down: the key, and when it began.

    Attributes:
        done: What was worked on so far, in order of beginning.
        answers: What the next looks end with: seconds, nothing, or an error.
        most_at_once: The most looks at a time, at any key and at one.
    """

    def __init__(self, *answers: float | Exception | None) -> None:
        self.done: list[tuple[str, float]] = []
        self.answers = [*answers]
        self.most_at_once = (0, 0)
        self._busy: list[str] = []
        self._began = asyncio.get_running_loop().time()

    async def __call__(self, key: str) -> float | None:
        self.done.append((key, asyncio.get_running_loop().time() - self._began))
        self._busy.append(key)
        now = (len(self._busy), self._busy.count(key))
        self.most_at_once = (max(self.most_at_once[0], now[0]), max(self.most_at_once[1], now[1]))
        await asyncio.sleep(WORK_SECONDS)
        self._busy.remove(key)
        answer = self.answers.pop(0) if self.answers else None
        if isinstance(answer, Exception):
            raise answer
        return answer


async def run_for(
    seconds: float,
    work: Callable[[str], Awaitable[float | None]],
    *wishes: tuple[float, Callable[[Controller[str]], None]],
    workers: int = 1,
) -> None:
    """Let a controller work, and do things to it at some times."""
    controller = Controller(work, workers=workers)
    async with asyncio.TaskGroup() as tasks:
        running = tasks.create_task(controller.run())
        for at, wish in wishes:
            asyncio.get_running_loop().call_later(at, wish, controller)
        await asyncio.sleep(seconds)
        running.cancel()


def add(*keys: str) -> Callable[[Controller[str]], None]:
    def wish(controller: Controller[str]) -> None:
        for key in keys:
            controller.add(key)

    return wish


def add_after(key: str, seconds: float) -> Callable[[Controller[str]], None]:
    return lambda controller: controller.add_after(key, seconds)


def refusal(status: int) -> RefusedError:
    return RefusedError("PUT", "/any", status, "why")


async def test_keys_are_worked_on_in_order() -> None:
    work = Work()

    await run_for(10, work, (0, add("b", "a", "c")))

    assert work.done == [("b", 0), ("a", 1), ("c", 2)]


async def test_a_key_that_waits_is_not_queued_again() -> None:
    work = Work()

    await run_for(10, work, (0, add("a", "b", "b", "a")), (0.5, add("b", "b")))

    assert work.done == [("a", 0), ("b", 1)]


async def test_as_many_keys_as_there_are_workers_are_worked_on_at_a_time() -> None:
    work = Work()

    await run_for(10, work, (0, add("a", "b", "c")), workers=2)

    assert work.done == [("a", 0), ("b", 0), ("c", 1)]
    assert work.most_at_once == (2, 1)


async def test_one_key_is_never_worked_on_twice_at_a_time() -> None:
    work = Work()

    await run_for(10, work, *((at, add("a")) for at in (0, 0.2, 0.4, 0.6)), workers=4)

    assert work.done == [("a", 0), ("a", 1)]
    assert work.most_at_once == (1, 1)


async def test_a_key_that_is_added_again_waits_its_turn() -> None:
    work = Work()

    await run_for(10, work, (0, add("a", "b", "c")), (0.5, add("a")))

    assert work.done == [("a", 0), ("b", 1), ("c", 2), ("a", 3)]


@pytest.mark.parametrize(
    ("waits", "at"),
    [
        pytest.param((3, 5), 3, id="sooner-first"),
        pytest.param((5, 3), 3, id="later-first"),
        pytest.param((3, 3), 3, id="the-same"),
    ],
)
async def test_the_earliest_time_counts(waits: tuple[float, float], at: float) -> None:
    work = Work()

    await run_for(20, work, *((0, add_after("a", seconds)) for seconds in waits))

    assert work.done == [("a", at)]


async def test_keys_wait_each_by_itself() -> None:
    work = Work()

    await run_for(20, work, (0, add_after("a", 3)), (0, add_after("b", 7)))

    assert work.done == [("a", 3), ("b", 7)]


async def test_what_comes_due_while_it_is_worked_on_is_worked_on_again() -> None:
    work = Work()

    await run_for(20, work, (0, add_after("a", 3)), (2.5, add("a")))

    assert work.done == [("a", 2.5), ("a", 3.5)]


async def test_work_says_when_to_look_again() -> None:
    work = Work(4.0, 0.0, None)

    await run_for(60, work, (0, add("a")))

    assert work.done == [("a", 0), ("a", 5), ("a", 6)]


async def test_who_was_overtaken_looks_again_soon() -> None:
    work = Work(refusal(409), refusal(409))

    await run_for(60, work, (0, add("a")))

    assert [key for key, _ in work.done] == ["a"] * 3
    assert [at for _, at in work.done] == pytest.approx([0, 1.1, 2.2], abs=0.001)


@pytest.mark.parametrize(
    "error", [refusal(403), refusal(422), ValueError("any")], ids=["forbidden", "invalid", "other"]
)
async def test_any_other_error_ends_the_controller(error: Exception) -> None:
    work = Work(None, error)
    controller = Controller(work, workers=2)
    for key in "abc":
        controller.add(key)

    with pytest.raises(ExceptionGroup) as caught:
        await controller.run()

    assert caught.value.exceptions == (error,)


async def test_nothing_is_worked_on_after_the_end() -> None:
    work = Work(2.0)

    await run_for(1.5, work, (0, add("a")), (1.25, add("b")))
    await asyncio.sleep(60)

    assert work.done == [("a", 0), ("b", 1.25)]
