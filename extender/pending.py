"""Replicas that Longhorn is about to place on a node, and that take room from a pod's volumes.

Longhorn retries a replica with hardNodeAffinity at least every 30 s, so it takes room on that node
as soon as there is any. docs/decisions/0001 says which of them count.
"""

from collections.abc import Container

from extender.capacity import NodeSpace
from extender.placement import Demand, demand_of
from extender.policy import Policy
from extender.requests import need_of
from extender.suitability import node_mismatch
from extender.types import Replica, VolumeName
from extender.view import ClusterView
from packing import Item, Kind, is_stranded


def pending_items(
    demand: Demand,
    space: NodeSpace,
    own: Container[VolumeName],
    view: ClusterView,
    policy: Policy,
) -> list[Item]:
    """Return what is about to be placed on the node and competes with *demand*.

    Left out are replicas of the pod's *own* volumes, and what Longhorn cannot place there:
    replicas whose volume is being deleted or whose backing image is gone, that the node does not
    suit, or that fit on no disk even alone. A node must not be lost to them for ever. One whose
    volume is not known counts: a live view may hear of the volume later than of the replica.
    """
    items = (
        _item(replica, space, view, policy)
        for replica in space.pending
        if replica.volume not in own
    )
    placeable = [item for item in items if item is not None and not is_stranded(item, space.bins)]
    here = frozenset(bin_.kind for bin_ in space.bins)
    asked = here.intersection(frozenset().union(*(item.kinds for item in demand.items)))
    return _competing(placeable, asked, here)


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


def _item(replica: Replica, space: NodeSpace, view: ClusterView, policy: Policy) -> Item | None:
    volume = view.volumes.get(replica.volume)
    if volume is None:  # unreadable, or not heard of yet
        everywhere = frozenset(view.disk_kinds.values())  # its selectors are not known
        return Item(replica.name, replica.size_bytes, 0, everywhere)
    if volume.deleting:
        return None
    image = view.backing_images.get(volume.backing_image)
    is_unreadable = ("BackingImage", volume.backing_image) in view.unreadable
    if image is None and volume.backing_image and not is_unreadable:
        return None
    demand = demand_of([(str(replica.name), need_of(volume, image))], view, policy)
    if node_mismatch(space.node, demand.node_selectors, demand.topologies, policy):
        return None
    return demand.items[0]
