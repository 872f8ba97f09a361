"""Cheap proofs: that items do not fit, and how much of them a bin can hold at most.

`is_overfull` takes the items that may only use some kinds, and the bins of those kinds. It compares
the sum of f(size) with the sum of f(room), for several functions *f*. If f(a) + f(b) <= f(a + b),
and f never falls, then the items in one bin cannot sum to more than f(the bin's room); so if all
items sum to more than all bins, they do not fit. f(x) = x compares bytes; f(x) = x // t compares
how many items of size t or more there are (one of size 2 t counts as two) with how many the bins
can hold. Source: such functions are the dual feasible functions of Fekete
and Schepers, "New classes of fast lower bounds for bin packing problems", Mathematical
Programming 91 (2001).
"""

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from itertools import combinations
from typing import NamedTuple

from packing.types import Bin, Item, Kind

Mask = int  # a set of item types: bit n stands for type n

_UNIONS_LIMIT = 4  # with more distinct sets of kinds than this, their unions are left out
_SETS_LIMIT = 15
_DIVISIONS_LIMIT = 4096  # for one set of kinds and one dimension
_TYPES_LIMIT = 48
_SUMS_PER_TYPE = 16  # measured: with fewer, proofs are missed; with more, time is lost


def is_stranded(item: Item, bins: Sequence[Bin]) -> bool:
    """Say whether not even an empty bin can take the item. Complexity: O(bins)."""
    size, weight, kinds = item.logical_bytes, item.physical_bytes, item.kinds
    for bin_ in bins:
        if size <= bin_.logical_bytes and weight <= bin_.physical_bytes and bin_.kind in kinds:
            return False
    return True


def is_overfull(items: Sequence[Item], bins: Sequence[Bin]) -> bool:
    """Say whether some items provably need more than all bins they may use have together.

    No bin may have a negative room.

    Complexity: O(items + bins) for each of at most 16 sets of kinds, plus 4096 divisions.
    """
    for kinds in confined_kinds(items, bins):
        inside = [item for item in items if item.kinds <= kinds]
        allowed = [bin_ for bin_ in bins if bin_.kind in kinds]
        if _exceeds(
            [item.logical_bytes for item in inside], [bin_.logical_bytes for bin_ in allowed]
        ) or _exceeds(
            [item.physical_bytes for item in inside], [bin_.physical_bytes for bin_ in allowed]
        ):
            return True
    return False


def confined_kinds(items: Sequence[Item], bins: Sequence[Bin]) -> list[frozenset[Kind]]:
    """List sets of kinds that some items cannot leave: their own sets, and unions of those.

    The union of all comes first. At most 16 sets are listed, so some may be missing. Kinds that no
    bin has are in every set, because they give an item nowhere else to go.
    """
    present = frozenset(bin_.kind for bin_ in bins)
    everything: frozenset[Kind] = frozenset().union(*[item.kinds for item in items])
    own = sorted({item.kinds & present for item in items}, key=sorted)
    if len(own) > _UNIONS_LIMIT:
        chosen = own[:_SETS_LIMIT]
    else:
        chosen = [
            frozenset[Kind]().union(*some)
            for length in range(len(own), 0, -1)
            for some in combinations(own, length)
        ]
    return list(dict.fromkeys([everything, *(kinds | everything - present for kinds in chosen)]))


