"""Where Longhorn would put one more replica of a volume: `longhorn.groups_of` on an index of nodes.

Which of the nodes takes it is known of each sort of replicas, zone by zone (`Hosts`), so that
nobody goes through thousands of nodes for each of hundreds of replicas.
"""

from collections.abc import Iterable

from extender.upcoming.forecast import Forecast
from extender.upcoming.hosts import Rank
from extender.upcoming.upcoming import Upcoming
from longhorn import NodeName, Usage

_RANKS_PER_STEP = 100
"""So many nodes are passed over in the time of a step."""


def best_node(forecast: Forecast, upcoming: Upcoming, usage: Usage) -> NodeName | None:
    """Return the node that Longhorn would take for the next replica, None if none has room."""
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
