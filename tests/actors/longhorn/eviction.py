"""Evictions: replicas that shall leave a node or disk, and drains that wait for that.

Which replicas, and for how long a drain is blocked, is decided in `longhorn`. The volume
controller brings about the rest: a replacement, and the end of the one that leaves.
"""

import asyncio
from typing import NoReturn

import longhorn
from tests.actors.api import REPLICAS, Object
from tests.actors.controller import Controller
from tests.actors.longhorn.cluster import Cluster
from tests.actors.longhorn.nodes import Nodes
from tests.actors.longhorn.placement import Placement
from tests.actors.longhorn.records import read_replica, read_volume, recorded
from tests.actors.longhorn.views import View
from tests.actors.longhorn.wishes import Wishes

WORKERS = 5


class Evictions:
    """Asks replicas to leave, and has volumes that no pod uses attached for that."""

    def __init__(
        self, cluster: Cluster, placement: Placement, wishes: Wishes, nodes: Nodes, view: View
    ) -> None:
        self._cluster = cluster
        self._view = view
        self._placement = placement
        self._wishes = wishes
        self._managers = nodes
        self._nodes: Controller[str] = Controller(self._evict, workers=WORKERS)
        self._volumes: Controller[str] = Controller(self._attach, workers=WORKERS)

    async def run(self) -> NoReturn:
        """Work until cancelled; the caches are filled."""
        cluster = self._cluster
        self._managers.synced.append(self._on_synced)
        cluster.nodes.handlers.append(self._on_node)
        cluster.replicas.handlers.append(self._on_replica)
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self._nodes.run())
            tasks.create_task(self._volumes.run())
        raise AssertionError("controllers do not end")

    def blocks_drain(self, node: str) -> bool:
        """Say whether a drain of *node* waits for its instance manager.

        It does while volumes are attached there, and while it keeps replicas that node-drain-policy
        wants kept (longhorn-manager controller/instance_manager_controller.go).
        """
        volumes = map(read_volume, self._cluster.volumes.objects.values())
        if any(volume.current_node == node for volume in volumes):
            return True
        settings = longhorn.read_settings(self._cluster.setting_values())
        if settings.unreadable is not None:
            return True
        replicas = self._of_volumes_on(node)
        guarded = self._guarded()
        return not longhorn.drain_may_end(
            longhorn.NodeName(node), replicas, settings, guarded=guarded
        )

    def _on_synced(self, node: str) -> None:
        self._nodes.add_after(node, self._cluster.draw(self._cluster.delays.eviction))

    def _on_node(self, _old: Object | None, _new: Object | None) -> None:
        """Try again what no disk would take."""
        for replica in self._cluster.replicas.objects.values():
            if read_replica(replica).is_evicting:
                self._volumes.add(replica["spec"]["volumeName"])

    def _on_replica(self, old: Object | None, new: Object | None) -> None:
        replica = new or old
        assert replica is not None
        self._volumes.add(replica["spec"]["volumeName"])

    async def _evict(self, name: str) -> None:
        """Set or take back evictionRequested of the replicas on a node."""
        node = self._cluster.nodes.get(name, self._cluster.namespace)
        settings = longhorn.read_settings(self._cluster.setting_values())
        if node is None or settings.unreadable is not None:
            return
        replicas = self._of_volumes_on(name)
        for replica in replicas:
            if replica.node != name:
                continue
            evicts = longhorn.needs_eviction(
                replica,
                replicas,
                recorded(node, longhorn.Node),
                settings,
                cordoned=name in self._managers.cordoned,
                guarded=self._guarded(),
            )
            if evicts != replica.evicting:
                change = {"spec": {"evictionRequested": evicts}}
                await self._cluster.api.patch(REPLICAS, self._cluster.key(replica.name), change)

    async def _attach(self, name: str) -> float | None:
        """Say where a volume with leaving replicas is to be attached if no pod needs it.

        That is with its owner, and only begun if some disk would take a replacement.
        """
        volume = self._cluster.volumes.get(name, self._cluster.namespace)
        known = self._cluster.replicas.objects.values()
        replicas = [each for each in known if each["spec"]["volumeName"] == name]
        leaves = any(read_replica(each).is_evicting for each in replicas)
        if volume is None or not leaves:
            if self._wishes.evictions.pop(name, None) is not None:
                self._wishes.look(name)
            return None
        if name in self._wishes.evictions:
            return None
        if self._placement.precheck(volume, replicas, self._view.nodes()):
            return self._cluster.delays.scheduling_retry
        self._wishes.evictions[name] = volume["status"]["ownerID"]
        self._wishes.look(name)
        return None

    def _of_volumes_on(self, node: str) -> list[longhorn.Replica]:
        """Return all replicas of the volumes that have one on a node."""
        known = self._cluster.replicas.objects.values()
        here = {each["spec"]["volumeName"] for each in known if each["spec"].get("nodeID") == node}
        return [
            recorded(each, longhorn.Replica) for each in known if each["spec"]["volumeName"] in here
        ]

    def _guarded(self) -> frozenset[longhorn.NodeName]:
        """Name the nodes whose instance manager a drain could not take."""
        names = {key.name for key in self._cluster.nodes.objects} - self._managers.cordoned
        return frozenset(map(longhorn.NodeName, names))
