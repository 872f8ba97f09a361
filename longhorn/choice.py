"""Which of the candidate disks Longhorn takes: the one that leaves the others most in balance.

Source: longhorn-manager scheduler/replica_scheduler.go getDiskWithMostBalanceScore, since v1.11.
"""

import math
from collections.abc import Iterable
from typing import TypeVar

from longhorn.candidates import Candidate, Candidates
from longhorn.records import NodeName

Key = TypeVar("Key")


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
    of_disks = {disk: candidates.unused_bytes[disk] for disk in disks}
    of_nodes: dict[NodeName, int] = {}
    for disk, unused in of_disks.items():
        of_nodes[disk.node] = of_nodes.get(disk.node, 0) + unused
    chosen: set[Candidate] = set()
    for node in _most_even(of_nodes, of_nodes, size_bytes):
        on_node = [disk for disk in disks if disk.node == node]
        chosen.update(_most_even(of_disks, on_node, size_bytes) or disks)
    return tuple(sorted(chosen)) or disks


def _most_even(unused: dict[Key, int], takers: Iterable[Key], size_bytes: int) -> list[Key]:
    """Return those of *takers* that have the size and leave all of *unused* most even.

    Even is a small spread relative to the mean, in float64 as there.
    """
    values = sorted(unused.values())
    mean = (sum(values) - size_bytes) / len(values)
    scores: dict[Key, float] = {}
    for taker in takers:
        before = unused[taker]
        if before >= size_bytes:
            left = before - size_bytes
            most = least = left
            if len(values) > 1:
                most = max(left, values[-2] if before == values[-1] else values[-1])
                least = min(left, values[1] if before == values[0] else values[0])
            scores[taker] = (most - least) / mean if mean > 0 else math.inf
    lowest = min(scores.values(), default=math.inf)
    return [taker for taker, score in scores.items() if score == lowest < math.inf]
