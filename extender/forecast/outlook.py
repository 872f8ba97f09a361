"""What will take room in the whole cluster, and where it finds room: kept up to date.

An answer about one pod rests on it, less what is the pod's own. It is not made anew for each
request: only what depends on what has changed since is worked out again. So where a replica is
forecast may depend on what was forecast before. Whether all find room does not, nor which of them
do, unless there are too many to try all of them again (`moving.MOST_MOVED`).
"""

from bisect import bisect_left
from collections.abc import Collection, Iterable, Mapping, Sequence
from heapq import heappop, heappush

from extender.forecast.assignment import Assignment
from extender.forecast.coming import Coming, by_certainty
from extender.forecast.crowd import Crowd, Sums, crowd_of
from extender.forecast.forecast import Forecast
from extender.forecast.gathering import Gathering
from extender.forecast.loads import Loads, OthersLoads
from extender.forecast.moving import MOST_MOVED, MOST_STEPS
from extender.forecast.patience import Patience
from extender.forecast.ranking import Rankings
from extender.holds.ledger import Ledger
from extender.view import ChangeLog, ClusterView, Cursor
from extender.work import Work
from longhorn import Moment, NodeName, NodeRefusal, Settings, VolumeName

_MOST_TRIED_AGAIN = 8
"""For so many volumes without room others are moved again, whenever one of them may find some."""
_STEPS_PER_VOLUME, _STEPS_PER_NODE = 8, 1
"""What it takes to find out what is coming of a volume, and whether a node still takes all."""


