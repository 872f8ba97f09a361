"""Measures the controller of DiskSchedules on a real API server: passes over all disks, requests
until they are granted, and memory.

The controller is a process of its own. It shares the cores with etcd, kube-apiserver and those who
ask. It needs the programs of the control plane, as `make e2e` does.
"""

import argparse
import asyncio
import re
import time
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from random import Random
from statistics import median, quantiles
from tempfile import TemporaryDirectory
from typing import NamedTuple

import httpx
from prometheus_client.parser import text_string_to_metric_families

from app.config import CONTROLLER_NAME
from benchmarks.disk_cluster import Disk, DiskCluster
from tests.actors.api import Api
from tests.e2e.control_plane import ControlPlane, running
from tests.e2e.users import ADMIN
from tests.pod_process import PodProcess

SEED = 1
ALONE = 300
CROWDS, CROWD = 3, 200
"""Times, and how many ask at once for room on as many disks."""
QUEUES, QUEUE = 15, 20
"""Times, and how many ask at once for room on one disk."""
_OF_CONTROLLER = "longhorn_scheduler_extender_disk_schedule_"
_OF_LONGHORN = re.compile(r'^apiserver_request_total\{.*group="longhorn\.io".*\} (\S+)$', re.M)
_GLANCE_SECONDS, _SETTLED_SECONDS, _PATIENCE_SECONDS = 1.0, 2.0, 300.0


class Spent(NamedTuple):
    """What was done until some moment."""

    written: float
    """Passes that changed something."""
    unchanged: float
    conflicts: float
    requests: float
    """Of the controller, for Longhorn's kinds."""
    cpu_seconds: float

    @property
    def passes(self) -> float:
        """Those that were made to their end."""
        return self.written + self.unchanged

    def since(self, before: "Spent") -> "Spent":
        """Return what was done since another moment."""
        return Spent(*(new - old for new, old in zip(self, before, strict=True)))


class Controller:
    """The process."""

    def __init__(self, folder: Path, kubeconfig: Path) -> None:
        self._folder = folder
        self._kubeconfig = kubeconfig
        self._pod: PodProcess | None = None

    async def start(self) -> None:
        """Start it, or start it again after its end."""
        if self._pod is None:
            self._pod = PodProcess(
                CONTROLLER_NAME,
                ["disk-schedule-controller"],
                log=self._folder / "controller.log",
                kubeconfig=self._kubeconfig,
                settings={},
            )
        self._pod.start()

    async def stop(self) -> None:
        """End it, if it runs; it gives its lease back."""
        if self._pod is not None and self._pod.process.is_running:
            await self._pod.process.stop()

    async def metrics(self) -> dict[str, float]:
        """Return its metrics by name and first label; none while it does not serve them."""
        if self._pod is None or not self._pod.process.is_running:
            return {}
        try:
            text = await self._pod.get("/metrics")
        except httpx.TransportError:
            return {}
        return {
            " ".join([sample.name.removeprefix(_OF_CONTROLLER), *sample.labels.values()]): (
                sample.value
            )
            for family in text_string_to_metric_families(text)
            for sample in family.samples
        }

    async def scrape_seconds(self) -> float:
        """Return how long the answer to a scrape takes."""
        assert self._pod is not None
        began = time.perf_counter()
        await self._pod.get("/metrics")
        return time.perf_counter() - began

    def memory_mb(self) -> tuple[float, float]:
        """Return the memory that is resident, and that was at most."""
        assert self._pod is not None
        process = self._pod.process
        return process.resident_bytes / 1e6, process.peak_bytes / 1e6


