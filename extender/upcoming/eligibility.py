"""Which nodes suit the replicas of each volume, whatever else comes there, the roomiest first."""

from bisect import bisect_left, insort
from collections.abc import Callable, Hashable, Iterable, Sequence

import msgspec

from extender.demand.items import Demand, all_start, demand_of, suits
from extender.space import NodeSpace
from extender.upcoming.upcoming import Upcoming
from extender.view import ClusterView
from longhorn import DiskSpace, Group, Need, NodeName, Usage, VolumeName, groups_of, usage_of
from packing import Bin, is_stranded

_MOST_NEEDS, _MOST_PROFILES = 50_000, 32
"""Of so many needs and volumes it is remembered where they may go, and for so many profiles of them
the nodes are kept in order."""
Profile = tuple[Hashable, ...]
"""What replicas have in common that may go to the same nodes and disks, whatever their size."""
Rank = tuple[int, NodeName]
"""Less what is unused on the node's disks of the right kinds, so that the roomiest comes first."""


class _Entry(msgspec.Struct, frozen=True):
    zone: str
    unused_bytes: int
    """What is unused on its disks of the right kinds, if nothing of what is forecast comes."""
    largest_bytes: int
    """The logical headroom of the best of them."""


class Takers:
    """The nodes for one sort of replicas, kept up to date node by node.

    They are ordered by what is unused beside all that comes there. Of each node, and of each zone,
    it is known how large a replica may be at most that finds room there: what was refused once is
    not tried again until there is more room.

    Attributes:
        most_bytes: Of each node, so much at most has a replica that finds room there.
        kinds: The disks that such replicas may use.
    """

    def __init__(
        self, one: Demand, view: ClusterView, taken_bytes: Callable[[NodeName], int]
    ) -> None:
        """Begin with all nodes of *view* that suit *one* such replica."""
        self.most_bytes: dict[NodeName, int] = {}
        self._demand, self._taken_bytes = one, taken_bytes
        [(item, need)] = one.by_size
        self.kinds, self._places = item.kinds, need.places
        self._numbers = view.disk_kinds
        self._entries: dict[NodeName, _Entry] = {}
        self._largest_bytes: int | None = None
        """None until somebody asks after a node has changed."""
        self._ranks: dict[NodeName, Rank] = {}
        self._by_zone: dict[str, list[Rank]] = {}
        self._most_in_zone: dict[str, int] = {}
        for space in view.spaces.values():
            entry = self._entry_of(space)
            if entry is not None:
                name = space.node.name
                self._entries[name] = entry
                self._ranks[name] = rank = self._rank(name, entry)
                self._by_zone.setdefault(entry.zone, []).append(rank)
                self.most_bytes[name] = entry.largest_bytes
        for zone, ranks in self._by_zone.items():
            ranks.sort()
            self.note_full(zone)

    def __contains__(self, name: NodeName) -> bool:
        return name in self._entries

    @property
    def largest_bytes(self) -> int:
        """The largest replica that some node takes, if nothing of what is forecast comes."""
        if self._largest_bytes is None:
            sizes = [entry.largest_bytes for entry in self._entries.values()]
            self._largest_bytes = max(sizes, default=-1)
        return self._largest_bytes

    def count(self, size_bytes: int) -> int:
        """Return how many nodes take a replica of this size, if nothing of what is forecast comes.

        The forecast is of no account: Longhorn may bring to others what is forecast on a full one.
        """
        return sum(entry.largest_bytes >= size_bytes for entry in self._entries.values())

    @property
    def zones(self) -> Sequence[str]:
        """Return the zones with such nodes."""
        return [*self._by_zone]

    def zone_of(self, name: NodeName) -> str:
        """Return the zone of one of the nodes."""
        return self._entries[name].zone

    def unused_bytes(self, name: NodeName) -> int:
        """Return what is unused on one of the nodes, if nothing of what is forecast comes."""
        return self._entries[name].unused_bytes

    def bins(self, space: NodeSpace) -> Sequence[Bin]:
        """Return the disks of one of the nodes that may take a replica."""
        may_be = space.bins if self._places is None else self.roomiest(space)
        return [each for each in may_be if each.kind in self.kinds]

    def roomiest(self, space: NodeSpace) -> Sequence[Bin]:
        """Return disks of which one takes a replica if any disk does, some of the wrong kind."""
        if self._places is None:
            return space.roomiest
        ids = {str(each.disk.name): each.disk.id for each in space.disks}
        return [each for each in space.bins if (space.node.name, ids[each.id]) in self._places]

    def may_use(self, disk: DiskSpace, space: NodeSpace) -> bool:
        """Whether a replica could be on a disk by its type and tags, whatever state it is in."""
        return self._numbers.get(disk.kind) in self.kinds and suits(self._demand, space.node)

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

    def note_space(self, name: NodeName, space: NodeSpace | None) -> None:
        """Note that the space of a node has changed, None if it is gone, before `note_taken`."""
        self._take_rank(name)
        self._largest_bytes = None
        entry = None if space is None else self._entry_of(space)
        if entry is None:
            self._entries.pop(name, None)
            self.most_bytes.pop(name, None)
        else:
            self._entries[name] = entry

    def note_taken(self, name: NodeName, *, may_take_more: bool) -> None:
        """Note that something else comes to a node, which may take more than before or not."""
        entry = self._entries.get(name)
        if entry is None:
            return
        self._take_rank(name)
        self._ranks[name] = rank = self._rank(name, entry)
        insort(self._by_zone.setdefault(entry.zone, []), rank)
        if may_take_more:
            most = self.most_bytes[name] = entry.largest_bytes
            self._most_in_zone[entry.zone] = max(most, self._most_in_zone.get(entry.zone, -1))

    def _take_rank(self, name: NodeName) -> None:
        rank = self._ranks.pop(name, None)
        if rank is not None:
            zone = self._entries[name].zone
            ranks = self._by_zone[zone]
            del ranks[bisect_left(ranks, rank)]
            if not ranks:
                del self._by_zone[zone]

    def _rank(self, name: NodeName, entry: _Entry) -> Rank:
        return -max(0, entry.unused_bytes - self._taken_bytes(name)), name

    def _entry_of(self, space: NodeSpace) -> _Entry | None:
        kinds = self.kinds
        if not (
            space.takes_replicas
            and suits(self._demand, space.node)
            and all_start(self._demand, space.engines)
        ):
            return None
        bins = self.roomiest(space)
        largest = max((b.logical_bytes for b in bins if b.kind in kinds), default=None)
        if largest is None:
            return None
        unused = sum(count for kind, count in space.unused_bytes.items() if kind in kinds)
        return _Entry(space.node.zone, unused, largest)


