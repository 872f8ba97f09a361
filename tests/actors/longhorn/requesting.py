"""What the volume controller asks of disks for a volume's replicas, and when it grows. Pure.

A replica is assigned to a disk first, and asks for room in a later pass. A disk that refuses one
without data loses it: what was asked is taken back, and another disk is tried. This is the rule of
the design's first revision: a later one has the replica fail and be made anew, and in the open
implementation it waits on the same disk for ever.

A volume grows as a whole. All disks are asked for the new size; once all hold it, all replicas get
it. If one refuses, all are asked for the old size again, and the next try is a while later.

Source: longhorn/longhorn PR 11924, longhorn-manager PR 4366 controller/volume_controller.go.
"""

from collections.abc import Collection, Sequence

import msgspec

from tests.actors.longhorn.records import Replica, Volume


class AskForRoom(msgspec.Struct, frozen=True):
    """Ask the disk of a replica for so much."""

    replica: str
    size_bytes: int


class Withdraw(msgspec.Struct, frozen=True):
    """Take a replica off the disk that refused it, or that has no DiskSchedule any more."""

    replica: str


class HoldBack(msgspec.Struct, frozen=True):
    """Do not expand the volume to this size for a while; *replicas* were refused it."""

    size_bytes: int
    replicas: tuple[str, ...]


class Expand(msgspec.Struct, frozen=True):
    """Let all replicas have this size."""

    size_bytes: int


RequestStep = AskForRoom | Withdraw | HoldBack | Expand


def next_requests(
    volume: Volume, replicas: Sequence[Replica], placed: Collection[str], held_back_bytes: int
) -> Sequence[RequestStep]:
    """List what may be asked of disks now, or done about what they answered.

    Args:
        volume: The volume.
        replicas: Its replicas that are not being removed.
        placed: Replicas that were assigned to a disk just now: they ask in a later pass.
        held_back_bytes: The size that was refused a while ago; 0 if none was.
    """
    here = [each for each in replicas if each.disk and each.name not in placed]
    refused = [each for each in here if _is_unwelcome(each)]
    if refused:
        return [Withdraw(each.name) for each in refused]
    size = volume.size_bytes
    is_growing = any(each.size_bytes < size for each in replicas)
    may_grow = is_growing and size != held_back_bytes and all(each.is_granted for each in here)
    if may_grow:
        refusing = tuple(each.name for each in here if each.room and each.room.refuses(size))
        if refusing:
            return [HoldBack(size, refusing)]
        if all(each.room is None or each.room.covers(size) for each in here):
            return [Expand(size)]
    return [
        AskForRoom(each.name, wanted)
        for each in here
        for wanted in (size if may_grow else each.size_bytes,)
        if each.room and each.room.has_schedule and each.room.asked_bytes != wanted
    ]


def _is_unwelcome(replica: Replica) -> bool:
    """Say whether a replica is to try another disk. One with data stays where its data is."""
    room = replica.room
    if room is None or replica.has_data or replica.shall_run or replica.is_running:
        return False
    return not room.has_schedule or room.refuses(replica.size_bytes)
