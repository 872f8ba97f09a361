"""Whether a node suits a pod's volumes, and has room for them beside all that competes there."""

from collections.abc import Container, Iterable, Iterator, Mapping, Sequence

import msgspec
from msgspec import structs

from extender.demand.items import Demand, suits
from extender.space import NodeSpace, why_unusable
from extender.upcoming.upcoming import Certainty, Upcoming
from extender.verdicts.rejections import (
    LinkedCloneElsewhere,
    NodeDeleting,
    NodeEvicting,
    NodeNotReady,
    NodeNotSchedulable,
    NodeSchedulingDisabled,
    NodeTags,
    Rejection,
    StrictLocalElsewhere,
    StrictLocalUnusable,
    Topology,
)
from extender.verdicts.shortages import (
    DiskTags,
    FilesystemLimit,
    InsufficientStorage,
    NoDiskOfType,
    NoUsableDisk,
    PackingUndecided,
    PendingReplicas,
    RoomHeld,
    VolumesDoNotFit,
)
from extender.verdicts.situation import Situation
from extender.view import ClusterView
from longhorn import (
    Need,
    Node,
    NodeName,
    NodeRefusal,
    Selector,
    TopologyTerm,
    all_match,
    meets_topology,
    refusals_of,
    tags_match,
)
from packing import (
    Bin,
    Item,
    Kind,
    Outcome,
    Packed,
    PreparedItems,
    Undecided,
    is_stranded,
    pack,
)

_REFUSED = {
    NodeRefusal.DELETING: NodeDeleting(),
    NodeRefusal.NOT_READY: NodeNotReady(),
    NodeRefusal.SCHEDULING_DISABLED: NodeSchedulingDisabled(),
    NodeRefusal.NOT_SCHEDULABLE: NodeNotSchedulable(),
}


class Verdict(msgspec.Struct, frozen=True, kw_only=True):
    """Whether one node can hold what the pod needs there."""

    rejection: Rejection | None = None
    assignment: Mapping[str, str] = {}
    """On an accepted node the disk's name for each volume that a new replica is needed for."""
    steps: int = 0
    """Steps that the packing took."""


class Glance(msgspec.Struct, frozen=True, kw_only=True):
    """The verdicts on nodes that follow without packing."""

    accepted: Sequence[NodeName]
    rejected: Mapping[NodeName, Rejection]
    rest: Sequence[NodeName]
    """Nodes that must be judged singly."""


def glance(
    situation: Situation,
    nodes: Iterable[NodeName],
    *,
    beside: Iterable[Item],
    busy: Container[NodeName],
) -> Glance:
    """Judge the nodes whose verdict follows without packing; `judge` says the same of them.

    On most nodes one disk takes everything, or none takes the largest volume.

    Args:
        situation: The pod; none of its strict-local volumes is placed.
        nodes: None of them holds a replica of the pod's volumes.
        beside: What open holds of other pods keep on each of these nodes.
    """
    demand, view, spaces = situation.demand, situation.view, situation.view.spaces
    forecast = situation.book.forecast
    items, (largest, _) = (*demand.items, *beside), demand.by_size[0]
    own_logical_bytes = sum(item.logical_bytes for item in items)
    own_physical_bytes = sum(item.physical_bytes for item in items)
    own_kinds = frozenset.intersection(*(item.kinds for item in items))
    suits_any_node = not (demand.node_selectors or demand.topologies)
    accepted, rejected, rest = list[NodeName](), dict[NodeName, Rejection](), list[NodeName]()
    for name in nodes:
        space = spaces.get(name)
        if (
            space is None
            or not space.takes_replicas
            or demand.sources
            or not (suits_any_node or suits(demand, space.node))
        ):
            rest.append(name)
            continue
        logical_bytes, physical_bytes, kinds = own_logical_bytes, own_physical_bytes, own_kinds
        if name in busy or space.pending:
            taken = forecast.taken(name)
            logical_bytes += taken.logical_bytes
            physical_bytes += taken.physical_bytes
            kinds = kinds.intersection(*(item.kinds for item in taken.items))
        for disk in space.roomiest:
            if (
                logical_bytes <= disk.logical_bytes
                and physical_bytes <= disk.physical_bytes
                and disk.kind in kinds
            ):
                accepted.append(name)
                break
        else:
            if is_stranded(largest, space.roomiest):
                rejected[name] = shortage(demand, space, view)
            else:
                rest.append(name)
    return Glance(accepted=accepted, rejected=rejected, rest=rest)


def judge(situation: Situation, space: NodeSpace, *, step_limit: int) -> Verdict:
    """Say whether the pod fits on one node, and on which disks what must be placed anew.

    The first question that the node fails says why it is rejected. Whether there is room comes
    last: it costs most.
    """
    for question in QUESTIONS:
        rejection = question(situation, space)
        if rejection is not None:
            return Verdict(rejection=rejection)
    return _has_room(situation, space, step_limit)


