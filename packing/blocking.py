"""Whether an item may find no room, though a packing of all exists: others may come before it.

`pack` says whether some arrangement exists. Whoever places item by item may not find it.
"""

from collections.abc import Sequence
from typing import NamedTuple

from packing.types import Bin, Item

_MOST_TRIED = 5_000
"""So many ways to spread others over bins are tried. Beyond, an item counts as blocked."""


class Pieces(NamedTuple):
    """Items of which only this is known."""

    number: int = 0
    logical_bytes: int = 0
    """Of all of them."""
    largest_bytes: int = 0


NO_PIECES = Pieces()


def may_be_blocked(
    item: Item, others: Sequence[Item], bins: Sequence[Bin], more: Pieces = NO_PIECES
) -> bool:
    """Say whether *others* may fill all bins so far that none takes an item, in whatever order.

    An item finds no room only if less than its size is left in each bin that suits it. So each of
    these must get some bytes, and as many pieces as that takes of the largest. Others count as if
    they fitted anywhere.

    Args:
        item: The item that comes last.
        others: What may come before it.
        bins: The bins that are never full in another dimension.
        more: What else may come before it.

    Complexity: O(bins), and at most 5,000 ways to spread the others.
    """
    lacking = [
        bin_.logical_bytes - item.logical_bytes + 1
        for bin_ in bins
        if bin_.kind in item.kinds and bin_.logical_bytes >= item.logical_bytes
    ]
    if not lacking:
        return True
    sizes = sorted((other.logical_bytes for other in others), reverse=True)
    largest_bytes = max([more.largest_bytes, *sizes[:1]])
    if sum(lacking) > sum(sizes) + more.logical_bytes or not largest_bytes:
        return False
    if sum(-(-each // largest_bytes) for each in lacking) > len(sizes) + more.number:
        return False
    if sum(lacking) <= more.logical_bytes or len(lacking) ** len(sizes) > _MOST_TRIED:
        return True
    return _least_left(tuple(lacking), tuple(sizes)) <= more.logical_bytes


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
