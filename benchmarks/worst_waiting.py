"""What pods that wait cost a real process: memory, the processor, and time until one is woken."""

import asyncio
import contextlib
import json
import time
from collections.abc import Callable, Iterable
from random import Random
from typing import NamedTuple

import httpx

from benchmarks.clusters import GIB, Object, cluster, node_name, request
from benchmarks.templates import NAMESPACE
from benchmarks.worst_cluster import DISKS, SEED, waiting_pods
from benchmarks.worst_lead import START_SECONDS
from benchmarks.worst_process import MIB, Due, changing, event, running, used
from tests.fakes import Change, FakeApiServer, Resource
from tests.pod_process import PodProcess

NODES, PODS = 5_000, 1_000
"""Of the figures of memory."""
_WAKING_NODES = 1_000
_WARM_UP = 50
_LEFT_OUT = 50
"""A pod with candidates of its own has all nodes but so many."""
_WAITING_GIB, _FITS_GIB, _LARGE_GIB = 3_000, 1_200, 2_000
"""What the pods that wait ask for, what the one asks for that is to be woken, and the disk that
there is for it in the end: also if all that is due comes there."""
_SHARE_SECONDS = 10.0
_LONG_LEASE = {
    "lease_duration_seconds": "300",
    "renew_deadline_seconds": "250",
}
"""An instance that loses its lease forgets who waits. Whether it does is measured by itself."""


class Crowd(NamedTuple):
    """Pods that wait on 1,000 nodes, beside replicas that are due."""

    waiting: int
    due: Due


CROWDS = (Crowd(0, Due(67)), Crowd(5_000, Due(67)), Crowd(1_000, Due(334)), Crowd(5_000, Due(334)))


def memory() -> None:
    """Print what a waiting pod takes of memory."""
    print(f"\nMemory of a pod that waits, {NODES:,} nodes, {PODS:,} pods: kB\n")
    print(f"{'candidates':12}{'kB':>9}{'MiB':>9}")
    asyncio.run(_memory())


def waking(limit_seconds: float) -> None:
    """Print what it costs to look after waiting pods, and how soon one is woken that fits."""
    print("\nWaking on 1,000 nodes that change all the time: shares of ten seconds\n")
    print(f"{'waiting':>8}{'due':>6}{'runs %':>8}{'wants %':>8}{'woken s':>9}")
    for crowd in CROWDS:
        asyncio.run(_waking(crowd, limit_seconds))


async def _memory() -> None:
    pods = waiting_pods(2 * PODS + _WARM_UP, _WAITING_GIB)
    random, names = Random(SEED), [node_name(number) for number in range(NODES)]

    def rotated() -> list[str]:
        """As kube-scheduler asks: all nodes, each time from another one on."""
        start = random.randrange(NODES)
        return names[start:] + names[:start]

    def some() -> list[str]:
        return sorted(random.sample(names, NODES - _LEFT_OUT))

    items = cluster(NODES, DISKS, pods, seed=SEED)["items"]
    async with running(items, **_LONG_LEASE) as (_, instance):
        await _leads(instance)
        await _reject(instance, pods[:_WARM_UP], rotated)
        for name, candidates, first in (("equal", rotated, 0), ("different", some, PODS)):
            before = instance.process.resident_bytes / MIB
            start = _WARM_UP + first
            await _reject(instance, pods[start : start + PODS], candidates)
            after = instance.process.resident_bytes / MIB
            print(f"{name:12}{1024 * (after - before) / PODS:9.1f}{after:9.0f}", flush=True)


async def _waking(crowd: Crowd, limit_seconds: float) -> None:
    pods, [fits] = waiting_pods(crowd.waiting, _WAITING_GIB), waiting_pods(1, _FITS_GIB)
    fits["metadata"]["name"] = "fits"
    items = cluster(_WAKING_NODES, DISKS, [*pods, fits], seed=SEED)["items"]
    names = [node_name(number) for number in range(_WAKING_NODES)]
    async with running(items, **_LONG_LEASE) as (server, instance):
        await _leads(instance)
        await _reject(instance, pods, lambda: names)
        fits = server.put(fits)  # not before: a new leader adopts the pods that there are
        await _reject(instance, [fits], lambda: names)
        for each in crowd.due.objects():
            server.put(each)
        async with changing(server, _WAKING_NODES, crowd.due):
            runs, wants = await _shares(instance)
            woken = await _woken_seconds(server, limit_seconds)
    print(
        f"{crowd.waiting:8}{crowd.due.replicas:6}{100 * runs:8.0f}{100 * wants:8.0f}"
        + (f"{f'> {limit_seconds:g}':>9}" if woken is None else f"{woken:9.1f}"),
        flush=True,
    )


async def _leads(instance: PodProcess) -> None:
    known = await event(instance, "holds.known", within_seconds=START_SECONDS)
    assert known is not None, "nobody leads"


async def _reject(
    instance: PodProcess,
    pods: Iterable[Object],
    candidates: Callable[[], list[str]],
) -> None:
    """Ask about pods that no node has room for."""
    async with httpx.AsyncClient(
        base_url=f"http://127.0.0.1:{instance.port}", timeout=60
    ) as client:
        for each in pods:
            names = json.dumps(candidates(), separators=(",", ":")).encode()
            body = request(each, b'"Nodes":null,"NodeNames":' + names)
            answer = (await client.post("/filter", content=body)).json()
            assert (answer["Error"], answer["NodeNames"]) == ("", []), answer


async def _shares(instance: PodProcess) -> tuple[float, float]:
    """Return the share of the time that an instance runs while nobody asks, and runs or waits to.

    The second is the first where nobody else wants the cores.
    """
    await asyncio.sleep(2)
    began, before = time.monotonic(), used(instance)
    await asyncio.sleep(_SHARE_SECONDS)
    seconds, after = time.monotonic() - began, used(instance)
    ran = (after.ran_seconds - before.ran_seconds) / seconds
    return ran, ran + (after.waited_seconds - before.waited_seconds) / seconds


async def _woken_seconds(server: FakeApiServer, limit_seconds: float) -> float | None:
    """Make room on a node; return how long it takes until the pod is woken that fits there."""
    woken = asyncio.Event()

    def seen(resource: Resource, _change: Change) -> None:
        if resource.plural == "pods":
            woken.set()

    node = server.get("nodes.longhorn.io", node_name(17), NAMESPACE)
    assert node is not None
    node["status"]["diskStatus"]["disk-0"] |= {
        "storageMaximum": _LARGE_GIB * GIB,
        "storageAvailable": _LARGE_GIB * GIB,
        "storageScheduled": 0,
    }
    server.observers.append(seen)
    began = time.monotonic()
    server.put(node)
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(limit_seconds):
            await woken.wait()
            return time.monotonic() - began
    return None
