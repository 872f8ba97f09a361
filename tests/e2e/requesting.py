"""A Longhorn and who grants it room, on the real API server; no pods, and no service of ours."""

import asyncio
import contextlib
import itertools
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from random import Random

import yaml

from tests.actors import api as kinds
from tests.actors.api import Api, Key, Kind, Object, key_of
from tests.actors.granting import Granting
from tests.actors.longhorn import (
    FAST,
    NAMESPACE,
    DiskSchedules,
    Longhorn,
    Overcommitted,
    longhorn_node,
    overcommitted,
)
from tests.actors.longhorn.granted import unsettled, wrong_change
from tests.e2e.control_plane import ControlPlane
from tests.e2e.installation import MANIFESTS
from tests.e2e.waiting import until
from tests.e2e.workloads import GIB

SERVED_SECONDS = 30.0
WIPE_SECONDS = 120.0
DEFINITION = "diskschedules.longhorn.io"
DEFINITIONS = Kind(
    "apiextensions.k8s.io/v1",
    "customresourcedefinitions",
    "CustomResourceDefinition",
    namespaced=False,
)


class Requesting:
    """The cluster of one test.

    Attributes:
        api: Requests as an administrator.
        longhorn: The played Longhorn.
        wrong: What must not be, by each change of a DiskSchedule that was seen.
    """

    def __init__(
        self, control_plane: ControlPlane, api: Api, *, disk_schedules: DiskSchedules, seed: int
    ) -> None:
        self.api = api
        self.wrong: list[str] = []
        self.conflicts_of_controllers = 0
        self._control_plane = control_plane
        self._uses_schedules = disk_schedules is not DiskSchedules.UNUSED
        self._seeds = itertools.count(seed)
        self._limits: dict[str, int] = {}
        self._controller: asyncio.Task[None] | None = None
        self._granting: Granting | None = None
        self.longhorn = Longhorn(
            api,
            random=Random(seed),
            wall_clock=lambda: datetime.now(UTC),
            delays=FAST,
            disk_schedules=disk_schedules,
        )
        if self.longhorn.cluster.disk_schedules is not None:
            self.longhorn.cluster.disk_schedules.handlers.append(self._on_schedule)

    @asynccontextmanager
    async def running(self) -> AsyncIterator["Requesting"]:
        """Let all work for as long as the block goes on, and leave nothing behind."""
        async with asyncio.TaskGroup() as tasks:
            self._tasks = tasks
            work = tasks.create_task(self.longhorn.run())
            self.start_controller()
            try:
                yield self
                await self._wipe()
            finally:
                self.kill_controller()
                work.cancel()

    @property
    def conflicts(self) -> int:
        """How many writes of DiskSchedules met another one."""
        ours = self._granting.conflicts if self._granting else 0
        return self.longhorn.requests.conflicts + self.conflicts_of_controllers + ours

    def start_controller(self) -> None:
        """Start who grants room, if room is asked for."""
        if not self._uses_schedules:
            return
        self._granting = Granting(
            self.api,
            random=Random(next(self._seeds)),
            timestamp=lambda: f"{datetime.now(UTC):%Y-%m-%dT%H:%M:%SZ}",
            namespace=NAMESPACE,
        )
        self._controller = self._tasks.create_task(_run(self._granting))

    def kill_controller(self) -> None:
        """End who grants room at once, be it between two writes."""
        if self._controller is not None and self._granting is not None:
            self._controller.cancel()
            self.conflicts_of_controllers += self._granting.conflicts
            self._controller = self._granting = None

    async def restart_api_server(self) -> None:
        """Kill the API server, and start it again."""
        self._control_plane.kill_api_server()
        await self._control_plane.start_api_server()

    async def add_nodes(self, count: int, disks_gib: Sequence[int]) -> None:
        """Add nodes, all with the same disks, and wait until each disk can be asked."""
        for number in range(1, count + 1):
            sizes = {f"disk-{n}": gib * GIB for n, gib in enumerate(disks_gib, start=1)}
            node = longhorn_node(f"node-{number}", sizes)
            for name, status in node["status"]["diskStatus"].items():
                self._limits[status["diskUUID"]] = sizes[name]
            await self.api.ensure(node, kinds.LONGHORN_NODES)
        wanted = count * len(disks_gib) if self._uses_schedules else 0
        await until(lambda: len(self.schedules()) == wanted, within=SERVED_SECONDS)
        await until(
            lambda: len(self.longhorn.cluster.nodes.objects) == count, within=SERVED_SECONDS
        )

    async def create_volumes(self, names: Sequence[str], *, gib: int, replicas: int = 1) -> None:
        """Create volumes at once, whose replicas may go anywhere."""
        parameters = {"dataLocality": "disabled", "numberOfReplicas": str(replicas)}
        async with asyncio.TaskGroup() as tasks:
            for name in names:
                tasks.create_task(self.longhorn.create_volume(name, gib * GIB, parameters))

    async def delete_volumes(self, names: Sequence[str]) -> None:
        async with asyncio.TaskGroup() as tasks:
            for name in names:
                tasks.create_task(self.longhorn.delete_volume(name))

    async def expand_volumes(self, names: Sequence[str], *, gib: int) -> None:
        """Wish volumes at once to have another size."""
        async with asyncio.TaskGroup() as tasks:
            for name in names:
                tasks.create_task(self.longhorn.expand_volume(name, gib * GIB))

    def volume(self, name: str) -> Object:
        found = self.longhorn.cluster.volumes.get(name, NAMESPACE)
        assert found is not None
        return found

    def replicas(self, volume: str = "") -> list[Object]:
        """List replicas, of one volume or all."""
        everything = self.longhorn.cluster.replicas.objects.values()
        return [each for each in everything if volume in ("", each["spec"]["volumeName"])]

    def placed(self) -> set[str]:
        """Name the volumes with a replica that is placed."""
        return {e["spec"]["volumeName"] for e in self.replicas() if e["spec"]["diskID"]}

    def images(self) -> list[Object]:
        return [*self.longhorn.cluster.backing_images.objects.values()]

    def schedules(self) -> list[Object]:
        found = self.longhorn.cluster.disk_schedules
        return [] if found is None else [*found.objects.values()]

    def unsettled(self) -> list[str]:
        """Say which replicas wait for room, and what is asked for without need."""
        return unsettled(self.replicas(), self.schedules()) if self._uses_schedules else []

    def beyond_limits(self) -> tuple[Overcommitted, ...]:
        """List the disks with more than their limit, by all replicas that are placed."""
        nodes = self.longhorn.cluster.nodes.objects.values()
        return overcommitted(nodes, self.replicas(), {})

    def _on_schedule(self, old: Object | None, new: Object | None) -> None:
        if new is not None:
            limit = self._limits[new["metadata"]["name"]]
            self.wrong += wrong_change(old, new, limit)

    async def _wipe(self) -> None:
        """Leave no objects; the definition goes last."""
        volumes = [key.name for key in self.longhorn.cluster.volumes.objects]
        await self.delete_volumes(volumes)
        for image in self.images():
            self.longhorn.delete_image(image["metadata"]["name"])
        await until(lambda: not self.images(), within=WIPE_SECONDS)
        await self.api.delete(kinds.LONGHORN_NODES, Key(NAMESPACE, ""))
        for schedule in self.schedules():
            await self.api.delete(kinds.DISK_SCHEDULES, key_of(schedule))
        await until(lambda: not self.schedules(), within=WIPE_SECONDS)


