"""A cluster on a real API server with a DiskSchedule for each disk, and who asks for room there."""

import asyncio
import time
from collections.abc import AsyncIterator, Coroutine, Iterable
from contextlib import asynccontextmanager
from typing import Any, NamedTuple

import yaml

from app.disk_schedule.known import PERCENT
from app.disk_schedule.objects import KnownNode, new_object
from benchmarks.clusters import GIB, node_name
from longhorn import DiskId, DiskName, NodeName
from tests.actors import api as kinds
from tests.actors.api import Api, Informer, Key, Kind, Object
from tests.actors.longhorn import NAMESPACE, disk_uuid, longhorn_node, setting
from tests.e2e.installation import DEFINITIONS, MANIFESTS

DISKS_OF_NODE = 10
_DISK_BYTES, _REPLICA_BYTES, _REQUIRED_BYTES = 1000 * GIB, 10 * GIB, GIB
_AT_ONCE = 32
"""Requests that fill the cluster."""
_PATIENCE_SECONDS = 60.0


class Disk(NamedTuple):
    """One disk."""

    node: NodeName
    name: DiskName
    uuid: DiskId


class Request(NamedTuple):
    """A Replica that is on a disk, and has not asked for room there yet."""

    disk: Disk
    replica: str


class Took(NamedTuple):
    """How long a request took."""

    asked_seconds: float
    """Until the API server had taken it."""
    granted_seconds: float
    """Until the watch showed that it is granted."""


def disks_of(count: int) -> list[Disk]:
    """Return so many disks, ten on a node."""
    disks = []
    for number in range(count):
        node, name = node_name(number // DISKS_OF_NODE), f"disk-{number % DISKS_OF_NODE}"
        uuid = DiskId(disk_uuid(node, name))
        disks.append(Disk(NodeName(node), DiskName(name), uuid))
    return disks


class DiskCluster:
    """The cluster.

    Attributes:
        disks: All of them.
        sent: Requests to the API server for Longhorn's kinds that this has sent.
    """

    def __init__(self, api: Api, disks: int) -> None:
        self.disks = disks_of(disks)
        self.sent = 0
        self._api = api
        self._waiting: dict[tuple[str, str], asyncio.Future[float]] = {}
        self._nodes: dict[NodeName, Object] = {}
        self._reports = 0

    async def fill(self, replicas: int) -> None:
        """Make nodes, Replicas with data, and DiskSchedules in which nothing is asked for yet."""
        text = (MANIFESTS / "disk-schedule" / "crd.yaml").read_text(encoding="utf-8")
        await self._api.ensure(yaml.safe_load(text), DEFINITIONS)
        await self.set_percent(100)
        sizes = {str(disk.name): _DISK_BYTES for disk in self.disks[:DISKS_OF_NODE]}
        nodes = {disk.node: longhorn_node(disk.node, sizes) for disk in self.disks}
        for node, obj in nodes.items():
            self._nodes[node] = await self._api.create(obj, kinds.LONGHORN_NODES)
        await _all(self._make(kinds.DISK_SCHEDULES, self._schedule(disk)) for disk in self.disks)
        await _all(
            self._make(kinds.REPLICAS, _replica(f"volume-{n}", self._disk(n), started=True))
            for n in range(replicas)
        )

    async def requests(self, name: str, disks: Iterable[Disk]) -> list[Request]:
        """Make a Replica without data for each of *disks*, which may name one several times."""
        made = [Request(disk, f"{name}-{n}-r-1") for n, disk in enumerate(disks)]
        await _all(
            self._make(kinds.REPLICAS, _replica(f"{name}-{n}", each.disk, started=False))
            for n, each in enumerate(made)
        )
        return made

    async def ask(self, request: Request) -> Took:
        """Ask for room, and wait until it is granted."""
        disk, replica = request.disk.uuid, request.replica
        shown = asyncio.get_running_loop().create_future()
        self._waiting[disk, replica] = shown
        began = time.perf_counter()
        await self._write(
            kinds.DISK_SCHEDULES, disk, {"spec": {"replicas": {replica: _REQUIRED_BYTES}}}
        )
        asked = time.perf_counter()
        async with asyncio.timeout(_PATIENCE_SECONDS):
            granted = await shown
        return Took(asked - began, granted - began)

    async def set_percent(self, percent: int) -> None:
        """Set the over-provisioning."""
        self.sent += 1
        await self._api.ensure(setting(PERCENT, "100"), kinds.SETTINGS)
        await self._write(kinds.SETTINGS, PERCENT, {"value": str(percent)})

    async def report(self) -> None:
        """Have each node report once more what is available on its disks."""
        self._reports += 1
        disks = {
            disk.name: {"storageAvailable": _DISK_BYTES - self._reports * 2**30}
            for disk in self.disks[:DISKS_OF_NODE]
        }
        for node in self._nodes:
            await self._write(kinds.LONGHORN_NODES, node, {"status": {"diskStatus": disks}})

    @asynccontextmanager
    async def followed(self) -> AsyncIterator[None]:
        """Follow the DiskSchedules until the end of the block."""
        informer = Informer(self._api, kinds.DISK_SCHEDULES, NAMESPACE)
        informer.handlers.append(self._see)
        following = asyncio.create_task(informer.run())
        try:
            await informer.synced.wait()
            yield
        finally:
            following.cancel()

    def _disk(self, number: int) -> Disk:
        return self.disks[number % len(self.disks)]

    def _schedule(self, disk: Disk) -> Object:
        uid: str = self._nodes[disk.node]["metadata"]["uid"]
        return new_object(KnownNode(disk.node, uid, {}), disk.name, disk.uuid, NAMESPACE)

    def _see(self, _: Object | None, new: Object | None) -> None:
        now = time.perf_counter()
        if new is None:
            return
        name = new["metadata"]["name"]
        for replica, entry in ((new.get("status") or {}).get("replicas") or {}).items():
            if (name, replica) in self._waiting and entry["state"] == "scheduled":
                self._waiting.pop((name, replica)).set_result(now)

    async def _make(self, kind: Kind, obj: Object) -> None:
        self.sent += 1
        await self._api.create(obj, kind)

    async def _write(self, kind: Kind, name: str, patch: dict[str, Any]) -> None:
        self.sent += 1
        assert await self._api.patch(kind, Key(NAMESPACE, name), patch) is not None, name


async def _all(work: Iterable[Coroutine[Any, Any, None]]) -> None:
    """Do all of it, so many at once."""
    rest = iter(work)

    async def some() -> None:
        for each in rest:
            await each

    async with asyncio.TaskGroup() as tasks:
        for _ in range(_AT_ONCE):
            tasks.create_task(some())


def _replica(volume: str, disk: Disk, *, started: bool) -> Object:
    labels = {"longhorndiskuuid": disk.uuid, "longhornnode": disk.node, "longhornvolume": volume}
    return {
        "metadata": {"name": f"{volume}-r-1", "namespace": NAMESPACE, "labels": labels},
        "spec": {
            "nodeID": disk.node,
            "diskID": disk.uuid,
            "diskPath": f"/mnt/{disk.name}",
            "dataDirectoryName": f"{volume}-12345678",
            "dataEngine": "v1",
            "volumeName": volume,
            "volumeSize": str(_REPLICA_BYTES if started else _REQUIRED_BYTES),
            "healthyAt": "2026-01-01T00:00:00Z" if started else "",
            "failedAt": "",
            "active": True,
        },
        "status": {"currentState": "running" if started else "stopped", "started": started},
    }
