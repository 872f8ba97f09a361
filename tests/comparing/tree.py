"""All that is taken from the checkout that is compared: adapt this if its wiring changes.

An instance of it runs on the running loop without sockets. Everything else goes over its HTTP
interface, and over objects at the API server.
"""

import asyncio
import json
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from random import Random
from typing import Any, NamedTuple

import structlog
from prometheus_client import CollectorRegistry

from app.instance.instance import Instance
from app.kube.connection import Connection
from app.process.surroundings import Surroundings
from app.serving.metrics import Metrics
from app.settings import load
from tests.comparing.objects import NAMESPACE
from tests.fakes import FakeApiServer

EPOCH = datetime(2026, 1, 1, tzinfo=UTC)
PREFIX = "longhorn_scheduler_extender_"
COUNTERS = [
    f"{name}_total"
    for name in ("decisions", "rejections", "holds_ended", "wake_ups", "prioritizations")
]
"""Of the metrics: so that it shows what never came about."""
POD = "extender-0"
_ENVIRONMENT = {
    "EXTENDER_DEBUG": "true",
    "EXTENDER_POD_NAME": POD,
    # As older trees have it by default.
    "EXTENDER_NAMESPACE": NAMESPACE,
    # So that little happens while nobody asks. What is due must not wait for a minute at the start,
    # or it would not count any more.
    "EXTENDER_LEASE_DURATION_SECONDS": "60",
    "EXTENDER_RENEW_DEADLINE_SECONDS": "30",
    "EXTENDER_RETRY_PERIOD_SECONDS": "10",
}


class Reply(NamedTuple):
    """An answer over HTTP, whose body is JSON."""

    status: int
    body: Any


class Service:
    """One instance, from its start to its end."""

    def __init__(self, server: FakeApiServer, environment: Mapping[str, str]) -> None:
        self._registry = CollectorRegistry()
        loop = asyncio.get_running_loop()
        instance = Instance(
            Surroundings(
                Connection(server.client(POD)),
                loop.time,
                lambda: EPOCH + timedelta(seconds=loop.time()),
                Random(0),
            ),
            load({**_ENVIRONMENT, **environment}),
            port=9504,
            metrics=Metrics(self._registry, version="1"),
            version="1",
        )
        self._stop = asyncio.Event()
        self._life = asyncio.create_task(instance.run(self._stop, _serve))
        self._app = instance.apps.main

    async def is_answering(self) -> bool:
        """Whether it leads and knows the cluster."""
        return not (await self.state())["instance"]["unavailable"]

    async def post(self, path: str, body: object, client: str) -> Reply:
        """Ask as kube-scheduler does, from the address of *client*."""
        return await self._call("POST", path, json.dumps(body).encode(), client)

    async def state(self) -> Any:
        """Return what /debug/state shows, by the names of today."""
        shown = (await self._call("GET", "/debug/state", b"", "127.0.0.1")).body
        for each in [
            *shown["holds"],
            *(held for of in shown["nodes"].values() for held in of["holds"]),
        ]:
            if "bytes" in each:
                each["volume_bytes"] = each.pop("bytes")
        return shown

    def counts(self) -> dict[str, int]:
        """Return how often everything was decided or ended that is counted, zeros included."""
        return {
            " ".join([sample.name.removeprefix(PREFIX), *sample.labels.values()]): int(sample.value)
            for metric in self._registry.collect()
            for sample in metric.samples
            if sample.name.removeprefix(PREFIX) in COUNTERS
        }

    async def end(self) -> None:
        """Have it hand over and end; raises what a part of it failed with."""
        self._stop.set()
        await self._life

    async def _call(self, method: str, path: str, body: bytes, client: str) -> Reply:
        """Do what an ASGI server does, which for httpx would take three times as long."""
        scope = {
            **{"type": "http", "asgi": {"version": "3.0"}, "http_version": "1.1"},
            **{"method": method, "scheme": "http", "path": path, "raw_path": path.encode()},
            **{"query_string": b"", "root_path": "", "headers": [(b"host", b"extender")]},
            **{"client": (client, 123), "server": ("extender", 80)},
        }
        received, sent = [{"type": "http.request", "body": body}], []

        async def receive() -> Any:
            return received.pop() if received else await asyncio.Future()

        async def send(message: Any) -> None:
            sent.append(message)

        if self._life.done():
            await self._life  # raises what it failed with
        try:
            await self._app(scope, receive, send)
        except Exception as error:  # noqa: BLE001 (a defect of a checkout is a difference, too)
            return Reply(500, {"error": repr(error)})
        [status] = [each["status"] for each in sent if "status" in each]
        return Reply(status, json.loads(b"".join(each.get("body", b"") for each in sent)))


async def _serve(stop: asyncio.Event) -> None:
    await stop.wait()


def silence(ended: list[Mapping[str, Any]]) -> None:
    """Log nothing, but collect how holds end."""

    def collect(_logger: object, _method: str, event: Any) -> str:
        if event["event"] == "hold.ended":
            ended.append(event)
        raise structlog.DropEvent

    structlog.configure(processors=[collect])
