"""What else will take room on a node that a pod's volumes need.

Longhorn retries a replica with hardNodeAffinity at least every 30 s, so it takes room on that node
as soon as there is any. docs/decisions/0001 says which of them count. What is held for other pods
takes room until Longhorn's objects show it.
"""

from collections.abc import Iterable, Iterator, Mapping

import msgspec

from extender.holds.hold import Hold, State, charged
from extender.space import NodeSpace
from extender.verdicts.case import Case
from extender.verdicts.fitting import Demand, demand_of
from extender.verdicts.rejections import PendingReplicas, Rejection, RoomHeld
from extender.verdicts.suitability import node_mismatch
from longhorn import Need, NodeName, Replica, VolumeName, need_of
from packing import Bin, Item, Kind, is_stranded

_PLENTY_BYTES = 2**63


class Competitors(msgspec.Struct, frozen=True, kw_only=True):
    """What competes with a pod's volumes on one node, from the most to the least certain."""

    pending: tuple[Item, ...] = ()
    """Replicas that Longhorn will place on this node."""
    chosen: tuple[Item, ...] = ()
    """Held for pods whose node this is."""
    open: tuple[Item, ...] = ()
    """Held for pods that may still go to another node."""

    def fewer_each_time(self) -> Iterator[tuple[Rejection | None, tuple[Item, ...]]]:
        """Yield what to pack along: everything first, then without the least certain.

        With each comes who is in the way of a pod that fits beside these, but not beside more.
        """
        yield None, self.pending + self.chosen + self.open
        if self.open:
            yield RoomHeld(by_open=True), self.pending + self.chosen
        if self.chosen:
            yield RoomHeld(by_open=False), self.pending
        if self.pending:
            yield PendingReplicas(), ()


class OpenHolds(msgspec.Struct, frozen=True, kw_only=True):
    """What is held for other pods that may go to any of several nodes, taken together."""

    needs: tuple[Need, ...] = ()
    items: tuple[Item, ...] = ()
    nodes: frozenset[NodeName] = frozenset()
    """Where all of it takes room."""
    partly: frozenset[NodeName] = frozenset()
    """Where only a part of it does."""


def open_holds(holds: Iterable[Hold], case: Case) -> OpenHolds:
    """Take open holds together, without the volumes that the pod uses itself."""
    needs: dict[VolumeName, Need] = {}
    accepted: list[frozenset[NodeName]] = []
    for hold in holds:
        wanted = {v.name: v.need for v in hold.volumes if v.name not in case.own}
        if wanted:
            needs |= wanted
            accepted.append(hold.nodes)
    if not needs:
        return OpenHolds()
    replicas = case.view.replicas
    there_already = {
        node
        for volume in needs
        for replica in replicas.get(volume, ())
        for node in (replica.node, replica.hard_node_affinity)
    }
    nodes = accepted[0].intersection(*accepted[1:]) - there_already
    return OpenHolds(
        needs=tuple(needs.values()),
        items=_held(needs, case),
        nodes=nodes,
        partly=frozenset().union(*accepted) - nodes,
    )


def competitors_of(
    demand: Demand, space: NodeSpace, holds: Iterable[Hold], case: Case
) -> Competitors:
    """Return what competes with *demand* on a node.

    Left out is what belongs to the pod's own volumes, and replicas that Longhorn cannot place
    there: whose volume is being deleted or whose backing image is gone, that the node does not
    suit, or that fit on no disk even alone. A node must not be lost to them for ever. One whose
    volume is not known counts: a live view may hear of the volume later than of the replica.
    Holds count if they would fit on an empty disk: they end by themselves, and on a disk that
    seems full something may have been deleted a moment ago.

    Args:
        demand: What the pod needs on this node.
        space: The node.
        holds: Those of other pods that count on this node.
        case: The pod.
    """
    pending = [item for replica in space.pending for item in _pending(replica, space, case)]
    # Pods that share a volume need its room once, and are sure of it if one of them is.
    chosen: dict[VolumeName, Need] = {}
    open_: dict[VolumeName, Need] = {}
    for hold in holds:
        needs = chosen if hold.state is State.CHOSEN else open_
        for volume in charged(hold, space.node.name, case.view.replicas):
            if volume.name not in case.own:
                needs[volume.name] = volume.need
    for name in chosen:
        open_.pop(name, None)
    empty = _emptied(space)
    fitting = [
        [item for item in items if not is_stranded(item, bins)]
        for items, bins in (
            (pending, space.bins),
            (_held(chosen, case), empty),
            (_held(open_, case), empty),
        )
    ]
    here = frozenset(bin_.kind for bin_ in space.bins)
    asked = here.intersection(frozenset().union(*(item.kinds for item in demand.items)))
    reached = _reached([item for items in fitting for item in items], asked, here)
    ids = {item.id for item in reached}
    kept = [tuple(item for item in items if item.id in ids) for items in fitting]
    return Competitors(pending=kept[0], chosen=kept[1], open=kept[2])


def _pending(replica: Replica, space: NodeSpace, case: Case) -> Iterator[Item]:
    """Yield what a pending replica needs, if Longhorn can place it on the node."""
    view = case.view
    if replica.volume in case.own:
        return
    volume = view.volumes.get(replica.volume)
    if volume is None:  # unreadable, or not heard of yet
        everywhere = frozenset(view.disk_kinds.values())  # its selectors are not known
        yield Item(replica.name, replica.size_bytes, 0, everywhere)
        return
    if volume.deleting:
        return
    image = None
    if volume.backing_image is not None:
        image = view.backing_images.get(volume.backing_image)
        if image is None and ("BackingImage", volume.backing_image) not in view.unreadable:
            return
    demand = demand_of([(str(replica.name), need_of(volume, image))], view, case.settings)
    if not node_mismatch(space.node, demand.node_selectors, demand.topologies, case.settings):
        yield from demand.items


def _held(needs: Mapping[VolumeName, Need], case: Case) -> tuple[Item, ...]:
    if not needs:
        return ()
    named = [(f"held/{name}", need) for name, need in needs.items()]
    return demand_of(named, case.view, case.settings).items


def _emptied(space: NodeSpace) -> list[Bin]:
    """Return the usable disks as if nothing were on them."""
    limits = {str(each.disk.name): each.limit_bytes for each in space.disks}
    return [Bin(bin_.id, bin_.kind, limits[bin_.id], _PLENTY_BYTES) for bin_ in space.bins]


def _reached(items: list[Item], kinds: frozenset[Kind], here: frozenset[Kind]) -> list[Item]:
    """Keep the items that may use disks of *kinds*, or of kinds that such items may use.

    Only kinds of disks that are *here* lead on: two items do not compete on a node because a disk
    of another node would suit both.
    """
    reached = [item for item in items if item.kinds & kinds]
    if not reached:
        return []
    rest = [item for item in items if not item.kinds & kinds]
    led_on = kinds.union(*(item.kinds & here for item in reached))
    return reached + _reached(rest, led_on, here)
