"""A watch as a stream of bytes: initial events, changes, bookmarks, the end, and its faults.

Follows k8s.io/apiserver `pkg/storage/cacher/{cacher,cache_watcher}.go` (initial events, selectors,
`nextBookmarkTime`) and `pkg/endpoints/handlers/watch.go` (a refusal after the start is an ERROR
event), `validateWatchOptions` in apimachinery.
"""

import asyncio
import random
from collections import deque
from collections.abc import Callable, Mapping
from typing import Any

import aiohttp
import msgspec

from tests.fakes.faults import (
    WatchCut,
    WatchEndsAtOnce,
    WatchFaultKind,
    WatchGarbage,
    WatchHang,
)
from tests.fakes.reading import present, requested_version
from tests.fakes.resources import Object, Resource
from tests.fakes.selection import Selection
from tests.fakes.status import StatusError, expired, forbidden_field, invalid
from tests.fakes.storage import Change, Storage

SHORTEST_SECONDS = 1800.0
"""--min-request-timeout of kube-apiserver: without timeoutSeconds a watch lasts 1 to 2 times it."""
FINAL_BOOKMARK_SECONDS = 2.0
"""The last bookmark comes this long before the end."""


class Line(msgspec.Struct, frozen=True):
    """One event of a watch."""

    type: str
    object: Object


class Plan(msgspec.Struct, frozen=True):
    """Where a watch begins: events to start with, and the version whose changes come next.

    *over* is set if the initial events are all there is, because the watch was refused.
    """

    initial: tuple[Line, ...]
    version: int
    over: bool = False


class Conditions(msgspec.Struct, kw_only=True):
    """What a stream needs to know of its surroundings.

    *chop* is the probability that what is read breaks off in the middle; *delay* gives the seconds
    that news takes to arrive; *silenced*, *broken* and *served* tell the state of the network and
    of the resource.
    """

    rng: random.Random
    chop: float
    bookmark_seconds: float
    delay: Callable[[], float]
    silenced: Callable[[], bool]
    broken: Callable[[], bool]
    served: Callable[[], bool]
    fault: WatchFaultKind | None


def plan_watch(
    storage: Storage,
    resource: Resource,
    selection: Selection,
    query: Mapping[str, str],
    *,
    streaming_lists: bool,
    rng: random.Random,
) -> Plan:
    """Decide what a watch begins with.

    Raises:
        StatusError: 422 for options that do not go together. A version that is compacted is refused
            inside the stream.
    """
    _check_watch_options(query, streaming_lists=streaming_lists)
    wanted = requested_version(query)
    send = query.get("sendInitialEvents")
    if send == "true" or (send is None and not wanted):
        version = storage.version
        lines = _synthetic(storage, resource, selection, version, rng)
        if send == "true" and is_true(query.get("allowWatchBookmarks")):
            lines.append(bookmark(resource, version, initial_end=True))
        return Plan(tuple(lines), version)
    version = wanted or storage.version
    if version < storage.compacted:
        refusal = expired(f"too old resource version: {version} ({storage.compacted})")
        return Plan((error_line(refusal),), version, over=True)
    return Plan((), version)


def is_true(text: str | None) -> bool:
    """Read a boolean parameter as Go's `strconv.ParseBool` does, near enough."""
    return (text or "").lower() in ("1", "t", "true")


def bookmark(resource: Resource, version: int, *, initial_end: bool = False) -> Line:
    metadata: dict[str, Any] = {"resourceVersion": str(version), "creationTimestamp": None}
    if initial_end:
        metadata["annotations"] = {"k8s.io/initial-events-end": "true"}
    return Line("BOOKMARK", present(resource, {"metadata": metadata}))


def error_line(refusal: StatusError) -> Line:
    return Line("ERROR", refusal.body())


