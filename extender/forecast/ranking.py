"""The nodes that take a replica of some need, those with the most unused bytes first."""

from bisect import bisect_left, insort

from extender.demand.items import Demand, demand_of, suits
from extender.space import NodeSpace
from extender.view import ClusterView, Cursor
from longhorn import Need, NodeName, Settings
from packing import Item, is_stranded

_REMEMBERED_NEEDS = 32
Rank = tuple[int, NodeName]
"""Less what is unused on the node's disks of the right kinds, so that the roomiest comes first."""


class Ranking:
    """The nodes with room for one replica of a need, by zone, kept up to date node by node.

    Attributes:
        item: One replica of the need.
        by_zone: In each zone the ranks of its nodes, in order.
        entries: The zone and the rank of each of these nodes.
    """

    def __init__(self, need: Need) -> None:
        self._need = need
        self._settings: Settings | None = None
        self._kinds = -1
        self._cursor: Cursor | None = None
        self.item: Item
        self._demand: Demand
        self.by_zone: dict[str, list[Rank]] = {}
        self.entries: dict[NodeName, tuple[str, Rank]] = {}

    def catch_up(self, view: ClusterView, settings: Settings) -> None:
        """Take in what has changed since the last time."""
        if self._settings is not settings or self._kinds != len(view.disk_kinds):
            self._settings, self._kinds, self._cursor = settings, len(view.disk_kinds), None
            self._demand = demand_of([("replica", self._need)], view, settings)
            [self.item] = self._demand.items
        changed, self._cursor = view.changes.since(self._cursor)
        if changed is None:
            self.by_zone, self.entries = {}, {}
            for space in view.spaces.values():
                self._enter(space)
            for ranks in self.by_zone.values():
                ranks.sort()
            return
        for name in changed:
            self._remove(name)
            now = view.spaces.get(name)
            if now is not None and (entry := self._entry_of(now)) is not None:
                self.entries[name] = entry
                insort(self.by_zone.setdefault(entry[0], []), entry[1])

    def _enter(self, space: NodeSpace) -> None:
        entry = self._entry_of(space)
        if entry is not None:
            self.entries[space.node.name] = entry
            self.by_zone.setdefault(entry[0], []).append(entry[1])

    def _remove(self, name: NodeName) -> None:
        entry = self.entries.pop(name, None)
        if entry is not None:
            zone, rank = entry
            ranks = self.by_zone[zone]
            del ranks[bisect_left(ranks, rank)]
            if not ranks:
                del self.by_zone[zone]

    def _entry_of(self, space: NodeSpace) -> tuple[str, Rank] | None:
        if not space.takes_replicas or is_stranded(self.item, space.roomiest):
            return None
        assert self._settings is not None
        if not suits(self._demand, space.node, self._settings):
            return None
        kinds = self.item.kinds
        unused = sum(count for kind, count in space.unused_bytes.items() if kind in kinds)
        return space.node.zone, (-unused, space.node.name)


class Rankings:
    """The rankings for the needs asked for last."""

    def __init__(self) -> None:
        self._by_need: dict[Need, Ranking] = {}

    def of(self, need: Need, view: ClusterView, settings: Settings) -> Ranking:
        """Return the ranking for *need*, up to date with *view*."""
        ranking = self._by_need.pop(need, None) or Ranking(need)
        self._by_need[need] = ranking
        if len(self._by_need) > _REMEMBERED_NEEDS:
            del self._by_need[next(iter(self._by_need))]
        ranking.catch_up(view, settings)
        return ranking
