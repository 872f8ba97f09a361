"""The controller of shards: makes, places and removes those of each erasure-coded volume.

A shard never fails here, and is never moved.
"""

import asyncio
from typing import NoReturn

import msgspec

import longhorn
from longhorn import NodeDisks, node_disks
from tests.actors.api import SHARDS, VOLUMES, Object
from tests.actors.controller import Controller
from tests.actors.longhorn.cluster import Cluster
from tests.actors.longhorn.records import recorded
from tests.actors.longhorn.shards import is_sharded, missing_shards, placed_shard

WORKERS = 5


class Sharding:
    """All shards of the cluster."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self._controller: Controller[str] = Controller(self._reconcile, workers=WORKERS)

    async def run(self) -> NoReturn:
        """Work until cancelled; the caches are filled."""
        self._cluster.volumes.handlers.append(self._on_volume)
        for volume in [*self._cluster.volumes.objects.values()]:
            self._on_volume(None, volume)
        await self._controller.run()

    def _on_volume(self, old: Object | None, new: Object | None) -> None:
        volume = new or old
        assert volume is not None
        if is_sharded(volume):
            self._controller.add(volume["metadata"]["name"])

    async def _reconcile(self, name: str) -> float | None:
        cluster = self._cluster
        volume = await cluster.api.get(VOLUMES, name, cluster.namespace)
        shards = await cluster.shards_of(name)
        if volume is None or volume["status"]["state"] == "deleting":
            for each in shards:
                await asyncio.sleep(cluster.draw(cluster.delays.replica_cleanup))
                await cluster.api.delete(SHARDS, cluster.key(each["metadata"]["name"]))
            return None
        for each in missing_shards(volume, shards):
            shards.append(await cluster.api.create(each, SHARDS))
        for index, each in enumerate(shards):
            if each["spec"]["nodeID"]:
                continue
            change = placed_shard(volume, shards, self._spaces(), cluster.known_settings())
            if not change:
                return cluster.delays.scheduling_retry
            key = cluster.key(each["metadata"]["name"])
            shards[index] = await cluster.api.patch(SHARDS, key, change) or each
        return None

    def _spaces(self) -> list[NodeDisks]:
        cluster = self._cluster
        settings = cluster.known_settings()
        return [
            msgspec.structs.replace(
                node_disks(recorded(node, longhorn.Node), settings),
                engines=cluster.runners.engines(node["metadata"]["name"]),
            )
            for node in cluster.nodes.objects.values()
        ]
