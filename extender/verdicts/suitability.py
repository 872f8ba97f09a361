"""Why a node does not suit what a pod's volumes ask for, and what it lacks for it."""

from collections.abc import Iterable

from extender.demand.items import Demand
from extender.space import NodeSpace, why_unusable
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
from extender.verdicts.shortages import (
    DiskTags,
    FilesystemLimit,
    InsufficientStorage,
    NoDiskOfType,
    NoUsableDisk,
    VolumesDoNotFit,
)
from extender.view import ClusterView
from longhorn import (
    Need,
    Node,
    NodeRefusal,
    Selector,
    TopologyTerm,
    all_match,
    meets_topology,
    tags_match,
)
from packing import is_stranded

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


def shortage(demand: Demand, space: NodeSpace, view: ClusterView) -> Rejection:
    """Say what is missing for a demand that does not fit, naming the largest volume it hits."""
    if not space.bins:
        return NoUsableDisk()
    for item, need in demand.by_size:
        if is_stranded(item, space.roomiest):
            if any(bin_.kind in item.kinds for bin_ in space.roomiest):
                return InsufficientStorage(size_bytes=need.size_bytes)
            return _unsuitable_disks(need, space, view)
    return VolumesDoNotFit(
        volumes=len(demand.by_size), size_bytes=sum(need.size_bytes for _, need in demand.by_size)
    )


def _unsuitable_disks(need: Need, space: NodeSpace, view: ClusterView) -> Rejection:
    kinds = [each.kind for each in space.disks if why_unusable(each.disk) is None]
    kinds = [kind for kind in kinds if kind.type == need.disk_type]
    if not kinds:
        return NoDiskOfType(type=need.disk_type)
    allow_empty = view.settings.allow_empty_disk_selector
    if any(all_match(kind.tags, need.disk_selectors, allow_empty=allow_empty) for kind in kinds):
        return FilesystemLimit(size_bytes=need.size_bytes)
    met_by_none = (
        selector
        for selector in need.disk_selectors
        if not any(tags_match(kind.tags, selector, allow_empty=allow_empty) for kind in kinds)
    )
    all_tags = tuple(dict.fromkeys(tag for selector in need.disk_selectors for tag in selector))
    return DiskTags(selector=next(met_by_none, all_tags))
