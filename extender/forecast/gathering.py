"""What is coming in the whole cluster, kept up to date volume by volume.

What comes of a volume follows from the volume, its replicas, and the holds for it. So it is worked
out again when one of these has changed, and only then.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from heapq import heappop, heappush

from extender.forecast.coming import Coming, coming_of_all, displaced_on
from extender.holds.hold import Hold, State
from extender.view import ClusterView
from longhorn import NOTHING_DUE, Moment, NodeName, VolumeName, wait_is_over


class Gathering:
    """What is coming, and which holds and nodes it depends on.

    Attributes:
        coming: Of each volume of which something is.
    """

    def __init__(self) -> None:
        self.coming: dict[VolumeName, Coming] = {}
        self._holds: dict[str, Hold] = {}
        """By the pod's uid."""
        self._of_volume: dict[VolumeName, set[str]] = {}
        self._on_node: dict[NodeName, set[str]] = {}
        """Of the chosen holds."""
        self._open: dict[str, None] = {}
        """Of the open holds with local volumes, the oldest first."""
        self._displaced: dict[NodeName, frozenset[VolumeName]] = {}
        self._failed_on: dict[NodeName, set[VolumeName]] = {}
        """Volumes that wait for failed replicas there: that of a node may come back."""
        self._waits_until: dict[VolumeName, float] = {}
        """When Longhorn waits no longer for a failed replica, in seconds since 1970."""
        self._alarms: list[tuple[float, VolumeName]] = []
        """The same as a heap; it may also hold moments that are past or not true any more."""
        self._outdated: dict[VolumeName, None] = {}

    @property
    def outdated(self) -> int:
        """Return of how many volumes it must be worked out again what is coming."""
        return len(self._outdated)

    def holds_of(self, name: VolumeName, *, but: str | None = None) -> list[Hold]:
        """Return the holds that name a volume, the chosen ones first."""
        holds = (self._holds[uid] for uid in self._of_volume.get(name, ()) if uid != but)
        return sorted(holds, key=lambda each: (each.state is State.OPEN, each.pod.uid))

    def hold_of(self, uid: str) -> list[Hold]:
        """Return the hold of a pod, nothing if it has none."""
        return [self._holds[uid]] if uid in self._holds else []

    def chosen_on(self, name: NodeName, *, but: str) -> list[Hold]:
        """Return the holds of pods whose node this is, except that of the pod with uid *but*."""
        return [self._holds[uid] for uid in sorted(self._on_node.get(name, ())) if uid != but]

    def open_holds(self, *, but: str) -> list[Hold]:
        """Return the open holds with local volumes, except that of the pod with uid *but*."""
        return [self._holds[uid] for uid in self._open if uid != but]

    def note_volumes(self, names: Iterable[VolumeName], view: ClusterView) -> None:
        """Note that these volumes, their replicas, or what is due of them has changed."""
        for name in names:
            self._outdated[name] = None
            for uid in self._of_volume.get(name, ()):
                hold = self._holds[uid]
                if hold.state is State.CHOSEN:
                    self._note_displaced(hold.node, view)

    def note_hold(self, uid: str, hold: Hold | None, view: ClusterView) -> Hold | None:
        """Note that a pod has this hold now, None if it has none; return the one before."""
        before = self._holds.pop(uid, None)
        self._open.pop(uid, None)
        for each in () if before is None else (*before.volumes, *before.remote):
            self._outdated[each.name] = None
            uids = self._of_volume[each.name]
            uids.discard(uid)
            if not uids:
                del self._of_volume[each.name]
        if hold is not None:
            self._holds[uid] = hold
            if hold.state is State.OPEN and hold.volumes:
                self._open[uid] = None
            for each in (*hold.volumes, *hold.remote):
                self._outdated[each.name] = None
                self._of_volume.setdefault(each.name, set()).add(uid)
        if before is not None and before.state is State.CHOSEN:
            self._on_node[before.node].discard(uid)
            self._note_displaced(before.node, view)
        if hold is not None and hold.state is State.CHOSEN:
            self._on_node.setdefault(hold.node, set()).add(uid)
            self._note_displaced(hold.node, view)
        return before

    def note_node(self, name: NodeName, view: ClusterView) -> None:
        """Note that the space of a node has changed."""
        self._note_displaced(name, view)
        self._outdated |= dict.fromkeys(sorted(self._failed_on.pop(name, ())))

    def note_time(self, utc: Moment | None) -> None:
        """Note which time it is: Longhorn may wait no longer for failed replicas."""
        while utc is not None and self._alarms and self._alarms[0][0] <= utc.timestamp():
            until, name = heappop(self._alarms)
            if self._waits_until.get(name) == until:
                del self._waits_until[name]
                self._outdated[name] = None

    def without(
        self, hold: Hold, own: Collection[VolumeName], view: ClusterView, utc: Moment | None
    ) -> dict[VolumeName, Coming | None]:
        """Return what is coming of other volumes than a pod's own if its hold does not count.

        They may have room on its node then; and a hold may name volumes that are not its own.

        Args:
            hold: The pod's.
            own: Its volumes.
            view: The cluster.
            utc: The date and time, None if it is not known.
        """
        uid, displaced = hold.pod.uid, self._displaced
        changed = {each.name for each in (*hold.volumes, *hold.remote)}
        if hold.state is State.CHOSEN:
            here, others = hold.node, self.chosen_on(hold.node, but=uid)
            now = displaced_on(view.spaces.get(here), others, view)
            changed |= now ^ displaced.get(here, frozenset())
            displaced = {**displaced, here: now}
        found: dict[VolumeName, Coming | None] = {}
        for name in sorted(changed.difference(own)):
            holds = self.holds_of(name, but=uid)
            found[name] = self._work_out(name, holds, displaced, view, utc)
        return found

    def next_changed(self, view: ClusterView, utc: Moment | None) -> VolumeName | None:
        """Work out the next volume again, of which there is one; return it if the result is new."""
        name = next(iter(self._outdated))
        del self._outdated[name]
        before = self.coming.get(name)
        self._await_failed(name, view, utc)
        now = self._work_out(name, self.holds_of(name), self._displaced, view, utc)
        if now == before:
            return None
        if now is None:
            del self.coming[name]
        else:
            self.coming[name] = now
        return name

    def _work_out(
        self,
        name: VolumeName,
        holds: Sequence[Hold],
        displaced: Mapping[NodeName, frozenset[VolumeName]],
        view: ClusterView,
        utc: Moment | None,
    ) -> Coming | None:
        """Say what is coming of a volume by these holds, where they keep no room for it."""
        nodes = {each.node for each in holds if each.state is State.CHOSEN}
        without_room = frozenset[VolumeName]().union(*(displaced.get(n, ()) for n in nodes))
        return coming_of_all(name, holds, without_room, view, utc=utc)

    def _note_displaced(self, name: NodeName, view: ClusterView) -> None:
        uids = self._on_node.get(name, ())
        before = self._displaced.get(name, frozenset())
        if not (uids or before):
            return
        holds = [self._holds[uid] for uid in uids]
        now = displaced_on(view.spaces.get(name), holds, view)
        if now:
            self._displaced[name] = now
        else:
            self._displaced.pop(name, None)
        self._outdated |= dict.fromkeys(sorted(before ^ now))
        if not uids:
            self._on_node.pop(name, None)

    def _await_failed(self, name: VolumeName, view: ClusterView, utc: Moment | None) -> None:
        """Have a volume that waits for a failed replica be looked at when the wait may be over."""
        volume, due = view.volumes.get(name), view.due.get(name, NOTHING_DUE)
        if volume is None or not due.waits:
            self._waits_until.pop(name, None)
            return
        for replica in view.replicas.get(name, ()):
            if replica.failed and replica.node is not None:
                self._failed_on.setdefault(replica.node, set()).add(name)
        if volume.degraded_at is None or (utc and wait_is_over(volume, view.settings, utc)):
            return
        until = volume.degraded_at.timestamp() + view.settings.replenishment_wait_seconds
        if self._waits_until.get(name) != until:
            self._waits_until[name] = until
            heappush(self._alarms, (until, name))
