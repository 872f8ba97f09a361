"""Erasure-coded volumes: what their shards are, how large, and where each goes. Data engine v2.

All shards are placed when the volume is created, each on a node of its own; they take room of
their disks by the node's status, under no name. Sources: longhorn-manager
controller/shardgroup_controller.go, scheduler/shard_scheduler.go ScheduleShard,
controller/node_controller.go; go-spdk-helper pkg/spdk/types/ec_geometry.go. Pure.
"""

from collections.abc import Collection, Iterable

import msgspec

import longhorn
from longhorn import NodeDisks, has_room, mismatch, refusal_of, takes_replicas
from tests.actors.api import Object
from tests.actors.longhorn.accounts import Assigned
from tests.actors.longhorn.objects import condition
from tests.actors.longhorn.records import recorded

NOT_ALL = "not all EC shards are scheduled to a node yet"
_MIB = 2**20
_CLUSTER = 4 * _MIB
_PAGE = 4096


def is_sharded(volume: Object) -> bool:
    return volume["spec"].get("dataLayout") is not None


def wanted_shards(volume: Object) -> int:
    """Return how many shards a volume has; 0 if it has replicas."""
    layout = volume["spec"].get("dataLayout")
    return layout["dataChunks"] + layout["parityChunks"] if layout else 0


def shard_bytes(volume: Object) -> int:
    """Return the size of each shard of a volume."""
    layout, size = volume["spec"]["dataLayout"], int(volume["spec"]["size"])
    data = _up(size + _lvstore_bytes(size), layout["dataChunks"])
    return _up(data + front_bytes(layout["stripSizeKB"] * 1024), 2 * _MIB) * 2 * _MIB


def front_bytes(strip: int) -> int:
    """Return what EcFrontReservationBytes keeps free: two bitmaps and four strips of journals."""
    stripes = (strip - 28) // 8 * 65536
    bitmap = 44 + 8 * _up(stripes, 64)
    return 2 * _up(bitmap, strip) * strip + 4 * strip


def _lvstore_bytes(size: int) -> int:
    """Return what the lvstore keeps for itself: enough metadata for size and metadata together."""
    clusters = 0
    while True:
        pages = 10 * _up(size + clusters * _CLUSTER, _CLUSTER)
        mask_pages = _up(8 + _up(pages, 8), _PAGE)
        enough = _up((1 + 3 * mask_pages + pages) * _PAGE, _CLUSTER)
        if enough <= clusters:
            return (clusters + 1) * _CLUSTER
        clusters = enough


def _up(number: int, by: int) -> int:
    return (number + by - 1) // by


def missing_shards(volume: Object, shards: Collection[Object]) -> list[Object]:
    """Build the Shards that a volume lacks; they have no place yet."""
    name, there = volume["metadata"]["name"], {each["metadata"]["name"] for each in shards}
    data = volume["spec"]["dataLayout"]["dataChunks"]
    return [
        {
            "metadata": {
                "name": f"{name}-{slot}",
                "namespace": volume["metadata"]["namespace"],
                "labels": {"longhornvolume": name},
            },
            "spec": {
                "shardGroupName": name,
                "size": "0",
                "nodeID": "",
                "diskUUID": "",
                "diskPath": "",
                "evictionRequested": False,
            },
            "status": {"state": "", "role": "data" if slot < data else "parity"},
        }
        for slot in range(wanted_shards(volume))
        if f"{name}-{slot}" not in there
    ]


def placed_shard(
    volume: Object,
    shards: Iterable[Object],
    spaces: Iterable[NodeDisks],
    settings: longhorn.Settings,
) -> Object:
    """Choose a disk for one more shard: what is to be written into it, {} if there is none.

    Tags of nodes and zones do not matter, nor what runs there; the first disk is taken.
    """
    used = {each["spec"]["nodeID"] for each in shards}
    size = shard_bytes(volume)
    record = longhorn.need_of(recorded(volume, longhorn.Volume), None)
    need = msgspec.structs.replace(record, size_bytes=size, actual_bytes=0)
    for space in spaces:
        if space.node.name in used or refusal_of(space.node) or not space.engines.allows_v2:
            continue
        for disk in space.disks:
            if (
                takes_replicas(disk.disk)
                and mismatch(disk.kind, need, settings) is None
                and has_room(disk, need, disk.disk.scheduled_bytes)
            ):
                where = {"nodeID": str(space.node.name), "diskUUID": str(disk.disk.id)}
                path = f"/mnt/{disk.disk.name}"
                return {
                    "spec": {"size": str(size), "diskPath": path, **where},
                    "status": {"state": "normal"},
                }
    return {}


def is_whole(volume: Object, shards: Collection[Object]) -> bool:
    """Say whether all shards of a volume are there: then it can start."""
    normal = [each for each in shards if each["status"]["state"] == "normal"]
    return len(normal) >= wanted_shards(volume)


def shard_condition(volume: Object, shards: Collection[Object], now: str) -> Object:
    """Build the condition Scheduled; nothing else tells that shards have no place."""
    if is_whole(volume, shards):
        return condition("Scheduled", since=now)
    return condition(
        "Scheduled", "False", reason="ShardSchedulingFailure", message=NOT_ALL, since=now
    )


def shards_by_disk(shards: Iterable[Object]) -> Assigned:
    """Return what shards take of each disk."""
    found: dict[str, dict[str, int]] = {}
    for each in shards:
        if each["spec"]["diskUUID"]:
            disk = found.setdefault(each["spec"]["diskUUID"], {})
            disk[each["metadata"]["name"]] = int(each["spec"]["size"])
    return found