class WatchStream:
    """The body of a watch; nothing runs between reads, so a cancelled read loses nothing."""

    def __init__(
        self,
        storage: Storage,
        resource: Resource,
        selection: Selection,
        query: Mapping[str, str],
        plan: Plan,
        conditions: Conditions,
    ) -> None:
        self._storage = storage
        self._resource = resource
        self._selection = selection
        self._conditions = conditions
        self._version = plan.version
        self._last_events = plan.over
        self._lines = deque(plan.initial)
        self._buffer = bytearray()
        self._sent = 0
        self._fault = conditions.fault
        self._closed = False
        now = asyncio.get_running_loop().time()
        seconds = float(query.get("timeoutSeconds") or 0)
        self._ends_at = now + (seconds or SHORTEST_SECONDS * (1 + conditions.rng.random()))
        bookmarks = is_true(query.get("allowWatchBookmarks"))
        self._bookmark_at = self._next_bookmark(now) if bookmarks else None

    @property
    def finished(self) -> bool:
        return self._closed

    async def readany(self) -> bytes:
        """Return what has arrived, waiting for the first of it; b"" at the end of the stream."""
        await asyncio.sleep(0)
        while True:
            self._raise_if_broken()
            if not self._is_silent():
                self._collect()
                if self._lines and not self._buffer and (delay := self._conditions.delay()):
                    await asyncio.sleep(delay)
                if not self._is_silent():
                    self._drain()
                    if self._buffer:
                        return self._take()
                    if self._is_over():
                        return b""
            await self._storage.changed.wait(self._seconds_to_wait())

    def close(self) -> None:
        """Drop the connection; who is reading or reads later learns of it."""
        self._closed = True
        self._storage.changed.fire()

    def _raise_if_broken(self) -> None:
        if self._closed:
            raise aiohttp.ClientConnectionError("Connection closed")
        struck = isinstance(self._fault, WatchCut) and self._fault_is_due()
        if self._conditions.broken() or (struck and not self._buffer):
            raise aiohttp.ClientPayloadError("Response payload is not completed")

    def _is_silent(self) -> bool:
        struck = isinstance(self._fault, WatchHang) and self._fault_is_due()
        return self._conditions.silenced() or (struck and not self._buffer)

    def _fault_is_due(self) -> bool:
        return self._fault is not None and self._sent >= getattr(self._fault, "after_events", 0)

    def _collect(self) -> None:
        """Queue what happened since the last look, then a bookmark if one is due."""
        for change in self._storage.after(self._resource, self._version):
            line = _seen(self._resource, self._selection, change)
            if line is not None and not self._last_events:
                self._lines.append(line)
            self._version = change.version
        now = asyncio.get_running_loop().time()
        if self._bookmark_at is not None and self._bookmark_at <= now:
            # The real server sends none as long as it has heard nothing from etcd, be it a change
            # or a mere notice of progress, since the watch began; `WatchHang` is such a watch.
            if self._version <= self._storage.version:
                self._lines.append(bookmark(self._resource, self._storage.version))
            self._bookmark_at = self._next_bookmark(now)

    def _drain(self) -> None:
        """Move events into the buffer, up to where a fault strikes."""
        while True:
            if self._fault_is_due():
                if not isinstance(self._fault, WatchGarbage):
                    return
                self._buffer += self._fault.data
                self._fault = None
            if not self._lines:
                return
            self._buffer += msgspec.json.encode(self._lines.popleft()) + b"\n"
            self._sent += 1

    def _take(self) -> bytes:
        size = len(self._buffer)
        if size > 1 and self._conditions.rng.random() < self._conditions.chop:
            size = self._conditions.rng.randrange(1, size)
        taken = bytes(self._buffer[:size])
        del self._buffer[:size]
        return taken

    def _is_over(self) -> bool:
        if isinstance(self._fault, WatchEndsAtOnce) or self._last_events:
            return True
        ended = self._ends_at <= asyncio.get_running_loop().time()
        return ended or not self._conditions.served()

    def _seconds_to_wait(self) -> float | None:
        if self._is_silent():
            return None
        next_at = min(self._ends_at, self._bookmark_at or self._ends_at)
        return next_at - asyncio.get_running_loop().time()

    def _next_bookmark(self, now: float) -> float:
        final = self._ends_at - FINAL_BOOKMARK_SECONDS
        regular = now + self._conditions.bookmark_seconds
        return final if now < final < regular else regular


def _synthetic(
    storage: Storage,
    resource: Resource,
    selection: Selection,
    version: int,
    rng: random.Random,
) -> list[Line]:
    """Show the objects of now as if they were added, in no particular order."""
    found = [obj for obj in storage.at(resource, version).values() if selection.matches(obj)]
    rng.shuffle(found)
    return [Line("ADDED", present(resource, obj)) for obj in found]


def _seen(resource: Resource, selection: Selection, change: Change) -> Line | None:
    """Translate a change for one selection: who stops matching is DELETED with the old content."""
    before, after = selection.matches(change.old), selection.matches(change.new)
    if after:
        return Line("MODIFIED" if before else "ADDED", present(resource, change.last))
    if not before or change.old is None:
        return None
    metadata = {**change.old["metadata"], "resourceVersion": str(change.version)}
    return Line("DELETED", present(resource, {**change.old, "metadata": metadata}))


def _check_watch_options(query: Mapping[str, str], *, streaming_lists: bool) -> None:
    match, send = query.get("resourceVersionMatch"), query.get("sendInitialEvents")
    causes = []
    if send is not None and match != "NotOlderThan":
        why = "sendInitialEvents requires setting resourceVersionMatch to NotOlderThan"
        causes.append(forbidden_field("resourceVersionMatch", why))
    if send is not None and not streaming_lists:
        why = (
            "sendInitialEvents is forbidden for watch unless the WatchList feature gate is enabled"
        )
        causes.append(forbidden_field("sendInitialEvents", why))
    if match and send is None:
        why = "resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided"
        causes.append(forbidden_field("resourceVersionMatch", why))
    if causes:
        raise invalid("ListOptions.meta.k8s.io", "", causes)
