"""Whether Longhorn could start a pod's volumes at all, wherever the pod runs.

A new volume also waits where the last room that there is belongs, by count, to volumes that were
counted before. The forecast may find no room for a volume that Longhorn finds some for, by placing
others otherwise. Replicas of others may have come first to a node that local ones were to go to.
And Longhorn places by figures that lag: where it put more on a disk than fits, as much is missing
there as seems to be free elsewhere. Each of these volumes is owed its room, wherever that is:
nobody gets the last of it. These counts are in replicas of the size that is asked for, rounded
against the pod; disks count as if nothing were lost between them.
"""

from collections.abc import Iterable, Sequence

from msgspec import structs

from extender.upcoming.forecast import Pinned
from extender.upcoming.upcoming import Certainty, Upcoming
from extender.verdicts.rejections import Rejection
from extender.verdicts.shortages import (
    NoRoomAnywhere,
    PendingReplicas,
    TooFewReplicas,
    TooFewShards,
)
from extender.verdicts.situation import Situation
from longhorn import NodeName, VolumeName, has_data, needed_to_start
from packing import is_stranded

_NODES_PER_STEP = 20
"""So many nodes are counted in the time of a step."""


def needed_anywhere(situation: Situation) -> list[Upcoming]:
    """Return what must find room so that the pod starts, and needs nothing on its node."""
    remote = {wanted.name for wanted in situation.request.remote}
    return [
        structs.replace(each, count=count)
        for each in situation.own
        if each.volume.name in remote and (count := _needed(each, situation))
    ]


def why_not_started(situation: Situation) -> Rejection | None:
    """Place the volumes that need nothing on the pod's node; if they lack room, say why.

    They must find room beside what open holds keep on any node as well. All pass while nodes cannot
    be read: these may have room.
    """
    if situation.view.unreadable_nodes:
        return None
    for each in situation.own:
        owed = None if each.replicas else _last_room_is_owed(each, situation)
        if owed is not None:
            return owed
    needed = needed_anywhere(situation)
    if not needed:
        return None
    book, mark = situation.book, situation.book.mark
    beside = book.kept_open if book.open.held else None
    missing = _first_missing(needed, situation, beside)
    if missing is None:
        return None
    book.back_to(mark)
    by_open = _is_missing_by_open(needed, situation)
    size_bytes, wanted = missing.need.size_bytes, missing.volume.wanted_replicas
    if missing.volume.sharded:
        return TooFewShards(wanted=wanted, size_bytes=size_bytes, by_open=by_open)
    one = structs.replace(missing, count=1)
    is_none = not missing.replicas and _first_missing([one], situation, beside) is not None
    book.back_to(mark)
    if is_none:
        return NoRoomAnywhere(size_bytes=size_bytes, by_open=by_open)
    return TooFewReplicas(wanted=wanted, size_bytes=size_bytes, by_open=by_open)


def crowded_out(situation: Situation, nodes: Iterable[NodeName]) -> dict[NodeName, Rejection]:
    """Return those of *nodes* where the pod's local volumes take the room of its other ones.

    On all of *nodes* the local ones have room. The others are placed (`why_not_started`); those on
    a node that cannot take both must find room elsewhere.
    """
    needed = needed_anywhere(situation)
    if not (needed and situation.request.volumes) or situation.view.unreadable_nodes:
        return {}
    book, forecast = situation.book, situation.book.forecast
    size_bytes = max(each.need.size_bytes for each in needed)
    placed = {node for each in needed for node in forecast.nodes_of(each.volume.name)}
    rejected: dict[NodeName, Rejection] = {}
    for name in filter(placed.__contains__, [*nodes]):
        if situation.work.is_over:
            break  # what is not decided within the limits counts as found
        kept = book.kept_open(situation.view.spaces[name])
        local = local_on(name, situation)
        items = (*forecast.taken(name).items, *(each.item for each in (*kept, *local)))
        if forecast.fits(name, items):
            continue
        mark = book.mark
        for each in needed:
            forecast.take_out(each.volume.name)
        book.pin(local, name)
        if _first_missing(needed, situation, book.kept_open if kept else None):
            rejected[name] = NoRoomAnywhere(size_bytes=size_bytes, by_open=bool(kept))
        book.back_to(mark)
    return rejected


def local_on(name: NodeName, situation: Situation) -> list[Upcoming]:
    """Return the pod's own replicas that are to be placed on a node, as if it had been chosen."""
    items = {item.id: item for item in situation.demand_on(name).items}
    return [
        structs.replace(each, item=items[each.volume.name], certainty=Certainty.CHOSEN)
        for each in situation.own
        if each.volume.name in items
    ]


