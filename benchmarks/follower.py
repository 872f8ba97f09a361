"""What `bench_sync.py` measures: a process that follows the stub like an instance.

Run as ``python -m benchmarks.follower PORT``; it prints a JSON document. It is a process of its
own, so that its peak memory is that of following the cluster, interpreter and libraries included.
"""

import asyncio
import gc
import json
import resource
import sys
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from datetime import UTC, datetime
from random import Random
from statistics import median, quantiles
from typing import NamedTuple

import uvicorn
from kubernetes_asyncio import client
from prometheus_client import CollectorRegistry

from app.instance.cluster import LiveCluster
from app.kube.connection import JSON, Chunks, Connection, Query
from app.process.life import pass_over_modules
from app.process.surroundings import Surroundings
from app.serving.metrics import Metrics
from app.settings import Settings
from benchmarks.objects import DOUBLE_PERCENT, kinds
from longhorn import limit_bytes

_EVENTS = 2_000
_LARGE_EVENTS = 200
"""Of a kind whose objects are so large that they arrive in pieces."""
_LONGHORN = "/apis/longhorn.io/v1beta2/namespaces/longhorn-system"
_FORMS = {
    "unchanged node": (f"{_LONGHORN}/nodes", "unchanged"),
    "changed node": (f"{_LONGHORN}/nodes", "changed"),
    "changed replica": (f"{_LONGHORN}/replicas", "changed"),
    "node status": ("/api/v1/nodes", "changed"),
    "instance manager": (f"{_LONGHORN}/instancemanagers", "changed"),
    "engine image": (f"{_LONGHORN}/engineimages", "changed"),
    "CSI node": ("/apis/storage.k8s.io/v1/csinodes", "changed"),
}
_LARGE = {"engine image"}
_LEASE = "/apis/coordination.k8s.io/v1/namespaces/longhorn-system/leases/x"
_TICK_SECONDS = 0.001
_RENEWAL_SECONDS = 0.05
"""How often the lease is read: more often than a leader does, to meet the worst moment."""
_DEADLINE_SECONDS = 180.0
"""For everything."""
_EVENT = b'{"type":"MODIFIED"'
_LIST_END = b"k8s.io/initial-events-end"
"""In the last event of a streamed list, which is short."""


class Watched(Connection):
    """The real connection, with a note of what comes over it and what it costs to take that in."""

    def __init__(self, api_client: client.ApiClient) -> None:
        super().__init__(api_client)
        self.listed: set[str] = set()
        """Paths whose objects are all known, and are only watched now."""
        self.taken_seconds: list[float] = []
        """Of the processor, from an event's bytes to the moment more is asked for: its effects are
        settled then."""

    @asynccontextmanager
    async def stream(
        self, path: str, *, query: Query, accept: str = JSON, deadline_seconds: float
    ) -> AsyncIterator[Chunks]:
        """Open a watch."""
        if "resourceVersion" in dict(query):
            self.listed.add(path)
        opened = super().stream(path, query=query, accept=accept, deadline_seconds=deadline_seconds)
        async with opened as chunks:
            yield _WatchedChunks(self, path, chunks)


class _WatchedChunks(Chunks):
    def __init__(self, connection: Watched, path: str, chunks: Chunks) -> None:
        self._connection = connection
        self._path = path
        self._chunks = chunks
        self._last = b""
        self._given_at = 0.0

    async def next(self, *, within_seconds: float) -> bytes:
        now = time.process_time()
        if self._last.startswith(_EVENT) and self._last.find(b"\n") == len(self._last) - 1:
            self._connection.taken_seconds.append(now - self._given_at)
        if _LIST_END in self._last[-len(_LIST_END) - 100 :]:
            self._connection.listed.add(self._path)
        self._last = await self._chunks.next(within_seconds=within_seconds)
        self._given_at = time.process_time()
        return self._last


class Pauses:
    """How long the event loop and the renewal of a lease were held up.

    What holds up the loop is counted in time of the processor, which other programs do not change.
    """

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._collection_began = 0.0
        self.clear()
        gc.callbacks.append(self._collected)

    def clear(self) -> None:
        """Begin again."""
        self.stall_seconds = self.renewal_seconds = self.collection_seconds = 0.0

    async def tick(self) -> None:
        """Measure the longest stretch in which nothing else ran."""
        before = time.process_time()
        while True:
            await asyncio.sleep(_TICK_SECONDS)
            now = time.process_time()
            self.stall_seconds = max(self.stall_seconds, now - before)
            before = now

    async def renew(self) -> None:
        """Measure the slowest of requests like those that renew a lease."""
        while True:
            began = time.perf_counter()
            await self._connection.request("GET", _LEASE, deadline_seconds=_DEADLINE_SECONDS)
            self.renewal_seconds = max(self.renewal_seconds, time.perf_counter() - began)
            await asyncio.sleep(_RENEWAL_SECONDS)

    def _collected(self, phase: str, _info: dict[str, int]) -> None:
        now = time.process_time()
        if phase == "start":
            self._collection_began = now
        else:
            self.collection_seconds = max(self.collection_seconds, now - self._collection_began)


