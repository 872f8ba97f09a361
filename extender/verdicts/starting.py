"""Whether Longhorn could start a pod's volumes at all, wherever the pod runs."""

from collections.abc import Iterable, Sequence

from msgspec import structs

from extender.forecast.coming import Coming, by_certainty
from extender.forecast.forecast import Forecast
from extender.forecast.moving import MOST_MOVED
from extender.forecast.needs import fits
from extender.verdicts.rejections import NoRoomAnywhere, Rejection, TooFewReplicas
from extender.verdicts.situation import Situation
from longhorn import NodeName, needed_to_start
from packing import Item


def needs_room(situation: Situation) -> bool:
    """Whether some volume that needs nothing on the pod's node needs room to start at all."""
    return any(_needed(each, situation) for each in _remote(situation))


def start(situation: Situation) -> Rejection | Situation:
    """Find room for the volumes that need nothing on the pod's node; if there is none, say why.

    Returns the situation with a forecast that has them. All pass while nodes cannot be read: these
    may have room.
    """
    needed = _all_needed(situation)
    if not needed:
        return situation
    forecast = situation.trial()
    missing, with_open = _first_missing(needed, forecast), False
    if missing is None and situation.loads.open_holds:
        with_open = True
        missing = _missing_beside_open(needed, situation)
    if missing is None:
        return structs.replace(situation, with_own=forecast)
    by_open = with_open or _is_missing_by_open(needed, situation)
    size_bytes = missing.need.size_bytes
    fits_one = missing.count > 1 and _fits_one(missing, situation, with_open=with_open)
    if not (missing.replicas or fits_one):
        return NoRoomAnywhere(size_bytes=size_bytes, by_open=by_open)
    wanted = missing.volume.wanted_replicas
    return TooFewReplicas(wanted=wanted, size_bytes=size_bytes, by_open=by_open)


def crowded_out(started: Situation, nodes: Iterable[NodeName]) -> dict[NodeName, Rejection]:
    """Return those of *nodes* whose room the pod's local volumes need and its others as well.

    The others must find room beside what is local.

    Args:
        started: The pod, with its others in a forecast (`start`).
        nodes: Where the local volumes have room.
    """
    needed = _all_needed(started)
    if not (needed and started.request.volumes):
        return {}
    size_bytes = max(each.need.size_bytes for each in needed)
    found: dict[NodeName, Rejection] = {}
    for name in nodes:
        if name in started.with_own.on:
            load = started.loads.on(started.view.spaces[name])
            if not _gives_way(name, load.sure_items, started):
                found[name] = NoRoomAnywhere(size_bytes=size_bytes, by_open=False)
            elif load.open and not _gives_way(name, load.items, started):
                found[name] = NoRoomAnywhere(size_bytes=size_bytes, by_open=True)
    return found


def _gives_way(name: NodeName, load: Sequence[Item], started: Situation) -> bool:
    """Whether what is forecast on a node finds room there or elsewhere beside what is local."""
    space, local = started.view.spaces[name], (*started.demand_on(name).items, *load)
    there = (*local, *(each.item for each in started.with_own.on[name]))
    return fits(there, space, started.limits.per_node) or started.with_own.gives_way(name, local)


def _missing_beside_open(needed: Sequence[Coming], situation: Situation) -> Coming | None:
    """Return the first volume without the room that it needs beside all that open holds keep.

    What is forecast stays where it is if it has room there. Else it is forecast anew, unless it is
    too much for that.
    """
    sums, anew = situation.others.sums, situation.trial(with_open=True)
    if sums.sure + sums.open > MOST_MOVED or _all_stay(anew):
        return _first_missing(needed, anew)
    for each in situation.others.coming:
        anew.take_out(each.volume.name)
    anew.place_all(sorted(situation.others.coming, key=by_certainty))
    return _first_missing(needed, anew)


def _all_stay(forecast: Forecast) -> bool:
    """Whether all that is forecast has room where it is."""
    assignment = forecast.assignment
    return all(assignment.fits(name, assignment.taken(name).items) for name in forecast.on)


def _is_missing_by_open(needed: Sequence[Coming], situation: Situation) -> bool:
    """Whether all would find room without what comes only with open holds."""
    open_ = [each.volume.name for each in situation.others.coming if not each.is_sure]
    if not open_:
        return False
    without = situation.trial()
    for name in open_:
        without.take_out(name)
    return _first_missing(needed, without) is None


def _remote(situation: Situation) -> list[Coming]:
    """Return what is coming of the volumes that need nothing on the pod's node."""
    remote = {wanted.name for wanted in situation.request.remote}
    return [each for each in situation.own_coming if each.volume.name in remote]


def _all_needed(situation: Situation) -> list[Coming]:
    """Return what must find room anywhere so that the pod starts; nothing if nobody can say."""
    if situation.view.unreadable_nodes:
        return []
    return [
        structs.replace(each, count=count)
        for each in _remote(situation)
        if (count := _needed(each, situation))
    ]


def _needed(coming: Coming, situation: Situation) -> int:
    view = situation.view
    replicas = view.replicas.get(coming.volume.name, ())
    return needed_to_start(coming.volume, replicas, view.settings, due=coming.count)


def _first_missing(needed: Sequence[Coming], forecast: Forecast) -> Coming | None:
    """Return the first volume that does not find the room that it needs in a forecast.

    What is not decided within the limits counts as found.
    """
    missing = next((each for each in needed if forecast.place(each)), None)
    return None if forecast.is_undecided else missing


def _fits_one(coming: Coming, situation: Situation, *, with_open: bool) -> bool:
    one = structs.replace(coming, count=1)
    return _first_missing([one], situation.trial(with_open=with_open)) is None
