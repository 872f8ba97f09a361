"""Objects with versions and history, as etcd and the watch cache keep them.

Every write takes the next number of one counter for all kinds. The log of changes is never
shortened: compaction only moves the version below which a *new* reader is refused, because a watch
that is already running does not suffer from it in the real server either.
"""

import asyncio
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Callable
from typing import Any

import msgspec

from tests.fakes.resources import Object, Resource


class Key(msgspec.Struct, frozen=True, order=True):
    """Where an object is; cluster-wide kinds have no namespace. Ordered as etcd orders its keys."""

    path: str

    @classmethod
    def of(cls, namespace: str, name: str) -> "Key":
        return cls(f"{namespace}/{name}" if namespace else name)


class Change(msgspec.Struct, frozen=True):
    """One write: creation if *old* is missing, deletion if *new* is.

    *last* is the object as it was last, with the version of this change: what a watch shows.
    """

    version: int
    key: Key
    old: Object | None
    new: Object | None
    last: Object


class Signal:
    """Wake everybody who waits, in the order they came: a set would wake them in any order."""

    def __init__(self) -> None:
        self._waiters: dict[asyncio.Future[None], None] = {}

    def fire(self) -> None:
        waiters, self._waiters = self._waiters, {}
        for waiter in waiters:
            _resolve(waiter)

    async def wait(self, seconds: float | None) -> None:
        """Return at the next `fire`, or after *seconds*."""
        loop = asyncio.get_running_loop()
        waiter: asyncio.Future[None] = loop.create_future()
        self._waiters[waiter] = None
        # Never shorter than virtual time can tell apart, or the wait would end before it began.
        delay = None if seconds is None else max(1e-6, seconds)
        timer = None if delay is None else loop.call_later(delay, _resolve, waiter)
        try:
            await waiter
        finally:
            self._waiters.pop(waiter, None)
            if timer is not None:
                timer.cancel()


class Storage:
    """The objects of all kinds, and every version they ever had."""

    def __init__(self) -> None:
        self.version = 1
        self.compacted = 0
        self.changed = Signal()
        self.observers: list[Callable[[Resource, Change], None]] = []
        self._objects: defaultdict[Resource, dict[Key, Object]] = defaultdict(dict)
        self._out_of_order: set[Resource] = set()
        """Kinds of which objects came since they were last sorted."""
        self._log: defaultdict[Resource, list[Change]] = defaultdict(list)

    def get(self, resource: Resource, key: Key) -> Object | None:
        return self._objects[resource].get(key)

    def at(self, resource: Resource, version: int) -> dict[Key, Object]:
        """Return the objects as they were after *version*, ordered by key."""
        if resource in self._out_of_order:
            self._objects[resource] = dict(sorted(self._objects[resource].items()))
            self._out_of_order.remove(resource)
        objects = dict(self._objects[resource])
        changes = self.after(resource, version)
        if not changes:
            return objects
        for change in reversed(changes):
            if change.old is None:
                del objects[change.key]
            else:
                objects[change.key] = change.old
        return dict(sorted(objects.items()))

    def after(self, resource: Resource, version: int) -> list[Change]:
        """Return the changes of one kind since *version*, oldest first."""
        log = self._log[resource]
        return log[bisect_right(log, version, key=_version) :]

    def write(self, resource: Resource, key: Key, new: Object | None) -> Object:
        """Create, replace or (without *new*) delete; give back what was stored or deleted.

        *new* belongs to the storage from here on; its version is set here.
        """
        old = self._objects[resource].get(key)
        self.version += 1
        last = _with_version(new or old or {}, self.version)
        if new is None:
            self._objects[resource].pop(key)
        else:
            self._objects[resource][key] = last
            if old is None:
                self._out_of_order.add(resource)
        change = Change(self.version, key, old, None if new is None else last, last)
        self._log[resource].append(change)
        self.changed.fire()
        for observer in self.observers:
            observer(resource, change)
        return last

    def forget(self, resource: Resource) -> None:
        """Drop all objects of a kind without a trace, as nobody can read them any more."""
        self._objects.pop(resource, None)
        self._log.pop(resource, None)
        self.changed.fire()


def _with_version(obj: Object, version: int) -> Object:
    metadata: dict[str, Any] = {**obj["metadata"], "resourceVersion": str(version)}
    return {**obj, "metadata": metadata}


def _version(change: Change) -> int:
    return change.version


def _resolve(waiter: asyncio.Future[None]) -> None:
    if not waiter.done():
        waiter.set_result(None)
