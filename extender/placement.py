"""Whether the volumes a pod needs on its node fit together on one particular node."""

from collections.abc import Container, Iterable, Mapping

import msgspec

from extender.capacity import DiskKind, NodeSpace, kind_of
from extender.policy import Policy
from extender.rejections import (
    DiskTags,
    FilesystemLimit,
    InsufficientStorage,
    NodeTags,
    NoDiskOfType,
    NoUsableDisk,
    PackingUndecided,
    PendingReplicas,
    Rejection,
    Topology,
    VolumesDoNotFit,
)
from extender.requests import Need, need_of
from extender.types import Node, TopologyTerm, VolumeName
from extender.view import ClusterView
from packing import Bin, Infeasible, Item, Packed, PreparedItems, Undecided, pack, prepare

_EXT_LIMIT_BYTES = 2**44
_XFS_LIMIT_BYTES = 2**63 - 1


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


def demand_of(named_needs: Iterable[tuple[str, Need]], view: ClusterView, policy: Policy) -> Demand:
    """Prepare needs, each with an id of its own, for packing on the nodes of *view*."""
    named_needs = tuple(named_needs)
    needs = tuple(need for _, need in named_needs)
    kinds = {
        need: frozenset(
            number for kind, number in view.disk_kinds.items() if _suits(kind, need, policy)
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
        node_selectors=tuple(s for s in selectors if s or not policy.allow_empty_node_selector),
        topologies=tuple(dict.fromkeys(need.topology for need in needs if need.topology)),
    )


def place(
    demand: Demand,
    space: NodeSpace,
    policy: Policy,
    *,
    step_limit: int,
    pending: tuple[Item, ...] = (),
) -> Placement:
    """Pack *demand*, and *pending* replicas along with it, on the usable disks of one node."""
    rejection = space.rejection or _mismatch(demand, space.node, policy)
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
            alone = place(demand, space, policy, step_limit=step_limit)
            return Placement(
                rejection=alone.rejection or PendingReplicas(), steps=outcome.steps + alone.steps
            )
        case Infeasible():
            return Placement(rejection=_shortage(demand, space, policy), steps=outcome.steps)


def pending_items(
    space: NodeSpace, own: Container[VolumeName], view: ClusterView, policy: Policy
) -> tuple[Item, ...]:
    """Return what Longhorn is about to place on the node, for other volumes than *own*.

    These replicas have hardNodeAffinity for this node and are retried at least every 30 s, so
    they take room as soon as it is there. Left out is what takes none: replicas whose volume or
    backing image is gone, and those that fit on no disk even alone, since a node must not be
    lost to them for ever. If several fit singly but not together, all count until Longhorn has
    placed one and the rest drop out.
    """
    needs = []
    for replica in space.pending:
        volume = view.volumes.get(replica.volume)
        if volume is None or volume.deleting or volume.name in own:
            continue
        image = view.backing_images.get(volume.backing_image)
        if image is not None or not volume.backing_image:
            needs.append((str(replica.name), need_of(volume, image)))
    items = demand_of(needs, view, policy).items
    return tuple(item for item in items if any(_fits(item, bin_) for bin_ in space.bins))


def tags_match(tags: frozenset[str], selector: tuple[str, ...], *, allow_empty: bool) -> bool:
    """Say whether *tags* meet *selector*: all of it, case-sensitive, nothing trimmed.

    An empty selector meets anything if *allow_empty*, else only what has no tags. Source:
    longhorn-manager types.IsSelectorsInTags.
    """
    if not selector:
        return allow_empty or not tags
    return tags.issuperset(selector)


def _suits(kind: DiskKind, need: Need, policy: Policy) -> bool:
    return (
        kind.type == need.disk_type
        and _file_size_suits(kind, need)
        and _tags_suit(kind, need, policy)
    )


def _file_size_suits(kind: DiskKind, need: Need) -> bool:
    """Whether one file of the volume's size is possible (datastore IsSupportedVolumeSize)."""
    if kind.type == "filesystem" and kind.filesystem.startswith("ext"):
        return need.size_bytes < _EXT_LIMIT_BYTES
    if kind.type == "filesystem" and kind.filesystem == "xfs":
        return need.size_bytes < _XFS_LIMIT_BYTES
    return True


def _tags_suit(kind: DiskKind, need: Need, policy: Policy) -> bool:
    return all(
        tags_match(kind.tags, selector, allow_empty=policy.allow_empty_disk_selector)
        for selector in need.disk_selectors
    )


def _mismatch(demand: Demand, node: Node, policy: Policy) -> Rejection | None:
    for terms in demand.topologies:
        if not any(
            term.zone in ("", node.zone) and term.region in ("", node.region) for term in terms
        ):
            return Topology()
    for selector in demand.node_selectors:
        if not tags_match(node.tags, selector, allow_empty=policy.allow_empty_node_selector):
            return NodeTags(selector=selector)
    return None


def _shortage(demand: Demand, space: NodeSpace, policy: Policy) -> Rejection:
    """Say what is missing for a demand that does not fit, naming the largest volume it hits."""
    if not space.bins:
        return NoUsableDisk()
    by_size = sorted(
        zip(demand.items, demand.needs, strict=True), key=lambda pair: -pair[1].size_bytes
    )
    for item, need in by_size:
        if not any(bin_.kind in item.kinds for bin_ in space.bins):
            return _unsuitable_disks(need, space, policy)
        if not any(_fits(item, bin_) for bin_ in space.bins):
            return InsufficientStorage(size_bytes=need.size_bytes)
    return VolumesDoNotFit(
        volumes=len(demand.needs), size_bytes=sum(need.size_bytes for need in demand.needs)
    )


def _unsuitable_disks(need: Need, space: NodeSpace, policy: Policy) -> Rejection:
    kinds = [kind_of(disk.disk) for disk in space.disks if not disk.unusable]
    kinds = [kind for kind in kinds if kind.type == need.disk_type]
    if not kinds:
        return NoDiskOfType(type=need.disk_type)
    if not any(_tags_suit(kind, need, policy) for kind in kinds):
        unmet = [
            selector
            for selector in need.disk_selectors
            if not any(
                tags_match(kind.tags, selector, allow_empty=policy.allow_empty_disk_selector)
                for kind in kinds
            )
        ]
        return DiskTags(selector=(unmet or need.disk_selectors)[0])
    return FilesystemLimit(size_bytes=need.size_bytes)


def _fits(item: Item, bin_: Bin) -> bool:
    return (
        bin_.kind in item.kinds
        and 0 <= item.logical_bytes <= bin_.logical_bytes
        and 0 <= item.physical_bytes <= bin_.physical_bytes
    )
