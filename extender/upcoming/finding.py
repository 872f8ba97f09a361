"""Finds room in a forecast for what comes; where there is none, some of the rest goes elsewhere."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import combinations

from extender.space import NodeSpace
from extender.upcoming.forecast import Forecast
from extender.upcoming.searching import best_node
from extender.upcoming.upcoming import Upcoming
from longhorn import NodeName, Usage, VolumeName

_MOST_MOVED, _MOST_IN_A_CHAIN = 60, 2
"""Only so many volumes are moved to make room for another one, and so many replicas one after
another."""


def find_room(forecast: Forecast, upcoming: Upcoming) -> int:
    """Find room for the replicas of a volume, beside those of it that have some already.

    Returns for how many there is none.
    """
    name = upcoming.volume.name
    usage = forecast.usage_of(upcoming)
    missing = max(0, upcoming.count - len(forecast.nodes_of(name)))
    while missing:
        best = best_node(forecast, upcoming, usage)
        if best is not None:
            forecast.put(upcoming, best)
        elif not _make_room(forecast, upcoming, usage):
            break
        usage = forecast.usage_of(upcoming)
        missing -= 1
    if missing:
        forecast.nowhere[name] = missing
    else:
        forecast.nowhere.pop(name, None)
    return missing


def keep(forecast: Forecast, upcoming: Upcoming, nodes: Iterable[NodeName]) -> None:
    """Put replicas of a volume on these nodes, where they may be; all others are left out."""
    suited = forecast.suited
    for node in nodes:
        if len(forecast.nodes_of(upcoming.volume.name)) == upcoming.count:
            break
        if not (suited.may_go(upcoming, node) and forecast.takes(node, upcoming)):
            continue
        if suited.is_in(suited.groups(upcoming, forecast.usage_of(upcoming)), node):
            forecast.put(upcoming, node)


def beside(forecast: Forecast, items: Sequence[Upcoming], node: NodeName) -> Forecast:
    """Return the forecast once *items* are bound to a node, too: what has no room moves."""

    def also(space: NodeSpace) -> Sequence[Upcoming]:
        found = forecast.bound_to(space.node.name)
        return (*found, *items) if space.node.name == node else found

    new = forecast.copy(also, (node,))
    for upcoming in new.evict_beyond(node):
        find_room(new, upcoming)
    return new


def _make_room(
    forecast: Forecast, upcoming: Upcoming, usage: Usage, chain: tuple[VolumeName, ...] = ()
) -> bool:
    """Put a replica on a node from which others may go elsewhere: one of another volume, or two.

    A single one may go to a node from which another one may, and so on: a chain of so many at most.
    Where more than a few are forecast, what one of them gains is not worth the work.

    Args:
        chain: The volumes of which one is moved already, to make room for each other.
    """
    chain = (*chain, upcoming.volume.name)
    if len(forecast.volumes) > _MOST_MOVED or len(chain) > _MOST_IN_A_CHAIN:
        return False
    groups = forecast.suited.groups(upcoming, usage)
    for name in [*forecast.on]:
        if forecast.work.is_over:
            forecast.is_cut_short = True
            return False
        if not forecast.suited.may_go(upcoming, name) or not forecast.suited.is_in(groups, name):
            continue
        bound = [each.item for each in forecast.bound_to(name)]
        for others in _that_may_leave(forecast.on[name], chain):
            kept = [e.item for e in forecast.on[name] if not any(e is other for other in others)]
            if forecast.fits(name, [*bound, *kept, upcoming.item]) and _move(
                forecast, others, name, upcoming, chain
            ):
                return True
    return False


def _that_may_leave(
    there: Sequence[Upcoming], chain: tuple[VolumeName, ...]
) -> Iterator[tuple[Upcoming, ...]]:
    """Yield each replica of other volumes, and then each two of different ones."""
    others = [each for each in there if each.volume.name not in chain]
    yield from ((each,) for each in others)
    if len(chain) == 1:
        for first, second in combinations(others, 2):
            if first.volume.name != second.volume.name:
                yield first, second


def _move(
    forecast: Forecast,
    others: tuple[Upcoming, ...],
    name: NodeName,
    upcoming: Upcoming,
    chain: tuple[VolumeName, ...],
) -> bool:
    """Put a replica on a node in place of those of others, if all of these find another node."""
    before = {each.volume.name: forecast.nodes_of(each.volume.name) for each in others}
    own = forecast.nodes_of(upcoming.volume.name)
    for other in others:
        forecast.put_all(other, forecast.lift(other.volume.name), but=name)
    forecast.put(upcoming, name)
    if all(_go(forecast, other, chain, is_alone=len(others) == 1) for other in others):
        return True
    for each in (*others, upcoming):
        forecast.lift(each.volume.name)
    forecast.put_all(upcoming, own)
    for other in others:
        forecast.put_all(other, before[other.volume.name])
    return False


def _go(
    forecast: Forecast, other: Upcoming, chain: tuple[VolumeName, ...], *, is_alone: bool
) -> bool:
    """Find another node for a replica whose room was taken; others make room for a single one."""
    usage = forecast.usage_of(other)
    best = best_node(forecast, other, usage)
    if best is not None:
        forecast.put(other, best)
        return True
    return is_alone and _make_room(forecast, other, usage, chain)
