"""What replicas need of a node, ready for packing."""

from collections.abc import Iterable

import msgspec

from extender.view import ClusterView
from longhorn import (
    Engine,
    Engines,
    Need,
    Node,
    NodeName,
    Place,
    TopologyTerm,
    all_match,
    meets_topology,
    mismatch,
    starts_replicas,
)
from packing import Item, Kind, PreparedItems, prepare


class Demand(msgspec.Struct, frozen=True, kw_only=True):
    """What is to be put on one node, ready for packing; serves for any number of nodes."""

    items: tuple[Item, ...]
    prepared: PreparedItems
    """The same, in the order that packing takes them."""
    by_size: tuple[tuple[Item, Need], ...]
    """The same, each with what it comes from, the largest volume first."""
    node_selectors: tuple[tuple[str, ...], ...]
    """Those that some node may fail to meet; an empty one asks for a node without tags."""
    topologies: tuple[tuple[TopologyTerm, ...], ...]
    sources: tuple[frozenset[NodeName], ...]
    """Of each linked clone, the nodes with the data that it shares."""
    engines: tuple[Engine, ...]
    """What runs the replicas."""


def demand_of(named_needs: Iterable[tuple[str, Need]], view: ClusterView) -> Demand:
    """Prepare needs, each with an id of its own, for packing on the nodes of *view*."""
    kinds: dict[Need, frozenset[Kind]] = {}
    selectors: dict[tuple[str, ...], None] = {}
    pairs: list[tuple[Item, Need]] = []
    for name, need in named_needs:
        if need not in kinds:
            kinds[need] = _kinds_of(need, view)
            selectors |= dict.fromkeys(need.node_selectors)
        pairs.append((_item(name, need, kinds[need]), need))
    items = tuple([item for item, _ in pairs])
    if view.settings.allow_empty_node_selector:
        selectors.pop((), None)
    return Demand(
        items=items,
        prepared=prepare(items),
        by_size=tuple(sorted(pairs, key=_descending)),
        node_selectors=tuple(selectors),
        topologies=tuple({need.topology: None for need in kinds if need.topology}),
        sources=tuple({_nodes_of(n.places): None for n in kinds if n.places is not None}),
        engines=tuple({need.engine: None for need in kinds}),
    )


def item_of(name: str, need: Need, view: ClusterView) -> Item:
    """Prepare one need for packing on the nodes of *view*."""
    return _item(name, need, _kinds_of(need, view))


def suits(demand: Demand, node: Node) -> bool:
    """Say whether a node has the tags and the data, and is in the zone and region, asked for."""
    return (
        all(meets_topology(node, terms) for terms in demand.topologies)
        and all_match(node.tags, demand.node_selectors, allow_empty=False)
        and all(node.name in names for names in demand.sources)
    )


def all_start(demand: Demand, engines: Engines) -> bool:
    """Say whether all replicas start where these run; Longhorn passes other nodes over."""
    return all(starts_replicas(engines, each) for each in demand.engines)


def _nodes_of(places: frozenset[Place]) -> frozenset[NodeName]:
    return frozenset(name for name, _ in places)


def _descending(pair: tuple[Item, Need]) -> int:
    return -pair[1].size_bytes


def _item(name: str, need: Need, kinds: frozenset[Kind]) -> Item:
    return Item(
        id=name, logical_bytes=need.size_bytes, physical_bytes=need.actual_bytes, kinds=kinds
    )


def _kinds_of(need: Need, view: ClusterView) -> frozenset[Kind]:
    """Return the numbers of the kinds of disks that may take a need, whatever room they have."""
    settings = view.settings
    return frozenset(
        [n for kind, n in view.disk_kinds.items() if mismatch(kind, need, settings) is None]
    )
