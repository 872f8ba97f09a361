"""Linked clones: a replica of one shares data with a replica of another volume, on the same disk.

Which replica that is, Longhorn notes once the clone's has a disk, and never changes it
(linkedCloneSrcReplicaName, since v1.12.1): from then on only that one will do. A Longhorn that does
not note it takes any replica of the other volume.
"""

from collections.abc import Iterable

from longhorn.records import DiskId, NodeName, Volume
from longhorn.replicas import Replica

Place = tuple[NodeName, DiskId]
"""A disk, by its node and its UUID."""


def places_of(
    volume: Volume, replicas: Iterable[Replica], placing: Replica | None = None
) -> frozenset[Place] | None:
    """Return the only disks that a replica of *volume* may go to; None if there is no such limit.

    They hold healthy replicas of the volume that it shares data with, which are to stay: all of
    these for a replica that shares with none yet, the one that it shares with for any other.

    Source: longhorn-manager scheduler/replica_scheduler.go buildLinkedCloneSrcNodeDiskMap.

    Args:
        volume: The volume.
        replicas: Those of the volume and of the one that it shares data with; all others are passed
            over.
        placing: The replica; without one, any of those of the volume that wait for a disk that
            Longhorn chooses, or a new one if none does.
    """
    if volume.linked_to is None:
        return None
    replicas = tuple(replicas)
    waiting = [placing] if placing else [r for r in replicas if _waits(r, volume)]
    names = {each.source for each in waiting} or {None}
    return frozenset(
        (each.node, each.disk)
        for each in replicas
        if each.volume == volume.linked_to
        and (None in names or each.name in names)
        and each.node is not None
        and each.disk is not None
        and _has_data(each)
        and not each.evicting
    )


def lacks_source(replica: Replica, volume: Volume, replicas: Iterable[Replica]) -> bool:
    """Say whether what *replica* shares data with is gone: then Longhorn's search ends in an error.

    Source: longhorn-manager scheduler/replica_scheduler.go buildLinkedCloneSrcNodeDiskMap.
    """
    is_pinned = volume.linked_to is not None and replica.source is not None
    return is_pinned and all(each.name != replica.source for each in replicas)


def may_be_rebuilt(failed: Replica, replicas: Iterable[Replica]) -> bool:
    """Say whether what a failed replica shares data with, if it does, is healthy on the same disk.

    It may be about to move.

    Source: longhorn-manager scheduler/replica_scheduler.go isFailedReplicaReusable.
    """
    return failed.source is None or any(
        each.name == failed.source
        and (each.node, each.disk) == (failed.node, failed.disk)
        and _has_data(each)
        for each in replicas
    )


def _waits(replica: Replica, volume: Volume) -> bool:
    return (
        replica.volume == volume.name
        and replica.node is None
        and replica.hard_node_affinity is None
        and replica.active
        and not (replica.failed or replica.evicting or replica.deleting)
    )


def _has_data(replica: Replica) -> bool:
    return replica.healthy_once and not replica.failed
