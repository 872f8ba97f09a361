"""Whether an item may find no room, though a packing of all exists: others may come before it.

`pack` says whether some arrangement exists. Whoever places item by item may not find it.
"""

from collections.abc import Sequence
from math import prod
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
    these must get some bytes of what suits it, and all as many pieces as that takes of the largest.

    Args:
        item: The item that comes last.
        others: What may come before it.
        bins: The bins that are never full in another dimension.
        more: What else may come before it, to any bin.

    Complexity: O(bins · others), and at most 5,000 ways to spread the others.
    """
    suited = [bin_ for bin_ in bins if _takes(bin_, item)]
    lacking = tuple([bin_.logical_bytes - item.logical_bytes + 1 for bin_ in suited])
    if not lacking:
        return True
    coming = [
        (other.logical_bytes, places)
        for other in sorted(others, key=lambda other: -other.logical_bytes)
        if (places := tuple(n for n, bin_ in enumerate(suited) if _takes(bin_, other)))
    ]
    for number, bytes_ in enumerate(lacking):
        if bytes_ > more.logical_bytes + sum(size for size, places in coming if number in places):
            return False
    largest_bytes = max([more.largest_bytes, *(size for size, _ in coming[:1])])
    if sum(lacking) > sum(size for size, _ in coming) + more.logical_bytes or not largest_bytes:
        return False
    if sum(-(-each // largest_bytes) for each in lacking) > len(coming) + more.number:
        return False
    ways = prod(len(places) for _, places in coming)
    if sum(lacking) <= more.logical_bytes or ways > _MOST_TRIED:
        return True
    return _least_left(lacking, coming) <= more.logical_bytes


def _takes(bin_: Bin, item: Item) -> bool:
    return bin_.kind in item.kinds and bin_.logical_bytes >= item.logical_bytes


def _least_left(lacking: tuple[int, ...], coming: Sequence[tuple[int, tuple[int, ...]]]) -> int:
    """Return how many of the *lacking* bytes are left at least, wherever each goes that is coming.

    Args:
        lacking: Of each bin.
        coming: Sizes, each with the numbers of the bins that it may go to.
    """
    if not coming:
        return sum(lacking)
    (size, places), *rest = coming
    return min(
        _least_left((*lacking[:n], max(0, lacking[n] - size), *lacking[n + 1 :]), rest)
        for n in places
    )
