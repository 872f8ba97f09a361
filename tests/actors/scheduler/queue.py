"""Pods that wait for a node, as kube-scheduler 1.33 and later keep them. Pure; time is an argument.

    new ──▶ active ──▶ (an attempt) ──▶ waiting for an event, if nodes were looked at in vain
              ▲  ▲                  └─▶ backing off after an error
              │  └── backing off ◀──┬── an event that may help, or five minutes have passed
              └─────────────────────┘   (at once if the back-off is over)

Who backs off comes back when its time is over; after a rejection also as soon as nobody else is
active (feature SchedulerPopFromBackoffQ); after an error never sooner.
Source: kubernetes pkg/scheduler/backend/queue.
"""

from collections.abc import Callable, Iterable
from enum import StrEnum

import msgspec

from tests.actors.api import Key

FIRST_BACKOFF_SECONDS = 1.0
LONGEST_BACKOFF_SECONDS = 10.0
"""`podInitialBackoffSeconds` and `podMaxBackoffSeconds` by default."""
LONGEST_WAIT_SECONDS = 300.0
"""`--pod-max-in-unschedulable-pods-duration` by default."""
FLUSH_SECONDS = 30.0
"""How often it is looked for pods that waited so long."""


class Change(StrEnum):
    """What may help a pod that was rejected."""

    OWN = "own"
    """The pod itself was changed."""
    POD = "pod"
    """A pod with a node came, changed or went."""
    NODE = "node"
    STORAGE = "storage"
    """A claim, PersistentVolume, StorageClass or CSIStorageCapacity came, changed or went."""


class Rejector(StrEnum):
    """Who left no node."""

    EXTENDER = "extender"
    PLUGINS = "plugins"


HELPS = {
    Rejector.EXTENDER: frozenset(Change),
    Rejector.PLUGINS: frozenset({Change.NODE, Change.STORAGE}),
}
"""The kinds of change that may help. Registered for "Extender" is everything."""


class Entry(msgspec.Struct, kw_only=True):
    """A pod in the queue."""

    key: Key
    uid: str
    since: float
    """When it came, or last failed: the oldest goes first."""
    rejections: int = 0
    errors: int = 0
    """Since the last attempt that was none."""
    rejector: Rejector | None = None

    @property
    def backs_off_until(self) -> float:
        count = self.errors or self.rejections
        if not count:
            return self.since
        seconds = FIRST_BACKOFF_SECONDS * 2.0 ** min(count - 1, 10)
        return self.since + float(min(seconds, LONGEST_BACKOFF_SECONDS))


class Queue:
    """All pods without a node, but for those of which an attempt is under way."""

    def __init__(self) -> None:
        self._active: dict[str, Entry] = {}
        self._backing_off: dict[str, Entry] = {}
        self._erring: dict[str, Entry] = {}
        self._waiting: dict[str, Entry] = {}
        self._in_flight: dict[str, tuple[Entry, set[Change]]] = {}
        self._flushed_at = 0.0

    def __contains__(self, uid: str) -> bool:
        queues = (self._active, self._backing_off, self._erring, self._waiting, self._in_flight)
        return any(uid in queue for queue in queues)

    def add(self, key: Key, uid: str, now: float) -> None:
        """Take in a pod that is new."""
        self._active[uid] = Entry(key=key, uid=uid, since=now)

    def remove(self, uid: str) -> None:
        """Forget a pod that has a node or is gone."""
        for queue in (self._active, self._backing_off, self._erring, self._waiting):
            queue.pop(uid, None)

    def pop(self, now: float) -> Entry | None:
        """Take the pod whose turn it is; what changes meanwhile is remembered for it."""
        self._flush(now)
        entry = _first(self._active.values(), key=_since)
        queue = self._active
        if entry is None:
            entry = _first(self._backing_off.values(), key=_end_of_backoff)
            queue = self._backing_off
        if entry is not None:
            del queue[entry.uid]
            self._in_flight[entry.uid] = (entry, set())
        return entry

    def next_at(self) -> float | None:
        """Return when `pop` may have something though nothing changes; None for never."""
        times = [entry.backs_off_until for entry in self._erring.values()]
        if self._waiting:
            times.append(self._flushed_at + FLUSH_SECONDS)
        return min(times, default=None)

    def done(self, entry: Entry) -> None:
        """End an attempt that led to a node."""
        self._in_flight.pop(entry.uid, None)

    def reject(self, entry: Entry, by: Rejector, now: float) -> None:
        """End an attempt in which no node was left: an event must come first, or has come."""
        changes = self._in_flight.pop(entry.uid, (entry, set()))[1]
        entry.since, entry.rejector = now, by
        entry.rejections, entry.errors = entry.rejections + 1, 0
        if changes & HELPS[by]:
            self._move(entry, now)
        else:
            self._waiting[entry.uid] = entry

    def fail(self, entry: Entry, now: float) -> None:
        """End an attempt that ended in an error."""
        self._in_flight.pop(entry.uid, None)
        entry.since, entry.rejector, entry.errors = now, None, entry.errors + 1
        self._erring[entry.uid] = entry

    def wake(self, change: Change, now: float, *, but: str = "") -> None:
        """Try again whom a change may help, but for the pod with uid *but*."""
        for uid in [*self._waiting, *self._in_flight]:
            if uid != but:
                self.wake_one(uid, change, now)

    def wake_one(self, uid: str, change: Change, now: float) -> None:
        """Try a pod again if a change may help it."""
        if uid in self._in_flight:
            self._in_flight[uid][1].add(change)
        entry = self._waiting.get(uid)
        if entry is not None and change in HELPS[entry.rejector or Rejector.EXTENDER]:
            del self._waiting[uid]
            self._move(entry, now)

    def _move(self, entry: Entry, now: float) -> None:
        queue = self._backing_off if entry.backs_off_until > now else self._active
        queue[entry.uid] = entry

    def _flush(self, now: float) -> None:
        """Make active whose time has come."""
        if now >= self._flushed_at + FLUSH_SECONDS:
            self._flushed_at = now
            for entry in [*self._waiting.values()]:
                if now >= entry.since + LONGEST_WAIT_SECONDS:
                    del self._waiting[entry.uid]
                    self._move(entry, now)
        for queue in (self._backing_off, self._erring):
            for entry in [each for each in queue.values() if each.backs_off_until <= now]:
                del queue[entry.uid]
                self._active[entry.uid] = entry


def _first(entries: Iterable[Entry], *, key: Callable[[Entry], float]) -> Entry | None:
    return min(entries, key=key, default=None)


def _since(entry: Entry) -> float:
    return entry.since


def _end_of_backoff(entry: Entry) -> float:
    return entry.backs_off_until
