"""How large the claims of a trial are: so that they meet the limits of disks, and leave room."""

from collections.abc import Mapping, Sequence

import msgspec

_STEP_BYTES = 2 * 2**20
"""Longhorn's volumes are multiples of it."""
LEAST_BYTES = 64 * 2**20
_SIZES = 2000
"""So many sizes are looked at."""
_CLEAR = 0.1
"""So much of a claim a disk is away from taking one more or one less: rooms change meanwhile."""

Rooms = Mapping[str, Sequence[int]]
"""What may still be scheduled on each disk, in bytes, by node."""


class Sizing(msgspec.Struct, frozen=True, kw_only=True):
    """The size of claims, and how many of them each node takes, the most first."""

    claim_bytes: int
    slots: Mapping[str, int]

    @property
    def total(self) -> int:
        """So many claims fit on all nodes."""
        return sum(self.slots.values())


def size_claims(rooms: Rooms, *, most_pods: int, leave_bytes: int) -> Sizing | None:
    """Find a size with which as many claims as possible, and no more than that, fit.

    Each disk keeps *leave_bytes* when it has as many claims as it takes. Two nodes take a claim or
    more, and one of them two or more: else nothing could go wrong.

    Returns:
        None if there is no such size.
    """
    disks = [room for node in rooms.values() for room in node if room > 0]
    most = max(disks, default=0)
    best: tuple[tuple[int, float], int] | None = None
    for number in range(1, _SIZES + 1):
        size = most * number // _SIZES // _STEP_BYTES * _STEP_BYTES
        if size < LEAST_BYTES:
            continue
        counts = sorted((_slots(node, size) for node in rooms.values()), reverse=True)
        if sum(counts) > most_pods or counts[0] < 2 or len(counts) < 2 or not counts[1]:
            continue
        if any(room % size < leave_bytes for room in disks if room >= size):
            continue
        clear = min(_clear(room, size) for room in disks)
        if clear >= _CLEAR and (best is None or (sum(counts), clear) > best[0]):
            best = (sum(counts), clear), size
    if best is None:
        return None
    size = best[1]
    slots = {name: _slots(node, size) for name, node in rooms.items()}
    return Sizing(
        claim_bytes=size,
        slots=dict(sorted(slots.items(), key=lambda each: (-each[1], each[0]))),
    )


def _clear(room_bytes: int, size_bytes: int) -> float:
    """Return how far a disk is from taking one more or one less, as a share of a claim."""
    left = room_bytes % size_bytes
    return (
        size_bytes - left if room_bytes < size_bytes else min(left, size_bytes - left)
    ) / size_bytes


def _slots(disks: Sequence[int], size_bytes: int) -> int:
    return sum(max(0, room) // size_bytes for room in disks)
