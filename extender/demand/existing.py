"""What the replicas that exist already are worth to a pod that would run on their nodes."""

from collections.abc import Mapping, Sequence
from enum import IntEnum

import msgspec

from extender.demand.requests import PodRequest, WantedVolume, source_replicas
from extender.view import ClusterView
from longhorn import (
    DiskName,
    DiskSpace,
    Need,
    NodeName,
    Replica,
    Usability,
    VolumeName,
    has_data,
    is_potentially_reusable,
    judge_replica,
    may_be_rebuilt,
    takes_back,
)


class Worth(IntEnum):
    """What a replica is worth, least first."""

    ROOM = 1
    """Its room is taken but its data are not complete: rebuilding, or failed and reusable."""
    EVICTING = 2
    """Usable, but Longhorn is moving it away."""
    USABLE = 3


class ExistingReplica(msgspec.Struct, frozen=True, kw_only=True):
    """The best replica of one volume on one node."""

    worth: Worth
    disk: DiskName


Existing = Mapping[VolumeName, Mapping[NodeName, ExistingReplica]]
"""For each volume that must be local, the nodes that hold a replica worth something."""


def existing_of(request: PodRequest, view: ClusterView) -> Existing:
    """Look up the replicas that exist of the request's volumes."""
    return {each.name: existing_for(each, view) for each in request.volumes}


def existing_for(wanted: WantedVolume, view: ClusterView) -> Mapping[NodeName, ExistingReplica]:
    """Look up those of one volume."""
    replicas, shared = view.replicas.get(wanted.name, ()), source_replicas(wanted.volume, view)
    return existing_by_node(replicas, wanted.need, view, shared=shared)


def existing_by_node(
    replicas: Sequence[Replica],
    need: Need,
    view: ClusterView,
    *,
    shared: Sequence[Replica] = (),
) -> dict[NodeName, ExistingReplica]:
    """Return the best replica on each node that holds one, given all replicas of one volume.

    Replicas that are worth nothing are left out: unplaced, deleting, failed for good, the
    inactive duplicates of a migration, and those on a node or disk that is not ready.

    Args:
        replicas: Of the volume.
        need: What a new one would need.
        view: The cluster.
        shared: Of a linked clone, the replicas of the volume that it shares data with.
    """
    is_new = not has_data(replicas)
    existing: dict[NodeName, ExistingReplica] = {}
    for replica in replicas:
        disk = _disk_of(replica, view)
        if replica.node is None or disk is None:
            continue
        usability, _ = judge_replica(replica, need.engine, view.spaces[replica.node], is_new=is_new)
        worth = _worth_of(replica, usability)
        if replica.failed and not (
            _is_reusable(replica, disk, need, view) and may_be_rebuilt(replica, shared)
        ):
            continue
        if worth and (replica.node not in existing or existing[replica.node].worth < worth):
            existing[replica.node] = ExistingReplica(worth=worth, disk=disk.disk.name)
    return existing


def _disk_of(replica: Replica, view: ClusterView) -> DiskSpace | None:
    """Return the disk *replica* was placed on, if that disk and its node are ready."""
    space = None if replica.node is None else view.spaces.get(replica.node)
    if space is None or not space.node.ready.is_true or replica.disk is None:
        return None
    placed = (each for each in space.disks if each.disk.id == replica.disk)
    return next((each for each in placed if each.disk.ready.is_true), None)


def _worth_of(replica: Replica, usability: Usability) -> Worth | None:
    """Judge a replica on a disk that is ready.

    What else it awaits, the pod that would run beside it awaits as well (`attaching`). In a new
    volume all are empty alike, but for one that is being started.
    """
    match usability:
        case Usability.NEVER_HEALTHY | Usability.SALVAGEABLE:
            return Worth.ROOM
        case Usability.USABLE | Usability.AWAITED if replica.started and not replica.healthy_once:
            return Worth.ROOM
        case Usability.USABLE | Usability.AWAITED:
            return Worth.EVICTING if replica.evicting else Worth.USABLE
    return None


def _is_reusable(replica: Replica, disk: DiskSpace, need: Need, view: ClusterView) -> bool:
    """Whether Longhorn would rebuild a failed replica in place, which needs no new room."""
    return (
        view.settings.unreadable is None
        and is_potentially_reusable(replica)
        and takes_back(disk, need, view.settings)
    )
