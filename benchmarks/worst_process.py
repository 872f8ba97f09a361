"""A real process of the service on its worst day, and an API server in memory that it follows."""

import asyncio
import json
import sys
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from datetime import datetime
from itertools import count
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import NamedTuple

from benchmarks.clusters import GIB, Object, node_name
from benchmarks.templates import NAMESPACE
from benchmarks.worst_cluster import COPIES, due_volumes
from tests.fakes import FakeApiServer, over_http
from tests.fakes.installed import config_map, instance_pod, service
from tests.pod_process import PodProcess, instance_process

MIB = 2**20
_YOUNG_SECONDS = 40.0
"""Due volumes are replaced by others before they are as old as this. What is due and not placed for
a minute though it would fit is left out of account."""
_REPORT_SECONDS = 30.0
"""A node that changes all the time does so this often."""


class Due(NamedTuple):
    """Replicas without a place: of so many new volumes, with three each."""

    volumes: int
    size_gib: int = 1
    is_distinct: bool = True

    @property
    def replicas(self) -> int:
        """How many there are."""
        return self.volumes * COPIES

    def objects(self, *, first: int = 0, volumes: int | None = None) -> list[Object]:
        """Return all of it; or so many volumes, from the one with number *first* on."""
        replicas = (self.volumes if volumes is None else volumes) * COPIES
        return due_volumes(replicas, self.size_gib * GIB, distinct=self.is_distinct, first=first)


class Glance(NamedTuple):
    """One answer that the glancer got."""

    path: str
    at: float
    seconds: float
    is_good: bool


class Glances:
    """What the glancer saw so far."""

    def __init__(self, file: Path) -> None:
        self._file = file

    def of(self, path: str, since: float) -> list[Glance]:
        """Return the answers of *path* asked for since a time."""
        lines = self._file.read_text().splitlines()
        found = (Glance(*json.loads(line)) for line in lines if line.endswith("]"))
        return [each for each in found if each.path == path and each.at >= since]


@asynccontextmanager
async def running(
    items: Iterable[Object], **settings: str
) -> AsyncIterator[tuple[FakeApiServer, PodProcess]]:
    """Run an instance on a cluster with these objects until the end of the block."""
    server = FakeApiServer(Random(1))
    for each in (*items, service(), config_map(), instance_pod(0)):
        server.put(each)
    with TemporaryDirectory() as folder:
        async with over_http(server) as api_port:
            instance = instance_process(Path(folder), 0, api_port, **settings)
            instance.start()
            try:
                yield server, instance
            finally:
                instance.kill()


@asynccontextmanager
async def glancing(instance: PodProcess, nodes: int) -> AsyncIterator[Glances]:
    """Look at an instance meanwhile, with a process of its own."""
    with TemporaryDirectory() as folder:
        file = Path(folder) / "glances"
        with file.open("wb") as output:
            arguments = (str(instance.port), str(nodes))
            process = await asyncio.create_subprocess_exec(
                *(sys.executable, "-m", "benchmarks.glancer", *arguments), stdout=output
            )
        try:
            yield Glances(file)
        finally:
            process.kill()
            await process.wait()


@asynccontextmanager
async def changing(server: FakeApiServer, nodes: int, due: Due) -> AsyncIterator[None]:
    """Meanwhile have the nodes report other figures, and replace the volumes that are due."""
    async with asyncio.TaskGroup() as tasks:
        changes = (_report(server, nodes), _replace(server, due))
        loops = [tasks.create_task(each) for each in changes]
        yield
        for each in loops:
            each.cancel()


async def event(instance: PodProcess, name: str, *, within_seconds: float) -> datetime | None:
    """Wait until the instance has logged an event; return when it first did, None if not so."""
    until = asyncio.get_running_loop().time() + within_seconds
    while asyncio.get_running_loop().time() < until:
        for line in instance.events():
            if line["event"] == name:
                return datetime.fromisoformat(line["timestamp"])
        await asyncio.sleep(0.2)
    return None


class Used(NamedTuple):
    """What a process has had of the processor."""

    ran_seconds: float
    waited_seconds: float
    """It could have run, and others did."""


def used(instance: PodProcess) -> Used:
    """Return what the main thread of an instance has had of the processor: its event loop."""
    ran, waited, _ = Path(f"/proc/{instance.process.pid}/schedstat").read_text().split()
    return Used(int(ran) / 1e9, int(waited) / 1e9)


async def _report(server: FakeApiServer, nodes: int) -> None:
    random = Random(1)
    while True:
        node = server.get("nodes.longhorn.io", node_name(random.randrange(nodes)), NAMESPACE)
        assert node is not None
        for disk in node["status"]["diskStatus"].values():
            disk["storageAvailable"] -= MIB
        server.put(node)
        await asyncio.sleep(_REPORT_SECONDS / nodes)


async def _replace(server: FakeApiServer, due: Due) -> None:
    """Replace one volume after another, the oldest first."""
    for number in count():
        await asyncio.sleep(_YOUNG_SECONDS / due.volumes)
        for each in due.objects(first=number, volumes=1):
            plural = f"{each['kind'].lower()}s.longhorn.io"
            server.delete(plural, each["metadata"]["name"], NAMESPACE)
        for each in due.objects(first=number + due.volumes, volumes=1):
            server.put(each)
