"""Instances of the controller of DiskSchedules on one loop and virtual time.

Each is a process of its own that can be killed, stopped, continued and told to end. It lives by
`ControllerInstance.run`; only its socket is left out. There is one node with one disk of 100 GiB;
sizes are in GiB.
"""

import asyncio
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from random import Random
from types import TracebackType
from typing import Any, Self

import httpx
from prometheus_client import CollectorRegistry

from app.config import CONTROLLER_NAME
from app.disk_schedule.instance import ControllerInstance
from app.disk_schedule.metrics import ControllerMetrics
from app.disk_schedule.settings import ControllerSettings
from app.kube.connection import Connection
from app.process.surroundings import Surroundings
from tests.builders import GIB, document, node_document
from tests.fakes import Call, FakeApiServer, Object
from tests.integration.processes import Gate, Line, start_process
from tests.integration.rbac import Rules, of_the_controller
from tests.unit.app.disk_schedule.bench import DISK, KIND, NAMESPACE, PLURAL, sums_of

EPOCH = datetime(2026, 1, 1, tzinfo=UTC)
LEASES = "leases.coordination.k8s.io"
GLANCE_SECONDS = 0.05
"""How often what goes on is looked at."""
METRIC_PREFIX = "longhorn_scheduler_extender_disk_schedule_"


class ControllerProcess:
    """One process in one pod."""

    def __init__(
        self, server: FakeApiServer, pod: str, *, random: Random, settings: ControllerSettings
    ) -> None:
        self.pod = pod
        self.is_killed = False
        ahead = random.uniform(0, 1e6)
        self._gate = Gate()
        self._told_to_end = asyncio.Event()
        client = server.client(pod)
        self._line = Line(client)
        self._connection = Connection(client)
        self._registry = CollectorRegistry()
        loop = asyncio.get_running_loop()
        self.instance = ControllerInstance(
            Surroundings(
                self._connection,
                lambda: loop.time() + ahead,
                lambda: EPOCH + timedelta(seconds=loop.time()),
                random,
            ),
            settings,
            metrics=ControllerMetrics(self._registry, version="1"),
            version="1",
        )
        transport = httpx.ASGITransport(app=self.instance.app)
        self._http = httpx.AsyncClient(transport=transport, base_url="http://controller")
        self.ended = start_process(self._gate, self.instance.run(self._told_to_end, _wait_for))

    @property
    def is_leading(self) -> bool:
        """Whether it would act, if it got to act at this moment."""
        return not self.is_killed and self.instance.member.is_leading()

    def terminate(self) -> None:
        """Send SIGTERM."""
        self._told_to_end.set()

    def kill(self) -> None:
        """Send SIGKILL."""
        self.is_killed = True
        self._gate.shut()

    def freeze(self) -> None:
        """Send SIGSTOP."""
        self._gate.shut()

    def resume(self) -> None:
        """Send SIGCONT."""
        self._gate.open()

    async def get(self, path: str) -> httpx.Response:
        """Send a request."""
        return await self._http.get(path)

    async def unready(self) -> str:
        """Return what /readyz has against this instance, "" if nothing."""
        response = await self.get("/readyz")
        return "" if response.status_code == 200 else response.text

    def metric(self, name: str, **labels: str) -> float | None:
        """Return the value of a metric."""
        return self._registry.get_sample_value(METRIC_PREFIX + name, labels)

    async def discard(self) -> None:
        """End whatever is left; for the end of a test. Raises what the process failed with."""
        failed = self.ended.done()
        await self._line.cut()
        self.is_killed = True
        self._gate.open()
        self.ended.cancel()
        await asyncio.wait([self.ended])
        await self._http.aclose()
        if failed:
            self.ended.result()