class Phase(NamedTuple):
    """What one synchronisation cost."""

    seconds: float
    cpu_seconds: float
    longest_stall_ms: float
    """The longest that the loop ran nothing else."""
    slowest_renewal_ms: float
    """The slowest small request in that time."""
    longest_collection_ms: float
    """The longest garbage collection; part of some stall."""
    peak_mb: float
    """Resident memory of the process at its highest so far."""


async def _measure(port: int) -> dict[str, object]:
    connection = Watched(client.ApiClient(client.Configuration(f"http://127.0.0.1:{port}")))
    cluster = LiveCluster(
        Surroundings(connection, time.monotonic, lambda: datetime.now(UTC), Random(1)),
        Settings(),
        Metrics(CollectorRegistry(), version="bench"),
    )
    pauses = Pauses(connection)
    tasks = [asyncio.create_task(loop) for loop in cluster.loops()]
    measuring = [asyncio.create_task(pauses.tick()), asyncio.create_task(pauses.renew())]
    try:
        async with asyncio.timeout(_DEADLINE_SECONDS):
            paths = {kind.path for kind in kinds()}
            first = await _phase(pauses, lambda: not cluster.gaps(time.monotonic()))
            await _until(lambda: connection.listed >= paths)
            await asyncio.sleep(1)
            connection.listed.clear()
            expire = _post(connection, "/expire")
            again = await _phase(pauses, lambda: connection.listed >= paths, expire)
            await asyncio.sleep(1)
            change = _post(connection, f"/emit?path={_LONGHORN}/settings&form=changed&count=1")
            setting = await _phase(pauses, lambda: _has_doubled(cluster), change)
            for task in measuring:
                task.cancel()
            events = {name: await _events(connection, name) for name in _FORMS}
    finally:
        for task in (*tasks, *measuring):
            task.cancel()
        with suppress(asyncio.CancelledError):
            await asyncio.gather(*tasks, *measuring)
        await connection.close()
    phases = {"first": first, "again": again, "setting": setting}
    return {"events": events, **{name: phase._asdict() for name, phase in phases.items()}}


def _has_doubled(cluster: LiveCluster) -> bool:
    """Whether all nodes are worked out with the changed setting."""
    return all(
        space.limit_bytes
        == limit_bytes(space.disk.maximum_bytes, space.disk.reserved_bytes, DOUBLE_PERCENT)
        for node in cluster.view.spaces.values()
        for space in node.disks[:1]
    )


async def _phase(
    pauses: Pauses, done: Callable[[], bool], cause: Awaitable[None] | None = None
) -> Phase:
    pauses.clear()
    began, cpu_began = time.perf_counter(), time.process_time()
    if cause is not None:
        await cause
    await _until(done)
    seconds, cpu_seconds = time.perf_counter() - began, time.process_time() - cpu_began
    await asyncio.sleep(2 * _RENEWAL_SECONDS)  # what ended in a stall is noted after it
    return Phase(
        seconds=seconds,
        cpu_seconds=cpu_seconds,
        longest_stall_ms=1e3 * pauses.stall_seconds,
        slowest_renewal_ms=1e3 * pauses.renewal_seconds,
        longest_collection_ms=1e3 * pauses.collection_seconds,
        peak_mb=resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e6,
    )


async def _events(connection: Watched, name: str) -> dict[str, float | None]:
    """Have events sent; without figures of single ones if these arrive in pieces."""
    path, form = _FORMS[name]
    count = _LARGE_EVENTS if name in _LARGE else _EVENTS
    connection.taken_seconds.clear()
    began = time.process_time()
    await _post(connection, f"/emit?path={path}&form={form}&count={count}")
    await asyncio.sleep(0.5)  # for the last ones
    used, taken = time.process_time() - began, connection.taken_seconds
    return {
        "count": count if name in _LARGE else len(taken),
        "median_us": None if name in _LARGE else 1e6 * median(taken),
        "p99_us": None if name in _LARGE else 1e6 * quantiles(taken, n=100)[98],
        "cpu_us": 1e6 * used / count,
    }


async def _post(connection: Connection, path: str) -> None:
    await connection.request("POST", path, deadline_seconds=_DEADLINE_SECONDS)


async def _until(done: Callable[[], bool]) -> None:
    while not done():  # noqa: ASYNC110 (nothing tells when)
        await asyncio.sleep(0.005)


if __name__ == "__main__":
    pass_over_modules()
    with asyncio.Runner(loop_factory=uvicorn.Config("").get_loop_factory()) as runner:
        print(json.dumps(runner.run(_measure(int(sys.argv[1])))))
