"""Why a node takes no replica of a pod's volumes whatever room it has."""

from collections.abc import Iterable

from extender.space import NodeSpace
from extender.verdicts.rejections import (
    NodeDeleting,
    NodeEvicting,
    NodeNotReady,
    NodeNotSchedulable,
    NodeSchedulingDisabled,
    NodeTags,
    Rejection,
    Topology,
)
from longhorn import Node, NodeRefusal, Selector, TopologyTerm, meets_topology, tags_match

_REFUSED = {
    NodeRefusal.DELETING: NodeDeleting(),
    NodeRefusal.NOT_READY: NodeNotReady(),
    NodeRefusal.SCHEDULING_DISABLED: NodeSchedulingDisabled(),
    NodeRefusal.NOT_SCHEDULABLE: NodeNotSchedulable(),
}


def node_rejection(space: NodeSpace) -> Rejection | None:
    """Say why a node takes no new replica at all, None if it does.

    Longhorn would place replicas on a node whose eviction is requested, should its scheduling be
    enabled; they would be moved at once.
    """
    if space.refusal is not None:
        return _REFUSED[space.refusal]
    return NodeEvicting() if space.node.evicting else None


def node_mismatch(
    node: Node, selectors: Iterable[Selector], topologies: Iterable[tuple[TopologyTerm, ...]]
) -> Rejection | None:
    """Say what keeps replicas of such selectors and topologies from *node*, if anything."""
    if not all(meets_topology(node, terms) for terms in topologies):
        return Topology()
    for selector in selectors:
        if not tags_match(node.tags, selector, allow_empty=False):
            return NodeTags(selector=selector)
    return None
