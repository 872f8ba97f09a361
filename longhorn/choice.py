"""Which of the candidate disks Longhorn takes: the one that leaves the others most in balance.

Source: longhorn-manager scheduler/replica_scheduler.go getDiskWithMostBalanceScore, since v1.11.
"""

from collections.abc import Collection, Mapping
from typing import TypeVar

import msgspec

from longhorn.candidates import Candidate, Candidates
from longhorn.records import NodeName

Key = TypeVar("Key")


class Level(msgspec.Struct, frozen=True, kw_only=True):
    """What is unused at several places, as far as their balance depends on it."""

    largest: int
    is_shared: bool
    """Whether several places have the largest."""
    smallest: int
    total: int


def level_of(unused: Collection[int]) -> Level:
    """Sum up what is unused at places, of which there is at least one."""
    largest, seen = -1, 0
    for value in unused:
        if value > largest:
            largest, seen = value, 1
        elif value == largest:
            seen += 1
    return Level(largest=largest, is_shared=seen > 1, smallest=min(unused), total=sum(unused))


def choices(candidates: Candidates, size_bytes: int) -> tuple[Candidate, ...]:
    """Return every disk that Longhorn may take for a replica of *size_bytes*, sorted.

    Several where its choice is arbitrary: where they leave the same balance, or where none of them
    has the size unused, as on disks that are over-provisioned or partly written. None if there
    are no candidates.

    The node comes first, as if its disks were one; then a disk of it. In GiB, for a size of 100:
    node A has 300 and 200 unused, B 400. Taken from A that leaves (400, 400), from B (500, 300),
    so A. There (200, 200, 400) is more even than (300, 100, 400): the disk of 300.
    """
    disks = candidates.preferred
    if len(disks) < 2:
        return disks
    by_node: dict[NodeName, dict[Candidate, int]] = {}
    for disk in disks:
        by_node.setdefault(disk.node, {})[disk] = candidates.unused_bytes[disk]
    of_nodes = {node: sum(unused.values()) for node, unused in by_node.items()}
    chosen: set[Candidate] = set()
    level = level_of([unused for each in by_node.values() for unused in each.values()])
    for node in most_even(level_of(of_nodes.values()), of_nodes, size_bytes):
        chosen.update(most_even(level, by_node[node], size_bytes) or disks)
    return tuple(sorted(chosen)) or disks


def most_even(level: Level, takers: Mapping[Key, int], size_bytes: int) -> list[Key]:
    """Return those of *takers* that have the size and leave all places most even.

    Even is a small difference between the most and the least that is unused, relative to the
    mean; nothing is even where the mean would not be above 0. The mean is the same whoever takes
    the size. So the place with the most unused is best if it is the only one. Else the largest
    stays as it is, and best is who leaves the smallest as large as possible: everybody who stays
    above the smallest of now, or who has most.

    Args:
        level: What is unused at all places.
        takers: What is unused at the places to choose from.
        size_bytes: What is to be taken.
    """
    most = max(takers.values(), default=-1)
    if most < size_bytes or level.total <= size_bytes:
        return []
    least = most
    if most < level.largest or level.is_shared:
        least = size_bytes + min(most - size_bytes, level.smallest)
    return [taker for taker, unused in takers.items() if unused >= least]
