"""One node: whether Longhorn considers it at all, and what its disks have left."""

from collections.abc import Iterable
from enum import StrEnum

import msgspec

from longhorn.disks import DiskSpace, disk_space
from longhorn.engines import ALL_RUNS, Engines
from longhorn.needs import Need, all_match
from longhorn.records import Node, TopologyTerm
from longhorn.settings import Settings

CORDONED = "KubernetesNodeCordoned"
"""Reason of a node that is not schedulable since Kubernetes' is cordoned. Source: longhorn-manager
k8s/pkg/apis/longhorn/v1beta2/node.go."""
_DOWN = frozenset({"KubernetesNodeGone", "KubernetesNodeNotReady"})


class NodeRefusal(StrEnum):
    """Why a node gets no new replica, whatever it is."""

    DELETING = "is being deleted"
    NOT_READY = "is not ready"
    SCHEDULING_DISABLED = "has scheduling disabled"
    NOT_SCHEDULABLE = "is not schedulable"


class NodeDisks(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A node with its disks' limits, worked out once for as long as it stays the same."""

    node: Node
    disks: tuple[DiskSpace, ...]
    engines: Engines = ALL_RUNS


def node_disks(node: Node, settings: Settings) -> NodeDisks:
    """Work out what *node* has left as Longhorn itself counts, which is by storageScheduled."""
    return NodeDisks(node=node, disks=tuple(disk_space(disk, settings) for disk in node.disks))


def refusal_of(node: Node) -> NodeRefusal | None:
    """Say why *node* gets no new replicas, None if it does.

    A requested eviction of the node does not matter here: Longhorn's webhook lets it be requested
    only with scheduling disabled. Source: longhorn-manager scheduler/replica_scheduler.go
    ListSchedulableNodes.
    """
    if node.deleting:
        return NodeRefusal.DELETING
    if not node.ready.is_true:
        return NodeRefusal.NOT_READY
    if not node.allow_scheduling:
        return NodeRefusal.SCHEDULING_DISABLED
    if not node.schedulable.is_true:
        return NodeRefusal.NOT_SCHEDULABLE
    return None


def refusals_of(node: Node) -> list[NodeRefusal]:
    """Return all that keeps new replicas off *node*, the first being its `refusal_of`."""
    ready, schedulable = node.ready.is_true, node.schedulable.is_true
    found = (node.deleting, not ready, not node.allow_scheduling, not schedulable)
    return [each for each, is_so in zip(NodeRefusal, found, strict=True) if is_so]


def meets_topology(node: Node, terms: Iterable[TopologyTerm]) -> bool:
    """Say whether *node* meets some term of a topologyRequirement, if there is any.

    Source: types.NodeMatchesTopologyRequirement. An empty zone or region of a term meets any.
    """
    terms = tuple(terms)
    return not terms or any(
        term.zone in ("", node.zone) and term.region in ("", node.region) for term in terms
    )


def has_tags(node: Node, need: Need, settings: Settings) -> bool:
    """Say whether *node* has the tags that such a replica asks for."""
    return all_match(node.tags, need.node_selectors, allow_empty=settings.allow_empty_node_selector)


def is_down(node: Node) -> bool:
    """Say whether Kubernetes lost *node* (datastore IsNodeDownOrDeleted).

    A node that is not ready because only Longhorn's manager is missing is not down.
    """
    return node.ready.status == "False" and node.ready.reason in _DOWN