class Bench:
    """The rows of the tables."""

    def __init__(self, plane: ControlPlane, cluster: DiskCluster, controller: Controller) -> None:
        self._plane = plane
        self._cluster = cluster
        self._controller = controller
        self._random = Random(SEED)

    async def passes(self, name: str, act: Callable[[], Awaitable[None]]) -> None:
        """Measure a pass over each disk, from what brings it about."""
        before = await self._spent()
        began = time.perf_counter()
        await act()
        ended = await self._passed(before.passes + len(self._cluster.disks))
        spent = (await self._spent()).since(before)
        print(
            f"{name:30}{spent.written:9.0f}{spent.unchanged:11.0f}{spent.requests:10.0f}"
            f"{ended - began:9.2f}{spent.cpu_seconds:8.2f}",
            flush=True,
        )

    async def requests(self, name: str, crowds: Sequence[Sequence[Disk]]) -> None:
        """Measure requests until they are granted; those of a crowd are sent at once."""
        made = [
            await self._cluster.requests(f"{name.replace(' ', '-')}-{number}", crowd)
            for number, crowd in enumerate(crowds)
        ]
        await asyncio.sleep(_SETTLED_SECONDS)
        before = await self._spent()
        took = [
            each
            for crowd in made
            for each in await asyncio.gather(*(self._cluster.ask(request) for request in crowd))
        ]
        spent = (await self._spent()).since(before)
        taken, granted = ([1e3 * seconds for seconds in each] for each in zip(*took, strict=True))
        print(
            f"{name:30}{len(took):6}{median(taken):10.1f}{median(granted):9.1f}"
            f"{quantiles(granted, n=100)[98]:8.1f}{spent.requests / len(took):10.2f}"
            f"{spent.conflicts / len(took):11.2f}{1e3 * spent.cpu_seconds / len(took):8.2f}",
            flush=True,
        )

    def draw(self, count: int) -> list[Disk]:
        """Draw so many disks at random."""
        disks = self._cluster.disks
        return self._random.sample(disks, min(count, len(disks)))

    async def _passed(self, passes: float) -> float:
        """Wait until there were so many and no more are made; return when the last one ended."""
        async with asyncio.timeout(_PATIENCE_SECONDS):
            while True:
                metrics = await self._controller.metrics()
                age_seconds = metrics.get("last_pass_age_seconds", 0.0)
                if _passes(metrics).passes >= passes and age_seconds > _SETTLED_SECONDS:
                    return time.perf_counter() - age_seconds
                await asyncio.sleep(_GLANCE_SECONDS)

    async def _spent(self) -> Spent:
        passes = _passes(await self._controller.metrics())
        requests = await self._requests() - self._cluster.sent
        return passes._replace(requests=requests)

    async def _requests(self) -> float:
        """Return how many requests for Longhorn's kinds the API server has answered."""
        async with await self._plane.client() as client:
            answer = await client.call_api(
                "/metrics", "GET", auth_settings=["BearerToken"], _preload_content=False
            )
            text = (await answer.read()).decode()
        return sum(map(float, _OF_LONGHORN.findall(text)))


def _passes(metrics: dict[str, float]) -> Spent:
    written, unchanged, conflicts = (
        metrics.get(f"passes_total {each}", 0.0) for each in ("written", "unchanged", "conflict")
    )
    cpu_seconds = metrics.get("process_cpu_seconds_total", 0.0)
    return Spent(written, unchanged, conflicts, requests=0.0, cpu_seconds=cpu_seconds)


async def _measure(plane: ControlPlane, disks: int, replicas: int) -> None:
    controller = Controller(plane.folder, plane.users.kubeconfig(ADMIN))
    async with await plane.client() as client:
        cluster = DiskCluster(Api(client), disks)
        began = time.perf_counter()
        await cluster.fill(replicas)
        print(f"{disks} disks, {replicas} replicas (made in {time.perf_counter() - began:.0f} s)")
        bench = Bench(plane, cluster, controller)
        try:
            await _rows(bench, cluster, controller)
        finally:
            await controller.stop()


async def _rows(bench: Bench, cluster: DiskCluster, controller: Controller) -> None:
    print(
        f"\n{'passes':30}{'written':>9}{'unchanged':>11}{'requests':>10}{'seconds':>9}{'cpu s':>8}"
    )
    await bench.passes("start, take all over", controller.start)
    await bench.passes("another over-provisioning", lambda: cluster.set_percent(110))
    await bench.passes("all nodes report", cluster.report)
    await controller.stop()
    await bench.passes("start again", controller.start)
    print(
        f"\n{'requests':30}{'count':>6}{'taken ms':>10}{'granted':>9}{'p99':>8}{'requests':>10}"
        f"{'conflicts':>11}{'cpu ms':>8}"
    )
    async with cluster.followed():
        await bench.requests("one after another", [[disk] for disk in bench.draw(ALONE)])
        crowds = [bench.draw(CROWD) for _ in range(CROWDS)]
        await bench.requests(f"{len(crowds[0])} at once on as many disks", crowds)
        await bench.requests(
            f"{QUEUE} at once on one disk", [QUEUE * bench.draw(1) for _ in range(QUEUES)]
        )
    now_mb, most_mb = controller.memory_mb()
    took_ms = 1e3 * await controller.scrape_seconds()
    print(f"\nmemory {now_mb:.0f} MB, at most {most_mb:.0f} MB; /metrics in {took_ms:.0f} ms")


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.bench_disk_schedule", description=__doc__
    )
    parser.add_argument("--disks", type=int, default=1_000, help="default: %(default)s")
    parser.add_argument("--replicas", type=int, default=20_000, help="default: %(default)s")
    arguments = parser.parse_args()
    with TemporaryDirectory() as folder, running(Path(folder), with_service=False) as plane:
        asyncio.run(_measure(plane, arguments.disks, arguments.replicas))


if __name__ == "__main__":
    main()
