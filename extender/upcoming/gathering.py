"""What comes anywhere in the whole cluster, kept up to date volume by volume.

What comes of a volume follows from the volume, its replicas, and the holds for it. So it is worked
out again when one of these has changed, and only then.
"""

from collections.abc import Iterable
from heapq import heappop, heappush

from extender.holds.hold import Hold, State, chosen_of, volumes_of
from extender.known import Index
from extender.upcoming.anywhere import anywhere_of
from extender.upcoming.upcoming import Upcoming
from extender.view import ClusterView
from longhorn import NOTHING_DUE, Moment, NodeName, VolumeName, wait_is_over


class Gathering:
    """What comes anywhere, and which holds and nodes it depends on.

    Attributes:
        anywhere: Of each volume of which something comes.
    """

    def __init__(self) -> None:
        self.anywhere: dict[VolumeName, Upcoming] = {}
        self._holds: dict[str, Hold] = {}
        """By the pod's uid."""
        self._of_volume = Index[VolumeName, Hold](volumes_of)
        self._on_node = Index[NodeName, Hold](chosen_of)
        self._open: dict[str, None] = {}
        """Of the open holds with local volumes, the oldest first."""
        self._failed_on: dict[NodeName, set[VolumeName]] = {}
        """Volumes that wait for failed replicas there: that of a node may come back."""
        self._waits_until: dict[VolumeName, float] = {}
        """When Longhorn waits no longer for a failed replica, in seconds since 1970."""
        self._alarms: list[tuple[float, VolumeName]] = []
        """The same as a heap; it may also hold moments that are past or not true any more."""
        self._outdated: dict[VolumeName, None] = {}

    @property
    def outdated(self) -> int:
        """Return of how many volumes it must be worked out again what comes."""
        return len(self._outdated)

    def holds_of(self, name: VolumeName, *, but: str | None = None) -> list[Hold]:
        """Return the holds that name a volume, the chosen ones first."""
        holds = [hold for hold in self._of_volume.of(name) if hold.pod.uid != but]
        if not holds:  # as for most volumes
            return holds
        return sorted(holds, key=lambda each: (each.state is State.OPEN, each.pod.uid))

    def hold_of(self, uid: str) -> Hold | None:
        """Return the hold of a pod, None if it has none."""
        return self._holds.get(uid)

    def chosen_on(self, name: NodeName, *, but: str) -> list[Hold]:
        """Return the holds of pods whose node this is, except that of the pod with uid *but*."""
        holds = (hold for hold in self._on_node.of(name) if hold.pod.uid != but)
        return sorted(holds, key=lambda each: each.pod.uid)

    def open_holds(self, *, but: str) -> list[Hold]:
        """Return the open holds with local volumes, except that of the pod with uid *but*."""
        return [self._holds[uid] for uid in self._open if uid != but]

    def note_volumes(self, names: Iterable[VolumeName]) -> None:
        """Note that these volumes, their replicas, or what is due of them has changed."""
        self._outdated |= dict.fromkeys(names)

    def note_hold(self, uid: str, hold: Hold | None) -> Hold | None:
        """Note that a pod has this hold now, None if it has none; return the one before."""
        before = self._holds.pop(uid, None)
        self._open.pop(uid, None)
        if before is not None:
            self._of_volume.remove(uid, before)
            self._on_node.remove(uid, before)
        if hold is not None:
            self._holds[uid] = hold
            self._of_volume.add(uid, hold)
            self._on_node.add(uid, hold)
            if hold.state is State.OPEN and hold.volumes:
                self._open[uid] = None
        for each in filter(None, (before, hold)):
            self._outdated |= dict.fromkeys(v.name for v in (*each.volumes, *each.remote))
        return before

    def note_node(self, name: NodeName) -> None:
        """Note that the space of a node has changed: what is held there may have lost its room."""
        for hold in self.chosen_on(name, but=""):
            self._outdated |= dict.fromkeys(each.name for each in hold.volumes)
        self._outdated |= dict.fromkeys(sorted(self._failed_on.pop(name, ())))

    def note_time(self, utc: Moment | None) -> None:
        """Note which time it is: Longhorn may wait no longer for failed replicas."""
        while utc is not None and self._alarms and self._alarms[0][0] <= utc.timestamp():
            until, name = heappop(self._alarms)
            if self._waits_until.get(name) == until:
                del self._waits_until[name]
                self._outdated[name] = None

    def next_changed(self, view: ClusterView, utc: Moment | None) -> VolumeName | None:
        """Work out the next volume again, of which there is one; return it if the result is new."""
        name = next(iter(self._outdated))
        del self._outdated[name]
        before = self.anywhere.get(name)
        self._await_failed(name, view, utc)
        now = anywhere_of(name, self.holds_of(name), view, utc=utc)
        if now == before:
            return None
        if now is None:
            del self.anywhere[name]
        else:
            self.anywhere[name] = now
        return name

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
