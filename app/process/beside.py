"""A thread beside the answers, with an event loop of its own.

An answer may take seconds of CPU in one go. What must not wait for it runs here: the lease, and who
asks for health and metrics. CPython runs one thread at a time and gives another its turn after 5 ms
(`sys.getswitchinterval`), so a step here that needs no more than some turns is late by some of
these. In return it may not take much: whoever reaches the port of the metrics could ask all day.
"""

import asyncio
import time
from collections.abc import Coroutine
from threading import Thread
from typing import Any, Self, TypeVar

import uvicorn

T = TypeVar("T")

SHARE = 0.2
"""Of the time, for all that runs here."""
_INTERVAL_SECONDS = 0.02
_LONGEST_REST_SECONDS = 0.5
"""Far less than the lease has."""


class Beside:
    """The thread; it ends with the context."""

    def __init__(self) -> None:
        self._loop = (
            uvicorn.Config("", log_config=None).get_loop_factory() or asyncio.new_event_loop
        )()
        self._thread = Thread(target=self._run, name="beside", daemon=True)

    def __enter__(self) -> Self:
        """Start it."""
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        """End it; nothing runs there any more."""
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    async def run(self, work: Coroutine[Any, Any, T]) -> T:
        """Run *work* there, and wait for it here: until it has ended, also if this is cancelled."""
        here, over = asyncio.get_running_loop(), asyncio.Event()
        tasks = list[asyncio.Task[T]]()

        def begin() -> None:
            task = self._loop.create_task(work)
            task.add_done_callback(lambda _: here.call_soon_threadsafe(over.set))
            tasks.append(task)

        def cancel() -> None:
            tasks[0].cancel()

        self._loop.call_soon_threadsafe(begin)
        try:
            await over.wait()
        except asyncio.CancelledError:
            self._loop.call_soon_threadsafe(cancel)
            await over.wait()
            raise
        return tasks[0].result()

    def _run(self) -> None:
        asyncio.set_event_loop(self._loop)
        spent, at = time.thread_time(), time.monotonic()

        def rest() -> None:
            """Stand still for so long that the thread takes no more than its share."""
            nonlocal spent, at
            time.sleep(rest_seconds(time.thread_time() - spent, time.monotonic() - at))
            spent, at = time.thread_time(), time.monotonic()
            self._loop.call_later(_INTERVAL_SECONDS, rest)

        rest()
        self._loop.run_forever()


def rest_seconds(took_seconds: float, passed_seconds: float) -> float:
    """Return for how long to rest after so much CPU in so much time."""
    return min(max(0.0, took_seconds / SHARE - passed_seconds), _LONGEST_REST_SECONDS)