def _exceeds(sizes: Sequence[int], rooms: Sequence[int]) -> bool:
    if sum(sizes) > sum(rooms):
        return True
    units = sorted(set(sizes) - {0})
    stride = 1 + len(units) * (len(sizes) + len(rooms)) // _DIVISIONS_LIMIT
    return any(
        sum([size // unit for size in sizes]) > sum([room // unit for room in rooms])
        for unit in units[::stride]
    )


class Room(NamedTuple):
    """What a bin can hold at most. Each bound is tight, but not always all three at once."""

    logical_bytes: int
    physical_bytes: int
    most: int  # number of items
    filler: int  # a type of which one item alone reaches both sums, or -1


class Rooms:
    """How much of a bin given item types can fill; results are remembered.

    The sums of all sets of items that fit are listed once for each class of bins and room left.
    Later in the search, when some types are used up, the bound is the largest listed sum that the
    types left can make.
    """

    def __init__(
        self, sizes: Sequence[tuple[int, int]], counts: Sequence[int], *, bin_count: int
    ) -> None:
        self._sizes = sizes
        self._type_of_size = {size: type_ for type_, size in enumerate(sizes)}
        self._counts = counts
        self.listed = 0
        """How many sums were listed so far: what most of the work is."""
        self._total = sum(counts)
        # The first step of the search lists sums for every bin, so with many bins lists are short.
        self._sums_limit = _SUMS_PER_TYPE * len(sizes) * 32 // max(32, bin_count)
        self._logical = _Ladder([logical for logical, _ in sizes])
        self._physical = _Ladder([physical for _, physical in sizes])
        self._rooms: dict[tuple[Mask, int, int], Room] = {}
        self._fills: dict[tuple[Mask, int, int], _Fills | None] = {}

    def fitting(self, logical_bytes: int, physical_bytes: int) -> Mask:
        """Return the types of which one item fits this room. Complexity: O(log types)."""
        return self._logical.up_to(logical_bytes) & self._physical.up_to(physical_bytes)

    def room(self, mask: Mask, class_mask: Mask, logical_bytes: int, physical_bytes: int) -> Room:
        """Bound what items of the types in *mask*, a subset of *class_mask*, can fill of a room."""
        key = mask, logical_bytes, physical_bytes
        found = self._rooms.get(key)
        if found is None:
            found = self._bound(mask, class_mask, logical_bytes, physical_bytes)
            self._rooms[key] = found
        return found

    def _bound(self, mask: Mask, class_mask: Mask, logical_bytes: int, physical_bytes: int) -> Room:
        if mask.bit_count() > _TYPES_LIMIT:
            return Room(logical_bytes, physical_bytes, self._total, -1)
        key = class_mask, logical_bytes, physical_bytes
        if key not in self._fills:
            self._fills[key] = self._list_fills(*key)
        fills = self._fills[key]
        if fills is None:
            most = min(self._most(mask, 0, logical_bytes), self._most(mask, 1, physical_bytes))
            return Room(logical_bytes, physical_bytes, most, -1)
        logical = _largest_within(fills.logical, mask)
        physical = _largest_within(fills.physical, mask)
        filler = self._type_of_size.get((logical, physical), -1)
        if filler >= 0 and not mask >> filler & 1:
            filler = -1
        return Room(logical, physical, _largest_within(fills.number, mask), filler)

    def _list_fills(
        self, class_mask: Mask, logical_bytes: int, physical_bytes: int
    ) -> "_Fills | None":
        """List the sums of all sets of items that fit together, or None if there are too many."""
        mask = class_mask & self.fitting(logical_bytes, physical_bytes)
        if mask.bit_count() > _TYPES_LIMIT:
            return None
        sums = [(0, 0, 0, 0)]
        for type_ in bits(mask):
            size, weight = self._sizes[type_]
            without = sums
            for times in range(1, self._counts[type_] + 1):
                most_logical = logical_bytes - times * size
                most_physical = physical_bytes - times * weight
                more = [
                    (
                        logical + times * size,
                        physical + times * weight,
                        number + times,
                        used | 1 << type_,
                    )
                    for logical, physical, number, used in without
                    if logical <= most_logical and physical <= most_physical
                ]
                self.listed += len(without)
                if not more:
                    break
                sums = sums + more
                if len(sums) > self._sums_limit:
                    # Where lists often get too long, listing in vain costs most: give up earlier.
                    self._sums_limit -= self._sums_limit // 32
                    return None
        return _Fills(
            sorted([(logical, used) for logical, _, _, used in sums], reverse=True),
            sorted([(physical, used) for _, physical, _, used in sums], reverse=True),
            sorted([(number, used) for _, _, number, used in sums], reverse=True),
        )

    def _most(self, mask: Mask, dimension: int, room_bytes: int) -> int:
        """Return how many of the smallest items fit, in one dimension only."""
        total = 0
        smallest_first = sorted([(self._sizes[t][dimension], self._counts[t]) for t in bits(mask)])
        for size, count in smallest_first:
            fitting = min(count, room_bytes // size) if size else count
            total += fitting
            room_bytes -= fitting * size
            if fitting < count:
                break
        return total


def bits(mask: Mask) -> Iterator[int]:
    """Yield the types in *mask*, lowest first."""
    while mask:
        lowest = mask & -mask
        yield lowest.bit_length() - 1
        mask ^= lowest


class _Fills(NamedTuple):
    """Sums that fit, each with the types it is made of; largest first, the sum 0 last."""

    logical: list[tuple[int, Mask]]
    physical: list[tuple[int, Mask]]
    number: list[tuple[int, Mask]]


def _largest_within(sums: list[tuple[int, Mask]], mask: Mask) -> int:
    outside = ~mask
    for total, used in sums:
        if not used & outside:
            return total
    raise AssertionError("the empty sum is made of no types")


class _Ladder:
    """The types by size, to look up all that are at most a given size."""

    def __init__(self, sizes: Sequence[int]) -> None:
        self._steps = sorted(set(sizes))
        self._masks = [0]
        at: dict[int, Mask] = {}
        for type_, size in enumerate(sizes):
            at[size] = at.get(size, 0) | 1 << type_
        for size in self._steps:
            self._masks.append(self._masks[-1] | at[size])

    def up_to(self, size: int) -> Mask:
        return self._masks[bisect_right(self._steps, size)]
