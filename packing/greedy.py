"""Best-fit decreasing: a quick way to a packing, which may miss one that exists."""

from collections.abc import Sequence

from packing.types import Bin, BinId, Item, ItemId


def best_fit(items: Sequence[Item], bins: Sequence[Bin]) -> dict[ItemId, BinId] | Item:
    """Put each item, in the order given, into the bin where it leaves the least logical room.

    Only bins of the item's kinds, with enough room for it, count. The first of equal bins wins.

    Returns:
        The bin of every item, or the first item that found no room. That is no proof: with the
        earlier items in other bins, all might fit.

    Complexity: O(items * bins).
    """
    logical = [bin_.logical_bytes for bin_ in bins]
    physical = [bin_.physical_bytes for bin_ in bins]
    above_all = max(logical, default=0) + 1
    assignment = {}
    for item in items:
        size, weight, kinds = item.logical_bytes, item.physical_bytes, item.kinds
        least, best = above_all, -1
        for index, room in enumerate(logical):
            # A negative room takes nothing, because no size is below zero.
            if size <= room < least and weight <= physical[index] and bins[index].kind in kinds:
                least, best = room, index
        if best < 0:
            return item
        logical[best] = least - size
        physical[best] -= weight
        assignment[item.id] = bins[best].id
    return assignment
