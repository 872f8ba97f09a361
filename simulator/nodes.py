"""Which nodes Longhorn considers at all."""

from simulator.objects import Node, Volume, condition, is_true

_DOWN = frozenset({"KubernetesNodeGone", "KubernetesNodeNotReady"})


def may_schedule(node: Node) -> bool:
    """Say whether *node* may get new replicas (replica_scheduler.go ListSchedulableNodes).

    A requested eviction of the node does not matter here: Longhorn's webhook lets it be requested
    only with scheduling disabled.
    """
    return (
        node.metadata.deletion_timestamp is None
        and node.spec.allow_scheduling
        and is_true(node.status.conditions, "Ready")
        and is_true(node.status.conditions, "Schedulable")
    )


def meets_topology(node: Node, volume: Volume) -> bool:
    """Say whether *node* meets some term of the volume's topologyRequirement, if it has one.

    Source: types.NodeMatchesTopologyRequirement. An empty zone or region of a term meets any.
    """
    terms = volume.spec.topology_requirement
    return not terms or any(
        term.zone in ("", node.status.zone) and term.region in ("", node.status.region)
        for term in terms
    )


def is_down(node: Node) -> bool:
    """Say whether Kubernetes lost *node* (datastore IsNodeDownOrDeleted).

    A node that is not ready because only Longhorn's manager is missing is not down.
    """
    ready = condition(node.status.conditions, "Ready")
    return ready.status == "False" and ready.reason in _DOWN
