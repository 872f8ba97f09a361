"""Best-fit decreasing: the quick way to a packing, when there is one to be found."""

from collections.abc import Sequence

from packing.types import Bin, BinId, Item, ItemId


def best_fit(items: Sequence[Item], bins: Sequence[Bin]) -> dict[ItemId, BinId] | Item:
    """Put each item, in the order given, into the allowed bin it leaves the least logical room in.

    Returns:
        The bin of every item, or the first item that found no room: that proves nothing about
        the others, nor about other ways to place the earlier ones. The first of equal bins wins.

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
            # A negative room takes nothing, for no size is below zero.
            if size <= room < least and weight <= physical[index] and bins[index].kind in kinds:
                least, best = room, index
        if best < 0:
            return item
        logical[best] = least - size
        physical[best] -= weight
        assignment[item.id] = bins[best].id
    return assignment
