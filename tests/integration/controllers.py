"""Instances of the controller of DiskSchedules on one loop and virtual time.

Each is a process of its own that can be killed, stopped, continued and told to end. It lives by
`ControllerInstance.run`; only its socket is left out. There is one node with one disk of 100 GiB;
sizes are in GiB.
"""

import asyncio
from datetime import timedelta
from random import Random

from app.config import CONTROLLER_NAME
from app.disk_schedule.instance import ControllerInstance
from app.disk_schedule.metrics import ControllerMetrics
from app.disk_schedule.settings import ControllerSettings
from app.process.surroundings import Surroundings
from tests.builders import GIB, document, node_document
from tests.fakes import Call, FakeApiServer, Object
from tests.integration.processes import EPOCH, LoopProcess, LoopProcesses
from tests.integration.rbac import of_the_controller
from tests.unit.app.disk_schedule.bench import DISK, KIND, NAMESPACE, PLURAL, sums_of

METRIC_PREFIX = "longhorn_scheduler_extender_disk_schedule_"


class ControllerProcess(LoopProcess):
    """One process in one pod."""

    def __init__(
        self, server: FakeApiServer, pod: str, *, random: Random, settings: ControllerSettings
    ) -> None:
        super().__init__(server, pod)
        ahead = random.uniform(0, 1e6)
        loop = asyncio.get_running_loop()
        self.instance = ControllerInstance(
            Surroundings(
                self._connection,
                lambda: loop.time() + ahead,
                lambda: EPOCH + timedelta(seconds=loop.time()),
                random,
            ),
            settings,
            metrics=ControllerMetrics(self.registry, version="1"),
            version="1",
        )
        self.run(self.instance.run(self._told_to_end, _wait_for), self.instance.app)

    @property
    def is_leading(self) -> bool:
        return not self.is_killed and self.instance.member.is_leading()

    def metric(self, name: str, **labels: str) -> float | None:
        """Return the value of a metric."""
        return self.registry.get_sample_value(METRIC_PREFIX + name, labels)


class Controllers(LoopProcesses[ControllerProcess]):
    """All processes of the controller, and an API server with one disk.

    Attributes:
        sums: What the disk held after each write of its status, in bytes.
    """

    def __init__(
        self, seed: int = 0, *, latency_seconds: float = 0.05, manage_objects: bool = False
    ) -> None:
        rules = of_the_controller(manage_objects=manage_objects)
        super().__init__(
            seed, rules, CONTROLLER_NAME, latency_seconds=latency_seconds, streaming_lists=False
        )
        self.server.add_resource(KIND)
        self.sums: list[int] = []
        self.server.observers.append(lambda _, change: self.sums.extend(sums_of(change)))
        self._manage_objects = manage_objects
        self.server.put(node_document())

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


async def _wait_for(stop: asyncio.Event) -> None:
    """Do what the server does, without a socket."""
    await stop.wait()
