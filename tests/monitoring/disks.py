"""Disks with DiskSchedules, and who asks for room on them: what their controller decides on.

They are on nodes of their own, so that what is decided on pods goes on beside it.
"""

import asyncio
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import count
from typing import Any

from tests.builders import GIB, document, node_document
from tests.fakes import Call, Delay, FakeApiServer, FaultKind, Object
from tests.fakes import installed as names
from tests.monitoring.prometheus import Prometheus
from tests.unit.app.disk_schedule.bench import KIND, PLURAL

SHELVES = ("shelf-1", "shelf-2", "shelf-3", "shelf-4")
"""Nodes of one disk of 100 GiB each. Of the first a tenth is used from the beginning, of the next
two tenths, and so on."""
_DECIDED_SECONDS = 0.3
"""Until a controller has decided, and more."""
_MEANWHILE_SECONDS = 0.05
_LONG_AGO = "2026-01-01T00:00:00Z"
_ALERT = "LonghornSchedulerExtenderDiskSchedule"
_PATIENCE_SECONDS = 60.0


class Disks:
    """The disks at the API server; one is named by its node."""

    def __init__(self, server: FakeApiServer) -> None:
        self._server = server

    def install(self) -> None:
        """Put what is there before anything happens: nothing was decided yet."""
        self._server.add_resource(KIND)
        for number, node in enumerate(SHELVES, start=1):
            disk = _disk(node)
            self._server.put(node_document(node, disk_status={"diskUUID": disk}))
            self._server.put(_replica(f"old-{number}", node, 10 * number, healthy_at=_LONG_AGO))
            spec = {"name": "disk-1", "nodeID": node, "replicas": {}, "backingImages": {}}
            self._server.put(document("DiskSchedule", disk, spec=spec))

    def ask(self, node: str, replica: str, gib: int) -> None:
        """Ask for so much room for a replica, which is made if there is none of its name."""
        if self._server.get("replicas.longhorn.io", replica, names.LONGHORN) is None:
            self._server.put(_replica(replica, node, gib))
        self._change(node, lambda asked: asked.update({replica: gib * GIB}))

    def give_back(self, node: str, replica: str) -> None:
        """Delete a replica, and take back what it asked for."""
        self._change(node, lambda asked: asked.pop(replica))
        self._server.delete("replicas.longhorn.io", replica, names.LONGHORN)

    def reserve(self, node: str, gib: int) -> None:
        """Keep so much of a disk for others than Longhorn."""
        disk = {"diskUUID": _disk(node)}
        kept = {"storageReserved": gib * GIB}
        self._server.put(node_document(node, disk_spec=kept, disk_status=disk))

    @contextmanager
    def come_between(self) -> Iterator[None]:
        """Have objects written whenever a controller is about to, until the end of the block."""
        numbers = count()

        def write(call: Call) -> FaultKind | None:
            if call.verb != "patch" or not call.resource.startswith("diskschedules"):
                return None
            self._put(call.name, annotations={"written": str(next(numbers))})
            return Delay(_MEANWHILE_SECONDS)

        self._server.interfere = write
        try:
            yield
        finally:
            self._server.interfere = None

    def write_as_longhorn(self, node: str) -> None:
        """Have Longhorn's own controller write an object."""
        written = [{"manager": "longhorn-manager", "subresource": "status"}]
        self._put(_disk(node), managedFields=written)

    def _change(self, node: str, change: Callable[[dict[str, int]], Any]) -> None:
        stored = self._stored(_disk(node))
        change(stored["spec"]["replicas"])
        self._server.put(stored)

    def _put(self, disk: str, **metadata: Any) -> None:
        stored = self._stored(disk)
        self._server.put({**stored, "metadata": {**stored["metadata"], **metadata}})

    def _stored(self, disk: str) -> Object:
        found = self._server.get(PLURAL, disk, names.LONGHORN)
        assert found is not None, disk
        return found


async def lend(disks: Disks) -> None:
    """Have replicas come, grow and go, one after another, until cancelled.

    Now and then the disk that was chosen is too full, and the replica is taken back.
    """
    for number in count():
        node, replica = SHELVES[number % len(SHELVES)], f"lent-{number}"
        disks.ask(node, replica, 10 if number % 7 else 100)
        await asyncio.sleep(_DECIDED_SECONDS)
        if number % 7:
            disks.ask(node, replica, 20)
            await asyncio.sleep(_DECIDED_SECONDS)
        disks.give_back(node, replica)
        await asyncio.sleep(_DECIDED_SECONDS)


async def spoil(disks: Disks, prometheus: Prometheus, denied: set[tuple[str, str]]) -> None:
    """Have everything go wrong that leaves the leader in place, until each alert has fired.

    Args:
        disks: They have a controller that leads.
        prometheus: It watches.
        denied: What is refused although the rights are there: a verb, and a resource.
    """

    async def fires(*alerts: str) -> None:
        await prometheus.fires(*(_ALERT + name for name in alerts), within=_PATIENCE_SECONDS)

    full, shrunk, contested, _ = SHELVES
    disks.ask(full, "giant", 200)
    disks.reserve(shrunk, 90)
    await asyncio.sleep(_DECIDED_SECONDS)
    with disks.come_between():
        disks.ask(contested, "wanted", 5)
        await fires("Conflicts")
    denied.add(("patch", "diskschedules/status"))
    await fires("WritesFail", "Refusals", "OverLimit")
    disks.write_as_longhorn(contested)
    await fires("Rival")


def _disk(node: str) -> str:
    return f"uuid-{node}"


def _replica(name: str, node: str, gib: int, *, healthy_at: str = "") -> Object:
    spec = {
        "volumeName": name,
        "volumeSize": str(gib * GIB),
        "nodeID": node,
        "diskID": _disk(node),
        "active": True,
        "healthyAt": healthy_at,
        "failedAt": "",
    }
    return document("Replica", name, spec=spec)
