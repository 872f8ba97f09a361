"""A cluster by a plan: the API server, our service, kube-scheduler, Longhorn and the rest of it."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable, Coroutine, Mapping
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from random import Random
from typing import Any

from app.config import SILENCE_SECONDS
from tests.actors import api as kinds
from tests.actors.api import Api, Kind, Object
from tests.actors.binder import Binder
from tests.actors.granting import Granting
from tests.actors.kubelet import Kubelets
from tests.actors.longhorn import (
    DRIVER,
    ENGINE_IMAGE,
    MANAGER_IMAGE,
    NAMESPACE,
    Delays,
    DiskSchedules,
    Longhorn,
    csi_node,
    engine_image,
    instance_manager,
    setting,
)
from tests.actors.pod_collector import PodCollector
from tests.actors.provisioner import Provisioner, ResourceExhaustedError
from tests.actors.scheduler import Event, Scheduler
from tests.fakes import Call
from tests.fakes.resources import DISK_SCHEDULES
from tests.simulation.plan import Plan, live_settings, longhorn_nodes, settings, storage_classes
from tests.simulation.service import Service
from tests.simulation.trace import Trace
from tests.simulation.truth import Truth

EPOCH = datetime(2025, 12, 31, 23, tzinfo=UTC)
"""By Longhorn's clock. Those of instances are an hour ahead, so that none of them thinks that
Longhorn still waits for a lost replica when it does not."""
START_SECONDS = 20.0
END_SECONDS = (0.5, 3.0)
GRANTING = "granting"
"""Who grants room at the API server."""


class Driver:
    """Longhorn's CSI driver, behind a provisioner that may be late or have no room.

    Attributes:
        delay: Draws the seconds that CreateVolume takes longer.
        is_exhausted: Draws whether a volume is refused for want of room.
    """

    def __init__(self, longhorn: Longhorn, trace: Trace) -> None:
        self.delay: Callable[[], float] = lambda: 0.0
        self.is_exhausted: Callable[[], bool] = lambda: False
        self._longhorn = longhorn
        self._trace = trace

    def is_registered(self, node: str) -> bool:
        return self._longhorn.is_registered(node)

    async def create_volume(
        self, name: str, size_bytes: int, parameters: Mapping[str, str]
    ) -> None:
        await asyncio.sleep(self.delay())
        if self.is_exhausted():
            self._trace.count("fault: resource exhausted")
            self._trace.note(f"provisioner: no room for {name}")
            raise ResourceExhaustedError(name)
        await self._longhorn.create_volume(name, size_bytes, parameters)

    async def delete_volume(self, name: str) -> None:
        await self._longhorn.delete_volume(name)


class World:
    """Everything there is.

    Attributes:
        latency_seconds: Most that a request takes there and back.
        news_seconds: Most that news takes to a watch.
        unheard: Instances with a pod each, by name, whose watch of that pod hung at some time.
        deaf_since: When the watch of claims of instances began that hangs.
    """

    def __init__(
        self,
        plan: Plan,
        random: Random,
        trace: Trace,
        *,
        tell: Callable[[int, Event], None],
        on_crash: Callable[[int], None],
        kind_seconds: float = 0.0,
    ) -> None:
        """Set it all up; nothing runs yet.

        Args:
            plan: What there is.
            random: All chance.
            trace: Where it is noted what happens.
            tell: Told of what each scheduler does.
            on_crash: Told which scheduler has ended.
            kind_seconds: When DiskSchedules begin to be served, if Longhorn uses them, and Longhorn
                to work; 0: from the start.
        """
        self.plan = plan
        self.trace = trace
        self.latency_seconds, self.news_seconds = 0.02, 0.01
        self.unheard: set[tuple[str, str]] = set()
        self.deaf_since: dict[str, float] = {}
        self.service = Service(random, pods=plan.instances, reservation_mode=plan.mode)
        self.server = self.service.server
        self.truth = Truth(self.server)
        self._random = Random(random.getrandbits(32))
        self._network = Random(random.getrandbits(32))
        self._tell = tell
        self._on_crash = on_crash
        self._kind_seconds = kind_seconds
        self._is_served = asyncio.Event()
        self._schedulers: list[asyncio.Task[None]] = []
        self._began = asyncio.get_running_loop().time()
        self.server.latency = self._draw_latency
        self.server.watch_delay = lambda _: self._network.uniform(0, self.news_seconds)
        self._put_cluster()
        self._api = Api(self.server.client("longhorn"))
        self.longhorn = Longhorn(
            self._api,
            random=Random(random.getrandbits(32)),
            wall_clock=self._wall_time,
            delays=Delays(),
            stale=plan.is_stale,
            disk_schedules=DiskSchedules.MANAGED if plan.disk_schedules else DiskSchedules.UNUSED,
        )
        self._granting_api = Api(self.server.client(GRANTING))
        self.granting = Granting(
            self._granting_api,
            random=Random(self._random.getrandbits(32)) if plan.disk_schedules else self._random,
            timestamp=lambda: f"{self._wall_time():%Y-%m-%dT%H:%M:%SZ}",
            namespace=NAMESPACE,
        )
        self.driver = Driver(self.longhorn, trace)

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Let it all work for as long as the block goes on."""
        async with contextlib.AsyncExitStack() as stack:
            stack.push_async_callback(self._api.close)
            stack.push_async_callback(self._granting_api.close)
            await stack.enter_async_context(self.service)
            stack.push_async_callback(self.service.end)
            tasks = await stack.enter_async_context(asyncio.TaskGroup())
            self._tasks = tasks
            work = [
                tasks.create_task(_run(part))
                for part in (self._once_served(self.longhorn.run), *self._parts())
            ]
            if self._kind_seconds:
                asyncio.get_running_loop().call_later(self._kind_seconds, self._serve_kind)
            for number in range(self.plan.instances):
                self.service.start(number)
            self.start_scheduler()
            await self.service.until(self.service.is_answered, within=START_SECONDS)
            yield
            for task in [*work, *self._schedulers]:
                task.cancel()

    def put(self, kind: Kind, obj: Object) -> Object:
        """Create or replace an object; return it as it is there."""
        return self.server.put({"apiVersion": kind.api_version, "kind": kind.kind, **obj})

    def is_deaf(self, instance: str) -> bool:
        """Say whether an instance's watch of claims hangs, and it has not noticed that yet."""
        since = self.deaf_since.get(instance)
        return since is not None and self.trace.seconds < since + SILENCE_SECONDS

    def start_scheduler(self) -> None:
        """Start a process of kube-scheduler, be there another one or not."""
        number = len(self._schedulers)
        self._schedulers.append(self._tasks.create_task(self._schedule(number)))

    def kill_scheduler(self) -> None:
        """End the process that was started last."""
        self._schedulers[-1].cancel()

    def kill_older_schedulers(self) -> None:
        for task in self._schedulers[:-1]:
            task.cancel()

    async def _schedule(self, number: int) -> None:
        api = Api(self.server.client("scheduler"))
        scheduler = Scheduler(
            api,
            self.service.post,
            random=Random(self._random.getrandbits(32)),
            timestamp=lambda: f"{self._wall_time():%Y-%m-%dT%H:%M:%SZ}",
            configuration=self.plan.scheduler,
            tell=lambda event: self._tell(number, event),
        )
        try:
            await scheduler.run()
        finally:
            self._on_crash(number)
            await api.close()

    def _parts(self) -> list[Callable[[], object]]:
        cluster = self.longhorn.cluster
        storage = {
            "claims": cluster.claims,
            "persistent_volumes": cluster.persistent_volumes,
        }
        classes = cluster.storage_classes
        api = self._api
        kubelets = Kubelets(
            api,
            pods=cluster.pods,
            volumes=cluster.volumes,
            end_seconds=self._random.uniform(*END_SECONDS),
            left_to_others=None,
            **storage,
        )
        collector = PodCollector(api, pods=cluster.pods, nodes=cluster.kubernetes_nodes)
        binder = Binder(api, pods=cluster.pods, storage_classes=classes, **storage)
        provisioner = Provisioner(api, self.driver, storage_classes=classes, **storage)
        parts: list[Callable[[], object]] = [
            kubelets.run,
            collector.run,
            binder.run,
            provisioner.run,
        ]
        return [*parts, self._once_served(self.granting.run)] if self.plan.disk_schedules else parts

    def _serve_kind(self) -> None:
        """Serve DiskSchedules from now on, so that Longhorn can work."""
        self.trace.note("DiskSchedules are served")
        self.server.add_resource(DISK_SCHEDULES)
        self._is_served.set()

    def _once_served(self, work: Callable[[], Coroutine[Any, Any, object]]) -> Callable[[], object]:
        """Return what does *work* once Longhorn's kinds are served."""

        async def wait() -> None:
            await self._is_served.wait()
            await work()

        return wait if self._kind_seconds else work

    def _put_cluster(self) -> None:
        if self.plan.disk_schedules and not self._kind_seconds:
            self.server.add_resource(DISK_SCHEDULES)
        self.server.put(live_settings(self.plan))
        for found in self.server.list("instancemanagers.longhorn.io", NAMESPACE):
            self.server.delete("instancemanagers.longhorn.io", found["metadata"]["name"], NAMESPACE)
        for node in longhorn_nodes(self.plan):
            name = node["metadata"]["name"]
            self.put(kinds.LONGHORN_NODES, node)
            self.put(kinds.KUBERNETES_NODES, {"metadata": {"name": name}, "spec": {}})
            self.put(kinds.CSI_NODES, csi_node(name, DRIVER))
            for engine in ("v1", "v2") if self.plan.blocks else ("v1",):
                self.put(kinds.INSTANCE_MANAGERS, instance_manager(name, engine=engine))
        self.put(kinds.ENGINE_IMAGES, engine_image(dict.fromkeys(self.plan.nodes, True)))
        for storage_class in storage_classes(self.plan):
            self.put(kinds.STORAGE_CLASSES, storage_class)
        self.put(kinds.SETTINGS, setting("default-engine-image", ENGINE_IMAGE))
        self.put(kinds.SETTINGS, setting("default-instance-manager-image", MANAGER_IMAGE))
        for name, value in settings(self.plan).items():
            self.put(kinds.SETTINGS, setting(name, value))

    def _draw_latency(self, _: Call) -> tuple[float, float]:
        half = self.latency_seconds / 2
        return self._network.uniform(0, half), self._network.uniform(0, half)

    def _wall_time(self) -> datetime:
        return EPOCH + timedelta(seconds=asyncio.get_running_loop().time() - self._began)


async def _run(work: Callable[[], object]) -> None:
    result = work()
    assert asyncio.iscoroutine(result)
    await result
