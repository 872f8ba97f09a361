"""Draws the dashboard of a healthy cluster: ``python -m tests.monitoring.healthy FILE``.

Three instances run for a minute, and pods come and go: one after another, in bursts, some whose
answer waits for the node of another pod, and some for which there is room only when another pod is
gone. Besides, two controllers of DiskSchedules run, and replicas ask for room on disks.
"""

import argparse
import asyncio
import shutil
import time
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory

from monitoring.panels import Query
from monitoring.picture import draw
from tests.fakes import FakeApiServer
from tests.monitoring.cluster import KNOWN_SECONDS, ROOMS, Cluster
from tests.monitoring.disks import lend
from tests.monitoring.installation import installed, rights
from tests.monitoring.prometheus import Sample
from tests.monitoring.work import in_background, repeat, schedule, work

_SECONDS = 60.0
_WARM_UP_SECONDS = 10.0
"""Until all instances are scraped, and rates look back on nothing but work."""
_BURST = 5


async def record(folder: Path) -> dict[Query, list[Sample]]:
    """Return the series of each dashboard query.

    Raises:
        AssertionError: An alert fired, so the cluster was not healthy.
    """
    server = FakeApiServer(Random(0), bookmark_seconds=0.5)
    server.authorize = rights()
    async with installed(folder, server, {}, {}, {}, controllers=2) as installation:
        cluster, disks, instances, _, prometheus = installation
        await installation.start(*instances)
        await installation.start_controllers()
        async with (
            in_background(work(cluster)),
            in_background(lend(disks)),
            in_background(repeat(6.0, lambda number: _burst(cluster, number))),
            in_background(repeat(2.0, lambda number: _follow(cluster, number))),
            in_background(repeat(15.0, lambda number: _make_room(cluster, number))),
        ):
            await asyncio.sleep(_WARM_UP_SECONDS)
            began_at = time.time()
            async with in_background(prometheus.watch()):
                await asyncio.sleep(_SECONDS)
            assert not prometheus.fired, f"not healthy: {sorted(prometheus.fired)}"
            return await prometheus.panels(began_at, time.time())


async def _burst(cluster: Cluster, number: int) -> None:
    """Have several pods asked about before the first of them runs."""
    pods = [f"burst-{number}-{each}" for each in range(_BURST)]
    for pod in pods:
        await cluster.create(pod, 8, 5)
    for pod in pods:
        await cluster.ask(pod, *ROOMS)
        await cluster.score(pod, *ROOMS)
    async with asyncio.TaskGroup() as tasks:
        for each, pod in enumerate(pods):
            tasks.create_task(_run(cluster, pod, ROOMS[each % len(ROOMS)], claims=2))


async def _follow(cluster: Cluster, number: int) -> None:
    """Have an answer wait for the node of another pod, and then be the other node."""
    first, second = f"first-{number}", f"second-{number}"
    for pod in (first, second):
        await cluster.create(pod, 60)
    await cluster.ask(first, "slow-1", "slow-2")
    await cluster.score(first, "slow-1", "slow-2")
    async with asyncio.TaskGroup() as tasks:
        answer = tasks.create_task(cluster.ask(second, "slow-1", "slow-2"))
        await asyncio.sleep(KNOWN_SECONDS)
        tasks.create_task(_run(cluster, first, "slow-1"))
        assert (await answer)["NodeNames"] == ["slow-2"]
        await _run(cluster, second, "slow-2")


async def _make_room(cluster: Cluster, number: int) -> None:
    """Have a pod find no room until another one is gone."""
    tenant, successor = f"tenant-{number}", f"successor-{number}"
    await cluster.create(tenant, 60)
    await cluster.ask(tenant, "sleep-1")
    await schedule(cluster, tenant, "sleep-1")
    await cluster.create(successor, 60)
    assert not (await cluster.ask(successor, "sleep-1"))["NodeNames"]
    await asyncio.sleep(1)
    cluster.remove(tenant, f"{tenant}-0")
    await asyncio.sleep(1)
    assert (await cluster.ask(successor, "sleep-1"))["NodeNames"]
    await _run(cluster, successor, "sleep-1")


async def _run(cluster: Cluster, pod: str, node: str, *, claims: int = 1) -> None:
    """Have a pod that was asked about run on a node, and end."""
    await schedule(cluster, pod, node, claims=claims)
    cluster.remove(pod, *(f"{pod}-{number}" for number in range(claims)))


def main() -> None:
    """Draw the picture."""
    parser = argparse.ArgumentParser(prog="python -m tests.monitoring.healthy", description=__doc__)
    parser.add_argument("file", type=Path, help="the PNG that is written, such as dashboard.png")
    arguments = parser.parse_args()
    if shutil.which("prometheus") is None:
        parser.error("prometheus not found: install prometheus")
    with TemporaryDirectory() as folder:
        draw(asyncio.run(record(Path(folder))), arguments.file)


if __name__ == "__main__":
    main()
