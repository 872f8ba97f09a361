"""Actors one at a time, against an API server in memory that the test writes to itself."""

import asyncio
from collections.abc import AsyncIterator, Awaitable
from contextlib import asynccontextmanager
from random import Random
from typing import Protocol

from tests.actors.api import Api, Informer, Kind, Object
from tests.fakes import FakeApiServer


class Part(Protocol):
    """What works until it is cancelled."""

    def run(self) -> Awaitable[object]: ...


class Bench:
    """An API server, and the caches that actors share.

    Attributes:
        server: Where the test reads and writes.
        api: What actors ask.
    """

    def __init__(self, *, bookmark_seconds: float = 60.0) -> None:
        self.server = FakeApiServer(Random(0), bookmark_seconds=bookmark_seconds)
        self.api = Api(self.server.client("actor"))
        self._informers: dict[Kind, Informer] = {}

    def informer(self, kind: Kind) -> Informer:
        """Return the cache of a kind, which is filled while the bench runs."""
        return self._informers.setdefault(kind, Informer(self.api, kind))

    def put(self, kind: Kind, obj: Object) -> Object:
        """Create or replace an object."""
        return self.server.put({"apiVersion": kind.api_version, "kind": kind.kind, **obj})

    @asynccontextmanager
    async def running(self, *parts: Part) -> AsyncIterator[None]:
        """Fill the caches, and let *parts* work for as long as the block goes on."""
        async with asyncio.TaskGroup() as tasks:
            work = [tasks.create_task(_run(each)) for each in self._informers.values()]
            for informer in self._informers.values():
                await informer.synced.wait()
            work += [tasks.create_task(_run(each)) for each in parts]
            yield
            for task in work:
                task.cancel()
        await self.api.close()


async def settle() -> None:
    """Wait until nothing is left to do but what waits for time to pass."""
    await asyncio.sleep(0.01)


async def _run(part: Part) -> None:
    await part.run()
