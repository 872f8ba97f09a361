"""Where the replicas that Longhorn will place anywhere find room, each counted once.

They are taken volume by volume, one replica after another, as Longhorn does: each goes to the node
of the best group with the most unused bytes, which leaves the others most in balance. This is no
prediction: Longhorn's managers work on figures of half a second ago and not on what others have
just assigned. It is right in sum.
"""

from collections.abc import Callable, Collection, Iterable, Sequence
from collections.abc import Set as AbstractSet
from typing import NamedTuple

from msgspec import structs

from extender.demand.items import demand_of
from extender.space import NodeSpace
from extender.upcoming.hosts import Hosts, Rank, Sort, sort_of
from extender.upcoming.needs import fits
from extender.upcoming.upcoming import Upcoming, by_certainty
from extender.view import ClusterView
from extender.work import Work
from longhorn import Need, NodeName, Usage, VolumeName, may_share_zone, stage_of, usage_of
from packing import Item, is_stranded

_MOST_NEEDS, _MOST_SORTS = 50_000, 32
"""Of so many needs it is remembered where they may go, and for so many sorts of them the nodes are
kept in order."""
MOST_MOVED, _MOST_IN_A_CHAIN = 60, 2
"""Only so many volumes are moved to make room for another one, and so many replicas one after
another."""
_RANKS_PER_STEP, _PAIRS_PER_STEP = 100, 40
"""So many nodes are passed over in the time of a step; so many pairs of replica and disk packed."""


class Taken(NamedTuple):
    """All that comes to one node."""

    items: tuple[Item, ...]
    logical_bytes: int
    physical_bytes: int


_NOTHING = Taken((), 0, 0)