class Outlook:
    """What is coming, and the forecast of it.

    Args:
        step_limit: Most steps of the packing of one node.

    Attributes:
        changes: The nodes whose space has changed, or what comes there for sure or by the forecast.
        rankings: The nodes by what is unused on them.
        version: Another one whenever something has changed in what is known here.
        coming: What counts of what is coming, by volume.
    """

    forecast: Forecast
    """Of all that is coming."""
    _view: ClusterView
    _gathering: Gathering
    _loads: Loads
    _assignment: Assignment

    def __init__(self, step_limit: int) -> None:
        self.changes = ChangeLog[NodeName]()
        self.rankings = Rankings()
        self.version = 0
        self.coming: dict[VolumeName, Coming] = {}
        self._step_limit = step_limit
        self._patience = Patience()
        self._cursors: tuple[Cursor | None, Cursor | None, Cursor | None] = (None, None, None)
        self._settings: Settings | None = None
        self._kinds = 0

    def catch_up(
        self,
        view: ClusterView,
        ledger: Ledger,
        *,
        now: float,
        utc: Moment | None,
        work: Work,
    ) -> None:
        """Take in what has changed in the cluster and in what is held.

        What there is no work left for is done the next time. Until then some replicas are forecast
        nowhere, and take no room.

        Args:
            view: The cluster.
            ledger: What is held for pods.
            now: The time, in seconds; where no time passes, nothing is given up.
            utc: The date and time, None if it is not known.
            work: What may be done for it.
        """
        nodes, nodes_seen = view.changes.since(self._cursors[0])
        volumes, volumes_seen = view.volume_changes.since(self._cursors[1])
        uids, uids_seen = ledger.changes.since(self._cursors[2])
        self._cursors = nodes_seen, volumes_seen, uids_seen
        is_same = view.settings == self._settings and len(view.disk_kinds) == self._kinds
        if nodes is None or volumes is None or uids is None or not is_same:
            self._begin(view, ledger)
        else:
            self._view = self._loads.view = self._assignment.view = view
            if nodes or volumes or uids:
                self._note(
                    dict.fromkeys(nodes), dict.fromkeys(volumes), dict.fromkeys(uids), ledger
                )
                self._has_news = True
                self._is_roomier |= self._is_anew
                if not self._is_anew:
                    self.forecast.begin_moving(MOST_STEPS)
        self._assignment.work, self._assignment.is_cut_short = work, False
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
        self._place(now, work)
        for node in self._assignment.drain_changed():
            self.changes.add(node)
        if nodes != [] or volumes != [] or uids != [] or work.spent:
            self.version += 1

    @property
    def is_behind(self) -> bool:
        """Whether something was left for the next time."""
        return bool(self._gathering.outdated or self._unchecked or self._unplaced)

    def without(
        self, uid: str, own: Collection[VolumeName], utc: Moment | None, work: Work
    ) -> tuple[OthersLoads, Forecast, Crowd]:
        """Return what one pod finds: the loads, the forecast, and what is coming of others.

        Args:
            uid: The pod, whose hold does not count.
            own: Its volumes; they do not count either.
            utc: The date and time, None if it is not known.
            work: What may be done for the pod.
        """
        loads = OthersLoads(self._loads, self._gathering, uid=uid, own=own)
        self._assignment.work = work
        forecast = self.forecast.copy(lambda space: loads.sure(space).sure_items, loads.apart)
        others = self._crowd_of_all().without(own, self.coming, self._view.settings)
        for name in own:
            forecast.take_out(name)
        for hold in self._gathering.hold_of(uid):
            changed = self._gathering.without(hold, own, self._view, utc)
            if changed:
                others = self._with_changed(changed, forecast, others)
        if forecast.nowhere and (loads.apart or forecast.assignment.apart):
            self._place_others(forecast, others.coming)
        return loads, forecast, others

    # What follows keeps it up to date.

    def _begin(self, view: ClusterView, ledger: Ledger) -> None:
        """Begin anew: everything may have changed."""
        self.changes.cut()
        self._view, self._settings, self._kinds = view, view.settings, len(view.disk_kinds)
        self._gathering = Gathering()
        self._loads = Loads(view, self._gathering)
        self._assignment = Assignment(
            view,
            lambda space: self._loads.sure(space).sure_items,
            self.rankings,
            step_limit=self._step_limit,
        )
        self.forecast = Forecast(self._assignment)
        self.forecast.begin_moving(MOST_STEPS)
        self.coming = {}
        self._sums = Sums()
        self._crowd: Crowd | None = None
        """All that is coming; None if that has changed."""
        self._open: dict[VolumeName, None] = {}
        """The volumes of which something comes only with open holds."""
        self._unchecked: dict[NodeName, None] = {}
        """Nodes that may not take all any more that is forecast there."""
        self._displaced: dict[VolumeName, None] = {}
        """Volumes whose replicas may have to go elsewhere, as nodes have changed where they are."""
        self._unplaced: list[tuple[bool, VolumeName]] = []
        """A heap of the volumes whose replicas are to find room, the surest first."""
        self._has_news = True
        """Whether anything has changed since all found room that may."""
        self._is_roomier = False
        """Whether some replica may find room that found none."""
        self._is_short = False
        """Whether some replica has found none."""
        self._is_anew = False
        """Whether room is being found for everything again."""
        self._next_tried = (False, VolumeName(""))
        """Of many without room, who is tried again first."""
        self._hosts = {name: _host(view, name) for name in view.spaces}
        """Of each node what decides whether its replicas keep others of their volumes away."""
        for hold in ledger:
            self._gathering.note_hold(hold.pod.uid, hold, view)
        self._gathering.note_volumes(view.due, view)

    def _note(
        self,
        nodes: Collection[NodeName],
        volumes: Collection[VolumeName],
        uids: Iterable[str],
        ledger: Ledger,
    ) -> None:
        """Note what has changed."""
        view, changed = self._view, dict.fromkeys(nodes)
        for uid in uids:
            after = ledger.get(uid)
            before = self._gathering.note_hold(uid, after, view)
            changed |= dict.fromkeys(sorted(self._loads.note_hold(before, after)))
        self._gathering.note_volumes(volumes, view)
        changed |= dict.fromkeys(sorted(self._loads.note_volumes(volumes)))
        for name in volumes:
            self._assignment.note_volume(name)
        self._loads.note_nodes(nodes)
        moved = set[NodeName]()
        for node in nodes:
            self._gathering.note_node(node, view)
            host = _host(view, node)
            if host != self._hosts.get(node):
                moved.add(node)
                self._hosts[node] = host
        self._assignment.note_nodes(changed, ranked=bool(nodes))
        self._unchecked |= changed
        if moved:  # others of a volume may go elsewhere now, or no longer where they are
            for name, each in self.coming.items():
                if each.local in moved or any(r.node in moved for r in each.replicas):
                    self._assignment.note_volume(name)
                    self._displaced[name] = None
            for node in moved:
                there = self._assignment.on.get(node, ())
                self._displaced |= dict.fromkeys(each.coming.volume.name for each in there)

    def _adjust(self, name: VolumeName) -> None:
        """Take in that something else is coming of a volume: keep what may stay where it is."""
        before, now = self.coming.pop(name, None), self._gathering.coming.get(name)
        settings, self._crowd = self._view.settings, None
        if before is not None:
            self._sums = self._sums.plus(before, settings, times=-1)
        self._open.pop(name, None)
        if now is not None and not now.is_held:
            is_over = self._patience.is_over(name, self._view.due.get(name))
            now = None if is_over else now
        nodes = self.forecast.take_out(name)
        self._is_roomier |= bool(nodes)
        self._has_news = True
        if now is None:
            self._patience.found_none(name)
            return
        self.coming[name] = now
        self._sums = self._sums.plus(now, settings)
        if not now.is_sure:
            self._open[name] = None
        self._keep(now, nodes)
        heappush(self._unplaced, by_certainty(now))

    def _keep(self, coming: Coming, nodes: Iterable[NodeName]) -> None:
        """Put replicas of a volume back on these nodes, where they may stay."""
        assignment = self._assignment
        for node in nodes:
            if len(assignment.nodes_of(coming.volume.name)) == coming.count:
                break
            places = assignment.places(coming.need)
            usage = assignment.usage_of(coming)
            is_allowed = node in places and assignment.stage(node, coming, usage) is not None
            if is_allowed and assignment.takes(node, places):
                assignment.put(coming, places.item, node)

    def _check_nodes(self, work: Work) -> None:
        """Take away what nodes do not take any more."""
        while self._unchecked and not work.is_over:
            node = next(iter(self._unchecked))
            del self._unchecked[node]
            self._is_roomier = True
            work.spend(_STEPS_PER_NODE)
            for coming in self.forecast.evict_beyond(node):
                heappush(self._unplaced, by_certainty(coming))

    def _place(self, now: float, work: Work) -> None:
        """Find room for what has none yet, and then for what found none, if it may now.

        What has changed while room is found for everything anew has it begun again with the next
        news, not at once: where something changes all the time there would be no end.
        """
        self._place_waiting(now, work)
        if self.is_behind:
            return
        if self._has_news and not self._is_anew and self.forecast.nowhere:
            if self._sums.sure + self._sums.open > MOST_MOVED:
                self._try_again(now, work)
            elif self._is_short or self._is_roomier:
                self._begin_anew()
                self._place_waiting(now, work)
        if not self.is_behind:
            self._has_news = self._is_anew = self._is_short = False

    def _place_waiting(self, now: float, work: Work) -> None:
        """Find room for what has none yet."""
        are_few = self._sums.sure + self._sums.open <= MOST_MOVED
        while self._unplaced and not work.is_over:
            coming, is_first = self.coming.get(self._unplaced[0][1]), not work.spent
            if coming is not None:
                missing = self._find_room(coming, now)
                if missing and self._assignment.is_cut_short and not is_first:
                    break  # the next time there is more work left for it
                if missing and coming.is_sure and not are_few and self._take_out_open():
                    missing = self._find_room(coming, now)
                self._is_short |= bool(missing)
            heappop(self._unplaced)

    def _find_room(self, coming: Coming, now: float) -> int:
        missing = self.forecast.place(coming)
        self._assignment.work.spend(coming.count)
        name = coming.volume.name
        if not coming.is_held:
            if missing < coming.count:
                self._patience.found_room(name, self._view.due[name], now)
            else:
                self._patience.found_none(name)
        return missing

    def _take_out_open(self) -> bool:
        """Take away what comes only with open holds, to find room for it after all else."""
        found = [name for name in self._open if self.forecast.take_out(name)]
        for name in found:
            heappush(self._unplaced, by_certainty(self.coming[name]))
        return bool(found)

    def _begin_anew(self) -> None:
        """Have room found for everything again, the surest first."""
        self._is_anew, self._is_roomier = True, False
        self.forecast.begin_moving(4 * MOST_STEPS)
        for name, coming in self.coming.items():
            self.forecast.take_out(name)
            heappush(self._unplaced, by_certainty(coming))

    def _try_again(self, now: float, work: Work) -> None:
        """Find room for what has found none so far; who gets no turn is the first the next time."""
        if not self._is_roomier:
            return
        self._is_roomier = False
        waiting = sorted(by_certainty(self.coming[name]) for name in self.forecast.nowhere)
        first = bisect_left(waiting, self._next_tried)
        for number, turn in enumerate([*waiting[first:], *waiting[:first]]):
            if work.is_over:
                self._is_roomier, self._next_tried = True, turn
                break
            if number == _MOST_TRIED_AGAIN:
                self.forecast.begin_moving(0)  # too many to move others for each
            work.spend(1)
            self._find_room(self.coming[turn[1]], now)

    def _place_others(self, forecast: Forecast, others: Sequence[Coming]) -> None:
        """Find room where the pod itself counted for those of *others* that have none."""
        if sum(each.count for each in others) <= MOST_MOVED:
            for each in others:
                forecast.take_out(each.volume.name)
            forecast.place_all(sorted(others, key=by_certainty))
            return
        forecast.begin_moving(0)
        by_name = {each.volume.name: each for each in others}
        for name in [*forecast.nowhere]:
            if not self._assignment.work.is_over:
                forecast.place(by_name[name])
        forecast.begin_moving(4 * MOST_STEPS)

    def _with_changed(
        self, changed: Mapping[VolumeName, Coming | None], forecast: Forecast, others: Crowd
    ) -> Crowd:
        """Return *others* with what is coming of some volumes now, and place that."""
        coming = {each.volume.name: each for each in others.coming}
        for name, now in changed.items():
            forecast.take_out(name)
            coming.pop(name, None)
            if now is not None:
                coming[name] = now
                forecast.place(now)
        return crowd_of(coming.values(), self._view.settings)

    def _crowd_of_all(self) -> Crowd:
        if self._crowd is None:
            self._crowd = Crowd(coming=tuple(self.coming.values()), sums=self._sums)
        return self._crowd


_Host = tuple[str, NodeRefusal | None]


def _host(view: ClusterView, name: NodeName) -> _Host | None:
    space = view.spaces.get(name)
    return None if space is None else (space.node.zone, space.refusal)
