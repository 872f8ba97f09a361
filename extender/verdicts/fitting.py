"""What a pod needs on a node, ready for packing, and what is missing where it does not fit."""

from collections.abc import Iterable

import msgspec

from extender.space import NodeSpace, why_unusable
from extender.verdicts.rejections import (
    DiskTags,
    FilesystemLimit,
    InsufficientStorage,
    NoDiskOfType,
    NoUsableDisk,
    Rejection,
    VolumesDoNotFit,
)
from extender.view import ClusterView
from longhorn import Need, Settings, TopologyTerm, all_match, mismatch, tags_match
from packing import Item, Kind, PreparedItems, is_stranded, prepare


class Demand(msgspec.Struct, frozen=True, kw_only=True):
    """What is to be put on one node, ready for packing; serves for any number of nodes."""

    items: tuple[Item, ...]
    prepared: PreparedItems
    """The same, in the order that packing takes them."""
    by_size: tuple[tuple[Item, Need], ...]
    """The same, each with what it comes from, the largest volume first."""
    node_selectors: tuple[tuple[str, ...], ...]
    """Those that some node may fail to meet."""
    topologies: tuple[tuple[TopologyTerm, ...], ...]


class Total(msgspec.Struct, frozen=True, kw_only=True):
    """What several items take together of the one disk that takes them all."""

    logical_bytes: int
    physical_bytes: int
    kinds: frozenset[Kind]
    """The kinds of disks that each of them may use."""


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
        by_size=tuple(sorted(zip(items, needs, strict=True), key=lambda pair: -pair[1].size_bytes)),
        node_selectors=tuple(s for s in selectors if s or not settings.allow_empty_node_selector),
        topologies=tuple(dict.fromkeys(need.topology for need in needs if need.topology)),
    )


def total_of(items: Iterable[Item]) -> Total:
    """Add up *items*, of which there is at least one."""
    items = tuple(items)
    return Total(
        logical_bytes=sum(item.logical_bytes for item in items),
        physical_bytes=sum(item.physical_bytes for item in items),
        kinds=frozenset.intersection(*(item.kinds for item in items)),
    )


def shortage(demand: Demand, space: NodeSpace, settings: Settings) -> Rejection:
    """Say what is missing for a demand that does not fit, naming the largest volume it hits."""
    if not space.bins:
        return NoUsableDisk()
    for item, need in demand.by_size:
        if is_stranded(item, space.roomiest):
            if any(bin_.kind in item.kinds for bin_ in space.roomiest):
                return InsufficientStorage(size_bytes=need.size_bytes)
            return _unsuitable_disks(need, space, settings)
    return VolumesDoNotFit(
        volumes=len(demand.by_size), size_bytes=sum(need.size_bytes for _, need in demand.by_size)
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
