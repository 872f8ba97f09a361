"""Node managers, as far as they keep a DiskSchedule for each disk.

Source: longhorn-manager PR 4366 controller/node_controller.go.
"""

from typing import NoReturn

from tests.actors.api import DISK_SCHEDULES, Object, key_of
from tests.actors.controller import Controller
from tests.actors.longhorn.cluster import Cluster
from tests.actors.longhorn.schedules import DELETE_ANNOTATION, left_over, missing

WORKERS = 5


class Disks:
    """Creates and deletes DiskSchedules as disks come and go."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self._controller: Controller[str] = Controller(self._reconcile, workers=WORKERS)

    async def run(self) -> NoReturn:
        """Work until cancelled; the caches are filled."""
        assert self._cluster.disk_schedules is not None
        self._cluster.nodes.handlers.append(self._on_node)
        self._cluster.disk_schedules.handlers.append(self._on_schedule)
        for node in [*self._cluster.nodes.objects.values()]:
            self._on_node(None, node)
        await self._controller.run()

    def _on_node(self, _old: Object | None, new: Object | None) -> None:
        if new is not None:
            self._controller.add(new["metadata"]["name"])

    def _on_schedule(self, old: Object | None, new: Object | None) -> None:
        """Create an object anew that is gone."""
        if old is not None and new is None:
            self._controller.add(old["spec"]["nodeID"])

    async def _reconcile(self, name: str) -> None:
        cluster = self._cluster
        assert cluster.disk_schedules is not None
        node = cluster.nodes.get(name, cluster.namespace)
        if node is None:
            return
        known = cluster.disk_schedules.objects
        for schedule in missing(node, {key.name for key in known}):
            await cluster.api.ensure(schedule, DISK_SCHEDULES)
        for schedule in [*left_over(node, known.values())]:
            change = {"metadata": {"annotations": {DELETE_ANNOTATION: ""}}}
            await cluster.api.patch(DISK_SCHEDULES, key_of(schedule), change)
            await cluster.api.delete(DISK_SCHEDULES, key_of(schedule))
