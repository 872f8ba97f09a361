"""What nodes have now, as the page draws it."""

from collections.abc import Iterable, Mapping

from extender import ClusterView, Ledger
from extender.explaining import charges
from extender.kubernetes import Claim
from extender.space import NodeSpace, why_unusable
from extender.verdicts import node_rejection
from longhorn import DiskSpace, ReplicaName, VolumeName, named_volume
from planner.picture import DiskReport, NodeReport, ReplicaReport


def claims_by_volume(claims: Iterable[Claim], view: ClusterView) -> dict[VolumeName, str]:
    """Return the names of the claims of volumes."""
    found: dict[VolumeName, str] = {}
    for claim in claims:
        bound = view.persistent_volumes.get(claim.persistent_volume or "")
        if bound is not None and bound.volume_handle is not None:
            found[VolumeName(bound.volume_handle)] = claim.key
    return found


def node_now(
    space: NodeSpace, view: ClusterView, ledger: Ledger, claims: Mapping[VolumeName, str]
) -> NodeReport:
    """Return a node as it is now.

    Args:
        space: What it has left.
        view: The cluster.
        ledger: All holds.
        claims: How volumes are named, by their claims.
    """
    held_bytes = sum(
        sum(charge.bytes.values()) for charge in charges(ledger, space.node.name, view)
    )
    # Longhorn chooses the disk: it is known only where there is no choice.
    only_disk = space.bins[0].id if len(space.bins) == 1 else None
    problem = node_rejection(space)
    return NodeReport(
        name=space.node.name,
        zone=space.node.zone,
        problem="" if problem is None else str(problem),
        held_bytes=0 if only_disk else held_bytes,
        disks=tuple(
            _disk(disk, view, claims, held_bytes if disk.disk.name == only_disk else 0)
            for disk in space.disks
        ),
    )


def _disk(
    space: DiskSpace, view: ClusterView, claims: Mapping[VolumeName, str], held_bytes: int
) -> DiskReport:
    disk = space.disk
    counted: dict[str, int] = {**disk.listed}
    for replica, missing_bytes in space.unlisted.items():
        counted[replica] = counted.get(replica, 0) + missing_bytes
    return DiskReport(
        name=disk.name,
        maximum_bytes=disk.maximum_bytes,
        reserved_bytes=disk.reserved_bytes,
        available_bytes=disk.available_bytes,
        limit_bytes=space.limit_bytes,
        scheduled_bytes=space.scheduled_bytes,
        held_bytes=held_bytes,
        replicas=tuple(
            _replica(ReplicaName(name), size_bytes, view, claims)
            for name, size_bytes in counted.items()
        ),
        problem=why_unusable(disk) or "",
    )


def _replica(
    name: ReplicaName, size_bytes: int, view: ClusterView, claims: Mapping[VolumeName, str]
) -> ReplicaReport:
    volume = named_volume(name)
    return ReplicaReport(
        volume=claims.get(volume, volume or name),
        size_bytes=size_bytes,
        is_failed=any(each.failed for each in view.replicas.get(volume, ()) if each.name == name),
    )
