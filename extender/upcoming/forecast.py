"""Where the replicas that Longhorn will place anywhere find room, each counted once.

They are taken volume by volume, one replica after another, as Longhorn does: each goes to the node
of the best group with the most unused bytes, which leaves the others most in balance. This is no
prediction: Longhorn's managers work on figures of half a second ago and not on what others have
just assigned. It is right in sum.
"""

from collections.abc import Callable, Collection, Iterable, Sequence
from collections.abc import Set as AbstractSet

from msgspec import structs

from extender.space import NodeSpace
from extender.upcoming.needs import fits
from extender.upcoming.suited import Suited
from extender.upcoming.taken import NOTHING, Refused, Taken, taken_of
from extender.upcoming.upcoming import Upcoming, by_certainty
from extender.view import ClusterView
from extender.work import Work
from longhorn import NodeName, Usage, VolumeName
from packing import Item

_PAIRS_PER_STEP = 40
"""So many pairs of replica and disk are packed in the time of a step."""


class Forecast:
    """What comes anywhere, and the node that it is forecast on.

    There is one for all pods, which is kept up to date. What one pod finds is a copy of it: of the
    nodes that are the same for the pod as for all, nothing is worked out again.

    Args:
        bound: Returns what a node takes for itself.

    Attributes:
        on: What is forecast on each node; of each record one replica.
        nowhere: Volumes with replicas that find no room now, and how many.
        is_cut_short: Whether a node with room may be there that was not found, as work was over.
    """

    def __init__(
        self, view: ClusterView, bound: Callable[[NodeSpace], Sequence[Upcoming]], step_limit: int
    ) -> None:
        self.on: dict[NodeName, tuple[Upcoming, ...]] = {}
        self.nowhere: dict[VolumeName, int] = {}
        self.suited = Suited(view, lambda name: self.taken(name).logical_bytes)
        self.work = Work.unlimited()
        self.is_cut_short = False
        self._bound = bound
        self._step_limit = step_limit
        self._nodes_of: dict[VolumeName, tuple[NodeName, ...]] = {}
        """Where replicas of each volume are forecast, a node as often as it gets one."""
        self._taken: dict[NodeName, Taken] = {}
        self._refused = Refused()
        self._copied: Forecast | None = None
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
        new.suited = self.suited
        new._nodes_of = {**self._nodes_of}
        new._copied, new._apart, new._all_apart = self, {*apart, *self._apart}, is_more
        return new

    def at_leisure(self) -> "Forecast":
        """Return the same for somebody whose work has no limit."""
        new = self.copy()
        new.work = Work.unlimited()
        return new

    @property
    def view(self) -> ClusterView:
        """The cluster."""
        return self.suited.view

    @property
    def apart(self) -> AbstractSet[NodeName]:
        """The nodes that are not as in what was copied; none if nothing was."""
        return self._apart

    @property
    def volumes(self) -> Collection[VolumeName]:
        """The volumes of which something is forecast."""
        return self._nodes_of.keys()

    def bound_to(self, name: NodeName) -> Sequence[Upcoming]:
        """Return what a node takes for itself."""
        return self._bound(self.view.spaces[name])

    def nodes_of(self, name: VolumeName) -> tuple[NodeName, ...]:
        """Return where replicas of a volume are forecast, a node as often as it gets one."""
        return self._nodes_of.get(name, ())

    def usage_of(self, upcoming: Upcoming) -> Usage:
        """Return which nodes and zones the volume uses, with what is forecast of it."""
        usage = self.suited.usage_of(upcoming)
        for node in self.nodes_of(upcoming.volume.name):
            usage = usage.plus(node, self.view.spaces[node].node.zone)
        return usage

    def unused_bytes(self, name: NodeName, upcoming: Upcoming) -> int:
        """Return what is unused on a node for such replicas, beside all that comes there."""
        hosts = self.suited.hosts(upcoming.need)
        return max(0, hosts.unused_bytes(name) - self.taken(name).logical_bytes)

    def take_out(self, name: VolumeName) -> tuple[NodeName, ...]:
        """Take away what is forecast of a volume; return where that was."""
        self.nowhere.pop(name, None)
        return self.lift(name)

    def lift(self, name: VolumeName) -> tuple[NodeName, ...]:
        """Take it away for a moment, to put it elsewhere; return where that was."""
        nodes = self._nodes_of.pop(name, ())
        for node in dict.fromkeys(nodes):
            self.on[node] = tuple(each for each in self.on[node] if each.volume.name != name)
            if not self.on[node]:
                del self.on[node]
            self._changed(node, has_more=True)
        return nodes

    def evict_beyond(self, node: NodeName) -> list[Upcoming]:
        """Take away what a node takes no more of what is forecast there; return of which volumes.

        The least sure goes, to find other nodes.
        """
        evicted = self._beyond(node)
        for upcoming in evicted:
            self.put_all(upcoming, self.lift(upcoming.volume.name), but=node)
        return evicted

    def note_nodes(self, names: Collection[NodeName], *, have_changed: bool) -> None:
        """Note that nodes take something else for themselves, or have also another space."""
        for name in names:
            if have_changed:
                self.suited.note_space(name)
            self._changed(name, has_more=True)

    def drain_changed(self) -> list[NodeName]:
        """Return the nodes where something else is taken since the last time this was asked."""
        changed, self._changes = [*self._changes], {}
        return changed

    def taken(self, name: NodeName) -> Taken:
        """Return what a node takes for itself, and by this forecast."""
        if self._copied is not None and name not in self._apart and not self._all_apart:
            return self._copied.taken(name)
        found, space = self._taken.get(name), self.view.spaces.get(name)
        if found is None and space is not None:
            coming = (*self._bound(space), *self.on.get(name, ()))
            found = self._taken[name] = taken_of([each.item for each in coming])
        return found or NOTHING

    def takes(self, name: NodeName, upcoming: Upcoming) -> bool:
        """Whether a node takes one more replica."""
        if self._copied is not None and name not in self._apart:
            if not self._copied.takes(name, upcoming):
                return False
            if not self._all_apart:
                return True
        item = upcoming.item
        if self._refused.has(name, item) or not self.suited.may_go(upcoming, name):
            return False
        taken = self.taken(name)
        if not taken.items or self.fits(name, (*taken.items, item)):
            return True
        empty = structs.replace(item, physical_bytes=0)
        if not item.physical_bytes or not self.fits(name, (*taken.items, empty)):
            item = empty  # whatever is written to it, it has no room
            if self._copied is None:
                self.suited.hosts(upcoming.need).refuse(name, item.logical_bytes)
        self._refused.add(name, item)
        return False

    def fits(self, name: NodeName, items: Sequence[Item]) -> bool:
        """Whether a node takes all of *items*; not decided within the limit counts as yes."""
        space = self.view.spaces[name]
        self.work.spend(1 + len(items) * len(space.bins) // _PAIRS_PER_STEP)
        return fits(items, space, self._step_limit)

    def put_all(
        self, upcoming: Upcoming, nodes: Iterable[NodeName], but: NodeName | None = None
    ) -> None:
        """Put replicas of a volume on all of *nodes*; once not on one of them."""
        rest = [*nodes]
        if but is not None:
            rest.remove(but)
        for name in rest:
            self.put(upcoming, name)

    def _beyond(self, node: NodeName) -> list[Upcoming]:
        """Return what a node does not take of what is forecast there: the least sure of it."""
        there = self.on.get(node, ())
        if not there or node not in self.view.spaces:
            return [*there]
        suited = [each for each in there if self.suited.may_go(each, node)]
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

    def put(self, upcoming: Upcoming, name: NodeName) -> None:
        """Put one more replica of a volume on a node."""
        volume = upcoming.volume.name
        nodes = self._nodes_of.get(volume, ())
        if name in nodes:
            item = structs.replace(upcoming.item, id=f"{volume}/{nodes.count(name)}")
            upcoming = structs.replace(upcoming, item=item)
        self.on[name] = (*self.on.get(name, ()), upcoming)
        self._nodes_of[volume] = (*nodes, name)
        self._changed(name, has_more=False)

    def _changed(self, name: NodeName, *, has_more: bool) -> None:
        self._taken.pop(name, None)
        if has_more:
            self._refused.forget(name)
        if self._copied is not None:
            self._apart.add(name)
            return
        self._changes[name] = None
        self.suited.note_taken(name, has_more=has_more)
