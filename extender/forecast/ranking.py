"""The nodes that replicas of some kind may go to, those with the most unused bytes first."""

from bisect import bisect_left, insort
from collections.abc import Callable

import msgspec

from extender.demand.items import Demand, demand_of, suits
from extender.space import NodeSpace
from extender.view import ClusterView, Cursor
from longhorn import Need, NodeName, Selector, Settings, TopologyTerm
from packing import Item, Kind, is_stranded

_REMEMBERED = 32
_REMEMBERED_NEEDS = 1_000
Rank = tuple[int, NodeName]
"""Less what is unused on the node's disks of the right kinds, so that the roomiest comes first."""


class Sort(msgspec.Struct, frozen=True):
    """What replicas have in common that may go to the same nodes and disks, whatever their size."""

    kinds: frozenset[Kind]
    selectors: tuple[Selector, ...]
    topologies: tuple[tuple[TopologyTerm, ...], ...]


class Ranking:
    """The nodes for one sort of replicas, by zone, kept up to date node by node.

    Attributes:
        by_zone: In each zone the ranks of its nodes, in order.
    """

    def __init__(self, sort: Sort, demand: Demand) -> None:
        self.by_zone: dict[str, list[Rank]] = {}
        self._sort = sort
        self._demand = demand
        self._cursor: Cursor | None = None
        self._entries: dict[NodeName, tuple[str, Rank, int]] = {}
        self._largest: list[int] = []
        """The logical headroom of each node's best disk, in order."""

    @property
    def largest_bytes(self) -> int:
        """Return the largest logical headroom of any disk."""
        return self._largest[-1] if self._largest else -1

    def catch_up(self, view: ClusterView) -> None:
        """Take in what has changed since the last time."""
        changed, self._cursor = view.changes.since(self._cursor)
        if changed is None:
            entries = ((each.node.name, self._entry_of(each)) for each in view.spaces.values())
            self._entries = {name: entry for name, entry in entries if entry is not None}
            self.by_zone = {}
            for zone, rank, _ in self._entries.values():
                self.by_zone.setdefault(zone, []).append(rank)
            for ranks in self.by_zone.values():
                ranks.sort()
            self._largest = sorted(largest for _, _, largest in self._entries.values())
            return
        for name in changed:
            self._remove(name)
            now = view.spaces.get(name)
            if now is not None and (entry := self._entry_of(now)) is not None:
                self._entries[name] = entry
                insort(self.by_zone.setdefault(entry[0], []), entry[1])
                insort(self._largest, entry[2])

    def __contains__(self, name: NodeName) -> bool:
        return name in self._entries

    def unused_bytes(self, name: NodeName) -> int:
        """Return what is unused on the disks of one of the nodes."""
        return -self._entries[name][1][0]

    def largest_of(self, name: NodeName) -> int:
        """Return the logical headroom of the best disk of one of the nodes."""
        return self._entries[name][2]

    def zone_of(self, name: NodeName) -> str:
        """Return the zone of one of the nodes."""
        return self._entries[name][0]

    def _remove(self, name: NodeName) -> None:
        entry = self._entries.pop(name, None)
        if entry is not None:
            zone, rank, largest = entry
            del self._largest[bisect_left(self._largest, largest)]
            ranks = self.by_zone[zone]
            del ranks[bisect_left(ranks, rank)]
            if not ranks:
                del self.by_zone[zone]

    def _entry_of(self, space: NodeSpace) -> tuple[str, Rank, int] | None:
        if not space.takes_replicas or not suits(self._demand, space.node):
            return None
        kinds = self._sort.kinds
        largest = max((b.logical_bytes for b in space.roomiest if b.kind in kinds), default=None)
        if largest is None:
            return None
        unused = sum(count for kind, count in space.unused_bytes.items() if kind in kinds)
        return space.node.zone, (-unused, space.node.name), largest


