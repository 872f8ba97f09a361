"""The controller at work on an API server in memory, with the watches that it rests on.

The node has one disk of 100 GiB, `uuid-disk-1`; sizes are in GiB, `S30` and `R0` are entries.
"""

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from random import Random
from typing import Any

from msgspec import structs

from app.disk_schedule.controller import Controller
from app.disk_schedule.known import KnownDisks
from app.disk_schedule.stored import READY, SCHEDULED
from app.kube.connection import Connection
from app.kube.feed import Source
from app.kube.reflector import Reflector
from app.process.surroundings import Surroundings
from longhorn import Decision
from tests.builders import GIB, document, node_document
from tests.contract.exchange import ask
from tests.fakes import Call, Change, FakeApiServer, Object, custom_resource
from tests.unit.app.kube.following import at_work

NAMESPACE, DISK, PLURAL = "longhorn-system", "uuid-disk-1", "diskschedules.longhorn.io"
SETTLED_SECONDS = 5.0
"""After this time nothing is under way any more."""
KIND = structs.replace(
    custom_resource("longhorn.io", "v1beta2", "diskschedules", "DiskSchedule"), has_status=True
)


class Bench:
    """One API server and one controller.

    Attributes:
        may_write: Whether the controller leads.
        decisions: What it decided.
        conflicts: How many writes were refused.
        failures: How many passes failed for another reason.
    """

    def __init__(self, server: FakeApiServer, connection: Connection) -> None:
        self.server = server
        self.may_write = True
        self.decisions: list[Decision] = []
        self.conflicts = self.failures = 0
        self.known = KnownDisks()
        clock = asyncio.get_running_loop().time
        around = Surroundings(
            connection, clock, lambda: datetime(2026, 10, 1, 12, 0, tzinfo=UTC), Random(1)
        )
        self.controller = Controller(
            around,
            NAMESPACE,
            self.known,
            may_write=lambda: self.may_write and all(each.is_complete for each in self.reflectors),
            on_decision=self.decisions.append,
            on_conflict=self._conflict,
            on_failure=self._fail,
        )
        self.reflectors = [
            Reflector(
                connection,
                Source(resource=resource, namespace=NAMESPACE),
                on_changes=self.controller.note_changes,
                on_restart=lambda _: None,
                clock=clock,
                random=Random(2),
            )
            for resource in SCHEDULED
        ]

    def ask(self, **spec: float | None) -> None:
        """Change what is asked for, as requesters do; None takes a requirement back."""
        stored = self.object()
        for name, size in spec.items():
            field = "backingImages" if name.startswith("i") else "replicas"
            if size is None:
                del stored["spec"][field][name]
            else:
                stored["spec"][field][name] = int(size * GIB)
        self.server.put(stored)

    async def settle(self) -> None:
        await asyncio.sleep(SETTLED_SECONDS)

    def object(self) -> Object:
        """Return the object of the disk."""
        found = self.server.get(PLURAL, DISK, NAMESPACE)
        assert found is not None
        return found

    def status(self) -> dict[str, str]:
        """Return the entries."""
        status = self.object().get("status", {})
        entries = {**status.get("replicas", {}), **status.get("backingImages", {})}
        return {
            name: f"{each['state'][0].upper()}{each['scheduledSize'] / GIB:g}"
            for name, each in sorted(entries.items())
        }

    def writes(self) -> list[Call]:
        """Return what the controller has written."""
        return [call for call in self.server.calls if call.verb == "patch"]

    def _conflict(self) -> None:
        self.conflicts += 1

    def _fail(self) -> None:
        self.failures += 1


def server_with(asked: str = "", *, held: str | None = None, owners: str = "") -> FakeApiServer:
    """Return a server with the disk, of which this is asked and held: `a:30 image:20`, in GiB.

    None is held where there is no status yet. *owners* are Replicas that ask for nothing so far.
    """
    server = FakeApiServer(Random(3))
    server.add_resource(KIND)
    server.put(node_document())
    put_schedule(server, _sizes(asked), None if held is None else _status(_sizes(held)))
    for name in owners.split():
        put_replica(server, name)
    return server


def _sizes(text: str) -> dict[str, int]:
    return {name: int(gib) for name, gib in (each.split(":") for each in text.split())}


def _status(sizes: Mapping[str, int]) -> dict[str, Any]:
    entries = {
        name: {"state": "scheduled", "scheduledSize": gib * GIB} for name, gib in sizes.items()
    }
    return {
        "replicas": entries,
        "backingImages": {},
        "storageScheduled": sum(sizes.values()) * GIB,
        "conditions": [{"type": READY, "status": "True"}],
    }


def put_schedule(
    server: FakeApiServer,
    spec: Mapping[str, float] | None = None,
    status: Mapping[str, Any] | None = None,
    **metadata: Any,
) -> None:
    """Create the object of the disk, and the owners of what is asked for."""
    asked = {name: int(size * GIB) for name, size in (spec or {}).items()}
    images = {name: size for name, size in asked.items() if name.startswith("i")}
    replicas = {name: size for name, size in asked.items() if name not in images}
    for name in replicas:
        put_replica(server, name)
    for name in images:
        server.put(document("BackingImage", name))
    fields = {"status": status} if status is not None else {}
    server.put(
        document(
            "DiskSchedule",
            DISK,
            metadata=metadata,
            spec={
                "name": "disk-1",
                "nodeID": "node-1",
                "replicas": replicas,
                "backingImages": images,
            },
            **fields,
        )
    )


def put_replica(server: FakeApiServer, name: str, **spec: Any) -> None:
    server.put(document("Replica", name, spec={"volumeName": "vol", **spec}))


async def ask_for(server: FakeApiServer, name: str, size: int, random: Random) -> None:
    """Ask as Longhorn's controllers do: read, add the requirement, write, again at a conflict."""
    path = f"/apis/longhorn.io/v1beta2/namespaces/{NAMESPACE}/diskschedules/{DISK}"
    async with server.client(name) as client:
        while True:
            found = await ask(client, "GET", path)
            body = {
                "metadata": {"resourceVersion": found.version},
                "spec": {"replicas": {name: size * GIB}},
            }
            written = await ask(client, "PATCH", path, body=body)
            if written.status == 200:
                return
            assert written.refusal == (409, "Conflict")
            await asyncio.sleep(random.uniform(0.0, 1.0))


def sums_of(change: Change) -> list[int]:
    """Return what a disk holds by its entries, if the change is one of a DiskSchedule's status."""
    status = (change.new or {}).get("status", {})
    if "storageScheduled" not in status:
        return []
    entries = [*status["replicas"].values(), *status["backingImages"].values()]
    assert status["storageScheduled"] == sum(each["scheduledSize"] for each in entries)
    return [status["storageScheduled"]]


@asynccontextmanager
async def running(server: FakeApiServer) -> AsyncIterator[Bench]:
    """Run the controller until the end of the block."""
    async with server.client("controller") as client:
        bench = Bench(server, Connection(client))
        loops = [bench.controller.run(), *(each.run() for each in bench.reflectors)]
        async with at_work(*loops):
            await bench.settle()
            bench.controller.look_at_all()  # as when it begins to lead
            await bench.settle()
            yield bench
