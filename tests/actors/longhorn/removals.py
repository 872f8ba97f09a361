"""Replicas that are being removed: their processes stop, and their data go."""

from typing import NoReturn

from tests.actors.api import REPLICAS
from tests.actors.controller import Controller
from tests.actors.longhorn.cluster import Cluster
from tests.actors.longhorn.requests import Requests
from tests.actors.longhorn.schedules import Asker


class Removals:
    """Removes replicas, each a while after that was wished for.

    Attributes:
        begun: Their names, also of those that are gone; names do not come again.
    """

    def __init__(self, cluster: Cluster, requests: Requests, *, workers: int) -> None:
        self.begun: set[str] = set()
        self._cluster = cluster
        self._requests = requests
        self._controller: Controller[str] = Controller(self._remove, workers=workers)

    async def run(self) -> NoReturn:
        """Work until cancelled."""
        await self._controller.run()

    def begin(self, replica: str) -> None:
        """Have a replica removed."""
        if replica not in self.begun:
            self.begun.add(replica)
            seconds = self._cluster.draw(self._cluster.delays.replica_cleanup)
            self._controller.add_after(replica, seconds)

    async def _remove(self, replica: str) -> None:
        """Remove a replica, which first asks its disk for no room any more.

        Source: controller/replica_controller.go syncReplica, which alone does that.
        """
        if self._cluster.disk_schedules is not None:
            found = await self._cluster.api.get(REPLICAS, replica, self._cluster.namespace)
            if found is not None and found["spec"]["diskID"]:
                await self._requests.release(found["spec"]["diskID"], Asker.REPLICA, replica)
        await self._cluster.api.delete(REPLICAS, self._cluster.key(replica))
