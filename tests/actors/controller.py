"""A work queue with workers, as every Kubernetes controller has one.

Keys wait in order, each at most once; one key is never worked on twice at a time; a key that is
added while it is worked on is worked on again.
"""

import asyncio
from collections.abc import Awaitable, Callable, Hashable
from typing import Generic, NoReturn, TypeVar

from tests.actors.api import RefusedError

K = TypeVar("K", bound=Hashable)

CONFLICT = 409
_CONFLICT_SECONDS = 0.1


class Controller(Generic[K]):
    """Brings about what is wished for, key by key.

    Args:
        reconcile: Does the work for a key; returns after how many seconds to look again, or None.
            If somebody else wrote first (409) it is looked at again soon; any other error ends
            the controller, since it would come again and again.
        workers: How many keys are worked on at a time.
    """

    def __init__(self, reconcile: Callable[[K], Awaitable[float | None]], *, workers: int) -> None:
        self._reconcile = reconcile
        self._workers = workers
        self._waiting: asyncio.Queue[K] = asyncio.Queue()
        self._queued: set[K] = set()
        self._busy: set[K] = set()
        self._later: dict[K, asyncio.TimerHandle] = {}

    def add(self, key: K) -> None:
        """Have *key* looked at."""
        if key not in self._queued:
            self._queued.add(key)
            if key not in self._busy:
                self._waiting.put_nowait(key)

    def add_after(self, key: K, seconds: float) -> None:
        """Have *key* looked at in a while, or when that was asked for already if it is sooner."""
        loop = asyncio.get_running_loop()
        waiting = self._later.get(key)
        if waiting is not None:
            if waiting.when() <= loop.time() + seconds:
                return
            waiting.cancel()
        self._later[key] = loop.call_later(seconds, self._come_due, key)

    async def run(self) -> NoReturn:
        """Work until cancelled."""
        async with asyncio.TaskGroup() as tasks:
            for _ in range(self._workers):
                tasks.create_task(self._work())
        raise AssertionError("workers do not end")

    def _come_due(self, key: K) -> None:
        del self._later[key]
        self.add(key)

    async def _work(self) -> NoReturn:
        while True:
            key = await self._waiting.get()
            self._queued.discard(key)
            self._busy.add(key)
            try:
                again = await self._reconcile(key)
            except RefusedError as error:
                if error.status != CONFLICT:
                    raise
                again = _CONFLICT_SECONDS
            finally:
                self._busy.discard(key)
            if key in self._queued:
                self._waiting.put_nowait(key)
            if again is not None:
                self.add_after(key, again)
