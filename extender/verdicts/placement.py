"""Whether the volumes a pod needs on its node fit together on one particular node."""

from collections.abc import Iterable, Mapping

import msgspec

from extender.space import NodeSpace, why_unusable
from extender.verdicts.rejections import (
    DiskTags,
    FilesystemLimit,
    InsufficientStorage,
    NoDiskOfType,
    NoUsableDisk,
    PackingUndecided,
    PendingReplicas,
    Rejection,
    VolumesDoNotFit,
)
from extender.verdicts.suitability import node_mismatch, node_rejection
from extender.view import ClusterView
from longhorn import Need, Settings, TopologyTerm, all_match, mismatch, tags_match
from packing import (
    Infeasible,
    Item,
    Packed,
    PreparedItems,
    Undecided,
    is_stranded,
    pack,
    prepare,
)


class Demand(msgspec.Struct, frozen=True, kw_only=True):
    """What is to be placed on one node, ready for packing; serves for any number of nodes."""

    items: tuple[Item, ...]
    prepared: PreparedItems
    """The same, in the order that packing takes them."""
    needs: tuple[Need, ...]
    """In the order of the items."""
    node_selectors: tuple[tuple[str, ...], ...]
    """Those that some node may fail to meet."""
    topologies: tuple[tuple[TopologyTerm, ...], ...]


class Placement(msgspec.Struct, frozen=True, kw_only=True):
    """The verdict on one node: a disk's name for every item's id, or why not."""

    rejection: Rejection | None = None
    assignment: Mapping[str, str] = {}
    steps: int = 0
    is_open: bool = False
    """Rejected for what was promised to pods that may still go to another node."""


def demand_of(
    named_needs: Iterable[tuple[str, Need]], view: ClusterView, settings: Settings
) -> Demand:
    """Prepare needs, each with an id of its own, for packing on the nodes of *view*."""
    named_needs = tuple(named_needs)
    needs = tuple(need for _, need in named_needs)
    kinds = {
        need: frozenset(
            number
            for kind, number in view.disk_kinds.items()
            if mismatch(kind, need, settings) is None
        )
        for need in dict.fromkeys(needs)
    }
    selectors = dict.fromkeys(selector for need in needs for selector in need.node_selectors)
    items = tuple(
        Item(
            id=name,
            logical_bytes=need.size_bytes,
            physical_bytes=need.actual_bytes,
            kinds=kinds[need],
        )
        for name, need in named_needs
    )
    return Demand(
        items=items,
        prepared=prepare(items),
        needs=needs,
        node_selectors=tuple(s for s in selectors if s or not settings.allow_empty_node_selector),
        topologies=tuple(dict.fromkeys(need.topology for need in needs if need.topology)),
    )


def place(
    demand: Demand,
    space: NodeSpace,
    settings: Settings,
    *,
    step_limit: int,
    pending: tuple[Item, ...] = (),
) -> Placement:
    """Pack *demand*, and *pending* replicas along with it, on the usable disks of one node."""
    rejection = node_rejection(space) or node_mismatch(
        space.node, demand.node_selectors, demand.topologies, settings
    )
    if rejection is not None:
        return Placement(rejection=rejection)
    items = demand.items + pending if pending else demand.prepared
    outcome = pack(items, space.bins, step_limit=step_limit)
    match outcome:
        case Packed():
            return Placement(assignment=outcome.assignment, steps=outcome.steps)
        case Undecided():
            return Placement(rejection=PackingUndecided(), steps=outcome.steps)
        case Infeasible() if pending:
            alone = place(demand, space, settings, step_limit=step_limit - outcome.steps)
            return Placement(
                rejection=alone.rejection or PendingReplicas(), steps=outcome.steps + alone.steps
            )
        case Infeasible():
            return Placement(rejection=_shortage(demand, space, settings), steps=outcome.steps)


def _shortage(demand: Demand, space: NodeSpace, settings: Settings) -> Rejection:
    """Say what is missing for a demand that does not fit, naming the largest volume it hits."""
    if not space.bins:
        return NoUsableDisk()
    by_size = sorted(
        zip(demand.items, demand.needs, strict=True), key=lambda pair: -pair[1].size_bytes
    )
    for item, need in by_size:
        if not any(bin_.kind in item.kinds for bin_ in space.bins):
            return _unsuitable_disks(need, space, settings)
        if is_stranded(item, space.bins):
            return InsufficientStorage(size_bytes=need.size_bytes)
    return VolumesDoNotFit(
        volumes=len(demand.needs), size_bytes=sum(need.size_bytes for need in demand.needs)
    )


def _unsuitable_disks(need: Need, space: NodeSpace, settings: Settings) -> Rejection:
    kinds = [each.kind for each in space.disks if why_unusable(each.disk) is None]
    kinds = [kind for kind in kinds if kind.type == need.disk_type]
    if not kinds:
        return NoDiskOfType(type=need.disk_type)
    allow_empty = settings.allow_empty_disk_selector
    if any(all_match(kind.tags, need.disk_selectors, allow_empty=allow_empty) for kind in kinds):
        return FilesystemLimit(size_bytes=need.size_bytes)
    met_by_none = (
        selector
        for selector in need.disk_selectors
        if not any(tags_match(kind.tags, selector, allow_empty=allow_empty) for kind in kinds)
    )
    all_tags = tuple(dict.fromkeys(tag for selector in need.disk_selectors for tag in selector))
    return DiskTags(selector=next(met_by_none, all_tags))
