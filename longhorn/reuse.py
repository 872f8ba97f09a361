"""When Longhorn takes a failed replica again instead of making a new one.

Source: longhorn-manager scheduler/replica_scheduler.go CheckAndReuseFailedReplica,
RequireNewReplica and IsPotentiallyReusableReplica.
"""

from collections.abc import Collection, Iterable
from datetime import UTC, datetime

from longhorn.clones import may_be_rebuilt
from longhorn.disks import DiskSpace, mismatch
from longhorn.engines import starts_replicas
from longhorn.groups import groups_of, usage_of
from longhorn.hosts import Host, first_with_room, with_room_in
from longhorn.needs import Need, need_of
from longhorn.nodes import NodeDisks, has_tags, refusal_of
from longhorn.records import BackingImage, DiskId, NodeName, Volume
from longhorn.replicas import Replica
from longhorn.settings import Settings

RETRY_LIMIT = 5
"""Rebuilds that fail before a replica is given up."""
_LONG_AGO = datetime.min.replace(tzinfo=UTC)


def is_potentially_reusable(replica: Replica) -> bool:
    """Say whether *replica* failed and may come back once its node and disk do."""
    return (
        replica.failed
        and replica.node is not None
        and replica.disk is not None
        and replica.rebuild_retries < RETRY_LIMIT
        and not replica.evicting
    )


def takes_back(space: DiskSpace, need: Need, settings: Settings) -> bool:
    """Say whether a failed replica may be rebuilt on the disk it is on; it keeps its room there.

    The disk must be usable, or only have too much scheduled while it is not full (isDiskNotFull).
    """
    disk = space.disk
    return (
        disk.allow_scheduling
        and not disk.evicting
        and disk.ready.is_true
        and (
            disk.schedulable.is_true
            or (disk.schedulable.reason == "DiskPressure" and space.physical_headroom_bytes >= 0)
        )
        and mismatch(space.kind, need, settings) is None
    )


def reusable(
    replicas: Iterable[Replica],
    volume: Volume,
    nodes: Iterable[NodeDisks],
    settings: Settings,
    *,
    backing_image: BackingImage | None = None,
    hard_node_affinity: NodeName | None = None,
) -> tuple[Replica, ...]:
    """Return the failed replicas of *volume* that may be rebuilt in place, last failed first.

    Longhorn takes the first. No room is asked for: they still occupy it.

    Args:
        replicas: Replicas, also of other volumes: of a linked clone, those that it shares data
            with belong to one.
        settings: Longhorn's settings; with an unreadable one nothing is reused.
    """
    if settings.unreadable is not None or (volume.is_v2 and not settings.fast_rebuild_v2):
        return ()
    if volume.backing_image is not None and backing_image is None:
        return ()
    need = need_of(volume, None if volume.backing_image is None else backing_image)
    replicas = tuple(replicas)
    own = [r for r in replicas if r.volume == volume.name and r.active]
    failed = [r for r in own if is_potentially_reusable(r) and may_be_rebuilt(r, replicas)]
    hosts, spaces = dict[NodeName, Host](), dict[NodeName, NodeDisks]()
    for space in nodes:
        name = space.node.name
        there = [replica.disk for replica in failed if replica.node == name]
        back = _taking_back(space, there, need, settings)
        if back and hard_node_affinity in (None, name):
            has = has_tags(space.node, need, settings)
            hosts[name] = Host(zone=space.node.zone, has_tags=has, unused_bytes=back)
            spaces[name] = space
    healthy = [replica for replica in own if not replica.failed]
    order = groups_of(volume, usage_of(healthy, spaces), settings, spaces)
    chosen = first_with_room(
        order, lambda group: with_room_in(group, hosts), healthy, volume, settings
    )
    found = [
        replica
        for replica in failed
        if (host := chosen.get(replica.node or NodeName(""))) is not None
        and replica.disk in host.unused_bytes
    ]
    return tuple(sorted(found, key=lambda each: each.failed_at or _LONG_AGO, reverse=True))


def _taking_back(
    space: NodeDisks, there: Collection[DiskId | None], need: Need, settings: Settings
) -> dict[DiskId, int]:
    """Return those of the disks *there* that take a replica back, as a `Host` has them."""
    if not there or refusal_of(space.node) is not None:
        return {}
    if not starts_replicas(space.engines, need.engine):
        return {}
    return {
        each.disk.id: 0
        for each in space.disks
        if each.disk.id is not None and each.disk.id in there and takes_back(each, need, settings)
    }


def needs_new_replica(
    replicas: Iterable[Replica],
    volume: Volume,
    settings: Settings,
    *,
    hard_node_affinity: NodeName | None = None,
    now: datetime,
) -> bool:
    """Say whether a new replica is made at once, nothing being `reusable`."""
    return (
        hard_node_affinity is not None
        or not may_wait(volume, replicas, settings)
        or wait_is_over(volume, settings, now) is not False
    )


def may_wait(volume: Volume, replicas: Iterable[Replica], settings: Settings) -> bool:
    """Say whether Longhorn waits for some time before it makes a new replica of *volume*.

    A degraded volume with a failed replica that may yet come back waits for it.
    """
    return (
        volume.degraded
        and any(r.volume == volume.name and is_potentially_reusable(r) for r in replicas)
        and (settings.fast_rebuild_v2 or not volume.is_v2)
    )


def wait_is_over(volume: Volume, settings: Settings, now: datetime) -> bool | None:
    """Say whether the volume was degraded for longer than Longhorn waits; None if it is unknown."""
    if volume.degraded_at is None:
        return None
    return (now - volume.degraded_at).total_seconds() >= settings.replenishment_wait_seconds
