"""When Longhorn moves replicas off a node or disk, and when it lets a drain end.

Sources: longhorn-manager controller/node_controller.go shouldEvictReplica and
controller/instance_manager_controller.go, which removes an instance manager's PodDisruptionBudget
once nothing on the node is worth keeping.
"""

from collections.abc import Collection, Iterable

from longhorn.disks import is_on
from longhorn.nodes import is_down
from longhorn.records import Node, NodeName
from longhorn.replicas import Replica, Shard
from longhorn.settings import Settings


def needs_eviction(
    replica: Replica,
    replicas: Iterable[Replica],
    node: Node,
    settings: Settings,
    *,
    cordoned: bool,
    guarded: Collection[NodeName],
) -> bool:
    """Say whether *replica* is to move to another disk; else its evictionRequested is taken back.

    Args:
        replica: A replica that the scheduledReplica of a disk of *node* lists.
        replicas: Replicas, also of other volumes.
        node: Its node. On a node that is down nothing is evicted.
        settings: Longhorn's settings; node-drain-policy says what a cordon means.
        guarded: Nodes that are not cordoned and whose instance manager runs behind a
            PodDisruptionBudget.
    """
    if is_down(node):
        return False
    if node.evicting or any(
        disk.evicting for disk in node.disks if is_on(replica, node.name, disk)
    ):
        return True
    if not cordoned:
        return False
    if settings.drain_policy == "block-for-eviction":
        return True
    if isinstance(replica, Shard):
        return False
    last = not _is_kept_elsewhere(replica, replicas, guarded)
    return last and settings.drain_policy == "block-for-eviction-if-contains-last-replica"


def drain_may_end(
    node: NodeName,
    replicas: Iterable[Replica],
    settings: Settings,
    *,
    guarded: Collection[NodeName],
) -> bool:
    """Say whether the cordoned *node* lets its instance manager go, by node-drain-policy.

    Any policy waits for the volumes attached to the node first; the caller asks after that. Shards
    hold nothing back; *guarded* is as for `needs_eviction`.
    """
    replicas = tuple(each for each in replicas if not isinstance(each, Shard))
    here = [replica for replica in replicas if replica.node == node]
    match settings.drain_policy:
        case "always-allow":
            return True
        case "block-for-eviction":
            return not here
        case "allow-if-replica-is-stopped":
            here = [replica for replica in here if not replica.stopped]
    used = [replica for replica in here if replica.healthy_once or replica.failed]
    return all(_is_kept_elsewhere(replica, replicas, guarded) for replica in used)


def _is_kept_elsewhere(
    replica: Replica, replicas: Iterable[Replica], guarded: Collection[NodeName]
) -> bool:
    """Whether the volume has a healthy replica on another node that a drain cannot take.

    Longhorn does not ask whether that one is being deleted; its data are gone in a moment.
    """
    return any(
        peer.volume == replica.volume
        and peer.node != replica.node
        and peer.node in guarded
        and peer.healthy_once
        and not peer.failed
        and not peer.deleting
        for peer in replicas
    )
