"""What every process does that serves: from its start to its end, by which clock, told by whom."""

import asyncio
import gc
import signal
import time
from collections.abc import Awaitable, Callable, Coroutine, Sequence

import structlog
import uvicorn
from prometheus_client import (
    CollectorRegistry,
    GCCollector,
    PlatformCollector,
    ProcessCollector,
    disable_created_metrics,
)

log = structlog.get_logger()

_HAND_OVER_SECONDS = 2.0
"""Most that each step of handing over may take."""

Serve = Callable[[asyncio.Event], Coroutine[None, None, None]]
"""Serves until the event is set, and then until the requests under way are answered."""


def run_until_told(main: Callable[[asyncio.Event], Awaitable[None]]) -> None:
    """Run *main*, whose event is set at SIGTERM or SIGINT, to its end."""

    async def run() -> None:
        stop = asyncio.Event()
        for number in (signal.SIGTERM, signal.SIGINT):
            asyncio.get_running_loop().add_signal_handler(number, stop.set)
        await main(stop)
        log.info("serve.stopped")

    pass_over_modules()
    loop_factory = uvicorn.Config("", log_config=None).get_loop_factory()
    with asyncio.Runner(loop_factory=loop_factory) as runner:
        runner.run(run())


def pass_over_modules() -> None:
    """Have the garbage collector pass over what is imported: it stays, and looking through it again
    and again would hold up the event loop each time."""
    gc.collect()
    gc.freeze()


async def live(
    stop: asyncio.Event,
    serve: Serve,
    loops: Callable[[], Sequence[Coroutine[None, None, None]]],
    *,
    stop_working: Callable[[], Awaitable[None]],
    hand_over: Sequence[Callable[[], Awaitable[object]]],
) -> None:
    """Work until told to stop, and then hand over to another instance.

    If a part fails, the others end, too, and what this instance has is given back all the same.

    Args:
        stop: Set when the process shall end.
        serve: Goes on until all is handed over.
        loops: Returns what must run until then; none of it ends by itself.
        stop_working: Awaited while the loops still run.
        hand_over: Steps after the loops have ended; each has two seconds.

    Raises:
        ExceptionGroup: What a part failed with.
    """
    is_over = asyncio.Event()
    is_handed_over = False
    try:
        serving = serve(is_over)
        async with asyncio.TaskGroup() as outer:
            outer.create_task(serving)
            async with asyncio.TaskGroup() as inner:
                running = [inner.create_task(loop) for loop in loops()]
                await stop.wait()
                await stop_working()
                for each in running:
                    each.cancel()
            is_handed_over = True
            await _do(hand_over)
            is_over.set()
    finally:
        if not is_handed_over:  # a part has failed
            await _do(hand_over)


async def _do(steps: Sequence[Callable[[], Awaitable[object]]]) -> None:
    for step in steps:
        try:
            async with asyncio.timeout(_HAND_OVER_SECONDS):
                await step()
        except TimeoutError:
            log.warning("instance.not_handed_over", step=getattr(step, "__name__", ""))


def new_registry() -> CollectorRegistry:
    """Return a registry with what every process shows of itself."""
    disable_created_metrics()  # type: ignore[no-untyped-call]  # a start time for every series
    registry = CollectorRegistry()
    ProcessCollector(registry=registry)
    PlatformCollector(registry=registry)
    GCCollector(registry=registry)
    return registry


def clock() -> float:
    """Return seconds that also pass while the machine is suspended (CLOCK_BOOTTIME of Linux)."""
    return time.clock_gettime(getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC))
