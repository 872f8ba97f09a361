"""Instance managers of all nodes: the processes of replicas run and stop as they shall.

Plays longhorn-manager controller/instance_handler.go and what it talks to. Engines have no object
here; their time is in `Delays.attach` and `Delays.detach`.
"""

from typing import NoReturn

from tests.actors.api import REPLICAS, Object
from tests.actors.controller import Controller
from tests.actors.longhorn.cluster import Cluster, Timers

WORKERS = 10
_AGAIN_SECONDS = 0.5


class Instances:
    """Keeps status.currentState of replicas as spec.desireState says."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self._timers = Timers(cluster.draw)
        self._controller: Controller[str] = Controller(self._reconcile, workers=WORKERS)

    async def run(self) -> NoReturn:
        """Work until cancelled; the caches are filled."""
        self._cluster.replicas.handlers.append(self._on_replica)
        for replica in [*self._cluster.replicas.objects.values()]:
            self._on_replica(None, replica)
        await self._controller.run()

    def _on_replica(self, old: Object | None, new: Object | None) -> None:
        replica = new or old
        assert replica is not None
        self._controller.add(replica["metadata"]["name"])

    async def _reconcile(self, name: str) -> float | None:
        cluster = self._cluster
        replica = cluster.replicas.get(name, cluster.namespace)
        wished = replica["spec"]["desireState"] if replica else ""
        if replica is None or replica["status"]["currentState"] == wished:
            self._timers.stop(name)
            return None
        node = replica["spec"]["nodeID"]
        if wished == "running" and not cluster.runners.starts_engine(replica, node):
            return _AGAIN_SECONDS
        left = self._timers.left(name, wished, span=cluster.delays.process)
        if left:
            return left
        status = {"currentState": wished, "started": wished == "running"}
        await cluster.api.patch(REPLICAS, cluster.key(name), {"status": status})
        return None
