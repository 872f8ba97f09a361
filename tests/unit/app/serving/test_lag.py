"""The lag of the event loop is by how much a sleep was too long."""

import asyncio

import pytest

from app.serving.lag import INTERVAL_SECONDS, watch_lag

pytestmark = pytest.mark.looptime


class Clock:
    """Time of the loop, and what passes while something keeps it from going round."""

    def __init__(self) -> None:
        self.held_up_seconds = 0.0

    def __call__(self) -> float:
        return asyncio.get_running_loop().time() + self.held_up_seconds


async def test_it_is_observed_once_for_each_time_that_something_takes_long():
    clock, observed = Clock(), list[float]()
    watching = asyncio.create_task(watch_lag(observed.append, clock))
    await asyncio.sleep(2.5 * INTERVAL_SECONDS)
    clock.held_up_seconds += 0.7
    await asyncio.sleep(2 * INTERVAL_SECONDS)
    watching.cancel()

    assert observed == pytest.approx([0, 0, 0.7, 0])
