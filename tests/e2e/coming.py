"""Pods that come one after another while something happens, and how long each waits for a node."""

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from tests.actors import api as kinds
from tests.actors.api import Object
from tests.e2e.workloads import claim, pod
from tests.e2e.world import World

PAUSE_SECONDS = 0.5


class Coming:
    """Pods with a claim each.

    Attributes:
        created: When each was created, by name, in seconds since the epoch.
    """

    def __init__(self, world: World, *, scheduler: str = "default-scheduler") -> None:
        self.created: dict[str, float] = {}
        self._world = world
        self._scheduler = scheduler
        self._is_over = asyncio.Event()

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Create one each half second, until the end of the block at the latest."""
        task = asyncio.create_task(self._create())
        try:
            yield
        finally:
            self._is_over.set()
            await task

    async def end(self, *, within: float) -> None:
        """Create no more, and wait until all have nodes, but no longer than so many seconds."""
        self._is_over.set()
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(within):
                await self._world.longhorn.cluster.pods.until(self._are_all_bound)

    def waits(self) -> dict[str, float]:
        """Return how long each pod waited for its node, or has waited until now."""
        seen = self._world.seen
        uids = {each["metadata"]["name"]: each["metadata"]["uid"] for each in seen.pods()}
        bound = {name: seen.bound_at.get(uids.get(name, "")) for name in self.created}
        return {name: (bound[name] or time.time()) - at for name, at in self.created.items()}

    def _are_all_bound(self) -> bool:
        nodes = self._world.seen.node_of()
        return all(nodes.get(name) for name in self.created)

    async def _create(self) -> None:
        while not self._is_over.is_set():
            name = f"pod-{len(self.created)}"
            self.created[name] = time.time()
            await self._world.api.create(claim(name, "1Gi"), kinds.CLAIMS)
            await self._world.api.create(scheduled_by(self._scheduler, name), kinds.PODS)
            await asyncio.sleep(PAUSE_SECONDS)


def scheduled_by(scheduler: str, name: str) -> Object:
    """Build a pod with the claim of its name that asks for the extender and for a scheduler."""
    made = pod(name, name)
    made["spec"]["schedulerName"] = scheduler
    return made
