"""Which place leaves all places most in balance once it takes a replica.

Source: longhorn-manager scheduler/replica_scheduler.go getDiskWithMostBalanceScore, since v1.11.
"""

from collections.abc import Collection, Mapping
from typing import TypeVar

import msgspec

Key = TypeVar("Key")


class Level(msgspec.Struct, frozen=True, kw_only=True):
    """What is unused at several places, as far as their balance depends on it."""

    largest: int
    is_shared: bool
    """Whether several places have the largest."""
    smallest: int
    total: int


def level_of(unused: Collection[int]) -> Level:
    """Sum up what is unused at places."""
    largest, seen = -1, 0
    for value in unused:
        if value > largest:
            largest, seen = value, 1
        elif value == largest:
            seen += 1
    smallest = min(unused, default=0)
    return Level(largest=largest, is_shared=seen > 1, smallest=smallest, total=sum(unused))


def together(levels: Collection[Level]) -> Level:
    """Return the level of all places of several levels."""
    largest = max(level.largest for level in levels)
    having = [level for level in levels if level.largest == largest]
    return Level(
        largest=largest,
        is_shared=len(having) > 1 or having[0].is_shared,
        smallest=min(level.smallest for level in levels),
        total=sum(level.total for level in levels),
    )


def most_even(level: Level, takers: Mapping[Key, int], size_bytes: int) -> list[Key]:
    """Return those of *takers* that have the size and leave all places most even.

    Even is a small difference between the most and the least that is unused, relative to the
    mean; nothing is even where the mean would not be above 0. The mean is the same whoever takes
    the size. So the place with the most unused is best if it is the only one. Else the largest
    stays as it is, and best is who leaves the smallest as large as possible: everybody who stays
    above the smallest of now, or who has most.
    """
    most = max(takers.values(), default=-1)
    if most < size_bytes or level.total <= size_bytes:
        return []
    least = most
    if most < level.largest or level.is_shared:
        least = size_bytes + min(most - size_bytes, level.smallest)
    return [taker for taker, unused in takers.items() if unused >= least]
