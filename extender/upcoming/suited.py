"""Which nodes suit the replicas of each volume, whatever else comes there."""

from collections.abc import Callable, Hashable, Iterable, Sequence

from extender.demand.items import demand_of
from extender.upcoming.hosts import Hosts
from extender.upcoming.upcoming import Upcoming
from extender.view import ClusterView
from longhorn import Group, Need, NodeName, Usage, VolumeName, groups_of, usage_of
from packing import is_stranded

_MOST_NEEDS, _MOST_SORTS = 50_000, 32
"""Of so many needs it is remembered where they may go, and for so many sorts of them the nodes are
kept in order."""
Sort = tuple[Hashable, ...]
"""What replicas have in common that may go to the same nodes and disks, whatever their size."""


class Suited:
    """Which nodes suit which replicas, kept up to date. A forecast and its copies share it.

    Args:
        taken_bytes: Returns what comes to a node by the forecast of all pods.

    Attributes:
        view: The cluster; to be replaced by each later view of it.
    """

    def __init__(self, view: ClusterView, taken_bytes: Callable[[NodeName], int]) -> None:
        self.view = view
        self._taken_bytes = taken_bytes
        self._sorts: dict[Need, Sort] = {}
        self._hosts: dict[Sort, Hosts] = {}
        self._usage: dict[VolumeName, tuple[Upcoming, Usage, Sequence[Group]]] = {}
        """What each volume uses now, and the groups of nodes that follow from it."""

    def hosts(self, need: Need) -> Hosts:
        """Return the nodes that a replica of *need* may go to, whatever its size."""
        sort = self._sorts.get(need)
        if sort is None:
            if len(self._sorts) >= _MOST_NEEDS:
                self._sorts.clear()
            demand = demand_of([("replica", need)], self.view)
            [item], places = demand.items, need.places
            sort = item.kinds, demand.node_selectors, demand.topologies, places, demand.engines
            self._sorts[need] = sort
        found = self._hosts.get(sort)
        if found is None:
            if len(self._hosts) >= _MOST_SORTS:
                self._hosts.clear()
            found = self._hosts[sort] = Hosts(need, self.view, self._taken_bytes)
        return found

    def may_go(self, upcoming: Upcoming, name: NodeName) -> bool:
        """Whether a node takes one of the replicas if nothing else comes."""
        hosts, space = self.hosts(upcoming.need), self.view.spaces.get(name)
        return (
            space is not None
            and name in hosts
            and not is_stranded(upcoming.item, hosts.bins(space))
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
        for hosts in self._hosts.values():
            hosts.note_space(name, self.view.spaces.get(name))

    def note_taken(self, name: NodeName, *, has_more: bool) -> None:
        """Note that something else comes to a node; *has_more* if it may take more now."""
        for hosts in self._hosts.values():
            hosts.note_taken(name, has_more=has_more)

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
            known = self._usage[name] = upcoming, usage, self.groups(upcoming, usage)
        return known
