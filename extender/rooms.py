"""What the usable disks of one kind have together, for questions that need no packing."""

from bisect import bisect_left
from collections.abc import Sequence
from itertools import accumulate

import msgspec

from packing import Bin, Kind


class UsableDisk(msgspec.Struct, frozen=True, gc=False):
    """A disk that takes new replicas, as far as nodes are summed up."""

    bin: Bin
    limit_bytes: int
    """Most that may be scheduled on it."""
    unused_bytes: int


class Room(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """What the usable disks of one kind have, ready for questions that need no packing."""

    kind: Kind
    limit_bytes: int
    """Most that may be scheduled on them."""
    free_bytes: int
    """What of it is free."""
    headrooms: tuple[int, ...]
    """Of each disk, the smallest first; logical."""
    sums: tuple[int, ...]
    """The sum of each headroom and all larger ones, and a zero at the end."""
    first_bytes: int
    """What Longhorn puts on the disk with most unused bytes for sure: its headroom, or its unused
    bytes if they are fewer, since beyond them it may take any disk. -1 where several disks have as
    many, where some disk can take nothing more, and beside usable disks of other kinds."""
    least_physical_bytes: int

    def fit_in_every_order(self, logical_bytes: int, largest_bytes: int) -> bool:
        """Whether replicas find room one after another, on whatever disk each of them goes.

        The largest finds none once all disks have less than it left. Until then the others must
        take what each disk has beyond it.
        """
        index = bisect_left(self.headrooms, largest_bytes)
        takers = len(self.headrooms) - index
        others_bytes = logical_bytes - largest_bytes
        return takers > 0 and self.sums[index] - takers * largest_bytes >= others_bytes

    def bytes_to_block(self, size_bytes: int) -> int:
        """Return how many bytes must come so that no disk takes a replica of this size."""
        index = bisect_left(self.headrooms, size_bytes)
        takers = len(self.headrooms) - index
        return self.sums[index] - takers * (size_bytes - 1)

    def fit_wherever(self, logical_bytes: int, least_bytes: int) -> bool:
        """Whether replicas fit on one disk together, on each disk that takes the smallest."""
        index = bisect_left(self.headrooms, least_bytes)
        return index < len(self.headrooms) and self.headrooms[index] >= logical_bytes


def room_of(kind: Kind, disks: Sequence[UsableDisk], *, is_only: bool) -> Room:
    """Sum up disks of one kind; *is_only* if the node has usable ones of no other."""
    headrooms = sorted([each.bin.logical_bytes for each in disks])
    most = max([each.unused_bytes for each in disks])
    first = [min(most, each.bin.logical_bytes) for each in disks if each.unused_bytes == most]
    least_physical_bytes = min([each.bin.physical_bytes for each in disks])
    sums = accumulate(reversed(headrooms), initial=0)
    return Room(
        kind=kind,
        limit_bytes=sum([each.limit_bytes for each in disks]),
        free_bytes=sum([headroom for headroom in headrooms if headroom > 0]),
        headrooms=tuple(headrooms),
        sums=tuple(reversed([*sums])),
        first_bytes=first[0] if is_only and len(first) == 1 and least_physical_bytes >= 0 else -1,
        least_physical_bytes=least_physical_bytes,
    )
