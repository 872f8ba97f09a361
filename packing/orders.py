"""Whether items find room in whatever order they come, each to whatever bin takes it.

`pack` says whether some arrangement exists. Whoever places item by item may not find it.
"""

from collections.abc import Iterable, Sequence

from msgspec import structs

from packing.bounds import is_stranded
from packing.types import Bin, Item

_MOST_ORDERED = 6
"""Of so many items all orders are tried; of more, only bounds are looked at."""
_Numbered = frozenset[tuple[int, Item]]


def fits_in_any_order(items: Sequence[Item], others: Sequence[Item], bins: Sequence[Bin]) -> bool:
    """Say whether each of *items* finds room, in whatever order these and *others* come.

    An item finds none only if each bin that suits it is so full that less than its size is left.
    What comes before must have the bytes for that, and be as many as the bins. Where it may, all
    orders are tried; of more than six items that is not done, and the answer is no.

    Complexity: O(items x bins), and at most 6! x bins^6 states where all orders are tried.
    """
    together = (*items, *others)
    logical = sum(item.logical_bytes for item in together)
    physical = sum(item.physical_bytes for item in together)
    never_full = [bin_ for bin_ in bins if physical <= bin_.physical_bytes]
    if all(
        bytes_to_block(item, never_full) > logical - item.logical_bytes
        or sum(_takes(bin_, item) for bin_ in never_full) >= len(together)
        for item in items
    ):
        return True
    if len(together) > _MOST_ORDERED:
        return False
    return _all_find_room(
        tuple(bins), frozenset(enumerate(items)), frozenset(enumerate(others)), set()
    )


def bytes_to_block(item: Item, bins: Iterable[Bin]) -> int:
    """Return how many logical bytes must come so that no bin takes an item."""
    return sum(
        max(0, bin_.logical_bytes - item.logical_bytes + 1)
        for bin_ in bins
        if bin_.kind in item.kinds
    )


def _all_find_room(
    bins: tuple[Bin, ...],
    items: _Numbered,
    others: _Numbered,
    known: set[tuple[tuple[Bin, ...], _Numbered, _Numbered]],
) -> bool:
    if not items or (bins, items, others) in known:
        return True
    known.add((bins, items, others))
    for each in items:
        takers = _takers(bins, each[1])
        if not takers or not all(
            _all_find_room(_with(each[1], bins, taker), items - {each}, others, known)
            for taker in takers
        ):
            return False
    return all(
        _all_find_room(_with(each[1], bins, taker), items, others - {each}, known)
        for each in others
        for taker in _takers(bins, each[1])
    )


def _takers(bins: tuple[Bin, ...], item: Item) -> list[int]:
    """Return the indices of the bins that take an item."""
    return [index for index, bin_ in enumerate(bins) if _takes(bin_, item)]


def _takes(bin_: Bin, item: Item) -> bool:
    return not is_stranded(item, (bin_,))


def _with(item: Item, bins: tuple[Bin, ...], index: int) -> tuple[Bin, ...]:
    """Return *bins* with one more item in one of them."""
    fuller = structs.replace(
        bins[index],
        logical_bytes=bins[index].logical_bytes - item.logical_bytes,
        physical_bytes=bins[index].physical_bytes - item.physical_bytes,
    )
    return (*bins[:index], fuller, *bins[index + 1 :])