class Eligibility:
    """Which nodes suit which replicas, kept up to date.

    Args:
        taken_bytes: Returns what comes to a node by the forecast of all pods.

    Attributes:
        view: The cluster; to be replaced by each later view of it.
    """

    def __init__(self, view: ClusterView, taken_bytes: Callable[[NodeName], int]) -> None:
        self.view = view
        self._taken_bytes = taken_bytes
        self._profiles: dict[Need, Profile] = {}
        self._takers: dict[Profile, Takers] = {}
        self._usage: dict[VolumeName, tuple[Upcoming, Usage, Sequence[Group]]] = {}
        """What each volume uses now, and the groups of nodes that follow from it."""

    def takers(self, need: Need) -> Takers:
        """Return the nodes that a replica of *need* may go to, whatever its size."""
        profile = self._profiles.get(need)
        found = None if profile is None else self._takers.get(profile)
        if found is not None:
            return found
        one = demand_of([("replica", need)], self.view)
        kinds, places = one.items[0].kinds, need.places
        profile = (kinds, one.node_selectors, one.topologies, places, one.engines)
        if len(self._profiles) >= _MOST_NEEDS:
            self._profiles.clear()
        self._profiles[need] = profile
        if profile not in self._takers:
            if len(self._takers) >= _MOST_PROFILES:
                self._takers.clear()
            self._takers[profile] = Takers(one, self.view, self._taken_bytes)
        return self._takers[profile]

    def may_go(self, upcoming: Upcoming, name: NodeName) -> bool:
        """Whether a node takes one of the replicas if nothing else comes."""
        takers, space = self.takers(upcoming.need), self.view.spaces.get(name)
        return (
            space is not None
            and name in takers
            and not is_stranded(upcoming.item, takers.roomiest(space))
        )

    def may_join(self, upcoming: Upcoming, name: NodeName) -> bool:
        """Whether a node may get one of the replicas, beside those that the volume has now."""
        return self.is_in(self._known(upcoming)[2], name)

    def usage_of(self, upcoming: Upcoming) -> Usage:
        """Return which nodes and zones a volume uses now."""
        return self._known(upcoming)[1]

    def groups(self, upcoming: Upcoming, usage: Usage) -> Sequence[Group]:
        """Return the groups of nodes for one more replica of a volume, in Longhorn's order."""
        return groups_of(upcoming.volume, usage, self.view.settings)

    def is_in(self, groups: Iterable[Group], name: NodeName) -> bool:
        """Whether a node is in one of *groups*."""
        zone = self.view.spaces[name].node.zone
        return any(group.has(name, zone) for group in groups)

    def note_space(self, name: NodeName) -> None:
        """Note that the space of a node has changed, before `note_taken`."""
        for takers in self._takers.values():
            takers.note_space(name, self.view.spaces.get(name))

    def note_taken(self, name: NodeName, *, may_take_more: bool) -> None:
        """Note that something else comes to a node; *may_take_more* if it may take more now."""
        for takers in self._takers.values():
            takers.note_taken(name, may_take_more=may_take_more)

    def note_volume(self, name: VolumeName) -> None:
        """Note that the replicas of a volume have changed, or the nodes that they are on."""
        self._usage.pop(name, None)

    def _known(self, upcoming: Upcoming) -> tuple[Upcoming, Usage, Sequence[Group]]:
        """Return what the volume uses without what is forecast, and which groups that makes."""
        name, spaces = upcoming.volume.name, self.view.spaces
        known = self._usage.get(name)
        if known is None or known[0] is not upcoming:
            there = (spaces.get(each.node or NodeName("")) for each in upcoming.replicas)
            takers = {s.node.name: s for s in there if s is not None and s.refusal is None}
            usage = usage_of(upcoming.replicas, takers)
            if upcoming.local is not None and upcoming.local in spaces:
                usage = usage.plus(upcoming.local, spaces[upcoming.local].node.zone)
            if len(self._usage) >= _MOST_NEEDS:
                self._usage.clear()
            known = self._usage[name] = upcoming, usage, self.groups(upcoming, usage)
        return known
