"""The work queue of the played controllers loses nothing: the simulation would not miss it."""

import asyncio

import pytest

from tests.actors.api import RefusedError
from tests.actors.controller import Controller
from tests.unit.actors.world import VIRTUAL_TIME

pytestmark = VIRTUAL_TIME


class Work:
    """Work on keys that takes a second, and what it ends with; nothing in the end.

    Attributes:
        done: The keys, and when the work on each began.
    """

    def __init__(self, *ends: float | Exception) -> None:
        self.done: list[tuple[str, float]] = []
        self._ends = [*ends]

    async def __call__(self, key: str) -> float | None:
        self.done.append((key, round(asyncio.get_running_loop().time(), 1)))
        await asyncio.sleep(1)
        end = self._ends.pop(0) if self._ends else None
        if isinstance(end, Exception):
            raise end
        return end


@pytest.mark.parametrize(
    ("end", "again"),
    [
        pytest.param(4.0, 5.0, id="as-the-work-says"),
        pytest.param(RefusedError("PUT", "/any", 409, "why"), 1.1, id="overtaken"),
    ],
)
async def test_what_is_not_done_is_looked_at_again(end: float | Exception, again: float) -> None:
    work = Work(end)
    controller = Controller(work, workers=1)
    async with asyncio.TaskGroup() as tasks:
        running = tasks.create_task(controller.run())
        controller.add("a")
        await asyncio.sleep(60)
        running.cancel()

    assert work.done == [("a", 0.0), ("a", again)]


async def test_what_is_added_while_it_is_worked_on_is_worked_on_again_and_never_at_once() -> None:
    work = Work()
    controller = Controller(work, workers=2)
    async with asyncio.TaskGroup() as tasks:
        running = tasks.create_task(controller.run())
        for key in ("a", "b"):
            controller.add(key)
        for at, key in ((0.2, "a"), (0.4, "a"), (0.6, "c")):
            asyncio.get_running_loop().call_later(at, controller.add, key)
        await asyncio.sleep(60)
        running.cancel()

    assert work.done == [("a", 0.0), ("b", 0.0), ("c", 1.0), ("a", 1.0)]
