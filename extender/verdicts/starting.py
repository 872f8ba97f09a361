"""Whether Longhorn could start a pod's volumes at all, wherever the pod runs."""

from collections.abc import Iterable, Sequence

from msgspec import structs

from extender.upcoming.finding import beside, find_room
from extender.upcoming.forecast import Forecast
from extender.upcoming.upcoming import Certainty, Upcoming
from extender.verdicts.rejections import Rejection
from extender.verdicts.shortages import (
    NoRoomAnywhere,
    PendingReplicas,
    TooFewReplicas,
    TooFewShards,
)
from extender.verdicts.situation import Situation
from longhorn import NodeName, needed_to_start


def needs_room(situation: Situation) -> bool:
    """Whether some volume that needs nothing on the pod's node needs room to start at all."""
    return bool(_all_needed(situation))


def start(situation: Situation) -> Rejection | Situation:
    """Find room for the volumes that need nothing on the pod's node; if there is none, say why.

    Returns the situation with a forecast that has them. All pass while nodes cannot be read: these
    may have room.
    """
    needed = _all_needed(situation)
    if not needed or situation.view.unreadable_nodes:
        return situation
    if _others_lack_room(situation):
        return PendingReplicas()
    forecast = situation.forecast.copy()
    missing, beside_open = _first_missing(needed, forecast), None
    if missing is None and situation.bound.open_holds:
        beside_open = _beside_open(situation)
        missing = _first_missing(needed, beside_open)
    if missing is None:
        return structs.replace(situation, with_own=forecast, beside_open=beside_open)
    by_open = beside_open is not None or _is_missing_by_open(needed, situation)
    size_bytes = missing.need.size_bytes
    wanted = missing.volume.wanted_replicas
    if missing.volume.sharded:
        return TooFewShards(wanted=wanted, size_bytes=size_bytes, by_open=by_open)
    base = _beside_open(situation) if beside_open is not None else situation.forecast.copy()
    one = structs.replace(missing, count=1)
    if not missing.replicas and (missing.count == 1 or _first_missing([one], base)):
        return NoRoomAnywhere(size_bytes=size_bytes, by_open=by_open)
    return TooFewReplicas(wanted=wanted, size_bytes=size_bytes, by_open=by_open)


def crowded_out(started: Situation, nodes: Iterable[NodeName]) -> dict[NodeName, Rejection]:
    """Return those of *nodes* whose room the pod's local volumes need and other replicas as well.

    Those of its other volumes must find room beside what is local, and so must what had room of
    other pods: it may have been moved here for them.

    On all of *nodes* the local ones have room; *started* has the others in a forecast (`start`).
    """
    needed = _all_needed(started)
    if not (needed and started.request.volumes) or started.view.unreadable_nodes:
        return {}
    size_bytes = max(each.need.size_bytes for each in needed)
    rejected: dict[NodeName, Rejection] = {}
    nodes = [*nodes]
    for forecast in filter(None, (started.beside_open, started.with_own)):
        why = NoRoomAnywhere(size_bytes=size_bytes, by_open=forecast is started.beside_open)
        for name in filter(forecast.apart.__contains__, nodes):
            if started.work.is_over:
                return rejected  # what is not decided within the limits counts as found
            local = local_on(name, started)
            if forecast.fits(name, (*forecast.taken(name).items, *(each.item for each in local))):
                continue
            then = beside(forecast, local, name)
            if _first_missing(needed, then) or _some_lost(forecast, then):
                rejected[name] = why
    return rejected


def _some_lost(before: Forecast, after: Forecast) -> bool:
    """Whether some replica finds no room any more; what is not decided counts as found."""
    return not after.is_cut_short and any(
        missing > before.nowhere.get(name, 0) for name, missing in after.nowhere.items()
    )


def local_on(name: NodeName, situation: Situation) -> list[Upcoming]:
    """Return the pod's own replicas that are to be placed on a node, as if it had been chosen."""
    items = {item.id: item for item in situation.demand_on(name).items}
    return [
        structs.replace(each, item=items[each.volume.name], certainty=Certainty.CHOSEN)
        for each in situation.own
        if each.volume.name in items
    ]


def _beside_open(situation: Situation) -> Forecast:
    """Return the forecast beside all that open holds keep on any node."""
    found = situation.forecast.copy(situation.bound.on, is_more=True)
    for node in [*found.on]:
        for upcoming in found.evict_beyond(node):
            find_room(found, upcoming)
    return found


def _others_lack_room(situation: Situation) -> bool:
    """Whether some volume that is held for another pod finds no room to start.

    It had room when its pod was accepted, and may have room yet in an order that the forecast does
    not find. What is left must not go to somebody else meanwhile. A local volume starts with the
    replica on its pod's node, which has its room there.
    """
    forecast = situation.forecast
    return bool(forecast.nowhere) and any(
        each.certainty is not Certainty.SHOWN
        and not each.volume.needs_local_replica
        and forecast.nowhere.get(each.volume.name, 0)
        and len(forecast.nodes_of(each.volume.name)) < _needed(each, situation)
        for each in situation.others.each
    )


def _is_missing_by_open(needed: Sequence[Upcoming], situation: Situation) -> bool:
    """Whether all would find room without what comes only with open holds."""
    open_ = [each.volume.name for each in situation.others.each if not each.is_sure]
    without = situation.forecast.copy()
    for name in open_:
        without.take_out(name)
    return bool(open_) and _first_missing(needed, without) is None


def _all_needed(situation: Situation) -> list[Upcoming]:
    """Return what must find room so that the pod starts, and needs nothing on its node."""
    remote = {wanted.name for wanted in situation.request.remote}
    return [
        structs.replace(each, count=count)
        for each in situation.own
        if each.volume.name in remote and (count := _needed(each, situation))
    ]


def _needed(upcoming: Upcoming, situation: Situation) -> int:
    view = situation.view
    replicas = view.replicas.get(upcoming.volume.name, ())
    return needed_to_start(upcoming.volume, replicas, view.settings, due=upcoming.count)


def _first_missing(needed: Sequence[Upcoming], forecast: Forecast) -> Upcoming | None:
    """Return the first volume that does not find the room that it needs in a forecast.

    What is not decided within the limits counts as found.
    """
    missing = next((each for each in needed if find_room(forecast, each)), None)
    return None if forecast.is_cut_short else missing