async def _run(granting: Granting) -> None:
    with contextlib.suppress(asyncio.CancelledError):
        await granting.run()


@asynccontextmanager
async def requesting(
    control_plane: ControlPlane, *, disk_schedules: DiskSchedules, seed: int = 0
) -> AsyncIterator[Requesting]:
    """Set up the cluster of one test; the definition of DiskSchedule is there while it runs."""
    async with await control_plane.client() as client:
        api = Api(client)
        await install_definition(api)
        cluster = Requesting(control_plane, api, disk_schedules=disk_schedules, seed=seed)
        async with cluster.running():
            yield cluster
        await remove_definition(api)


async def install_definition(api: Api) -> None:
    """Have the kind DiskSchedule served, by the definition that we ship."""
    text = (MANIFESTS / "disk-schedule" / "crd.yaml").read_text(encoding="utf-8")
    await api.ensure(yaml.safe_load(text), DEFINITIONS)

    async def is_served() -> bool:
        return await api.get(kinds.DISK_SCHEDULES, "", NAMESPACE) is not None

    await until(is_served, within=SERVED_SECONDS, what="DiskSchedule")


async def remove_definition(api: Api) -> None:
    """Have it served no more, for tests to come. There are no objects left."""
    await api.delete(DEFINITIONS, Key("", DEFINITION))

    async def is_gone() -> bool:
        return await api.get(DEFINITIONS, DEFINITION) is None

    await until(is_gone, within=SERVED_SECONDS, what=f"{DEFINITION} is still there")