class Forecast:
    """What comes anywhere, and the node that it is forecast on.

    There is one for all pods, which is kept up to date. What one pod finds is a copy of it: of the
    nodes that are the same for the pod as for all, nothing is worked out again.

    Args:
        view: The cluster.
        bound: Returns what a node takes for itself.
        step_limit: Most steps of the packing of one node.

    Attributes:
        on: What is forecast on each node; of each record one replica.
        nowhere: Volumes with replicas that find no room now, and how many.
        view: The cluster; to be replaced by each later view of it.
        work: What may be done.
        is_cut_short: Whether a node with room may be there that was not found, as work was over.
    """

    def __init__(
        self, view: ClusterView, bound: Callable[[NodeSpace], Sequence[Upcoming]], step_limit: int
    ) -> None:
        self.on: dict[NodeName, tuple[Upcoming, ...]] = {}
        self.nowhere: dict[VolumeName, int] = {}
        self.view = view
        self.work = Work.unlimited()
        self.is_cut_short = False
        self._bound = bound
        self._step_limit = step_limit
        self._sorts: dict[Need, Sort] = {}
        self._hosts: dict[Sort, Hosts] = {}
        self._nodes_of: dict[VolumeName, tuple[NodeName, ...]] = {}
        """Where replicas of each volume are forecast, a node as often as it gets one."""
        self._usage: dict[VolumeName, tuple[Upcoming, Usage]] = {}
        """What each volume uses without them."""
        self._taken: dict[NodeName, Taken] = {}
        self._refused: dict[NodeName, list[Item]] = {}
        """The smallest replicas that a node did not take."""
        self._copied: Forecast | None = None
        self._base: Forecast | None = None
        """In a copy, the forecast of all pods."""
        self._apart: set[NodeName] = set()
        """In a copy, the nodes that are not as in what was copied."""
        self._all_apart = False
        self._changes: dict[NodeName, None] = {}
        """The nodes that have changed, but for those of copies."""

    def copy(
        self,
        bound: Callable[[NodeSpace], Sequence[Upcoming]] | None = None,
        apart: Iterable[NodeName] = (),
        *,
        is_more: bool = False,
    ) -> "Forecast":
        """Return a forecast of its own with the same in it.

        Args:
            bound: Returns what a node takes for itself, if that is something else than it was.
            apart: The nodes where it is.
            is_more: Whether it may be more than it was, and nowhere less, on all other nodes, too.
        """
        new = Forecast(self.view, bound or self._bound, self._step_limit)
        new.on, new.nowhere, new.work = {**self.on}, {**self.nowhere}, self.work
        new._sorts, new._hosts, new._usage = self._sorts, self._hosts, self._usage
        new._nodes_of = {**self._nodes_of}
        new._base = self._base or self
        new._copied, new._apart, new._all_apart = self, {*apart, *self._apart}, is_more
        return new

    def at_leisure(self) -> "Forecast":
        """Return the same for somebody whose work has no limit."""
        new = self.copy()
        new.work = Work.unlimited()
        return new

    def beside(self, items: Sequence[Upcoming], node: NodeName) -> "Forecast":
        """Return the forecast once *items* are bound to a node, too: what has no room moves."""
        bound = self._bound

        def also(space: NodeSpace) -> Sequence[Upcoming]:
            found = bound(space)
            return (*found, *items) if space.node.name == node else found

        new = self.copy(also, (node,))
        for upcoming in new.evict_beyond(node):
            new.place(upcoming)
        return new

    @property
    def apart(self) -> AbstractSet[NodeName]:
        """The nodes that are not as in what was copied; none if nothing was."""
        return self._apart

    def nodes_of(self, name: VolumeName) -> tuple[NodeName, ...]:
        """Return where replicas of a volume are forecast, a node as often as it gets one."""
        return self._nodes_of.get(name, ())

    def hosts(self, need: Need) -> Hosts:
        """Return the nodes that a replica of *need* may go to, whatever its size."""
        sort = self._sorts.get(need)
        if sort is None:
            if len(self._sorts) >= _MOST_NEEDS:
                self._sorts.clear()
            sort = self._sorts[need] = sort_of(demand_of([("replica", need)], self.view))
        found = self._hosts.get(sort)
        if found is None:
            if len(self._hosts) >= _MOST_SORTS:
                self._hosts.clear()
            base = self._base or self
            found = self._hosts[sort] = Hosts(
                need, self.view, lambda name: base.taken(name).logical_bytes
            )
        return found

    def may_go(self, upcoming: Upcoming, name: NodeName) -> bool:
        """Whether a node takes one of the replicas if nothing else comes."""
        hosts, space = self.hosts(upcoming.need), self.view.spaces.get(name)
        return (
            space is not None and name in hosts and not is_stranded(upcoming.item, space.roomiest)
        )

    def stage(self, upcoming: Upcoming, name: NodeName, usage: Usage) -> int | None:
        """Say in which of Longhorn's groups a node comes; None: in none."""
        return stage_of(self.view.spaces[name].node, usage, upcoming.volume, self.view.settings)

    def usage_of(self, upcoming: Upcoming, *, with_forecast: bool = True) -> Usage:
        """Return which nodes and zones the volume uses, with what is forecast of it."""
        name = upcoming.volume.name
        known = self._usage.get(name)
        if known is not None and known[0] is upcoming:
            usage = known[1]
        else:
            usage = self._usage_now(upcoming)
            self._usage[name] = upcoming, usage
        for node in self._nodes_of.get(name, ()) if with_forecast else ():
            usage = self._with_one_on(node, usage)
        return usage

    def place(self, upcoming: Upcoming) -> int:
        """Find room for the replicas of a volume, beside those of it that have some already.

        Returns for how many there is none.
        """
        name = upcoming.volume.name
        usage = self.usage_of(upcoming)
        missing = max(0, upcoming.count - len(self.nodes_of(name)))
        while missing:
            best = self._best(upcoming, usage)
            if best is None:
                if not self._make_room(upcoming, usage):
                    break
            else:
                self._put(upcoming, best)
            usage = self.usage_of(upcoming)
            missing -= 1
        if missing:
            self.nowhere[name] = missing
        else:
            self.nowhere.pop(name, None)
        return missing

    def keep(self, upcoming: Upcoming, nodes: Iterable[NodeName]) -> None:
        """Put replicas of a volume on these nodes, where they may be; all others are left out."""
        for node in nodes:
            if len(self.nodes_of(upcoming.volume.name)) == upcoming.count:
                break
            is_allowed = self.may_go(upcoming, node) and self.takes(node, upcoming)
            if is_allowed and self.stage(upcoming, node, self.usage_of(upcoming)) is not None:
                self._put(upcoming, node)

    def take_out(self, name: VolumeName) -> tuple[NodeName, ...]:
        """Take away what is forecast of a volume; return where that was."""
        self.nowhere.pop(name, None)
        return self._lift(name)

    def _lift(self, name: VolumeName) -> tuple[NodeName, ...]:
        nodes = self._nodes_of.pop(name, ())
        for node in dict.fromkeys(nodes):
            rest = tuple(each for each in self.on[node] if each.volume.name != name)
            self._set(node, rest)
        return nodes

    def evict_beyond(self, node: NodeName) -> list[Upcoming]:
        """Take away what a node takes no more of what is forecast there; return of which volumes.

        The least sure goes, to find other nodes.
        """
        evicted = self._beyond(node)
        for upcoming in evicted:
            self._put_all(upcoming, self._lift(upcoming.volume.name), but=node)
        return evicted

    def note_nodes(self, names: Collection[NodeName], *, have_changed: bool) -> None:
        """Note that what these nodes take for themselves has changed.

        Args:
            names: The nodes.
            have_changed: Whether their space has, too.
        """
        for name in names:
            for hosts in self._hosts.values() if have_changed else ():
                hosts.note_space(name, self.view.spaces.get(name))
            self._changed(name, has_more=True)

    def note_volume(self, name: VolumeName) -> None:
        """Note that the replicas of a volume have changed, or the nodes that they are on."""
        self._usage.pop(name, None)

    def drain_changed(self) -> list[NodeName]:
        """Return the nodes where something else is taken since the last time this was asked."""
        changed, self._changes = [*self._changes], {}
        return changed

    def taken(self, name: NodeName) -> Taken:
        """Return what a node takes for itself, and by this forecast."""
        if self._copied is not None and name not in self._apart and not self._all_apart:
            return self._copied.taken(name)
        found = self._taken.get(name)
        if found is None:
            found = self._taken[name] = self._taken_now(name)
        return found

    def takes(self, name: NodeName, upcoming: Upcoming) -> bool:
        """Whether a node takes one more replica."""
        if self._copied is not None and name not in self._apart:
            if not self._copied.takes(name, upcoming):
                return False
            if not self._all_apart:
                return True
        item = upcoming.item
        if any(_is_as_large(item, each) for each in self._refused.get(name, ())):
            return False
        if not self.may_go(upcoming, name):
            return False
        taken = self.taken(name)
        if not taken.items or self.fits(name, (*taken.items, item)):
            return True
        empty = structs.replace(item, physical_bytes=0)
        if not item.physical_bytes or not self.fits(name, (*taken.items, empty)):
            item = empty  # whatever is written to it, it has no room
            if self._copied is None:
                self.hosts(upcoming.need).refuse(name, item.logical_bytes)
        known = self._refused.get(name, ())
        self._refused[name] = [*(each for each in known if not _is_as_large(each, item)), item]
        return False

    def fits(self, name: NodeName, items: Sequence[Item]) -> bool:
        """Whether a node takes all of *items*; not decided within the limit counts as yes."""
        space = self.view.spaces[name]
        self.work.spend(1 + len(items) * len(space.bins) // _PAIRS_PER_STEP)
        return fits(items, space, self._step_limit)

    def _best(self, upcoming: Upcoming, usage: Usage) -> NodeName | None:
        """Return the node that Longhorn would take for the next replica, None if none has room."""
        hosts = self.hosts(upcoming.need)
        preferred = self._stage_of_preferred(upcoming, usage)
        if preferred == 0:
            return upcoming.prefers
        fresh = [zone for zone in hosts.zones if zone not in usage.zones]
        found = self._roomiest(fresh, upcoming, usage)
        if found is None and may_share_zone(upcoming.volume, self.view.settings):
            if preferred is not None:
                return upcoming.prefers
            others = [zone for zone in hosts.zones if zone in usage.zones]
            found = self._roomiest(others, upcoming, usage)
        return found or self._again(upcoming, usage)

    def _make_room(
        self, upcoming: Upcoming, usage: Usage, chain: tuple[VolumeName, ...] = ()
    ) -> bool:
        """Put a replica on a node from which one of another volume may go elsewhere.

        That one may go to a node from which another one may, and so on: a chain of so many at most.
        Where more than a few are forecast, what one of them gains is not worth the work.

        Args:
            upcoming: The volume.
            usage: What it uses.
            chain: The volumes of which one is moved already, to make room for each other.
        """
        chain = (*chain, upcoming.volume.name)
        if len(self._nodes_of) > MOST_MOVED or len(chain) > _MOST_IN_A_CHAIN:
            return False
        for name in [*self.on]:
            if self.work.is_over:
                self.is_cut_short = True
                return False
            if not self.may_go(upcoming, name) or self.stage(upcoming, name, usage) is None:
                continue
            for other in self.on[name]:
                kept = [each.item for each in self.on[name] if each is not other]
                bound = [each.item for each in self._bound(self.view.spaces[name])]
                if (
                    other.volume.name not in chain
                    and self.fits(name, [*bound, *kept, upcoming.item])
                    and self._move(other, name, upcoming, chain)
                ):
                    return True
        return False

    def _move(
        self, other: Upcoming, name: NodeName, upcoming: Upcoming, chain: tuple[VolumeName, ...]
    ) -> bool:
        """Put a replica on a node in place of another volume's, if that finds another node."""
        nodes = self._lift(other.volume.name)
        before = self.nodes_of(upcoming.volume.name)
        self._put_all(other, nodes, but=name)
        self._put(upcoming, name)
        usage = self.usage_of(other)
        best = self._best(other, usage)
        if best is not None:
            self._put(other, best)
            return True
        if self._make_room(other, usage, chain):
            return True
        self._lift(other.volume.name)
        self._lift(upcoming.volume.name)
        self._put_all(upcoming, before)
        self._put_all(other, nodes)
        return False

    def _put_all(
        self, upcoming: Upcoming, nodes: Iterable[NodeName], but: NodeName | None = None
    ) -> None:
        """Put replicas of a volume on all of *nodes*; once not on one of them."""
        rest = [*nodes]
        if but is not None:
            rest.remove(but)
        for name in rest:
            self._put(upcoming, name)

    def _stage_of_preferred(self, upcoming: Upcoming, usage: Usage) -> int | None:
        """Return the stage of the node that the first replica goes to if it can, None if not."""
        name = upcoming.prefers
        if name is None or name in usage.nodes or not self.takes(name, upcoming):
            return None
        return self.stage(upcoming, name, usage)

    def _again(self, upcoming: Upcoming, usage: Usage) -> NodeName | None:
        """Return the node for one more replica among those that hold one of the volume."""
        by_stage: dict[int, list[NodeName]] = {}
        for name in sorted(usage.nodes):
            stage = self.stage(upcoming, name, usage)
            if stage is not None and self.takes(name, upcoming):
                by_stage.setdefault(stage, []).append(name)
        if not by_stage:
            return None
        return max(by_stage[min(by_stage)], key=lambda name: self._unused_bytes(name, upcoming))

    def _roomiest(self, zones: Iterable[str], upcoming: Upcoming, usage: Usage) -> NodeName | None:
        """Return the node with the most unused bytes among those without a replica."""
        found = (self._roomiest_in(zone, upcoming, usage) for zone in zones)
        ranks = [rank for rank in found if rank is not None]
        return min(ranks)[1] if ranks else None

    def _roomiest_in(self, zone: str, upcoming: Upcoming, usage: Usage) -> Rank | None:
        hosts, size = self.hosts(upcoming.need), upcoming.item.logical_bytes
        best, most = None, hosts.most_bytes
        ranks = hosts.ranks(zone) if hosts.may_take(zone, size) else ()
        self.work.spend(len(ranks) // _RANKS_PER_STEP)
        for rank in ranks:
            name = rank[1]
            if most[name] < size or name in usage.nodes or name in self._apart:
                continue
            if self.work.is_over:
                self.is_cut_short = True
                return None
            if self.takes(name, upcoming):
                best = rank
                break
        if best is None and ranks:
            hosts.note_full(zone)
        for name in self._apart:
            if name in hosts and hosts.zone_of(name) == zone and name not in usage.nodes:
                rank = -self._unused_bytes(name, upcoming), name
                if (best is None or rank < best) and self.takes(name, upcoming):
                    best = rank
        return best

    def _unused_bytes(self, name: NodeName, upcoming: Upcoming) -> int:
        hosts = self.hosts(upcoming.need)
        return max(0, hosts.unused_bytes(name) - self.taken(name).logical_bytes)

    def _beyond(self, node: NodeName) -> list[Upcoming]:
        """Return what a node does not take of what is forecast there: the least sure of it."""
        there = self.on.get(node, ())
        if not there or node not in self.view.spaces:
            return [*there]
        suited = [each for each in there if self.may_go(each, node)]
        if len(suited) == len(there) and self.fits(node, self.taken(node).items):
            return []
        kept = [each.item for each in self._bound(self.view.spaces[node])]
        beyond = [each for each in there if not any(each is one for one in suited)]
        for upcoming in sorted(suited, key=by_certainty):
            if self.fits(node, [*kept, upcoming.item]):
                kept.append(upcoming.item)
            else:
                beyond.append(upcoming)
        return beyond

    def _put(self, upcoming: Upcoming, name: NodeName) -> None:
        """Put one more replica of a volume on a node."""
        volume = upcoming.volume.name
        nodes = self._nodes_of.get(volume, ())
        if name in nodes:
            item = structs.replace(upcoming.item, id=f"{volume}/{nodes.count(name)}")
            upcoming = structs.replace(upcoming, item=item)
        self.on[name] = (*self.on.get(name, ()), upcoming)
        self._nodes_of[volume] = (*nodes, name)
        self._changed(name, has_more=False)

    def _set(self, name: NodeName, upcoming: tuple[Upcoming, ...]) -> None:
        if upcoming:
            self.on[name] = upcoming
        else:
            self.on.pop(name, None)
        self._changed(name, has_more=True)

    def _changed(self, name: NodeName, *, has_more: bool) -> None:
        self._taken.pop(name, None)
        if has_more:
            self._refused.pop(name, None)
        if self._copied is not None:
            self._apart.add(name)
            return
        self._changes[name] = None
        for hosts in self._hosts.values():
            hosts.note_taken(name, has_more=has_more)

    def _taken_now(self, name: NodeName) -> Taken:
        space = self.view.spaces.get(name)
        if space is None:
            return _NOTHING
        items = tuple(each.item for each in (*self._bound(space), *self.on.get(name, ())))
        if not items:
            return _NOTHING
        return Taken(
            items,
            sum(item.logical_bytes for item in items),
            sum(item.physical_bytes for item in items),
        )

    def _usage_now(self, upcoming: Upcoming) -> Usage:
        spaces = self.view.spaces
        held = dict.fromkeys(r.node for r in upcoming.replicas if r.node is not None)
        there = [spaces[name] for name in held if name in spaces]
        usage = usage_of(upcoming.replicas, [space for space in there if space.refusal is None])
        if upcoming.local is not None and upcoming.local in spaces:
            usage = self._with_one_on(upcoming.local, usage)
        return usage

    def _with_one_on(self, name: NodeName, usage: Usage) -> Usage:
        """Return *usage* with one more replica, on a node."""
        zone = self.view.spaces[name].node.zone
        return Usage(
            nodes=usage.nodes | {name},
            zones=usage.zones | {zone},
            staying_nodes=usage.staying_nodes | {name},
            staying_zones=usage.staying_zones | {zone},
        )


def _is_as_large(item: Item, other: Item) -> bool:
    """Whether a node that does not take the other one does not take this one either."""
    return (
        item.logical_bytes >= other.logical_bytes
        and item.physical_bytes >= other.physical_bytes
        and item.kinds <= other.kinds
    )
