"""What goes on in a cluster while nothing is wrong."""

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from itertools import count
from typing import Any

from tests.monitoring.cluster import KNOWN_SECONDS, ROOMS, Cluster


async def work(cluster: Cluster) -> None:
    """Have pods scheduled, run and deleted, one after another, until cancelled."""
    for number in count():
        pod, node = f"web-{number}", ROOMS[number % len(ROOMS)]
        await cluster.create(pod, 1)
        answer = await cluster.ask(pod, *ROOMS)
        if answer["Error"]:
            await asyncio.sleep(0.3)
        else:
            await cluster.score(pod, *ROOMS)
            await schedule(cluster, pod, node)
            await cluster.ask(pod, *ROOMS)  # as if it had been restarted
            await _run_without_claims(cluster, f"{pod}-without")
        cluster.remove(pod, f"{pod}-0")


async def schedule(cluster: Cluster, pod: str, node: str, *, claims: int = 1) -> None:
    """Have a pod, which was asked about, go to a node and use its volumes there."""
    await asyncio.sleep(0.01)
    cluster.nominate(pod, node)
    await asyncio.sleep(0.05)
    cluster.bind(pod, node)
    await asyncio.sleep(0.1)
    for number in range(claims):
        cluster.place(f"{pod}-{number}", node)
    await asyncio.sleep(KNOWN_SECONDS)
    for number in range(claims):
        cluster.attach(f"{pod}-{number}", node)
    await asyncio.sleep(KNOWN_SECONDS)


async def _run_without_claims(cluster: Cluster, pod: str) -> None:
    await cluster.create(pod)
    await cluster.ask(pod, *ROOMS)
    cluster.remove(pod)


async def repeat(seconds: float, act: Callable[[int], Coroutine[Any, Any, None]]) -> None:
    """Do something again and again, with a pause after each time; it gets the number of it."""
    for number in count():
        await act(number)
        await asyncio.sleep(seconds)


@asynccontextmanager
async def in_background(work: Coroutine[Any, Any, None]) -> AsyncIterator[None]:
    """Do something until the end of the block; what fails there fails here."""
    async with asyncio.TaskGroup() as tasks:
        task = tasks.create_task(work)
        yield
        task.cancel()
