"""What time alone changes: Longhorn's wait for failed replicas, and our patience with due ones."""

from heapq import heappop, heappush

from extender.view import ClusterView
from longhorn import NOTHING_DUE, Due, Moment, NodeName, VolumeName, wait_is_over

PATIENCE_SECONDS = 60.0
"""Longhorn tries again every 30 s."""


class ReplenishmentWaits:
    """Volumes of which a failed replica may come back, so that Longhorn makes no new one yet."""

    def __init__(self) -> None:
        self._failed_on: dict[NodeName, set[VolumeName]] = {}
        """Volumes that wait for a failed replica on each node."""
        self._until: dict[VolumeName, float] = {}
        """When Longhorn waits no longer, in seconds since 1970."""
        self._alarms: list[tuple[float, VolumeName]] = []
        """The same as a heap; it may also hold moments that are past or not true any more."""

    def note(self, name: VolumeName, view: ClusterView, utc: Moment | None) -> None:
        """Have a volume that waits for a failed replica be looked at when the wait may be over."""
        volume, due = view.volumes.get(name), view.due.get(name, NOTHING_DUE)
        if volume is None or not due.waits:
            self._until.pop(name, None)
            return
        for replica in view.replicas.get(name, ()):
            if replica.failed and replica.node is not None:
                self._failed_on.setdefault(replica.node, set()).add(name)
        if volume.degraded_at is None or (utc and wait_is_over(volume, view.settings, utc)):
            return
        until = volume.degraded_at.timestamp() + view.settings.replenishment_wait_seconds
        if self._until.get(name) != until:
            self._until[name] = until
            heappush(self._alarms, (until, name))

    def over_at(self, utc: Moment | None) -> list[VolumeName]:
        """Return the volumes whose wait is over by now, each once."""
        found = list[VolumeName]()
        while utc is not None and self._alarms and self._alarms[0][0] <= utc.timestamp():
            until, name = heappop(self._alarms)
            if self._until.get(name) == until:
                del self._until[name]
                found.append(name)
        return found

    def failed_on(self, node: NodeName) -> list[VolumeName]:
        """Return the volumes that wait for a replica on a node that has changed, each once."""
        return sorted(self._failed_on.pop(node, ()))


class Patience:
    """Since when replicas are due that find room, and are not placed all the same.

    What no hold backs comes from Longhorn's objects alone. If it is not placed though it fits,
    there is something that the forecast does not know, such as an engine image that is not ready.
    It must not keep room from others for ever.
    """

    def __init__(self) -> None:
        self._since: dict[VolumeName, tuple[Due, float]] = {}
        """Oldest first."""
        self._over: dict[VolumeName, Due] = {}

    def found_room(self, name: VolumeName, due: Due, now: float) -> None:
        """Note that a volume of which this is due finds room at a time, in seconds."""
        known = self._since.get(name)
        if known is None or known[0] != due:
            self._since.pop(name, None)
            self._since[name] = due, now

    def found_none(self, name: VolumeName) -> None:
        """Note that a volume finds no room now, or that nothing of it is to be placed."""
        self._since.pop(name, None)

    def is_over(self, name: VolumeName, due: Due | None) -> bool:
        """Whether a volume found room for too long, and what is due of it has not changed since."""
        over = self._over.get(name)
        if over is None:
            return False
        if over != due:
            del self._over[name]
        return over == due

    def newly_over(self, now: float) -> list[VolumeName]:
        """Return the volumes that have found room for too long by now, each once."""
        found = []
        while self._since:
            name, (due, since) = next(iter(self._since.items()))
            if now - since < PATIENCE_SECONDS:
                break
            del self._since[name]
            self._over[name] = due
            found.append(name)
        return found
