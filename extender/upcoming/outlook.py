"""All that comes in the whole cluster, and where it finds room: kept up to date.

An answer about one pod rests on it, less what is the pod's own. It is not made anew for each
request: only what depends on what has changed since is worked out again. So where a replica is
forecast, and which of them find no room, may depend on what was forecast before.
"""

from collections.abc import Collection, Iterable

from extender.holds.hold import Hold, volumes_of
from extender.holds.ledger import Ledger
from extender.upcoming.anywhere import anywhere_of
from extender.upcoming.bound import Bound
from extender.upcoming.bound_to_others import BoundToOthers
from extender.upcoming.finding import find_room, keep
from extender.upcoming.forecast import Forecast
from extender.upcoming.gathering import Gathering
from extender.upcoming.seeking import Patience, Seeking
from extender.upcoming.upcoming import Certainty, Crowd, Sums, Upcoming
from extender.view import ChangeLog, ClusterView, Cursor
from extender.work import Work
from longhorn import Moment, NodeName, NodeRefusal, Settings, VolumeName

_STEPS_PER_VOLUME, _STEPS_PER_NODE = 8, 1
"""What it takes to find out what comes of a volume, and whether a node still takes all."""


class Outlook:
    """What comes, and the forecast of it.

    Attributes:
        changes: The nodes whose space has changed, or what comes there for itself or by the
            forecast.
        version: Another one whenever something has changed in what is known here.
        anywhere: What counts of what comes anywhere, by volume.
    """

    forecast: Forecast
    """Of all that comes anywhere."""
    _view: ClusterView
    _gathering: Gathering
    _bound: Bound
    _crowd: Crowd | None
    """All that comes anywhere; None if that has changed."""

    def __init__(self, step_limit: int) -> None:
        self.changes = ChangeLog[NodeName]()
        self.version = 0
        self.anywhere: dict[VolumeName, Upcoming] = {}
        self._step_limit = step_limit
        self._patience = Patience()
        self._cursors: tuple[Cursor | None, Cursor | None, Cursor | None] = (None, None, None)
        self._settings: Settings | None = None
        self._kinds = 0
        self._utc: Moment | None = None

    def catch_up(
        self, view: ClusterView, ledger: Ledger, *, now: float, utc: Moment | None, work: Work
    ) -> None:
        """Take in what has changed in the cluster and in what is held.

        What there is no work left for is done the next time. Until then some replicas are forecast
        nowhere, and take no room.

        Args:
            now: The time, in seconds; where no time passes, nothing is given up.
        """
        nodes, nodes_seen = view.changes.since(self._cursors[0])
        volumes, volumes_seen = view.volume_changes.since(self._cursors[1])
        uids, uids_seen = ledger.changes.since(self._cursors[2])
        self._cursors = nodes_seen, volumes_seen, uids_seen
        is_same = view.settings == self._settings and len(view.disk_kinds) == self._kinds
        if nodes is None or volumes is None or uids is None or not is_same:
            self._begin(view, ledger)
        else:
            self._view = self._bound.view = self.forecast.suited.view = view
            if nodes or volumes or uids:
                self._note(
                    dict.fromkeys(nodes), dict.fromkeys(volumes), dict.fromkeys(uids), ledger
                )
        self.forecast.work, self.forecast.is_cut_short = work, False
        self._utc = utc
        self._gathering.note_time(utc)
        while self._gathering.outdated and not work.is_over:
            work.spend(_STEPS_PER_VOLUME)
            name = self._gathering.next_changed(view, utc)
            if name is not None:
                self._adjust(name)
        for name in (*self._displaced, *self._patience.newly_over(now)):
            self._adjust(name)
        self._displaced.clear()
        self._check_nodes(work)
        self._seeking.find_rooms(view, now, work)
        if not self.is_behind:
            self._seeking.try_again(view, now, work)
        for node in self.forecast.drain_changed():
            self.changes.add(node)
        if nodes != [] or volumes != [] or uids != [] or work.spent:
            self.version += 1

    @property
    def is_behind(self) -> bool:
        """Whether something was left for the next time."""
        return bool(self._gathering.outdated or self._unchecked or self._seeking)

    def without(
        self, uid: str, own: Collection[VolumeName], work: Work
    ) -> tuple[BoundToOthers, Forecast, Crowd]:
        """Return what one pod finds: what is bound to nodes, the forecast, and what comes anywhere.

        Neither the pod's hold nor its *own* volumes count.
        """
        bound = BoundToOthers(self._bound, self._gathering, uid=uid, own=own)
        self.forecast.work = work
        forecast = self.forecast.copy(bound.sure, bound.apart)
        if self._crowd is None:
            self._crowd = Crowd(each=tuple(self.anywhere.values()), sums=self._sums)
        others = self._crowd.without(own, self.anywhere, self._view.settings)
        for name in own:
            forecast.take_out(name)
        hold = self._gathering.hold_of(uid)
        if hold is not None and (names := sorted(volumes_of(hold) - {*own})):
            others = self._without_hold(hold, names, forecast, others)
        if forecast.nowhere and (bound.apart or forecast.apart):
            by_name = {each.volume.name: each for each in others.each}
            for name in [*forecast.nowhere]:
                if not work.is_over:
                    find_room(forecast, by_name[name])
        return bound, forecast, others

    # What follows keeps it up to date.

    def _begin(self, view: ClusterView, ledger: Ledger) -> None:
        """Begin anew: everything may have changed."""
        self.changes.cut()
        self._view, self._settings, self._kinds = view, view.settings, len(view.disk_kinds)
        self._gathering = Gathering()
        self._bound = Bound(view, self._gathering)
        self.forecast = Forecast(view, self._bound.sure, self._step_limit)
        self.anywhere = {}
        self._sums = Sums()
        self._crowd = None
        self._unchecked: dict[NodeName, None] = {}
        """Nodes that may not take all any more that is forecast there."""
        self._displaced: dict[VolumeName, None] = {}
        """Volumes whose replicas may have to go elsewhere, as nodes have changed where they are."""
        self._seeking = Seeking(self.forecast, self.anywhere, self._patience)
        self._hosts = {name: _host(view, name) for name in view.spaces}
        """Of each node what decides whether its replicas keep others of their volumes away."""
        for hold in ledger:
            self._gathering.note_hold(hold.pod.uid, hold)
        self._gathering.note_volumes(view.due)

    def _note(
        self,
        nodes: Collection[NodeName],
        volumes: Collection[VolumeName],
        uids: Iterable[str],
        ledger: Ledger,
    ) -> None:
        """Note what has changed."""
        view, changed = self._view, set[NodeName]()
        for uid in uids:
            after = ledger.get(uid)
            before = self._gathering.note_hold(uid, after)
            changed |= self._bound.note_hold(before, after)
        self._gathering.note_volumes(volumes)
        changed |= self._bound.note_volumes(volumes)
        for name in volumes:
            self.forecast.suited.note_volume(name)
        self._bound.note_nodes(nodes)
        moved = set[NodeName]()
        for node in nodes:
            self._gathering.note_node(node)
            host = _host(view, node)
            if host != self._hosts.get(node):
                moved.add(node)
                self._hosts[node] = host
        bound = sorted(changed.difference(nodes))
        self.forecast.note_nodes(nodes, have_changed=True)
        self.forecast.note_nodes(bound, have_changed=False)
        self._unchecked |= dict.fromkeys((*nodes, *bound))
        if moved:  # others of a volume may go elsewhere now, or no longer where they are
            self._note_moved(moved)

    def _note_moved(self, nodes: Collection[NodeName]) -> None:
        """Note that nodes are in another zone, or that their replicas count otherwise."""
        for name, each in self.anywhere.items():
            if each.local in nodes or any(r.node in nodes for r in each.replicas):
                self.forecast.suited.note_volume(name)
                self._displaced[name] = None
        for node in nodes:
            there = self.forecast.on.get(node, ())
            self._displaced |= dict.fromkeys(each.volume.name for each in there)

    def _adjust(self, name: VolumeName) -> None:
        """Take in that something else comes of a volume: keep what may stay where it is."""
        before, now = self.anywhere.pop(name, None), self._gathering.anywhere.get(name)
        settings, self._crowd = self._view.settings, None
        if before is not None:
            self._sums = self._sums.plus(before, settings, times=-1)
        if now is not None and now.certainty is Certainty.SHOWN:
            is_over = self._patience.is_over(name, self._view.due.get(name))
            now = None if is_over else now
        nodes = self.forecast.take_out(name)
        self._seeking.is_roomier |= bool(nodes)
        if now is None:
            self._patience.found_none(name)
            return
        self.anywhere[name] = now
        self._sums = self._sums.plus(now, settings)
        keep(self.forecast, now, nodes)
        self._seeking.add(now)

    def _check_nodes(self, work: Work) -> None:
        """Take away what nodes do not take any more."""
        while self._unchecked and not work.is_over:
            node = next(iter(self._unchecked))
            del self._unchecked[node]
            self._seeking.is_roomier = True
            work.spend(_STEPS_PER_NODE)
            for upcoming in self.forecast.evict_beyond(node):
                self._seeking.add(upcoming)

    def _without_hold(
        self, hold: Hold, names: Iterable[VolumeName], forecast: Forecast, others: Crowd
    ) -> Crowd:
        """Return *others* as they are if *hold* does not count for some volumes; place these."""
        upcoming = {each.volume.name: each for each in others.each}
        for name in names:
            holds = self._gathering.holds_of(name, but=hold.pod.uid)
            now = anywhere_of(name, holds, self._view, utc=self._utc)
            forecast.take_out(name)
            upcoming.pop(name, None)
            if now is not None:
                upcoming[name] = now
                find_room(forecast, now)
        return Crowd().plus(upcoming.values(), self._view.settings)


def _host(view: ClusterView, name: NodeName) -> tuple[str, NodeRefusal | None] | None:
    space = view.spaces.get(name)
    return None if space is None else (space.node.zone, space.refusal)
