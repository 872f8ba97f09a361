"""Waiting for something that other processes bring about."""

import asyncio
import time
from collections.abc import Awaitable, Callable

GLANCE_SECONDS = 0.05


async def until(
    condition: Callable[[], Awaitable[bool] | bool],
    *,
    within: float,
    what: Callable[[], object] | str = "",
) -> float:
    """Wait for *condition*; return how many seconds it took.

    Args:
        condition: Looked at twenty times a second.
        within: Seconds after which the test has failed.
        what: What was waited for, or a function that says how far it got.
    """
    began = time.monotonic()
    while True:
        result = condition()
        if await result if isinstance(result, Awaitable) else result:
            return time.monotonic() - began
        took = time.monotonic() - began
        if took > within:
            state = what() if callable(what) else what
            raise AssertionError(f"not within {within:g} s: {state or condition}")
        await asyncio.sleep(GLANCE_SECONDS)
