"""Whether an item may find no room, though a packing of all exists: others may come before it.

`pack` says whether some arrangement exists. Whoever places item by item may not find it.
"""

from collections.abc import Sequence

from packing.types import Bin, Item

_MOST_TRIED = 5_000
"""So many ways to spread others over bins are tried. Beyond, an item counts as blocked."""


def may_be_blocked(
    item: Item, others: Sequence[Item], bins: Sequence[Bin], more_bytes: int = 0
) -> bool:
    """Say whether *others* may fill all bins so far that none takes an item, in whatever order.

    An item finds no room only if less than its size is left in each bin that suits it. So each of
    these must get some bytes. Others count as if they fitted anywhere.

    Args:
        item: The item that comes last.
        others: What may come before it.
        bins: The bins that are never full in another dimension.
        more_bytes: What else may come before it, in pieces of any size.

    Complexity: O(bins), and at most 5,000 ways to spread the others.
    """
    lacking = [
        bin_.logical_bytes - item.logical_bytes + 1
        for bin_ in bins
        if bin_.kind in item.kinds and bin_.logical_bytes >= item.logical_bytes
    ]
    sizes = sorted((other.logical_bytes for other in others), reverse=True)
    if sum(lacking) <= more_bytes:  # so it is where no bin takes the item at all
        return True
    if sum(lacking) > sum(sizes) + more_bytes or (more_bytes == 0 and len(lacking) > len(sizes)):
        return False
    if len(lacking) ** len(sizes) > _MOST_TRIED:
        return True
    return _least_left(tuple(lacking), tuple(sizes)) <= more_bytes


def _least_left(lacking: tuple[int, ...], sizes: tuple[int, ...]) -> int:
    """Return how many of the *lacking* bytes are left at least, whichever bin each size goes to."""
    if not sizes:
        return sum(lacking)
    size, *rest = sizes
    return min(
        _least_left(
            (*lacking[:index], max(0, lacking[index] - size), *lacking[index + 1 :]), tuple(rest)
        )
        for index in range(len(lacking))
    )
