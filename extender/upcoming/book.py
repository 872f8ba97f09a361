"""The book of all that is upcoming, kept up to date, and where it is forecast to find room.

An answer about one pod rests on it, less what is the pod's own. It is not made anew for each
request: only what depends on what has changed since is worked out again. So where a replica is
forecast, and which of them find no room, may depend on what was forecast before.

What drives what:

- A volume, its replicas, or a hold that names it has changed: what comes of the volume anywhere is
  worked out again, and keeps its place in the forecast where it can.
- A node has changed, or what is pinned to it: what it does not take any more looks for other nodes.
- There is more room somewhere: what was forecast nowhere is tried again, in turns.
- Time passes: Longhorn waits no more for a failed replica, or we no more for a due one.

For a pod that is asked about, `ask` takes out what is its own. It stays out while nodes are judged
and scored, and is put back before the next question, or when the book is brought up to date:
nothing awaits meanwhile. What is changed for it is noted in an undo log; what the forecast and the
index of nodes remember beside it is right again by `Forecast.note_taken`, which `back_to` calls.
Work that was spent is not given back.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping
from collections.abc import Set as AbstractSet

from extender.holds.hold import chosen_of, volumes_of
from extender.holds.ledger import Ledger
from extender.space import NodeSpace
from extender.upcoming.forecast import Forecast
from extender.upcoming.observed import DueOnNodes, NodesSeen, ReplenishmentWaits
from extender.upcoming.pinned import OpenHolds, open_holds, pinned_to
from extender.upcoming.queue import PlacementQueue
from extender.upcoming.undo import UndoLog
from extender.upcoming.upcoming import Certainty, Upcoming
from extender.upcoming.volumes import anywhere_of
from extender.view import ChangeLog, ClusterView
from extender.work import Work
from longhorn import DiskName, Moment, NodeName, VolumeName

_STEPS_PER_VOLUME, _STEPS_PER_NODE, _HOLDS_PER_STEP = 3, 1, 20
"""What it takes to find out what comes of a volume, and whether a node still takes all; and how
many holds are looked at for one node in the time of a step."""


class Book:
    """All that is upcoming in a cluster.

    Args:
        view: The cluster, which may change in place, or be replaced by later views (`update`).
        ledger: The holds.
        changes: Where nodes are noted whose space has changed, or what comes there for itself or by
            the forecast. Everything counts as changed when a book is made.
        step_limit: Of one packing.

    Attributes:
        anywhere: What counts of what comes anywhere, by volume.
        forecast: Where it finds room.
        overfull: Nodes that do not take all that is pinned to them: other replicas came first.
        turn: Another one with every change, and for every pod that is asked about.
    """

    def __init__(
        self, view: ClusterView, ledger: Ledger, changes: ChangeLog[NodeName], step_limit: int
    ) -> None:
        changes.cut()
        self.anywhere: dict[VolumeName, Upcoming] = {}
        self.turn = object()
        self._view, self._settings, self._kinds = view, view.settings, len(view.disk_kinds)
        self._ledger, self._changes = ledger, changes
        self._node_cursor = view.changes.since(None)[1]
        self._volume_cursor = view.volume_changes.since(None)[1]
        self._hold_cursor = ledger.changes.since(None)[1]
        self.overfull: set[NodeName] = set()
        self._log = UndoLog()
        self.forecast = Forecast(view, self.pinned, self._log, step_limit)
        self._holds = {hold.pod.uid: hold for hold in ledger}
        """As they were when the book was last brought up to date."""
        self._seen = NodesSeen(view)
        self._pinned: dict[NodeName, tuple[Upcoming, ...]] = {}
        """What is pinned to nodes, without open holds, as far as somebody has asked."""
        self._due = DueOnNodes()
        self._waits = ReplenishmentWaits()
        self._queue = PlacementQueue(self.forecast, self.anywhere)
        self._outdated: dict[VolumeName, None] = {}
        """Volumes of which it must be worked out again what comes."""
        self._displaced: dict[VolumeName, None] = {}
        """Volumes whose replicas may have to go elsewhere, as nodes have changed where they are."""
        self._unchecked: dict[NodeName, None] = {}
        """Nodes that may not take all any more that is forecast there."""
        self._uid, self._own = "", frozenset[VolumeName]()
        """The pod that is asked about."""
        self._apart: AbstractSet[NodeName] = frozenset()
        """The nodes to which something of it is pinned."""
        self._open: OpenHolds | None = None
        self._with_open: dict[NodeName, tuple[Upcoming, ...]] = {}
        for hold in self._holds.values():
            self._outdated |= dict.fromkeys(sorted(volumes_of(hold)))
            self._unchecked |= dict.fromkeys(chosen_of(hold))
        self._note_volumes(view.due)

    # What a pod finds that is asked about.

    def ask(self, uid: str, own: Collection[VolumeName], *, utc: Moment | None, work: Work) -> None:
        """Take out a pod's hold and its *own* volumes, until the next question."""
        self._put_back()
        self.turn = object()
        self._uid, self._own, self.forecast.work = uid, frozenset(own), work
        self.forecast.is_cut_short = False
        hold = self._holds.get(uid)
        also_held = () if hold is None else sorted(volumes_of(hold) - self._own)
        apart = {*([] if hold is None else chosen_of(hold))}
        for name in (*own, *also_held):
            self.forecast.take_out(name)
            self._log.pop(self.anywhere, name)
            if name in self._due.node_of:
                apart.add(self._due.node_of[name])
        for name in own:
            apart.update(_bound_to(name, self._view))
            apart.update(node for each in self._ledger.holds_of(name) for node in chosen_of(each))
        self._apart = apart
        for node in sorted(apart.intersection(self._view.spaces)):
            space, due = self._view.spaces[node], self._due.on(node)
            load = pinned_to(space, self._view, self._ledger, due, but=uid, own=self._own)
            self._log.set(self._pinned, node, load)
            self.forecast.note_taken(node, may_take_more=True)
        for name in also_held:  # it counts as far as others need it
            now = anywhere_of(name, self._ledger.holds_of(name, but=uid), self._view, utc=utc)
            if now is not None:
                self._log.set(self.anywhere, name, now)
                self.forecast.place(now)
        if self.apart:  # what was the pod's may be room for others
            for name in [*self.forecast.nowhere]:
                if not work.is_over:
                    self.forecast.place(self.anywhere[name])

    @property
    def mark(self) -> int:
        """The state of the book, for `back_to`."""
        return self._log.mark

    def back_to(self, mark: int) -> None:
        """Take back what was changed for the pod since *mark*."""
        changed = [
            *self._log.changed(self.forecast.on, mark),
            *self._log.changed(self._pinned, mark),
        ]
        self._log.back_to(mark)
        for node in changed:
            self.forecast.note_taken(node, may_take_more=True)

    def pin(self, upcoming: Iterable[Upcoming], node: NodeName) -> None:
        """Have more come to a node for itself, until the book goes back to a mark."""
        pinned = self.pinned(self._view.spaces[node])
        self._log.set(self._pinned, node, (*pinned, *upcoming))
        self.forecast.note_taken(node, may_take_more=False)

    @property
    def apart(self) -> set[NodeName]:
        """The nodes to which something else comes for this pod than for all others."""
        return {*self._apart, *self._log.changed(self.forecast.on)}

    @property
    def beyond(self) -> Mapping[tuple[NodeName, DiskName], int]:
        """By how many bytes disks were seen to be filled beyond their limit."""
        return self._seen.beyond

    @property
    def busy(self) -> set[NodeName]:
        """The nodes to which holds, the forecast or what is due brings anything.

        Replicas that are bound to a node are in its `NodeSpace.pending`.
        """
        chosen = self._ledger.chosen_nodes(but=self._uid)
        return chosen | self.forecast.on.keys() | self._due.nodes

    @property
    def open(self) -> OpenHolds:
        """What the open holds of other pods keep, without the pod's own volumes."""
        if self._open is None:
            self._open = open_holds(self._ledger, self._view, but=self._uid, own=self._own)
        return self._open

    def pinned(self, space: NodeSpace) -> tuple[Upcoming, ...]:
        """Return what comes to a node for itself, without what open holds keep there."""
        name = space.node.name
        found = self._pinned.get(name)
        if found is None:
            due = self._due.on(name)
            found = self._pinned[name] = pinned_to(space, self._view, self._ledger, due)
        return found

    def pinned_with_open(self, space: NodeSpace) -> tuple[Upcoming, ...]:
        """Return all that comes to a node for itself."""
        name = space.node.name
        if name in self._apart or name in self.open.partly:
            found = self._with_open.get(name)
            if found is None:
                self.forecast.work.spend(len(self.open.holds) // _HOLDS_PER_STEP)
                found = self._with_open[name] = pinned_to(
                    space,
                    self._view,
                    self._ledger,
                    self._due.on(name),
                    but=self._uid,
                    own=self._own,
                    open_=self.open,
                )
            return found
        sure = self.pinned(space)
        return (*sure, *self.open.on(space)) if name in self.open.nodes else sure

    @property
    def forecast_for_open(self) -> set[NodeName]:
        """The nodes where a replica is forecast of a volume that an open hold keeps room for."""
        nodes_of = self.forecast.nodes_of
        return {node for each in self.open.held for node in nodes_of(each.volume.name)}

    def kept_open(self, space: NodeSpace) -> tuple[Upcoming, ...]:
        """Return what open holds keep on a node, but for replicas that are forecast there."""
        forecast = _with_local(self.forecast.on.get(space.node.name, ()))
        pinned = self.pinned_with_open(space)
        return tuple(e for e in pinned if not (e.is_sure or e.volume.name in forecast))

    def on(self, space: NodeSpace) -> tuple[Upcoming, ...]:
        """Return all that comes to a node: what is pinned to it, and what is forecast there."""
        forecast = self.forecast.on.get(space.node.name, ())
        pinned = self.pinned_with_open(space)
        if forecast and self.open.held:
            names = _with_local(forecast)
            pinned = tuple(e for e in pinned if e.is_sure or e.volume.name not in names)
        return (*pinned, *forecast)

    # What keeps it up to date.

    @property
    def is_behind(self) -> bool:
        """Whether something was left for the next time."""
        return bool(self._outdated or self._unchecked or self._queue)

    def update(self, view: ClusterView, *, now: float, utc: Moment | None, work: Work) -> bool:
        """Take in what has changed in the cluster and in what is held.

        What there is no work left for is done the next time. Until then some replicas are forecast
        nowhere, and take no room.

        Args:
            view: The cluster as it is now.
            now: The time, in seconds; where no time passes, nothing is given up.
            utc: The date and time, None if it is not known.
            work: What may be done.

        Returns:
            Whether that was possible; if not, a new book is to be made.
        """
        nodes, self._node_cursor = view.changes.since(self._node_cursor)
        volumes, self._volume_cursor = view.volume_changes.since(self._volume_cursor)
        uids, self._hold_cursor = self._ledger.changes.since(self._hold_cursor)
        is_same = view.settings == self._settings and len(view.disk_kinds) == self._kinds
        if nodes is None or volumes is None or uids is None or not is_same:
            return False
        over, given_up = self._waits.over_at(utc), self._queue.patience.newly_over(now)
        self._view = self.forecast.eligibility.view = view
        is_roomier = self._queue.is_roomier and self.forecast.nowhere
        if not (nodes or volumes or uids or over or given_up or self.is_behind or is_roomier):
            return True
        self._put_back()
        self._note(dict.fromkeys(nodes), dict.fromkeys(volumes), dict.fromkeys(uids))
        self.forecast.work, self.forecast.is_cut_short = work, False
        self._outdated |= dict.fromkeys(over)
        while self._outdated and not work.is_over:
            work.spend(_STEPS_PER_VOLUME)
            name = next(iter(self._outdated))
            del self._outdated[name]
            self._work_out(name, utc)
        for name in (*self._displaced, *given_up):
            self._work_out(name, utc, has_to_move=True)
        self._displaced.clear()
        self._check_nodes(work)
        self._queue.take_turns(view, now, work)
        if not self.is_behind:
            self._queue.retry(view, now, work)
        for node in self._log.changed(self.forecast.on):
            self._changes.add(node)
        self._log.forget()
        self.turn = object()
        return True

    def _put_back(self) -> None:
        self.back_to(0)
        self.turn = object()
        self._uid, self._own, self._apart = "", frozenset(), frozenset()
        self._open = None
        self._with_open.clear()

    def _note(
        self, nodes: Collection[NodeName], volumes: Collection[VolumeName], uids: Iterable[str]
    ) -> None:
        """Note what has changed."""
        changed = set[NodeName]()
        for uid in uids:
            changed |= self._note_hold(uid)
        changed |= self._note_volumes(volumes)
        moved = set[NodeName]()
        for node in nodes:
            for hold in self._ledger.chosen_on(node):
                self._outdated |= dict.fromkeys(each.name for each in hold.volumes)
            self._outdated |= dict.fromkeys(self._waits.failed_on(node))
            if self._seen.note(node, self._view):
                moved.add(node)
        for node in (*nodes, *sorted(changed.difference(nodes))):
            self._pinned.pop(node, None)
            if node in nodes:
                self.forecast.note_space(node)
            else:
                self.forecast.note_taken(node, may_take_more=True)
            self._unchecked[node] = None
            self._changes.add(node)
        if moved:  # others of a volume may go elsewhere now, or no longer where they are
            self._note_moved(moved)

    def _note_hold(self, uid: str) -> set[NodeName]:
        """Note that a pod has another hold, or none; return the nodes whose load may have changed.

        An open hold counts for itself. But what is due on a node by Longhorn's objects as well is
        counted by the hold.
        """
        changed = set[NodeName]()
        before, after = self._holds.pop(uid, None), self._ledger.get(uid)
        if after is not None:
            self._holds[uid] = after
        for hold in filter(None, (before, after)):
            changed.update(chosen_of(hold))
            for volume in hold.volumes:
                if volume.name in self._due.node_of:
                    changed.add(self._due.node_of[volume.name])
                changed.update(_bound_to(volume.name, self._view))
            self._outdated |= dict.fromkeys(each.name for each in (*hold.volumes, *hold.remote))
        return changed

    def _note_volumes(self, names: Iterable[VolumeName]) -> set[NodeName]:
        """Note that volumes, their replicas, or what is due of them has changed.

        Returns the nodes whose load may have.
        """
        view, changed = self._view, set[NodeName]()
        for name in names:
            self._outdated[name] = None
            self.forecast.eligibility.note_volume(name)
            changed.update(self._due.note(name, view))
            changed.update(_bound_to(name, view))
            for hold in self._ledger.holds_of(name):
                changed.update(chosen_of(hold))
        return changed

    def _note_moved(self, nodes: Collection[NodeName]) -> None:
        """Note that nodes are in another zone, or that their replicas count otherwise."""
        for name, each in self.anywhere.items():
            if each.local in nodes or any(r.node in nodes for r in each.replicas):
                self.forecast.eligibility.note_volume(name)
                self._displaced[name] = None
        for node in nodes:
            there = self.forecast.on.get(node, ())
            self._displaced |= dict.fromkeys(each.volume.name for each in there)

    def _work_out(self, name: VolumeName, utc: Moment | None, *, has_to_move: bool = False) -> None:
        """Work out what comes of a volume anywhere: keep what may stay where it is."""
        view = self._view
        self._waits.note(name, view, utc)
        now = anywhere_of(name, self._ledger.holds_of(name), view, utc=utc)
        if now is not None and now.certainty is Certainty.SHOWN:
            now = None if self._queue.patience.is_over(name, view.due.get(name)) else now
        if now == self.anywhere.get(name) and not has_to_move:
            return
        self.anywhere.pop(name, None)
        nodes = self.forecast.take_out(name)
        self._queue.is_roomier |= bool(nodes)
        if now is None:
            self._queue.patience.found_none(name)
            return
        self.anywhere[name] = now
        self.forecast.keep(now, nodes)
        self._queue.add(now)

    def _check_nodes(self, work: Work) -> None:
        """Take away what nodes do not take any more."""
        while self._unchecked and not work.is_over:
            node = next(iter(self._unchecked))
            del self._unchecked[node]
            self._queue.is_roomier = True
            work.spend(_STEPS_PER_NODE)
            for upcoming in self.forecast.evict_beyond(node):
                self._queue.add(upcoming)
            self.overfull.discard(node)
            space = self._view.spaces.get(node)
            pinned = () if space is None else self.pinned(space)
            if pinned and not self.forecast.fits(node, [each.item for each in pinned]):
                self.overfull.add(node)


def _with_local(forecast: Iterable[Upcoming]) -> set[VolumeName]:
    """Return the volumes whose local replica is one of those that are forecast.

    It is none of them where an open hold is of one node: then it comes to that one.
    """
    return {each.volume.name for each in forecast if each.local is None}


def _bound_to(name: VolumeName, view: ClusterView) -> Iterator[NodeName]:
    """Yield the nodes that replicas of a volume are bound to."""
    for replica in view.replicas.get(name, ()):
        if replica.hard_node_affinity is not None:
            yield replica.hard_node_affinity
