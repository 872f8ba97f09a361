"""How each replica of a volume is."""

from datetime import UTC

from cli.volumes.report import ReplicaReport, ReplicaState
from extender import ClusterView
from longhorn import (
    DataState,
    JudgedReplica,
    Missing,
    NodeName,
    Replica,
    Shard,
    VolumeData,
    is_potentially_reusable,
)


def replica_report(judged: JudgedReplica, data: VolumeData, view: ClusterView) -> ReplicaReport:
    """Say where a replica is, and how; *data* is that of its volume."""
    replica = judged.replica
    node, disk = replica.named_place
    space = view.spaces.get(node or NodeName(""))
    names = [str(each.disk.name) for each in (space.disks if space else ()) if each.disk.id == disk]
    state, text = _out_of_use(replica) or _in_use(replica, data, view)
    if node is not None and space is None:
        text += "; Longhorn knows no such node"
    elif judged.awaits is not None and (data.is_faulted or not replica.failed):
        verb = "salvaged" if replica.failed else "used"
        text += f"; not {verb} before {judged.awaits}"
    elif judged.awaits is not None and judged.awaits.missing is Missing.NODE:
        text += "; its node is down"
    elif space is not None and not space.node.ready.is_true:
        text += "; its node is not ready in Longhorn"
    elif space is not None and disk is not None and not names:
        text += "; the node lists no such disk"
    return ReplicaReport(
        name=replica.name,
        node=node or "",
        disk=names[0] if names else str(disk or ""),
        state=state,
        text=text,
    )


def _out_of_use(replica: Replica) -> tuple[ReplicaState, str] | None:
    """Say why a replica does not count as one of its volume, None if it does."""
    if replica.deleting:
        return ReplicaState.DELETING, "being deleted"
    if replica.turned_away_from is not None:
        return ReplicaState.TURNED_AWAY, "not granted by its disk, not placed yet"
    if replica.node is None:
        only = replica.hard_node_affinity
        return ReplicaState.NOT_PLACED, f"waits for a disk{f' of {only} alone' if only else ''}"
    if replica.failed:
        at = replica.failed_at
        since = f" since {at.astimezone(UTC):%Y-%m-%d %H:%M:%S} UTC" if at else ""
        may = "may come back" if is_potentially_reusable(replica) else "does not come back"
        return ReplicaState.FAILED, f"failed{since}, {may}"
    if not replica.active:
        return ReplicaState.INACTIVE, "the second one of a migration or an upgrade"
    return None


def _in_use(replica: Replica, data: VolumeData, view: ClusterView) -> tuple[ReplicaState, str]:
    is_new = data.is_new
    if isinstance(replica, Shard) and not is_new:
        if replica.healthy_once:
            return ReplicaState.NORMAL, "with all its data"
        return ReplicaState.REBUILDING, "failed, or being rebuilt"
    if not (replica.healthy_once or is_new):
        if replica.started:
            return ReplicaState.REBUILDING, "being rebuilt"
        if data.state is not DataState.READABLE:
            return ReplicaState.REBUILDING, "has no data"
        limit = view.settings.rebuild_limit
        return ReplicaState.REBUILDING, f"to be rebuilt, by {limit} at a time on a node"
    if replica.evicting:
        return ReplicaState.EVICTING, "being moved away"
    if not replica.healthy_once:
        return ReplicaState.EMPTY, "placed, never written to"
    if replica.started:
        return ReplicaState.RUNNING, "running"
    return ReplicaState.STOPPED, "stopped"
