"""What the usable disks of one kind have together, for questions that need no packing."""

from collections.abc import Sequence

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
    largest_bytes: int
    """The largest logical headroom of one of them."""


def room_of(kind: Kind, disks: Sequence[UsableDisk]) -> Room:
    """Sum up disks of one kind."""
    headrooms = [each.bin.logical_bytes for each in disks]
    return Room(
        kind=kind,
        limit_bytes=sum([each.limit_bytes for each in disks]),
        free_bytes=sum([headroom for headroom in headrooms if headroom > 0]),
        largest_bytes=max(headrooms),
    )
