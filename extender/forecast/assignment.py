"""Which node each replica is forecast on, and what that leaves of the nodes."""

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from collections.abc import Set as AbstractSet
from typing import NamedTuple

import msgspec

from extender.forecast.coming import Coming
from extender.forecast.needs import fits
from extender.forecast.ranking import Order, Places, Rank, Ranking, Rankings
from extender.space import NodeSpace
from extender.view import ClusterView
from extender.work import Work
from longhorn import Need, NodeName, Usage, VolumeName, stage_of, usage_of
from packing import Item

_MOST_PLACES = 50_000
"""For so many needs it is remembered where they may go."""
_RANKS_PER_STEP, _PAIRS_PER_STEP = 100, 40
"""So many nodes are passed over in the time of a step; so many pairs of replica and disk packed."""


class Remote(msgspec.Struct, frozen=True, kw_only=True):
    """Room that one replica will take on a node."""

    coming: Coming
    item: Item


class Taken(NamedTuple):
    """All that comes to one node."""

    items: tuple[Item, ...]
    logical_bytes: int
    physical_bytes: int


_NOTHING = Taken((), 0, 0)


class Assignment:
    """What is forecast so far, beside what the nodes take for sure.

    There is one for all pods, which is kept up to date. What one pod finds is a copy of it: of the
    nodes that are the same for the pod as for all, nothing is worked out again.

    Args:
        view: The cluster.
        load: Returns what a node takes for sure.
        rankings: The nodes by what is unused on them.
        step_limit: Most steps of the packing of one node.

    Attributes:
        on: What will take room on each node.
        view: The cluster; to be replaced by each later view of it.
        work: What may be done.
        is_cut_short: Whether a node with room may be there that was not found, as work was over.
    """

    def __init__(
        self,
        view: ClusterView,
        load: Callable[[NodeSpace], Sequence[Item]],
        rankings: Rankings,
        *,
        step_limit: int,
    ) -> None:
        self.on: dict[NodeName, tuple[Remote, ...]] = {}
        self.view = view
        self.work = Work.unlimited()
        self.is_cut_short = False
        self._load = load
        self._rankings = rankings
        self._step_limit = step_limit
        self._places_of: dict[Need, Places] = {}
        self._orders: dict[Ranking, Order] = {}
        self._nodes_of: dict[VolumeName, tuple[NodeName, ...]] = {}
        """Where replicas of each volume are forecast."""
        self._usage: dict[VolumeName, tuple[Coming, Usage]] = {}
        """What each volume uses without them."""
        self._taken: dict[NodeName, Taken] = {}
        self._refused: dict[NodeName, list[Item]] = {}
        """The smallest replicas that a node did not take."""
        self._spare: tuple[dict[NodeName, int], int] | None = None
        self._copied: Assignment | None = None
        self._apart: set[NodeName] = set()
        """In a copy, the nodes that are not as in what was copied."""
        self._all_apart = False
        self._changes: dict[NodeName, None] = {}
        """The nodes that have changed, but for those of copies."""

    def copy(
        self,
        load: Callable[[NodeSpace], Sequence[Item]],
        apart: Iterable[NodeName],
        *,
        is_more: bool = False,
    ) -> "Assignment":
        """Return an assignment of its own that has the same on all nodes; nor does this one change.

        Args:
            load: Returns what a node takes for sure.
            apart: The nodes where that is something else than it was.
            is_more: Whether it may be more than it was, and nowhere less, on all other nodes, too.
        """
        new = Assignment(self.view, load, self._rankings, step_limit=self._step_limit)
        new.on = dict(self.on)
        new.work = self.work
        new._places_of = self._places_of
        new._orders = self._orders
        new._nodes_of = dict(self._nodes_of)
        new._usage = self._usage
        new._copied = self
        new._apart = {*apart, *self._apart}
        new._all_apart = is_more
        return new

    @property
    def apart(self) -> AbstractSet[NodeName]:
        """The nodes that are not as in what was copied; none if nothing was."""
        return self._apart

    def places(self, need: Need) -> Places:
        """Return where a replica of *need* may go at all."""
        found = self._places_of.get(need)
        if found is None:
            if len(self._places_of) >= _MOST_PLACES:
                self._places_of.clear()
            found = self._rankings.places(need, self.view)
            self._places_of[need] = found
            self._order(found)  # from now on it is kept up to date
        return found

    def nodes_of(self, name: VolumeName) -> tuple[NodeName, ...]:
        """Return where replicas of a volume are forecast, a node as often as it gets one."""
        return self._nodes_of.get(name, ())

    def put(self, coming: Coming, item: Item, name: NodeName) -> None:
        """Put one more replica of a volume on a node."""
        volume, there = coming.volume.name, self.on.get(name, ())
        nodes = self._nodes_of.get(volume, ())
        own = msgspec.structs.replace(item, id=f"due/{volume}/{nodes.count(name)}")
        self.on[name] = (*there, Remote(coming=coming, item=own))
        self._nodes_of[volume] = (*nodes, name)
        self._changed(name, has_more=False)

    def take_out(self, name: VolumeName) -> tuple[NodeName, ...]:
        """Take away what is forecast of a volume; return where that was."""
        nodes = self._nodes_of.pop(name, ())
        for node in dict.fromkeys(nodes):
            rest = tuple(each for each in self.on[node] if each.coming.volume.name != name)
            self._set(node, rest)
        return nodes

    def clear(self, nodes: Collection[NodeName]) -> None:
        """Take away what is forecast on *nodes*."""
        for name in nodes:
            for volume in {each.coming.volume.name for each in self.on.get(name, ())}:
                rest = tuple(node for node in self._nodes_of[volume] if node != name)
                if rest:
                    self._nodes_of[volume] = rest
                else:
                    del self._nodes_of[volume]
            self._set(name, ())

    def note_nodes(self, names: Collection[NodeName], *, ranked: bool) -> None:
        """Note that the space of these nodes has changed, or what they take for sure.

        Args:
            names: The nodes.
            ranked: Whether their space has.
        """
        for ranking in self._orders if ranked else ():
            ranking.catch_up(self.view)
        for name in names:
            self._changed(name, has_more=True)

    def note_volume(self, name: VolumeName) -> None:
        """Note that the replicas of a volume have changed, or the nodes that they are on."""
        self._usage.pop(name, None)

    def drain_changed(self) -> list[NodeName]:
        """Return the nodes where something else is taken since the last time this was asked."""
        changed, self._changes = [*self._changes], {}
        return changed

    def taken(self, name: NodeName) -> Taken:
        """Return what a node takes for sure, and by this forecast."""
        if self._copied is not None and name not in self._apart and not self._all_apart:
            return self._copied.taken(name)
        found = self._taken.get(name)
        if found is None:
            found = self._taken[name] = self._taken_now(name)
        return found

    def unused_bytes(self, name: NodeName, places: Places) -> int:
        """Return what is unused on a node besides; Longhorn takes the node with the most."""
        return max(0, places.ranking.unused_bytes(name) - self.taken(name).logical_bytes)

    def load(self, name: NodeName) -> Sequence[Item]:
        """Return what a node takes for sure."""
        return self._load(self.view.spaces[name])

    def load_bytes(self, name: NodeName) -> int:
        """Return how many bytes that is."""
        return sum(item.logical_bytes for item in self.load(name))

    def free_bytes(self, name: NodeName) -> int:
        """Return what may still be scheduled on all disks of a node."""
        return sum(room.free_bytes for room in self.view.spaces[name].rooms)

    def spare_bytes(self, *, but: NodeName) -> int:
        """Return what all nodes but one have left."""
        spare, total = self._spare_of_all()
        return total - spare.get(but, 0)

    def takes(self, name: NodeName, places: Places) -> bool:
        """Whether a node takes one more replica."""
        if self._copied is not None and name not in self._apart:
            if not self._copied.takes(name, places):
                return False
            if not self._all_apart:
                return True
        item = places.item
        if self._is_refused(name, item):
            return False
        if name not in places:
            return False
        taken = self.taken(name)
        if not taken.items or self.fits(name, (*taken.items, item)):
            return True
        empty = msgspec.structs.replace(item, physical_bytes=0)
        if not item.physical_bytes or not self.fits(name, (*taken.items, empty)):
            item = empty  # whatever is written to it, it has no room
            if self._copied is None:
                self._order(places).refuse(name, item.logical_bytes)
        known = self._refused.get(name, ())
        larger = [each for each in known if not _is_as_large(each, item)]
        self._refused[name] = [*larger, item]
        return False

    def fits(self, name: NodeName, items: Sequence[Item]) -> bool:
        """Whether a node takes all of *items*; not decided within the limit counts as yes."""
        space = self.view.spaces[name]
        self.work.spend(1 + len(items) * len(space.bins) // _PAIRS_PER_STEP)
        return fits(items, space, self._step_limit)

    def may_take(self, zone: str, places: Places) -> Iterator[NodeName]:
        """Yield the nodes of a zone that may take one more replica, those that were roomiest first.

        That they may is all that is known of nodes of a copy that are not as before.
        """
        order, size = self._order(places), places.item.logical_bytes
        is_full = not order.may_take(zone, size)
        for _, name in order.ranks(zone) if self._apart or not is_full else ():
            if order.most_bytes[name] >= size or name in self._apart:
                yield name

    def roomiest(self, zone: str, places: Places, usage: Usage) -> Rank | None:
        """Return that node of a zone with the most unused bytes that takes one more replica.

        None if there is none besides those that the volume uses.
        """
        order, size, used = self._order(places), places.item.logical_bytes, usage.nodes
        best, most = None, order.most_bytes
        ranks = order.ranks(zone) if order.may_take(zone, size) else ()
        self.work.spend(len(ranks) // _RANKS_PER_STEP)
        for rank in ranks:
            name = rank[1]
            if most[name] < size or name in used or name in self._apart:
                continue
            if self.work.is_over:
                self.is_cut_short = True
                return None
            if self.takes(name, places):
                best = rank
                break
        if best is None and ranks:
            order.note_full(zone)
        return self._better(best, zone, places, usage)

    def stage(self, name: NodeName, coming: Coming, usage: Usage) -> int | None:
        """Say in which of Longhorn's groups a node comes; None: in none."""
        return stage_of(self.view.spaces[name].node, usage, coming.volume, self.view.settings)

    def usage_of(self, coming: Coming, *, with_forecast: bool = True) -> Usage:
        """Return which nodes and zones the volume uses, with what is forecast of it."""
        name = coming.volume.name
        known = self._usage.get(name)
        if known is not None and known[0] is coming:
            usage = known[1]
        else:
            usage = self._usage_now(coming)
            self._usage[name] = coming, usage
        for node in self._nodes_of.get(name, ()) if with_forecast else ():
            usage = self.with_one_on(node, usage)
        return usage

    def with_one_on(self, name: NodeName, usage: Usage) -> Usage:
        """Return *usage* with one more replica, on a node."""
        zone = self.view.spaces[name].node.zone
        return Usage(
            nodes=usage.nodes | {name},
            zones=usage.zones | {zone},
            staying_nodes=usage.staying_nodes | {name},
            staying_zones=usage.staying_zones | {zone},
        )

    def _is_refused(self, name: NodeName, item: Item) -> bool:
        return any(_is_as_large(item, each) for each in self._refused.get(name, ()))

    def _base(self) -> "Assignment":
        """Return the assignment of all pods."""
        return self if self._copied is None else self._copied._base()  # noqa: SLF001

    def _better(self, best: Rank | None, zone: str, places: Places, usage: Usage) -> Rank | None:
        """Return the best rank of a zone, those nodes of a copy included that are not as before."""
        for name in self._apart:
            if name in usage.nodes or name not in places:
                continue
            if places.ranking.zone_of(name) == zone:
                rank = -self.unused_bytes(name, places), name
                if (best is None or rank < best) and self.takes(name, places):
                    best = rank
        return best

    def _order(self, places: Places) -> Order:
        found = self._orders.get(places.ranking)
        if found is None:
            base = self._base()
            found = Order(places.ranking, lambda name: base.taken(name).logical_bytes)
            self._orders[places.ranking] = found
        return found

    def _set(self, name: NodeName, remotes: tuple[Remote, ...]) -> None:
        if remotes:
            self.on[name] = remotes
        else:
            self.on.pop(name, None)
        self._changed(name, has_more=True)

    def _changed(self, name: NodeName, *, has_more: bool) -> None:
        self._taken.pop(name, None)
        self._spare = None
        if has_more:
            self._refused.pop(name, None)
        if self._copied is not None:
            self._apart.add(name)
            return
        self._changes[name] = None
        for order in self._orders.values():
            order.update(name, has_more=has_more)

    def _spare_of_all(self) -> tuple[dict[NodeName, int], int]:
        if self._spare is None:
            spare = {
                name: max(0, self.free_bytes(name) - self.taken(name).logical_bytes)
                for name, space in self.view.spaces.items()
                if space.takes_replicas
            }
            self._spare = spare, sum(spare.values())
        return self._spare

    def _taken_now(self, name: NodeName) -> Taken:
        if name not in self.view.spaces:
            return _NOTHING
        load, remotes = self.load(name), self.on.get(name, ())
        if not (load or remotes):
            return _NOTHING
        items = (*load, *(each.item for each in remotes))
        return Taken(
            items,
            sum(item.logical_bytes for item in items),
            sum(item.physical_bytes for item in items),
        )

    def _usage_now(self, coming: Coming) -> Usage:
        spaces = self.view.spaces
        held = [r.node for r in coming.replicas if r.node is not None]
        hosts = [
            spaces[name]
            for name in dict.fromkeys(held)
            if name in spaces and spaces[name].refusal is None
        ]
        usage = usage_of(coming.replicas, hosts)
        if coming.local is not None and coming.local in spaces:
            usage = self.with_one_on(coming.local, usage)
        return usage


def _is_as_large(item: Item, other: Item) -> bool:
    """Whether a node that does not take the other one does not take this one either."""
    return (
        item.logical_bytes >= other.logical_bytes
        and item.physical_bytes >= other.physical_bytes
        and item.kinds <= other.kinds
    )
