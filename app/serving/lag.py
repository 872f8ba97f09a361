"""How late the event loop is: what shows that something runs too long without giving way."""

import asyncio
from collections.abc import Callable
from typing import NoReturn

INTERVAL_SECONDS = 0.05
"""What runs for longer is never missed."""


async def watch_lag(observe: Callable[[float], None], clock: Callable[[], float]) -> NoReturn:
    """Sleep again and again, and observe by how much that was too long, until cancelled.

    Args:
        observe: Called with seconds, after each sleep.
        clock: Monotonic seconds.
    """
    while True:
        began = clock()
        await asyncio.sleep(INTERVAL_SECONDS)
        observe(max(0.0, clock() - began - INTERVAL_SECONDS))
