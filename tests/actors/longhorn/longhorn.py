"""A Longhorn without disks: its controllers, over any API server."""

import asyncio
from collections.abc import Callable, Mapping
from datetime import datetime
from random import Random
from typing import NoReturn

from longhorn import volume_size_bytes
from tests.actors.api import VOLUMES, Api, Object
from tests.actors.longhorn.capacity import Publisher
from tests.actors.longhorn.clones import data_source, refusal
from tests.actors.longhorn.cluster import Cluster
from tests.actors.longhorn.creation import CreateVolumeError, unknown_tags, volume_object
from tests.actors.longhorn.delays import Delays
from tests.actors.longhorn.disks import Disks
from tests.actors.longhorn.eviction import Evictions
from tests.actors.longhorn.images import Images
from tests.actors.longhorn.instances import Instances
from tests.actors.longhorn.nodes import Nodes
from tests.actors.longhorn.objects import NAMESPACE
from tests.actors.longhorn.placement import Placement
from tests.actors.longhorn.requests import Requests
from tests.actors.longhorn.schedules import DiskSchedules
from tests.actors.longhorn.sharding import Sharding
from tests.actors.longhorn.views import Views
from tests.actors.longhorn.volumes import Volumes
from tests.actors.longhorn.wishes import Wishes


class Longhorn:
    """All of Longhorn, and the parts of Kubernetes that only serve it: see `wishes`, `capacity`.

    Args:
        api: How it reaches the API server.
        random: All chance: names, delays, and which of several equal disks.
        wall_clock: Says what time it is, with its time zone, for timestamps.
        delays: How long things take.
        namespace: Where its objects are.
        stale: Whether placements see only what node statuses count, as Longhorn's do; see
            `placement`. With DiskSchedules, whether caches of these lag; see `views`.
        disk_schedules: What it does with DiskSchedules.
        shards: Whether it makes erasure-coded volumes.
        upgrades: Whether it upgrades data engine v2 live, as since v1.13.

    Attributes:
        cluster: The caches it works on, filled while it runs.
        requests: What it asks of disks.
    """

    def __init__(
        self,
        api: Api,
        *,
        random: Random,
        wall_clock: Callable[[], datetime],
        delays: Delays,
        namespace: str = NAMESPACE,
        stale: bool = True,
        disk_schedules: DiskSchedules = DiskSchedules.UNUSED,
        shards: bool = False,
        upgrades: bool = False,
    ) -> None:
        self.cluster = Cluster(
            api,
            random=random,
            wall_clock=wall_clock,
            delays=delays,
            namespace=namespace,
            has_schedules=disk_schedules is not DiskSchedules.UNUSED,
            has_shards=shards,
            has_upgrades=upgrades,
        )
        self.requests = Requests(self.cluster)
        placement = Placement(self.cluster, stale=stale)
        views = Views(self.cluster, lags=stale)
        self._volumes = Volumes(self.cluster, placement, self.requests, views)
        self._images = Images(self.cluster, self.requests, views)
        self._disks = Disks(self.cluster) if disk_schedules is DiskSchedules.MANAGED else None
        self._sharding = Sharding(self.cluster) if shards else None
        self._instances = Instances(self.cluster)
        self._wishes = Wishes(self.cluster)
        self._nodes = Nodes(self.cluster)
        self._evictions = Evictions(
            self.cluster, placement, self._wishes, self._nodes, views.newest
        )
        self._publisher = Publisher(self.cluster)
        self._knows = asyncio.Event()

    async def run(self) -> NoReturn:
        """Be Longhorn until cancelled."""
        async with asyncio.TaskGroup() as tasks:
            for informer in self.cluster.informers:
                tasks.create_task(informer.run())
            for informer in self.cluster.informers:
                await informer.synced.wait()
            self._knows.set()
            parts = (
                self._nodes,
                self._volumes,
                self._images,
                self._instances,
                self._wishes,
                self._evictions,
                self._publisher,
            )
            for part in parts:
                tasks.create_task(part.run())
            if self._disks is not None:
                tasks.create_task(self._disks.run())
            if self._sharding is not None:
                tasks.create_task(self._sharding.run())
        raise AssertionError("controllers do not end")

    def is_registered(self, node: str) -> bool:
        """Say whether the CSI driver is registered on a node."""
        return self.cluster.runners.has_driver(node)

    async def create_volume(
        self, name: str, size_bytes: int, parameters: Mapping[str, str]
    ) -> None:
        """Do what CSI CreateVolume does; a volume that is there already is waited for as well.

        Raises:
            CreateVolumeError: There is one of another size, or no node at all, or none or no disk
                has a tag that the StorageClass asks for, or it cannot be a copy as is wished.
        """
        await self._knows.wait()
        cluster = self.cluster
        nodes = sorted(key.name for key in cluster.nodes.objects)
        if not nodes:
            raise CreateVolumeError(f"volume {name}: Longhorn has no node")
        volume = volume_object(
            name,
            size_bytes,
            parameters,
            cluster.setting_values(),
            namespace=cluster.namespace,
            owner=cluster.random.choice(nodes),
        )
        self._check(volume)
        await cluster.api.ensure(volume, VOLUMES)
        while True:
            await asyncio.sleep(cluster.delays.create_poll)
            found = await cluster.api.get(VOLUMES, name, cluster.namespace)
            if found is None:
                raise CreateVolumeError(f"volume {name} was deleted")
            if int(found["spec"]["size"]) != volume_size_bytes(size_bytes):
                raise CreateVolumeError(f"volume {name} is there already with another size")
            if found["status"]["state"] not in ("", "creating"):
                return

    def _check(self, volume: Object) -> None:
        """Refuse what Longhorn's webhook refuses."""
        cluster, name = self.cluster, volume["metadata"]["name"]
        unknown = unknown_tags(volume, cluster.nodes.objects.values())
        if unknown:
            raise CreateVolumeError(f"volume {name}: {', '.join(unknown)} does not exist")
        if volume["spec"]["dataSource"]:
            source = volume["spec"]["dataSource"].removeprefix(data_source(""))
            why = refusal(volume, cluster.volumes.get(source, cluster.namespace))
            if why:
                raise CreateVolumeError(f"volume {name}: {why}")

    async def delete_volume(self, name: str) -> None:
        """Do what CSI DeleteVolume does: return once the volume and its replicas are gone."""
        cluster = self.cluster
        await cluster.api.patch(VOLUMES, cluster.key(name), {"status": {"state": "deleting"}})
        while True:
            if await cluster.api.get(VOLUMES, name, cluster.namespace) is None:
                return
            await asyncio.sleep(cluster.delays.delete_poll)

    async def expand_volume(self, name: str, size_bytes: int) -> None:
        """Wish a volume to have another size, as CSI ControllerExpandVolume does."""
        key = self.cluster.key(name)
        size = str(volume_size_bytes(size_bytes))
        await self.cluster.api.patch(VOLUMES, key, {"spec": {"size": size}})

    def delete_image(self, name: str) -> None:
        """Delete a backing image: what it asks of disks is taken back first."""
        self._images.remove(name)

    def blocks_drain(self, node: str) -> bool:
        """Say whether the instance manager's PodDisruptionBudget holds up a drain of *node*."""
        return self._evictions.blocks_drain(node)

    def set_ready(self, node: str, reason: str = "") -> None:
        """Take a node's manager away for a *reason* such as ManagerPodDown; "" brings it back."""
        self.cluster.not_ready[node] = reason
        self._nodes.look(node)
