"""When Longhorn moves replicas off a node or disk, and when it lets a drain end.

Sources: longhorn-manager controller/node_controller.go shouldEvictReplica and
controller/instance_manager_controller.go, which removes an instance manager's PodDisruptionBudget
once nothing on the node is worth keeping.
"""

from collections.abc import Collection, Iterable

from simulator.disks import is_on
from simulator.nodes import is_down
from simulator.objects import Node, Replica
from simulator.settings import Settings


def needs_eviction(
    replica: Replica,
    replicas: Iterable[Replica],
    node: Node,
    settings: Settings,
    *,
    cordoned: bool,
    guarded: Collection[str],
) -> bool:
    """Say whether *replica* is to move to another disk; else its evictionRequested is taken back.

    Args:
        replica: A replica that the scheduledReplica of a disk of *node* lists.
        replicas: Replicas, also of other volumes.
        node: Its node. On a node that is down nothing is evicted.
        settings: Longhorn's settings; node-drain-policy says what a cordon means.
        cordoned: Whether the Kubernetes node is unschedulable.
        guarded: Nodes that are not cordoned and whose instance manager runs behind a
            PodDisruptionBudget.
    """
    if is_down(node):
        return False
    if node.spec.eviction_requested or any(
        disk.spec.eviction_requested for disk in node.disks() if is_on(replica, disk)
    ):
        return True
    if not cordoned:
        return False
    if settings.drain_policy == "block-for-eviction":
        return True
    last = not _is_kept_elsewhere(replica, replicas, guarded)
    return last and settings.drain_policy == "block-for-eviction-if-contains-last-replica"


def drain_may_end(
    node: str, replicas: Iterable[Replica], settings: Settings, *, guarded: Collection[str]
) -> bool:
    """Say whether the cordoned *node* lets its instance manager go, by node-drain-policy.

    Any policy waits for the volumes attached to the node first; the caller asks after that.

    Args:
        node: Its name.
        replicas: All replicas.
        settings: Longhorn's settings.
        guarded: As for `needs_eviction`.
    """
    replicas = tuple(replicas)
    here = [replica for replica in replicas if replica.spec.node_id == node]
    match settings.drain_policy:
        case "always-allow":
            return True
        case "block-for-eviction":
            return not here
        case "allow-if-replica-is-stopped":
            here = [replica for replica in here if not _is_stopped(replica)]
    return all(
        _was_never_used(replica) or _is_kept_elsewhere(replica, replicas, guarded)
        for replica in here
    )


def _is_kept_elsewhere(
    replica: Replica, replicas: Iterable[Replica], guarded: Collection[str]
) -> bool:
    """Whether the volume has a healthy replica on another node that a drain cannot take."""
    return any(
        peer.spec.volume_name == replica.spec.volume_name
        and peer.spec.node_id != replica.spec.node_id
        and peer.spec.node_id in guarded
        and peer.spec.healthy_at != ""
        and peer.spec.failed_at == ""
        and peer.metadata.deletion_timestamp is None
        for peer in replicas
    )


def _is_stopped(replica: Replica) -> bool:
    return replica.spec.desire_state == "stopped" and replica.status.current_state == "stopped"


def _was_never_used(replica: Replica) -> bool:
    return replica.spec.healthy_at == "" and replica.spec.failed_at == ""
