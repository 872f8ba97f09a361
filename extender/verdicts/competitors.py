"""What else is about to be placed on a node, and takes room from a pod's volumes.

Longhorn retries a replica with hardNodeAffinity at least every 30 s, so it takes room on that node
as soon as there is any. docs/decisions/0001 says which of them count. What was promised to other
pods takes room until Longhorn's objects show it.
"""

from collections.abc import Container, Iterable, Mapping

import msgspec

from extender.holds.hold import Hold, State, charged
from extender.space import NodeSpace
from extender.verdicts.placement import Demand, demand_of
from extender.verdicts.suitability import node_mismatch
from extender.view import ClusterView
from longhorn import Need, NodeName, Replica, Settings, VolumeName, need_of
from packing import Bin, Item, Kind, is_stranded

_PLENTY_BYTES = 2**63


class Rivals(msgspec.Struct, frozen=True, kw_only=True):
    """What competes with a pod's volumes on one node, from the certain to the open."""

    pending: tuple[Item, ...] = ()
    """Replicas that Longhorn will place on this node."""
    placed: tuple[Item, ...] = ()
    """Promised to pods whose node this is."""
    offered: tuple[Item, ...] = ()
    """Promised to pods that may still go elsewhere."""

    @property
    def promised(self) -> tuple[Item, ...]:
        return self.placed + self.offered


class Offers(msgspec.Struct, frozen=True, kw_only=True):
    """What is promised to pods that may go to any of several nodes."""

    needs: tuple[Need, ...] = ()
    items: tuple[Item, ...] = ()
    nodes: frozenset[NodeName] = frozenset()
    """Where all of it takes room."""
    others: frozenset[NodeName] = frozenset()
    """Where a part of it does: what it takes there must be found out for each node."""


def offers_of(
    holds: Iterable[Hold], own: Container[VolumeName], view: ClusterView, settings: Settings
) -> Offers:
    """Take together what is offered, but for the pod's *own* volumes."""
    needs: dict[VolumeName, Need] = {}
    accepted: list[frozenset[NodeName]] = []
    for hold in holds:
        wanted = {v.name: v.need for v in hold.volumes if v.name not in own}
        if wanted:
            needs |= wanted
            accepted.append(hold.nodes)
    if not needs:
        return Offers()
    union = frozenset().union(*accepted)
    there_already = {
        node
        for volume in needs
        for replica in view.replicas.get(volume, ())
        for node in (replica.node, replica.hard_node_affinity)
    }
    nodes = accepted[0].intersection(*accepted[1:]) - there_already
    return Offers(
        needs=tuple(needs.values()),
        items=tuple(_items(needs, view, settings)),
        nodes=nodes,
        others=union - nodes,
    )


def rivals_of(
    demand: Demand,
    space: NodeSpace,
    own: Container[VolumeName],
    holds: Iterable[Hold],
    offered: Iterable[Item],
    view: ClusterView,
    settings: Settings,
) -> Rivals:
    """Return what is about to be placed on the node and competes with *demand*.

    Left out is what belongs to the pod's *own* volumes, and replicas that Longhorn cannot place
    there: whose volume is being deleted or whose backing image is gone, that the node does not
    suit, or that fit on no disk even alone. A node must not be lost to them for ever. One whose
    volume is not known counts: a live view may hear of the volume later than of the replica.
    Promises count if they would fit on an empty disk: they end by themselves, and one that is said
    to be full may be about to show that something was deleted.
    """
    pending = [
        item
        for replica in space.pending
        if replica.volume not in own
        for item in (_item(replica, space, view, settings),)
        if item is not None
    ]
    # Pods that share a volume need its room once, and are sure of it if one of them is.
    promised: dict[State, dict[VolumeName, Need]] = {State.PLACED: {}, State.OFFERED: {}}
    for hold in holds:
        for volume in charged(hold, space.node.name, view.replicas):
            if volume.name not in own:
                promised[hold.state][volume.name] = volume.need
    for name in promised[State.PLACED]:
        promised[State.OFFERED].pop(name, None)
    empty = _emptied(space)
    sources = [
        [item for item in items if not is_stranded(item, bins)]
        for items, bins in (
            (pending, space.bins),
            (_items(promised[State.PLACED], view, settings), empty),
            ((*_items(promised[State.OFFERED], view, settings), *offered), empty),
        )
    ]
    here = frozenset(bin_.kind for bin_ in space.bins)
    asked = here.intersection(frozenset().union(*(item.kinds for item in demand.items)))
    everything = [item for items in sources for item in items]
    competing = {item.id for item in _competing(everything, asked, here)}
    kept = [tuple(item for item in items if item.id in competing) for items in sources]
    return Rivals(pending=kept[0], placed=kept[1], offered=kept[2])


def _items(
    needs: Mapping[VolumeName, Need], view: ClusterView, settings: Settings
) -> Iterable[Item]:
    named = [(f"promised/{name}", need) for name, need in needs.items()]
    return demand_of(named, view, settings).items if named else ()


def _emptied(space: NodeSpace) -> list[Bin]:
    """Return the usable disks as if nothing were on them."""
    limits = {str(each.disk.name): each.limit_bytes for each in space.disks}
    return [Bin(bin_.id, bin_.kind, limits[bin_.id], _PLENTY_BYTES) for bin_ in space.bins]


def _competing(items: list[Item], kinds: frozenset[Kind], here: frozenset[Kind]) -> list[Item]:
    """Keep the items that may use disks of *kinds*, or of kinds that such items may use.

    Only kinds of disks that are *here* lead on: two items do not compete on a node because a disk
    of another node would suit both.
    """
    reached = [item for item in items if item.kinds & kinds]
    if not reached:
        return []
    rest = [item for item in items if not item.kinds & kinds]
    led_on = kinds.union(*(item.kinds & here for item in reached))
    return reached + _competing(rest, led_on, here)


def _item(replica: Replica, space: NodeSpace, view: ClusterView, settings: Settings) -> Item | None:
    volume = view.volumes.get(replica.volume)
    if volume is None:  # unreadable, or not heard of yet
        everywhere = frozenset(view.disk_kinds.values())  # its selectors are not known
        return Item(replica.name, replica.size_bytes, 0, everywhere)
    if volume.deleting:
        return None
    image = None
    if volume.backing_image is not None:
        image = view.backing_images.get(volume.backing_image)
        if image is None and ("BackingImage", volume.backing_image) not in view.unreadable:
            return None
    demand = demand_of([(str(replica.name), need_of(volume, image))], view, settings)
    if node_mismatch(space.node, demand.node_selectors, demand.topologies, settings):
        return None
    return demand.items[0]
