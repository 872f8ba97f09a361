"""Whether the last room that there is belongs to others by count.

The forecast may find no room for a volume that Longhorn finds some for, by placing others
otherwise. Replicas of others may have come first to a node that local ones were to go to. And
Longhorn places by figures that lag: where it put more on a disk than fits, as much is missing there
as seems to be free elsewhere. Each of these volumes is owed its room, wherever that is: a new
volume does not get the last of it. These counts are in replicas of the size that is asked for,
rounded against the pod.

Nor does a volume with a local replica get the last of it while others are placed. By figures that
lag, and as nodes may be alike, more of them may come to its node than the forecast says. So as much
stays free in all as comes to one node on average.
"""

from collections.abc import Iterable

from extender.upcoming.upcoming import Upcoming
from extender.verdicts.rejections import Rejection
from extender.verdicts.shortages import NoRoomAnywhere, PendingReplicas, RoomHeld
from extender.verdicts.situation import Situation
from longhorn import NodeName, VolumeName, has_data
from packing import is_stranded

_NODES_PER_STEP, _DISKS_PER_STEP, _VOLUMES_PER_STEP = 20, 1_000, 20
"""So many nodes and volumes are counted, and disks compared, in the time of a step."""


def why_owed(upcoming: Upcoming, situation: Situation) -> Rejection | None:
    """Reject a new volume where all room for a replica of it is owed to others.

    What is placed, or is forecast, takes its room for good. What is pinned to a crowded node, or
    lacks room by the forecast, may yet be placed otherwise: then the pod waits for these replicas.
    """
    book, size_bytes = situation.book, upcoming.need.size_bytes
    if not ((book.beyond or book.overfull or book.forecast.nowhere) and size_bytes):
        return None
    crowded, lacking = _crowded(upcoming, situation), _lacking(upcoming, situation)
    kept, strays = _kept(upcoming, situation), _strays(upcoming, situation)
    owed = kept + crowded + sum(lacking.values())
    most = owed + sum(-(-size // size_bytes) for size in strays) + 1
    left = _left(upcoming, situation, most=most)
    if left >= most:
        return None
    if left <= 0:
        return NoRoomAnywhere(size_bytes=size_bytes)
    left -= _lost_to(strays, upcoming, situation)
    if left <= 0:
        return NoRoomAnywhere(size_bytes=size_bytes, beyond_limits=True)
    left -= kept
    if left <= 0:
        return RoomHeld(by_open=True)
    left -= crowded
    for each, count in lacking.items():
        if left > 0 and _is_new(book.anywhere[each], situation):
            left -= count
    return None if left > 0 else PendingReplicas()


def why_not_the_last(situation: Situation) -> Rejection | None:
    """Reject a pod whose new local volumes would get the last room while others are in flight.

    Looked at is the largest of these volumes. As much must be left beside its replicas as comes to
    one node on average; it may be all that is in flight, and mostly as much is left.
    """
    total_bytes = situation.book.forecast.total_bytes
    local = [e for e in situation.own if e.volume.needs_local_replica and not e.replicas]
    upcoming = max(local, key=lambda each: each.need.size_bytes, default=None)
    if upcoming is None or not (total_bytes and upcoming.need.size_bytes):
        return None
    own, most_share = upcoming.count + 1, -(-total_bytes // upcoming.need.size_bytes)
    left = _left(upcoming, situation, most=own + most_share) - own
    if left >= most_share:
        return None
    share = _share(upcoming, situation)
    return PendingReplicas() if share and left < share else None


def _share(upcoming: Upcoming, situation: Situation) -> int:
    """Count the replicas in flight that come to a node on average, a half is rounded up.

    Those that come to all nodes are forecast there. Nothing is placed yet for a pod that waits for
    others of its group: they would wait for each other.
    """
    book, size_bytes = situation.book, upcoming.need.size_bytes
    takers = book.forecast.eligibility.takers(upcoming.need)
    roomy = takers.count(size_bytes)
    situation.work.spend(len(situation.view.spaces) // _DISKS_PER_STEP)
    situation.work.spend(len(book.anywhere) // _VOLUMES_PER_STEP)
    share_bytes = 0.0
    for name, each in book.anywhere.items():
        count = len(book.forecast.nodes_of(name))
        others = roomy - len(each.replicas) - bool(each.local)
        if not (0 < count < others and each.item.kinds & takers.kinds):
            continue
        if not any(hold.waits_for_group for hold in situation.ledger.holds_of(name)):
            share_bytes += count / others * each.need.size_bytes
    return int(share_bytes / size_bytes + 0.5)


def _strays(upcoming: Upcoming, situation: Situation) -> list[int]:
    """Return the bytes of replicas that such disks had no room for when they were placed there.

    Which of a disk's they are is not known. It is the smallest one that is enough; if none is, the
    largest one and others. A volume with a local replica takes no notice of them.
    """
    takers = situation.book.forecast.eligibility.takers(upcoming.need)
    found = list[int]()
    if upcoming.volume.needs_local_replica:
        return found
    for (name, disk), beyond_bytes in sorted(situation.book.beyond.items()):
        space = situation.view.spaces[name]
        [on] = [each for each in space.disks if each.disk.name == disk]
        if not takers.may_use(on, space):
            continue
        listed = on.disk.listed
        unlisted = [size for each, size in on.unlisted.items() if each not in listed]
        sizes = sorted([*listed.values(), *unlisted])
        left_bytes = beyond_bytes
        while left_bytes > 0 and sizes:
            stray = next((size for size in sizes if size >= left_bytes), sizes[-1])
            found.append(stray)
            sizes.remove(stray)
            left_bytes -= stray
    return found


def _lost_to(strays: Iterable[int], upcoming: Upcoming, situation: Situation) -> int:
    """Count the places for a replica that are lost if *strays* go where the fewest are.

    One that finds room nowhere takes none, nor do those that there is no work left for.
    """
    takers = situation.book.forecast.eligibility.takers(upcoming.need)
    spaces, size_bytes = situation.view.spaces, upcoming.need.size_bytes
    situation.work.spend(len(spaces) // _NODES_PER_STEP)
    free = [b.logical_bytes for name in spaces if name in takers for b in takers.bins(spaces[name])]
    lost = 0
    for stray in sorted(strays, reverse=True):
        if situation.work.is_over:
            break
        situation.work.spend(1 + len(free) // _DISKS_PER_STEP)
        found = min(
            (
                (each // size_bytes - (each - stray) // size_bytes, each, number)
                for number, each in enumerate(free)
                if each >= stray
            ),
            default=None,
        )
        if found is not None:
            lost += found[0]
            free[found[2]] -= stray
    return lost


def _crowded(upcoming: Upcoming, situation: Situation) -> int:
    """Count what is pinned to nodes and has no room there."""
    book, found = situation.book, 0
    takers = book.forecast.eligibility.takers(upcoming.need)
    for name in filter(takers.__contains__, sorted(book.overfull)):
        space = situation.view.spaces[name]
        items = [each.item for each in book.pinned(space)]
        # What has no room there even alone counts elsewhere.
        pinned_bytes = sum(i.logical_bytes for i in items if not is_stranded(i, space.roomiest))
        wanted = -(-pinned_bytes // upcoming.need.size_bytes)
        found += max(0, wanted - _room_on(name, upcoming, situation))
    return found


def _kept(upcoming: Upcoming, situation: Situation) -> int:
    """Count what open holds of one node keep: of all others it is forecast."""
    return sum(
        -(-volume.need.size_bytes // upcoming.need.size_bytes)
        for hold in situation.book.open.holds
        if len(hold.nodes) == 1
        for volume in hold.volumes
    )


def _lacking(upcoming: Upcoming, situation: Situation) -> dict[VolumeName, int]:
    """Count what volumes lack by the forecast that may use the same disks."""
    book = situation.book
    kinds = book.forecast.eligibility.takers(upcoming.need).kinds
    return {
        volume: missing * -(-each.need.size_bytes // upcoming.need.size_bytes)
        for volume, missing in book.forecast.nowhere.items()
        if (each := book.anywhere.get(volume)) is not None and each.item.kinds & kinds
    }


def _left(upcoming: Upcoming, situation: Situation, *, most: int) -> int:
    """Count the replicas that all nodes have room for beside what comes; *most* will do."""
    forecast = situation.book.forecast
    takers, found = forecast.eligibility.takers(upcoming.need), 0
    for number, name in enumerate(situation.view.spaces):
        if name in takers:
            taken_bytes = forecast.taken(name).logical_bytes
            found += max(0, _room_on(name, upcoming, situation, taken_bytes))
        if found >= most:
            break
        if not number % _NODES_PER_STEP:
            situation.work.spend(1)
    return found


def _room_on(name: NodeName, upcoming: Upcoming, situation: Situation, taken_bytes: int = 0) -> int:
    """Count the replicas that a node has room for beside what is taken; on which disks that is, is
    not known."""
    takers = situation.book.forecast.eligibility.takers(upcoming.need)
    size_bytes = upcoming.need.size_bytes
    rooms = [max(0, b.logical_bytes) for b in takers.bins(situation.view.spaces[name])]
    if len(rooms) == 1:
        return (rooms[0] - taken_bytes) // size_bytes
    return sum(room // size_bytes for room in rooms) - -(-taken_bytes // size_bytes)


def _is_new(upcoming: Upcoming, situation: Situation) -> bool:
    """Whether a volume has no data yet, and one more could be on some node, whatever is there."""
    forecast, view = situation.book.forecast, situation.view
    eligibility, takers = forecast.eligibility, forecast.eligibility.takers(upcoming.need)
    size_bytes = upcoming.need.size_bytes
    if size_bytes > takers.largest_bytes or has_data(view.replicas.get(upcoming.volume.name, ())):
        return False
    groups = eligibility.groups(upcoming, forecast.usage_of(upcoming))
    for number, (name, space) in enumerate(view.spaces.items()):
        is_fit = any(
            each.limit_bytes >= size_bytes and takers.may_use(each, space) for each in space.disks
        )
        if is_fit and eligibility.is_in(groups, name):
            return True
        if not number % _NODES_PER_STEP:
            situation.work.spend(1)
    return False
