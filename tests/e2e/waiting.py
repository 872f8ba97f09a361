"""Waiting for something that other processes bring about."""

import asyncio
import time
from collections.abc import Awaitable, Callable

GLANCE_SECONDS = 0.05

Condition = Callable[[], Awaitable[bool] | bool]


async def until(
    condition: Condition,
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
    try:
        async with asyncio.timeout(within):
            while not await _holds(condition):  # noqa: ASYNC110 (it happens in other processes)
                await asyncio.sleep(GLANCE_SECONDS)
    except TimeoutError as error:
        state = what() if callable(what) else what
        raise AssertionError(f"not within {within:g} s: {state or condition}") from error
    return time.monotonic() - began


async def _holds(condition: Condition) -> bool:
    result = condition()
    return await result if isinstance(result, Awaitable) else result
