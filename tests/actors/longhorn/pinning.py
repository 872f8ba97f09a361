"""Keeps pods of a strict-local volume on the node of its replica."""

from tests.actors.api import PERSISTENT_VOLUMES, Key, Object
from tests.actors.longhorn import changes
from tests.actors.longhorn.cluster import Cluster
from tests.actors.longhorn.records import STRICT_LOCAL, read_volume


async def pin(cluster: Cluster, volume: Object) -> None:
    """Keep pods of a strict-local volume on the node it is wished on, placed there or not.

    Source: controller/volume_controller.go ReconcilePersistentVolume.
    """
    decided = read_volume(volume)
    found = cluster.persistent_volumes.get(decided.name)
    is_strict = decided.locality == STRICT_LOCAL and decided.wished_node
    if is_strict and found and not found["spec"].get("nodeAffinity"):
        key, change = Key("", decided.name), changes.pinned(decided.wished_node)
        await cluster.api.patch(PERSISTENT_VOLUMES, key, change)
