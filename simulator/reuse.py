"""When Longhorn takes a failed replica again instead of making a new one.

Source: longhorn-manager scheduler/replica_scheduler.go CheckAndReuseFailedReplica,
RequireNewReplica and IsPotentiallyReusableReplica.
"""

from collections.abc import Collection, Iterable
from datetime import UTC, datetime

from simulator.disks import is_on, minimum_bytes, mismatch
from simulator.groups import best_disks, groups, usage_of
from simulator.nodes import may_schedule
from simulator.objects import (
    BackingImage,
    Disk,
    Node,
    Replica,
    Volume,
    condition,
    is_true,
    read_time,
)
from simulator.settings import Settings, UnreadableSetting

_RETRY_LIMIT = 5


def is_potentially_reusable(replica: Replica) -> bool:
    """Say whether *replica* failed and may come back once its node and disk do."""
    spec = replica.spec
    return bool(
        spec.failed_at
        and spec.node_id
        and spec.disk_id
        and spec.rebuild_retry_count < _RETRY_LIMIT
        and not spec.eviction_requested
    )


def reusable(
    replicas: Iterable[Replica],
    volume: Volume,
    nodes: Iterable[Node],
    settings: Settings | UnreadableSetting,
    *,
    backing_image: BackingImage | None = None,
    hard_node_affinity: str = "",
    not_ready: Collection[str] = (),
) -> tuple[Replica, ...]:
    """Return the failed replicas of *volume* that may be rebuilt in place, last failed first.

    Longhorn takes the first. No room is asked for: they still occupy it.

    Args:
        replicas: Replicas, also of other volumes.
        volume: The volume.
        nodes: All Longhorn nodes.
        settings: Longhorn's settings; with an unreadable one nothing is reused.
        backing_image: The volume's, if it has one.
        hard_node_affinity: The only node to look at, if any.
        not_ready: As for `find_candidates`.
    """
    if isinstance(settings, UnreadableSetting) or (volume.is_v2 and not settings.fast_rebuild_v2):
        return ()
    if volume.spec.backing_image and backing_image is None:
        return ()
    image = backing_image if volume.spec.backing_image else None
    own = [r for r in replicas if r.spec.volume_name == volume.name and r.spec.active]
    failed = [replica for replica in own if is_potentially_reusable(replica)]
    hosts = [
        node
        for node in nodes
        if may_schedule(node)
        and node.name not in not_ready
        and hard_node_affinity in ("", node.name)
    ]
    available = {
        node.name: [
            disk
            for disk in node.disks()
            if any(is_on(replica, disk) for replica in failed)
            and _takes_back(disk, settings)
            and mismatch(disk, volume, image, settings) is None
        ]
        for node in hosts
    }
    hosts = [node for node in hosts if available[node.name]]
    healthy = [replica for replica in own if not replica.spec.failed_at]
    for group in groups(hosts, usage_of(healthy, hosts), volume, image, settings):
        chosen = best_disks(group, available, healthy, volume, settings)
        if chosen:
            found = [r for r in failed if any(is_on(r, disk) for disk in chosen)]
            return tuple(sorted(found, key=_failed_at, reverse=True))
    return ()


def needs_new_replica(
    replicas: Iterable[Replica],
    volume: Volume,
    settings: Settings,
    *,
    hard_node_affinity: str = "",
    now: datetime,
) -> bool:
    """Say whether a new replica is made at once, nothing being `reusable`.

    Longhorn waits only while a degraded volume has a failed replica that may yet come back.
    """
    return (
        volume.status.robustness != "degraded"
        or hard_node_affinity != ""
        or not any(
            r.spec.volume_name == volume.name and is_potentially_reusable(r) for r in replicas
        )
        or (volume.is_v2 and not settings.fast_rebuild_v2)
        or wait_is_over(volume, settings, now) is not False
    )


def wait_is_over(volume: Volume, settings: Settings, now: datetime) -> bool | None:
    """Say whether the volume was degraded for longer than Longhorn waits; None if it is unknown."""
    degraded_at = read_time(volume.status.last_degraded_at)
    if degraded_at is None:
        return None
    return (now - degraded_at).total_seconds() >= settings.replenishment_wait_seconds


def _takes_back(disk: Disk, settings: Settings) -> bool:
    """Whether the disk is usable, or only promised too much and not full (isDiskNotFull)."""
    schedulable = condition(disk.status.conditions, "Schedulable")
    return (
        disk.spec.allow_scheduling
        and not disk.spec.eviction_requested
        and is_true(disk.status.conditions, "Ready")
        and (
            schedulable.status == "True"
            or (
                schedulable.reason == "DiskPressure"
                and disk.status.storage_available > minimum_bytes(disk, settings)
            )
        )
    )


def _failed_at(replica: Replica) -> datetime:
    return read_time(replica.spec.failed_at) or datetime.min.replace(tzinfo=UTC)
