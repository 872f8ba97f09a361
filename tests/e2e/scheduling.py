"""Pods on their way to nodes, and what comes of it."""

import time
from typing import TYPE_CHECKING

from tests.e2e.extender import PROBE
from tests.e2e.outcome import Outcome, placement
from tests.e2e.waiting import until

if TYPE_CHECKING:
    from tests.e2e.world import World

BIND_SECONDS = 60.0


class Scheduling:
    """Pods on their way to nodes."""

    def __init__(self, world: "World", pods: int, began: float, attempts: float) -> None:
        self.began = began
        self._world = world
        self._pods = pods
        self._attempts = attempts

    def bound(self) -> int:
        return sum(bool(node) for node in self._world.seen.node_of().values())

    async def attempts(self) -> int:
        """Return how many scheduling attempts there were since the wish."""
        return int(await self._world.attempts() - self._attempts)

    def bound_at(self) -> list[float]:
        """Return when each pod that has a node got it, in seconds since they were wished for."""
        seen = self._world.seen
        times = (seen.bound_at.get(each["metadata"]["uid"]) for each in seen.pods())
        return sorted(at - self.began for at in times if at is not None)

    async def all_bound(self, *, within: float = BIND_SECONDS) -> float:
        """Wait until all pods have nodes; return the seconds since they were wished for."""
        await until(lambda: self.bound() == self._pods, within=within, what=self._state)
        return time.time() - self.began

    async def outcome(self, *, within: float = BIND_SECONDS) -> Outcome:
        """Wait until all pods have nodes and Longhorn has come to rest; say what came of it."""
        await self.all_bound(within=within)
        bound_at = self.bound_at()
        await self._world.settle()
        calls = [call for call in self._world.extender.calls(since=self.began) if call.pod != PROBE]
        return Outcome(
            placement=placement(self._world.seen.pods()),
            bound_seconds=bound_at[-1],
            bound_at=bound_at,
            attempts=await self.attempts(),
            filter_calls=len(calls),
            longest_filter_seconds=max((call.seconds for call in calls), default=0.0),
            without_room=self._world.seen.without_room(),
            elsewhere=self._world.seen.elsewhere(),
            overcommitted_disks=len(self._world.seen.overcommitted_disks()),
        )

    def _state(self) -> str:
        return "; ".join(
            f"{pod['metadata']['name']}: {pod['spec'].get('nodeName') or pod['status']}"
            for pod in self._world.seen.pods()
        )
