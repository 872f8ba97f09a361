"""Whether items fit into bins: best-fit decreasing, then cheap proofs, then search."""

from collections.abc import Sequence

import msgspec

from packing.bounds import is_overfull, is_stranded
from packing.greedy import best_fit
from packing.search import search
from packing.types import Bin, Infeasible, Item, Outcome, Packed

# Measured (benchmarks/reports): the hardest instances of 24 items on 12 bins end within 30 ms.
DEFAULT_STEP_LIMIT = 800


class PreparedItems(msgspec.Struct, frozen=True):
    """Items in the order in which best-fit decreasing takes them. Made by `prepare`."""

    items: tuple[Item, ...]


def prepare(items: Sequence[Item]) -> PreparedItems:
    """Sort items once, to pack them into many sets of bins. Complexity: O(items * log(items))."""
    return PreparedItems(tuple(sorted(items, key=_descending)))


def pack(items: Sequence[Item] | PreparedItems, bins: Sequence[Bin], *, step_limit: int) -> Outcome:
    """Assign every item to one bin of a kind it may use, within both headrooms of every bin.

    Args:
        items: Items to place, or what `prepare` made of them; ids are unique.
        bins: Candidate bins; ids are unique. Order breaks ties between packings, never decides
            whether there is one.
        step_limit: Most steps of the search. With hundreds of items and bins a step takes longer
            and counts as several, so that the limit bounds the time.

    Returns:
        `Packed` and `Infeasible` are proofs; `Undecided` means that the limit was reached. The
        same input always gives the same outcome.

    Complexity: O(items * bins) plus the search, which is exponential and ends at *step_limit*.
    """
    prepared = items if isinstance(items, PreparedItems) else prepare(items)
    found = best_fit(prepared.items, bins)
    if isinstance(found, dict):
        return Packed(found)
    # Best fit mostly fails on an item that fits no bin at all, so check that one first.
    if is_stranded(found, bins):
        return Infeasible()
    usable = [bin_ for bin_ in bins if bin_.logical_bytes >= 0 and bin_.physical_bytes >= 0]
    if any(is_stranded(item, usable) for item in prepared.items):
        return Infeasible()
    found = best_fit(_scarce_first(prepared.items), usable)
    if isinstance(found, dict):
        return Packed(found)
    if is_overfull(prepared.items, usable):
        return Infeasible()
    return search(prepared.items, usable, step_limit=step_limit)


def _descending(item: Item) -> tuple[int, int]:
    return -item.logical_bytes, -item.physical_bytes


def _scarce_first(items: Sequence[Item]) -> list[Item]:
    """Sort by number of kinds, fewest first, then by share of all bytes to pack, largest first."""
    # A byte weighs as much as all items have bytes in the other dimension: shares as integers.
    logical_weight = sum(item.physical_bytes for item in items)
    physical_weight = sum(item.logical_bytes for item in items)
    return sorted(
        items,
        key=lambda item: (
            len(item.kinds),
            -item.logical_bytes * logical_weight - item.physical_bytes * physical_weight,
        ),
    )