def _is_missing_by_open(needed: Sequence[Upcoming], situation: Situation) -> bool:
    """Whether all would find room without what comes only with open holds."""
    book = situation.book
    open_ = [name for name, each in book.anywhere.items() if not each.is_sure]
    if not (open_ or book.open.held):
        return False
    mark = book.mark
    for name in open_:
        book.forecast.take_out(name)
    is_by_open = _first_missing(needed, situation, None) is None
    book.back_to(mark)
    return is_by_open


def _needed(upcoming: Upcoming, situation: Situation) -> int:
    view = situation.view
    replicas = view.replicas.get(upcoming.volume.name, ())
    return needed_to_start(upcoming.volume, replicas, view.settings, due=upcoming.count)


def _first_missing(
    needed: Sequence[Upcoming], situation: Situation, beside: Pinned | None
) -> Upcoming | None:
    """Return the first volume that does not find the room that it needs.

    What is not decided within the limits counts as found.
    """
    forecast = situation.book.forecast
    missing = next((each for each in needed if forecast.place(each, beside)), None)
    return None if forecast.is_cut_short else missing


def _last_room_is_owed(upcoming: Upcoming, situation: Situation) -> Rejection | None:
    """Reject a new volume where all room for a replica of it is owed to others.

    What is placed or held takes its room for good: then there is none anywhere. What is pinned to
    a crowded node, or lacks room by the forecast, may yet be placed otherwise: then the pod waits
    for these replicas.
    """
    book, size_bytes = situation.book, upcoming.need.size_bytes
    if not ((book.beyond or book.overfull or book.forecast.nowhere) and size_bytes):
        return None
    beyond = 0 if upcoming.volume.needs_local_replica else _beyond(upcoming, situation)
    crowded, lacking = _crowded(upcoming, situation), _lacking(upcoming, situation)
    kept = _kept(upcoming, situation)
    most = beyond + kept + crowded + sum(lacking.values()) + 1
    left = _left(upcoming, situation, most=most) - beyond - kept
    if left <= 0:
        return NoRoomAnywhere(size_bytes=size_bytes)
    left -= crowded
    for each, count in lacking.items():
        if left > 0 and _is_new(book.anywhere[each], situation):
            left -= count
    return None if left > 0 else PendingReplicas()


def _beyond(upcoming: Upcoming, situation: Situation) -> int:
    """Count what was placed on disks beyond their limits that such a replica may use."""
    takers = situation.book.forecast.eligibility.takers(upcoming.need)
    beyond_bytes = sum(
        excess
        for (name, disk), excess in situation.book.beyond.items()
        for space in (situation.view.spaces[name],)
        for each in space.disks
        if each.disk.name == disk and takers.may_use(each, space)
    )
    return -(-beyond_bytes // upcoming.need.size_bytes)


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
    forecast, size_bytes = situation.book.forecast, upcoming.need.size_bytes
    takers, found = forecast.eligibility.takers(upcoming.need), 0
    for number, name in enumerate(situation.view.spaces):
        if name in takers:
            taken = -(-forecast.taken(name).logical_bytes // size_bytes)
            found += max(0, _room_on(name, upcoming, situation) - taken)
        if found >= most:
            break
        if not number % _NODES_PER_STEP:
            situation.work.spend(1)
    return found


def _room_on(name: NodeName, upcoming: Upcoming, situation: Situation) -> int:
    takers = situation.book.forecast.eligibility.takers(upcoming.need)
    return sum(
        max(0, bin_.logical_bytes) // upcoming.need.size_bytes
        for bin_ in takers.bins(situation.view.spaces[name])
        if bin_.kind in takers.kinds
    )


def _is_new(upcoming: Upcoming, situation: Situation) -> bool:
    """Whether a volume has no data yet, and some node would do for one more, whatever has room."""
    forecast, view = situation.book.forecast, situation.view
    eligibility, takers = forecast.eligibility, forecast.eligibility.takers(upcoming.need)
    is_too_large = upcoming.item.logical_bytes > takers.largest_bytes
    if is_too_large or has_data(view.replicas.get(upcoming.volume.name, ())):
        return False
    groups = eligibility.groups(upcoming, forecast.usage_of(upcoming))
    for number, (name, space) in enumerate(view.spaces.items()):
        is_fit = any(takers.may_use(each, space) for each in space.disks)
        if is_fit and eligibility.is_in(groups, name):
            return True
        if not number % _NODES_PER_STEP:
            situation.work.spend(1)
    return False
