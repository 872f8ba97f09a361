"""Replicas that Longhorn is about to place on a node, and that take room from a pod's volumes.

Longhorn retries a replica with hardNodeAffinity at least every 30 s, so it takes room on that node
as soon as there is any. docs/decisions/0001 says which of them count.
"""

from collections.abc import Container

from extender.capacity import NodeSpace
from extender.placement import demand_of, fits
from extender.policy import Policy
from extender.requests import need_of
from extender.suitability import node_mismatch
from extender.types import Replica, VolumeName
from extender.view import ClusterView
from packing import Item


def pending_items(
    space: NodeSpace, own: Container[VolumeName], view: ClusterView, policy: Policy
) -> tuple[Item, ...]:
    """Return what is about to be placed on the node, for other volumes than *own*.

    Left out is what Longhorn cannot place there: replicas whose volume or backing image is gone,
    that the node does not suit, or that fit on no disk even alone. A node must not be lost to
    them for ever.
    """
    items = (
        _item(replica, space, view, policy)
        for replica in space.pending
        if replica.volume not in own
    )
    return tuple(
        item for item in items if item is not None and any(fits(item, bin_) for bin_ in space.bins)
    )


def _item(replica: Replica, space: NodeSpace, view: ClusterView, policy: Policy) -> Item | None:
    volume = view.volumes.get(replica.volume)
    if volume is None and ("Volume", replica.volume) in view.unreadable:
        everywhere = frozenset(view.disk_kinds.values())  # its selectors are not known
        return Item(replica.name, replica.size_bytes, 0, everywhere)
    if volume is None or volume.deleting:
        return None
    image = view.backing_images.get(volume.backing_image)
    if image is None and volume.backing_image:
        return None
    demand = demand_of([(str(replica.name), need_of(volume, image))], view, policy)
    if node_mismatch(space.node, demand.node_selectors, demand.topologies, policy):
        return None
    return demand.items[0]
