"""A Longhorn and who grants it room, on the real API server; no pods, and no service of ours."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from datetime import UTC, datetime
from pathlib import Path
from random import Random
from typing import NamedTuple

from app.disk_schedule.known import PERCENT
from tests.actors import api as kinds
from tests.actors.api import Api, Key, Object, key_of
from tests.actors.longhorn import (
    FAST,
    NAMESPACE,
    DiskSchedules,
    Longhorn,
    Overcommitted,
    longhorn_node,
    overcommitted,
    setting,
)
from tests.actors.longhorn.changes import healthy
from tests.actors.longhorn.granted import refused_names, unsettled, wrong_change
from tests.actors.longhorn.schedules import held_bytes
from tests.e2e.control_plane import ControlPlane
from tests.e2e.controllers import Controllers
from tests.e2e.installation import SERVED_SECONDS, install_disk_schedules, remove_disk_schedules
from tests.e2e.waiting import until
from tests.e2e.workloads import GIB

WIPE_SECONDS = 120.0
_SET_UP = (kinds.LONGHORN_NODES, kinds.SETTINGS)


class Conflicts(NamedTuple):
    """How many writes met another one."""

    of_requesters: int
    of_controllers: int


class Requesting:
    """The cluster of one test.

    Attributes:
        api: Requests as an administrator.
        longhorn: The played Longhorn.
        controllers: Who grants room, if Longhorn asks for it.
        wrong: What must not be, by each change of a DiskSchedule that was seen.
        refused: Who was ever refused room, by name.
    """

    def __init__(self, control_plane: ControlPlane, api: Api, folder: Path, *, seed: int) -> None:
        self.api = api
        self.controllers: Controllers | None = None
        self.wrong: list[str] = []
        self.refused: set[str] = set()
        self._control_plane = control_plane
        self._folder = folder
        self._seed = seed
        self._disks: dict[str, int] = {}
        self._percent = 100
        self._changed = asyncio.Event()

    @asynccontextmanager
    async def running(self, disk_schedules: DiskSchedules) -> AsyncIterator["Requesting"]:
        """Let all work for as long as the block goes on, and leave nothing behind."""
        await self._clear()
        async with asyncio.TaskGroup() as self._tasks, AsyncExitStack() as self._stack:
            await self._begin(disk_schedules)
            yield self
            await self._wipe()
        if self.controllers is not None:
            await remove_disk_schedules(self.api)

    async def upgrade(self, disk_schedules: DiskSchedules) -> None:
        """Replace a Longhorn that does not use DiskSchedules by one that does."""
        assert self.controllers is None
        self._work.cancel()
        await asyncio.wait([self._work])
        await self._begin(disk_schedules)

    async def _begin(self, disk_schedules: DiskSchedules) -> None:
        """Start Longhorn, and who grants room; who creates the objects is one of them."""
        is_used = disk_schedules is not DiskSchedules.UNUSED
        if is_used:
            await install_disk_schedules(self.api)
        self.longhorn = Longhorn(
            self.api,
            random=Random(self._seed),
            wall_clock=lambda: datetime.now(UTC),
            delays=FAST,
            disk_schedules=disk_schedules,
        )
        if self.longhorn.cluster.disk_schedules is not None:
            self.longhorn.cluster.disk_schedules.handlers.append(self._on_schedule)
        self._work = self._tasks.create_task(self.longhorn.run())
        self._stack.callback(self._work.cancel)
        if is_used:
            self.controllers = Controllers(
                self._control_plane,
                self.api,
                self._folder,
                manage_objects=disk_schedules is DiskSchedules.USED,
            )
            self._stack.push_async_callback(self.controllers.stop)
            await self.controllers.start()

    async def conflicts(self) -> Conflicts:
        """Return how many writes of DiskSchedules met another one."""
        controllers = 0 if self.controllers is None else await self.controllers.conflicts()
        return Conflicts(self.longhorn.requests.conflicts, controllers)

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
                self._disks[status["diskUUID"]] = sizes[name]
            await self.api.ensure(node, kinds.LONGHORN_NODES)
        wanted = count * len(disks_gib) if self.controllers else 0
        await until(lambda: len(self.schedules()) == wanted, within=SERVED_SECONDS)
        await until(
            lambda: len(self.longhorn.cluster.nodes.objects) == count, within=SERVED_SECONDS
        )

    async def over_provision(self, percent: int) -> None:
        """Let Longhorn schedule more on each disk than its size: a setting of Longhorn's."""
        self._percent = percent
        await self.api.ensure(setting(PERCENT, str(percent)), kinds.SETTINGS)

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

    async def give_data(self) -> None:
        """Have all replicas that are placed hold data, as if they had once been attached."""
        for each in self.replicas():
            change = healthy(each, self.longhorn.cluster.timestamp())
            await self.api.patch(kinds.REPLICAS, key_of(each), change)

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
        return unsettled(self.replicas(), self.schedules()) if self.controllers else []

    def beyond_limits(self) -> tuple[Overcommitted, ...]:
        """List the disks with more than their limit, by all replicas that are placed."""
        nodes = self.longhorn.cluster.nodes.objects.values()
        settings = {PERCENT: str(self._percent)}
        return overcommitted(nodes, self.replicas(), settings)

    def held_gib(self) -> int:
        """Return what all disks hold."""
        return sum(map(held_bytes, self.schedules())) // GIB

    async def holds(self, gib: int, *, within: float) -> None:
        """Wait until all disks together hold so much; return at the change that makes it so."""
        async with asyncio.timeout(within):
            while self.held_gib() < gib:
                self._changed.clear()
                await self._changed.wait()

    def _on_schedule(self, old: Object | None, new: Object | None) -> None:
        if new is not None:
            limit = self._disks[new["metadata"]["name"]] * self._percent // 100
            self.wrong += wrong_change(old, new, limit)
            self.refused |= refused_names(new)
        self._changed.set()

    async def _clear(self) -> None:
        """Remove what a failed test has left."""
        if await self.api.get(kinds.DISK_SCHEDULES, "", NAMESPACE) is not None:
            for schedule in await self.api.list(kinds.DISK_SCHEDULES, NAMESPACE):
                change = {"metadata": {"finalizers": None}}
                await self.api.patch(kinds.DISK_SCHEDULES, key_of(schedule), change)
                await self.api.delete(kinds.DISK_SCHEDULES, key_of(schedule))
        for kind in (kinds.VOLUMES, kinds.REPLICAS, kinds.BACKING_IMAGES, *_SET_UP):
            await self.api.delete(kind, Key(NAMESPACE, ""))

    async def _wipe(self) -> None:
        """Leave no objects; the definition goes last."""
        volumes = [key.name for key in self.longhorn.cluster.volumes.objects]
        await self.delete_volumes(volumes)
        for image in self.images():
            self.longhorn.delete_image(image["metadata"]["name"])
        await until(lambda: not self.images(), within=WIPE_SECONDS)
        for kind in _SET_UP:
            await self.api.delete(kind, Key(NAMESPACE, ""))
        for schedule in self.schedules():
            await self.api.delete(kinds.DISK_SCHEDULES, key_of(schedule))
        await until(lambda: not self.schedules(), within=WIPE_SECONDS)


@asynccontextmanager
async def requesting(
    control_plane: ControlPlane, folder: Path, *, disk_schedules: DiskSchedules, seed: int = 0
) -> AsyncIterator[Requesting]:
    """Set up the cluster of one test; the definition of DiskSchedule is there while it is used.

    Args:
        control_plane: Running, without nodes.
        folder: For logs.
        disk_schedules: What Longhorn does with them. Where it only asks for room, the controller
            creates the objects.
        seed: Of all chance but the controller's.
    """
    async with await control_plane.client() as client:
        cluster = Requesting(control_plane, Api(client), folder, seed=seed)
        async with cluster.running(disk_schedules):
            yield cluster