def has_the_strict_volumes(situation: Situation, space: NodeSpace) -> Rejection | None:
    """Reject a node without a usable replica of each strict-local volume that has one somewhere."""
    name = space.node.name
    for volume, nodes in situation.strict_nodes.items():
        if name not in nodes:
            return StrictLocalElsewhere()
        if name not in situation.existing[volume]:
            return StrictLocalUnusable()
    return None


def takes_replicas(_: Situation, space: NodeSpace) -> Rejection | None:
    """Reject a node that takes no new replica, whatever it is."""
    return node_rejection(space)


def suits_the_volumes(situation: Situation, space: NodeSpace) -> Rejection | None:
    """Reject a node without the tags, or outside the zones, that new replicas ask for."""
    demand = situation.demand_on(space.node.name)
    return node_mismatch(space.node, demand.node_selectors, demand.topologies)


def has_the_sources(situation: Situation, space: NodeSpace) -> Rejection | None:
    """Reject a node without the data that linked clones share."""
    name = space.node.name
    has_all = all(name in nodes for nodes in situation.demand_on(name).sources)
    return None if has_all else LinkedCloneElsewhere()


QUESTIONS = (has_the_strict_volumes, takes_replicas, suits_the_volumes, has_the_sources)
"""What is asked about a node before its room, in this order."""


def _has_room(situation: Situation, space: NodeSpace, step_limit: int) -> Verdict:
    """Pack what must be placed anew beside all that comes, or say what is in the way.

    Volumes that have a replica on the node need no room. In the way is the least certain of what
    comes, if the rest leaves room.
    """
    demand = situation.demand_on(space.node.name)
    others = situation.competitors_on(space)
    outcome: Outcome | None = None
    count, steps = -1, 0
    for least, in_the_way in _IN_THE_WAY:
        beside = [each for each in others if each.certainty <= least]
        if len(beside) == count:
            continue
        if isinstance(outcome, Undecided) and isinstance(in_the_way, PendingReplicas):
            break  # holds end by themselves, but what Longhorn will place stays
        count, outcome = len(beside), _packed(demand, space, beside, max(0, step_limit - steps))
        steps += outcome.steps
        if isinstance(outcome, Packed):
            disks = outcome.assignment
            own = {} if in_the_way else {item.id: disks[item.id] for item in demand.items}
            return Verdict(rejection=in_the_way, assignment=own, steps=steps)
        if not beside:
            break
    if isinstance(outcome, Undecided):
        return Verdict(rejection=PackingUndecided(), steps=steps)
    return Verdict(rejection=shortage(demand, space, situation.view), steps=steps)


_IN_THE_WAY: Sequence[tuple[int, Rejection | None]] = (
    (Certainty.OPEN, None),
    (Certainty.CHOSEN, RoomHeld(by_open=True)),
    (Certainty.SHOWN, RoomHeld(by_open=False)),
    (-1, PendingReplicas()),
)
"""Who is in the way of a pod that fits beside what is so certain, and beside no more."""


def _packed(
    demand: Demand, space: NodeSpace, others: Sequence[Upcoming], step_limit: int
) -> Outcome:
    """Pack a demand on one node beside *others*."""
    items: Sequence[Item] | PreparedItems = demand.prepared
    bins: Sequence[Bin] = space.bins
    if demand.sources:
        needs = (*demand.by_size, *((each.item, each.need) for each in others))
        items, bins = _with_one_kind_per_disk(needs, space)
    elif others:
        items = (*demand.items, *(each.item for each in others))
    return pack(items, bins, step_limit=step_limit)


def _with_one_kind_per_disk(
    needs: Iterable[tuple[Item, Need]], space: NodeSpace
) -> tuple[list[Item], list[Bin]]:
    """Return items and the disks of a node, each disk of a kind of its own.

    Then linked clones fit only on the disks that hold what they share.
    """
    name, ids = space.node.name, {str(each.disk.name): each.disk.id for each in space.disks}
    bins = [structs.replace(bin_, kind=number) for number, bin_ in enumerate(space.bins)]

    def kinds_of(item: Item, need: Need) -> frozenset[Kind]:
        return frozenset(
            number
            for number, bin_ in enumerate(space.bins)
            if bin_.kind in item.kinds
            and (need.places is None or (name, ids[bin_.id]) in need.places)
        )

    return [structs.replace(item, kinds=kinds_of(item, need)) for item, need in needs], bins


def node_rejection(space: NodeSpace) -> Rejection | None:
    """Say why a node takes no new replica at all, None if it does.

    Longhorn would place replicas on a node whose eviction is requested, should its scheduling be
    enabled; they would be moved at once.
    """
    if space.refusal is not None:
        return _REFUSED[space.refusal]
    return NodeEvicting() if space.node.evicting else None


def node_rejections(space: NodeSpace) -> Iterator[Rejection]:
    """Yield all that keeps new replicas off a node, the first being its `node_rejection`."""
    for refusal in refusals_of(space.node):
        yield _REFUSED[refusal]
    if space.node.evicting:
        yield NodeEvicting()


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