class Order:
    """The nodes of one ranking as a forecast finds them: by what is unused beside all it takes.

    Attributes:
        ranking: Without what the forecast takes.
        most_bytes: Of each node, so much at most has a replica that finds room there.
    """

    def __init__(self, ranking: Ranking, taken_bytes: Callable[[NodeName], int]) -> None:
        self.ranking = ranking
        self.most_bytes: dict[NodeName, int] = {}
        self._taken_bytes = taken_bytes
        self._by_zone: dict[str, list[Rank]] = {}
        self._entries: dict[NodeName, tuple[str, Rank]] = {}
        self._most_in_zone: dict[str, int] = {}
        for zone, ranks in ranking.by_zone.items():
            now = [self._rank(name) for _, name in ranks]
            self._entries |= {rank[1]: (zone, rank) for rank in now}
            self._by_zone[zone] = sorted(now)
            self.most_bytes |= {name: ranking.largest_of(name) for _, name in ranks}
            self.note_full(zone)

    def ranks(self, zone: str) -> list[Rank]:
        """Return the nodes of a zone, the roomiest first."""
        return self._by_zone.get(zone, [])

    def may_take(self, zone: str, size_bytes: int) -> bool:
        """Whether some node of a zone may have room for a replica of this size."""
        return size_bytes <= self._most_in_zone.get(zone, -1)

    def refuse(self, name: NodeName, size_bytes: int) -> None:
        """Note that a node has no room for a replica of this size, whatever is written to it."""
        if name in self.most_bytes:
            self.most_bytes[name] = min(self.most_bytes[name], size_bytes - 1)

    def note_full(self, zone: str) -> None:
        """Note that a zone was searched in vain: what its nodes may take is known better."""
        found = (self.most_bytes[name] for _, name in self._by_zone.get(zone, ()))
        self._most_in_zone[zone] = max(found, default=-1)

    def update(self, name: NodeName, *, has_more: bool) -> None:
        """Take in that something else is unused on a node.

        Args:
            name: The node.
            has_more: Whether it may take now what it did not take before.
        """
        before = self._entries.pop(name, None)
        if before is not None:
            ranks = self._by_zone[before[0]]
            del ranks[bisect_left(ranks, before[1])]
        if name not in self.ranking:
            self.most_bytes.pop(name, None)
            return
        zone, rank = self.ranking.zone_of(name), self._rank(name)
        self._entries[name] = zone, rank
        insort(self._by_zone.setdefault(zone, []), rank)
        if has_more:
            most = self.most_bytes[name] = self.ranking.largest_of(name)
            self._most_in_zone[zone] = max(most, self._most_in_zone.get(zone, -1))

    def _rank(self, name: NodeName) -> Rank:
        return -max(0, self.ranking.unused_bytes(name) - self._taken_bytes(name)), name


class Places:
    """Where one replica of some need may go.

    Attributes:
        item: The replica, ready for packing.
        ranking: The nodes of the right sort.
    """

    def __init__(self, item: Item, ranking: Ranking, view: ClusterView) -> None:
        self.item = item
        self.ranking = ranking
        self._spaces = view.spaces

    @property
    def are_none(self) -> bool:
        """Whether the replica is too large for each of the nodes."""
        return self.item.logical_bytes > self.ranking.largest_bytes

    def __contains__(self, name: NodeName) -> bool:
        """Whether a node takes the replica, if nothing else comes."""
        return name in self.ranking and not is_stranded(self.item, self._spaces[name].roomiest)


class Rankings:
    """The rankings for the sorts of replicas asked for last."""

    def __init__(self) -> None:
        self._settings: Settings | None = None
        self._kinds = 0
        self._of_need: dict[Need, tuple[Demand, Sort]] = {}
        self._rankings: dict[Sort, Ranking] = {}

    def places(self, need: Need, view: ClusterView) -> Places:
        """Return where replicas of *need* may go, up to date with *view*."""
        if self._settings != view.settings or self._kinds != len(view.disk_kinds):
            self._settings, self._kinds = view.settings, len(view.disk_kinds)
            self._of_need.clear()
            self._rankings.clear()
        found = self._of_need.get(need)
        if found is None:
            demand = demand_of([("replica", need)], view)
            [item] = demand.items
            found = demand, Sort(item.kinds, demand.node_selectors, demand.topologies)
            if len(self._of_need) >= _REMEMBERED_NEEDS:
                self._of_need.clear()
            self._of_need[need] = found
        demand, sort = found
        ranking = self._rankings.pop(sort, None)
        if ranking is None:
            ranking = Ranking(sort, demand)
        self._rankings[sort] = ranking
        if len(self._rankings) > _REMEMBERED:
            del self._rankings[next(iter(self._rankings))]
        ranking.catch_up(view)
        return Places(demand.items[0], ranking, view)