class Controllers:
    """All processes of the controller, and an API server with one disk.

    Attributes:
        sums: What the disk held after each write of its status, in bytes.
        refused: Calls that the shipped rules do not allow; there must be none at the end.
    """

    def __init__(
        self, seed: int = 0, *, latency_seconds: float = 0.05, manage_objects: bool = False
    ) -> None:
        self.random = Random(seed)
        self.server = FakeApiServer(Random(self.random.random()), streaming_lists=False)
        self.server.add_resource(KIND)
        self.server.latency = lambda _: (
            self.random.uniform(0, latency_seconds / 2),
            self.random.uniform(0, latency_seconds / 2),
        )
        self.server.authorize = self._authorize
        self.rules: Rules = of_the_controller(NAMESPACE, manage_objects=manage_objects)
        self.refused: list[Call] = []
        self.sums: list[int] = []
        self.server.observers.append(lambda _, change: self.sums.extend(sums_of(change)))
        self.all: list[ControllerProcess] = []
        self._manage_objects = manage_objects
        self.server.put(node_document())

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        for process in self.all:
            await process.discard()
        assert self.refused == []

    def start(self, number: int) -> ControllerProcess:
        """Start a process in a pod."""
        pod = f"controller-{number}"
        settings = ControllerSettings(
            pod_name=pod, node_name=f"node-{number}", manage_objects=self._manage_objects
        )
        random = Random(self.random.random())
        process = ControllerProcess(self.server, pod, random=random, settings=settings)
        self.all.append(process)
        return process

    async def start_all(self, count: int = 2) -> list[ControllerProcess]:
        """Start processes and wait until one leads and all are ready."""
        processes = [self.start(number) for number in range(count)]
        await self.until(lambda: self.leaders, within=10)
        for process in processes:
            assert await process.unready() == ""
        return processes

    @property
    def leaders(self) -> list[ControllerProcess]:
        return [each for each in self.all if each.is_leading]

    @property
    def leader(self) -> ControllerProcess:
        """The only one that leads."""
        [leader] = self.leaders
        return leader

    @property
    def holder(self) -> str:
        """Who holds the lease, by the API server."""
        lease = self.server.get(LEASES, CONTROLLER_NAME, NAMESPACE)
        return str(lease["spec"].get("holderIdentity", "")) if lease else ""

    def object(self, name: str = DISK) -> Object | None:
        """Return the DiskSchedule of a disk."""
        return self.server.get(PLURAL, name, NAMESPACE)

    def ask(self, **sizes: int | None) -> None:
        """Ask for room for replicas, which are made; None takes a requirement back."""
        stored = self.object()
        assert stored is not None
        for name, size in sizes.items():
            if size is None:
                del stored["spec"]["replicas"][name]
            else:
                self.server.put(document("Replica", name, spec={"volumeName": "vol"}))
                stored["spec"]["replicas"][name] = size * GIB
        self.server.put(stored)

    def entries(self) -> dict[str, int]:
        """Return what each replica holds, in GiB; those that are refused have less than nothing."""
        stored = self.object()
        found = ((stored or {}).get("status") or {}).get("replicas") or {}
        return {
            name: each["scheduledSize"] // GIB if each["state"] == "scheduled" else -1
            for name, each in found.items()
        }

    def writes_of(self, process: ControllerProcess) -> list[Call]:
        """Return what a process has sent to change DiskSchedules."""
        return [
            call
            for call in self.server.calls
            if call.client == process.pod
            and call.resource.startswith("diskschedules")
            and call.verb in ("create", "patch", "delete")
        ]

    async def until(self, condition: Callable[[], Any], *, within: float) -> float:
        """Wait for *condition*; return how long it took."""
        loop = asyncio.get_running_loop()
        began = loop.time()
        while not condition():
            took = loop.time() - began
            assert took < within, f"not after {took:.2f} s: {self.object()}"
            await asyncio.sleep(GLANCE_SECONDS)
        return loop.time() - began

    async def always(self, condition: Callable[[], Any], *, seconds: float) -> None:
        """Watch *condition* hold for a while."""
        loop = asyncio.get_running_loop()
        began = loop.time()
        while loop.time() - began < seconds:
            assert condition(), f"not at {loop.time() - began:.2f} s"
            await asyncio.sleep(GLANCE_SECONDS)

    def _authorize(self, call: Call) -> bool:
        allowed = self.rules.allow(call)
        if not allowed:
            self.refused.append(call)
        return allowed


async def _wait_for(stop: asyncio.Event) -> None:
    """Do what the server does, without a socket."""
    await stop.wait()
