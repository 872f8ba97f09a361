"""Whether Longhorn could start a pod's volumes at all, wherever the pod runs."""

from collections.abc import Iterable, Sequence

from msgspec import structs

from extender.demand.requests import PodRequest
from extender.forecast.coming import Coming, by_certainty, coming_of
from extender.forecast.forecast import Forecast
from extender.forecast.moving import MOST_MOVED
from extender.forecast.needs import fits
from extender.verdicts.case import Case
from extender.verdicts.rejections import NoRoomAnywhere, Rejection, TooFewReplicas
from extender.view import ClusterView
from longhorn import NodeName, needed_to_start
from packing import Item


def needs_room(request: PodRequest, view: ClusterView) -> bool:
    """Whether some volume that needs nothing on the pod's node needs room to start at all."""
    return any(_needed(coming_of(each.volume, each.need, view), view) for each in request.remote)


def start_rejection(case: Case) -> tuple[Rejection | None, Case]:
    """Say why no node will do for the volumes that need nothing on the pod's node.

    All pass while nodes cannot be read: they may have room. Returned is also the case with these
    volumes in its forecast.
    """
    needed = _all_needed(case)
    if not needed:
        return None, case
    forecast = case.trial()
    missing, with_open = _first_missing(needed, forecast), False
    if missing is None and case.loads.open_holds:
        with_open = True
        missing = _missing_beside_open(needed, case)
    if missing is None:
        return None, structs.replace(case, forecast=forecast)
    by_open = with_open or _is_missing_by_open(needed, case)
    size_bytes = missing.need.size_bytes
    fits_one = missing.count > 1 and _fits_one(missing, case, with_open=with_open)
    if not (missing.replicas or fits_one):
        return NoRoomAnywhere(size_bytes=size_bytes, by_open=by_open), case
    wanted = missing.volume.wanted_replicas
    return TooFewReplicas(wanted=wanted, size_bytes=size_bytes, by_open=by_open), case


def crowded_out(case: Case, nodes: Iterable[NodeName]) -> dict[NodeName, Rejection]:
    """Return those of *nodes* whose room the pod's local volumes need and the others as well.

    The others are in the case's forecast (`start_rejection`). They must find room beside what is
    local.
    """
    needed = _all_needed(case)
    if not (needed and case.request.volumes):
        return {}
    size_bytes = max(each.need.size_bytes for each in needed)
    found: dict[NodeName, Rejection] = {}
    for name in nodes:
        if name in case.forecast.on:
            load = case.loads.on(case.view.spaces[name])
            if not _gives_way(name, load.sure_items, case):
                found[name] = NoRoomAnywhere(size_bytes=size_bytes, by_open=False)
            elif load.open and not _gives_way(name, load.items, case):
                found[name] = NoRoomAnywhere(size_bytes=size_bytes, by_open=True)
    return found


def _gives_way(name: NodeName, load: Sequence[Item], case: Case) -> bool:
    """Whether what is forecast on a node finds room there or elsewhere beside what is local."""
    space, local = case.view.spaces[name], (*case.demand_on(name).items, *load)
    there = (*local, *(each.item for each in case.forecast.on[name]))
    return fits(there, space, case.step_limit) or case.forecast.gives_way(name, local)


def _missing_beside_open(needed: Sequence[Coming], case: Case) -> Coming | None:
    """Return the first volume without the room that it needs beside all that open holds keep.

    What is forecast stays where it is if it has room there. Else it is forecast anew, unless it is
    too much for that.
    """
    sums, anew = case.others.sums, case.trial(with_open=True)
    if sums.sure + sums.open > MOST_MOVED or _all_stay(anew):
        return _first_missing(needed, anew)
    for each in case.others.coming:
        anew.take_out(each.volume.name)
    anew.place_all(sorted(case.others.coming, key=by_certainty))
    return _first_missing(needed, anew)


def _all_stay(forecast: Forecast) -> bool:
    """Whether all that is forecast has room where it is."""
    assignment = forecast.assignment
    return all(assignment.fits(name, assignment.taken(name).items) for name in forecast.on)


def _is_missing_by_open(needed: Sequence[Coming], case: Case) -> bool:
    """Whether all would find room without what comes only with open holds."""
    open_ = [each.volume.name for each in case.others.coming if not each.is_sure]
    if not open_:
        return False
    without = case.trial()
    for name in open_:
        without.take_out(name)
    return _first_missing(needed, without) is None


def _all_needed(case: Case) -> list[Coming]:
    """Return what must find room anywhere so that the pod starts; nothing if nobody can say."""
    if case.view.unreadable_nodes:
        return []
    remote = {wanted.name for wanted in case.request.remote}
    return [
        structs.replace(each, count=count)
        for each in case.own_coming
        if each.volume.name in remote and (count := _needed(each, case.view))
    ]


def _needed(coming: Coming, view: ClusterView) -> int:
    replicas = view.replicas.get(coming.volume.name, ())
    return needed_to_start(coming.volume, replicas, view.settings, due=coming.count)


def _first_missing(needed: Sequence[Coming], forecast: Forecast) -> Coming | None:
    """Return the first volume that does not find the room that it needs in a forecast.

    What is not decided within the limits counts as found.
    """
    missing = next((each for each in needed if forecast.place(each)), None)
    return None if forecast.is_undecided else missing


def _fits_one(coming: Coming, case: Case, *, with_open: bool) -> bool:
    one = structs.replace(coming, count=1)
    return _first_missing([one], case.trial(with_open=with_open)) is None
