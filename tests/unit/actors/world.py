"""A small cluster in memory for tests of actors: the API server, Longhorn, and hands on both."""

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from random import Random
from typing import Any

import pytest

from tests.actors import api as kinds
from tests.actors.api import Api, Kind, Object
from tests.actors.granting import Granting
from tests.actors.longhorn import (
    Delays,
    DiskSchedules,
    DiskSpec,
    Longhorn,
    disk_uuid,
    longhorn_node,
    setting,
    storage_class,
)
from tests.fakes import FakeApiServer
from tests.fakes.resources import DISK_SCHEDULES, RESOURCES

GIB = 2**30
EPOCH = datetime(2026, 1, 1, tzinfo=UTC)
NAMESPACE = "longhorn-system"
BEST_EFFORT = {"numberOfReplicas": "1", "dataLocality": "best-effort"}
VIRTUAL_TIME = pytest.mark.looptime(resolution=2**-20, noop_cycles=0)


class World:
    """The cluster, with short words for what tests do to it."""

    def __init__(
        self,
        seed: int = 0,
        *,
        delays: Delays | None = None,
        stale: bool = True,
        disk_schedules: DiskSchedules = DiskSchedules.UNUSED,
        shards: bool = False,
        upgrades: bool = False,
    ) -> None:
        self.random = Random(seed)
        resources = (*RESOURCES, DISK_SCHEDULES)
        self.server = FakeApiServer(Random(self.random.random()), resources=resources)
        self.server.latency = lambda _: (
            self.random.uniform(0, 0.01),
            self.random.uniform(0, 0.01),
        )
        self.api = Api(self.server.client("longhorn"))
        self.longhorn = Longhorn(
            self.api,
            random=Random(self.random.random()),
            wall_clock=self._wall_time,
            delays=delays or Delays(),
            stale=stale,
            disk_schedules=disk_schedules,
            shards=shards,
            upgrades=upgrades,
        )
        self.granting_api = Api(self.server.client("granting"))
        self.granting = Granting(
            self.granting_api,
            random=Random(seed),
            timestamp=lambda: f"{self._wall_time():%Y-%m-%dT%H:%M:%SZ}",
            namespace=NAMESPACE,
        )
        self._began = asyncio.get_running_loop().time()
        self.put(kinds.STORAGE_CLASSES, storage_class("local"))

    def put(self, kind: Kind, obj: Object) -> None:
        self.server.put({"apiVersion": kind.api_version, "kind": kind.kind, **obj})

    def add_node(self, name: str, *disks_gib: int, **extra: DiskSpec) -> None:
        """Add a node to Kubernetes and Longhorn, with disks disk-1 and so on of some GiB."""
        sizes: Mapping[str, int | DiskSpec] = {
            **{f"disk-{number}": gib * GIB for number, gib in enumerate(disks_gib, 1)},
            **extra,
        }
        self.put(kinds.KUBERNETES_NODES, {"metadata": {"name": name}, "spec": {}})
        self.put(kinds.LONGHORN_NODES, longhorn_node(name, sizes))

    def cordon(self, name: str, *, cordoned: bool = True) -> None:
        host = {"metadata": {"name": name}, "spec": {"unschedulable": cordoned}}
        self.put(kinds.KUBERNETES_NODES, host)

    async def provision(self, *names: str, gib: int = 10, **parameters: str) -> None:
        """Do what the provisioner and the binder do for claims of these names."""
        given = {**BEST_EFFORT, **parameters}
        async with asyncio.TaskGroup() as tasks:
            for name in names:
                tasks.create_task(self.longhorn.create_volume(name, gib * GIB, given))
        for name in names:
            self.claim(name)

    def claim(self, volume: str) -> None:
        """Put a PersistentVolume of a volume's name, and a claim bound to it."""
        reference = {"namespace": "default", "name": volume}
        csi = {"driver": "driver.longhorn.io", "volumeHandle": volume}
        spec = {"csi": csi, "claimRef": reference, "storageClassName": "local"}
        self.put(kinds.PERSISTENT_VOLUMES, {"metadata": {"name": volume}, "spec": spec})
        self.put(kinds.CLAIMS, {"metadata": reference, "spec": {"volumeName": volume}})

    def run_pod(self, name: str, node: str, *claims: str) -> None:
        """Bind a pod with these claims to a node."""
        volumes = [{"name": c, "persistentVolumeClaim": {"claimName": c}} for c in claims]
        metadata = {"namespace": "default", "name": name}
        self.put(kinds.PODS, {"metadata": metadata, "spec": {"nodeName": node, "volumes": volumes}})

    def end_pod(self, name: str) -> None:
        self.server.delete("pods", name, "default")

    def volume(self, name: str) -> Object:
        found = self.server.get("volumes.longhorn.io", name, NAMESPACE)
        assert found is not None
        return found

    def state(self, name: str) -> tuple[str, str]:
        """Return a volume's state and the node it is attached to."""
        status = self.volume(name)["status"]
        return status["state"], status["currentNodeID"]

    def scheduled(self, name: str) -> Object:
        """Return a volume's condition Scheduled."""
        [found] = [c for c in self.volume(name)["status"]["conditions"] if c["type"] == "Scheduled"]
        return dict(found)

    def replicas(self, volume: str = "") -> list[Object]:
        """List replicas, of one volume or all."""
        everything = self.server.list("replicas.longhorn.io", NAMESPACE)
        return [each for each in everything if volume in ("", each["spec"]["volumeName"])]

    def places(self, volume: str) -> list[str]:
        """Say on which nodes replicas of a volume are; "" for those on none."""
        return sorted(each["spec"]["nodeID"] for each in self.replicas(volume))

    def schedule(self, node: str, disk: str = "disk-1") -> Object:
        """Return the DiskSchedule of a disk."""
        found = self.server.get("diskschedules.longhorn.io", disk_uuid(node, disk), NAMESPACE)
        assert found is not None
        return found

    def schedules(self) -> list[Object]:
        return self.server.list("diskschedules.longhorn.io", NAMESPACE)

    def images(self) -> list[Object]:
        return self.server.list("backingimages.longhorn.io", NAMESPACE)

    def nodes(self) -> list[Object]:
        return self.server.list("nodes.longhorn.io", NAMESPACE)

    def ready_nodes(self) -> list[str]:
        """Name the nodes whose condition Ready is True."""
        return [
            node["metadata"]["name"]
            for node in self.nodes()
            for each in node["status"]["conditions"]
            if each["type"] == "Ready" and each["status"] == "True"
        ]

    def published_gib(self, node: str) -> dict[str, int]:
        """Return storageScheduled of a node's disks."""
        [found] = [each for each in self.nodes() if each["metadata"]["name"] == node]
        statuses = found["status"]["diskStatus"]
        return {name: each["storageScheduled"] // GIB for name, each in statuses.items()}

    async def until(self, condition: Callable[[], object], *, within: float) -> float:
        """Wait for *condition*; return how long it took."""
        loop = asyncio.get_running_loop()
        began = loop.time()
        while not condition():
            assert loop.time() - began < within, f"not within {within} s"
            await asyncio.sleep(0.05)
        return loop.time() - began

    async def hangs(self, volume: str, state: str) -> None:
        """Wait until a volume has a state, and watch it stay for a minute."""
        await self.until(lambda: self.state(volume)[0] == state, within=10)
        await self.hold(lambda: self.state(volume)[0] == state, seconds=60)

    async def hold(self, condition: Callable[[], object], *, seconds: float) -> None:
        """Watch *condition* hold for a while."""
        loop = asyncio.get_running_loop()
        began = loop.time()
        while loop.time() - began < seconds:
            assert condition(), f"no longer after {loop.time() - began:.2f} s"
            await asyncio.sleep(0.05)

    async def attached(self, volume: str, node: str, *, within: float = 10) -> None:
        """Wait until a volume is attached to a node."""
        await self.until(lambda: self.state(volume) == ("attached", node), within=within)

    async def use(
        self, volume: str, node: str, *, pod: str = "web", within: float = 10, **parameters: Any
    ) -> None:
        """Provision a volume, and wait until a pod has it on a node."""
        await self.provision(volume, **parameters)
        self.run_pod(pod, node, volume)
        await self.attached(volume, node, within=within)

    async def leave(self, pod: str, volume: str, *, within: float = 10) -> None:
        """End a pod, and wait until its volume is detached."""
        self.end_pod(pod)
        await self.until(lambda: self.state(volume) == ("detached", ""), within=within)

    def _wall_time(self) -> datetime:
        return EPOCH + timedelta(seconds=asyncio.get_running_loop().time() - self._began)


def world_of(*disks_gib: int, settings: Mapping[str, str] | None = None, **more: Any) -> World:
    """Build node-1, node-2 and so on, with one disk of so many GiB each; *more* is of `World`."""
    world = World(**more)
    for number, gib in enumerate(disks_gib, 1):
        world.add_node(f"node-{number}", gib)
    for name, value in (settings or {}).items():
        world.put(kinds.SETTINGS, setting(name, value))
    return world


@asynccontextmanager
async def running(world: World) -> AsyncIterator[World]:
    """Let Longhorn work for as long as a test goes on, and who grants room if it asks for it."""
    async with asyncio.TaskGroup() as tasks:
        work = [tasks.create_task(world.longhorn.run())]
        if world.longhorn.cluster.disk_schedules is not None:
            work.append(tasks.create_task(world.granting.run()))
        yield world
        for each in work:
            each.cancel()
    await world.api.close()
    await world.granting_api.close()
