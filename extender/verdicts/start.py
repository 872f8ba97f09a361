"""Whether Longhorn could start a pod's volumes at all, wherever the pod runs.

A new volume also waits where the last room that there is belongs to others (`owed`).
"""

from collections.abc import Iterable, Sequence

from msgspec import structs

from extender.upcoming.forecast import Pinned
from extender.upcoming.upcoming import Certainty, Upcoming
from extender.verdicts.owed import why_not_the_last, why_owed
from extender.verdicts.rejections import Rejection
from extender.verdicts.shortages import NoRoomAnywhere, TooFewReplicas, TooFewShards
from extender.verdicts.situation import Situation
from longhorn import NodeName


def why_not_started(situation: Situation) -> Rejection | None:
    """Place the volumes that need nothing on the pod's node; if they lack room, say why.

    They must find room beside what open holds keep on any node as well. All pass while nodes cannot
    be read: these may have room.
    """
    if situation.view.unreadable_nodes:
        return None
    for each in situation.own:
        owed = None if each.replicas else why_owed(each, situation)
        if owed is not None:
            return owed
    kept = why_not_the_last(situation)
    needed = situation.needed
    if kept is not None or not needed:
        return kept
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
    if missing == one and not missing.replicas:
        return NoRoomAnywhere(size_bytes=size_bytes, by_open=by_open, beside_own=True)
    return TooFewReplicas(wanted=wanted, size_bytes=size_bytes, by_open=by_open)


def crowded_out(situation: Situation, nodes: Iterable[NodeName]) -> dict[NodeName, Rejection]:
    """Return those of *nodes* where the pod's local volumes take the room of its other ones.

    On all of *nodes* the local ones have room. The others are placed (`why_not_started`); those on
    a node that cannot take both must find room elsewhere.
    """
    needed = situation.needed
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


def _first_missing(
    needed: Sequence[Upcoming], situation: Situation, beside: Pinned | None
) -> Upcoming | None:
    """Return the first volume that does not find the room that it needs.

    What is not decided within the limits counts as found.
    """
    forecast = situation.book.forecast
    missing = next((each for each in needed if forecast.place(each, beside)), None)
    return None if forecast.is_cut_short else missing
