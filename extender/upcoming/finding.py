"""Finds room in a forecast for what comes; where there is none, some of the rest goes elsewhere."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import combinations

from extender.space import NodeSpace
from extender.upcoming.forecast import Forecast
from extender.upcoming.hosts import Rank
from extender.upcoming.upcoming import Upcoming
from longhorn import NodeName, Usage, VolumeName

_MOST_MOVED, _MOST_IN_A_CHAIN = 60, 2
"""Only so many volumes are moved to make room for another one, and so many replicas one after
another."""
_RANKS_PER_STEP = 100
"""So many nodes are passed over in the time of a step."""


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


def best_node(forecast: Forecast, upcoming: Upcoming, usage: Usage) -> NodeName | None:
    """Return the node that Longhorn would take for the next replica, None if none has room.

    Longhorn's groups, on an index of nodes (`Hosts`): which of them takes a replica is known of
    each sort, zone by zone, so that nobody goes through thousands of nodes for each of hundreds.
    """
    prefers, spaces = upcoming.prefers, forecast.view.spaces
    if prefers is not None and (prefers in usage.zone_of or not forecast.takes(prefers, upcoming)):
        prefers = None
    tried = set[str]()
    for group in forecast.suited.groups(upcoming, usage):
        if prefers is not None and group.has(prefers, spaces[prefers].node.zone):
            return prefers
        if group.only is not None:
            found = _roomiest_of(forecast, group.only, upcoming)
        else:
            zones = [
                zone
                for zone in forecast.suited.hosts(upcoming.need).zones
                if zone not in group.but_zones and zone not in tried
            ]
            tried.update(zones)
            found = _roomiest(forecast, zones, upcoming, usage)
        if found is not None:
            return found
    return None


def _make_room(
    forecast: Forecast, upcoming: Upcoming, usage: Usage, chain: tuple[VolumeName, ...] = ()
) -> bool:
    """Put a replica on a node from which others may go elsewhere: one of another volume, or two.

    A single one may go to a node from which another one may, and so on: a chain of so many at most.
    Where more than a few are forecast, what one of them gains is not worth the work. Of the volumes
    of *chain* one is moved already, to make room for each other.
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


def _roomiest_of(
    forecast: Forecast, names: Iterable[NodeName], upcoming: Upcoming
) -> NodeName | None:
    """Return the node with the most unused bytes among some that hold a replica."""
    takers = [name for name in sorted(names) if forecast.takes(name, upcoming)]
    return max(takers, key=lambda name: forecast.unused_bytes(name, upcoming), default=None)


def _roomiest(
    forecast: Forecast, zones: Iterable[str], upcoming: Upcoming, usage: Usage
) -> NodeName | None:
    """Return the node with the most unused bytes among those without a replica."""
    found = (_roomiest_in(forecast, zone, upcoming, usage) for zone in zones)
    ranks = [rank for rank in found if rank is not None]
    return min(ranks)[1] if ranks else None


def _roomiest_in(forecast: Forecast, zone: str, upcoming: Upcoming, usage: Usage) -> Rank | None:
    hosts, size = forecast.suited.hosts(upcoming.need), upcoming.item.logical_bytes
    best, most = None, hosts.most_bytes
    ranks = hosts.ranks(zone) if hosts.may_take(zone, size) else ()
    forecast.work.spend(len(ranks) // _RANKS_PER_STEP)
    for rank in ranks:
        name = rank[1]
        if most[name] < size or name in usage.zone_of or name in forecast.apart:
            continue
        if forecast.work.is_over:
            forecast.is_cut_short = True
            return None
        if forecast.takes(name, upcoming):
            best = rank
            break
    if best is None and ranks:
        hosts.note_full(zone)
    for name in forecast.apart:
        if name in hosts and hosts.zone_of(name) == zone and name not in usage.zone_of:
            rank = -forecast.unused_bytes(name, upcoming), name
            if (best is None or rank < best) and forecast.takes(name, upcoming):
                best = rank
    return best
