"""Processes of ours on one loop and virtual time, and the API server that they share."""

import asyncio
from collections.abc import Callable, Coroutine
from datetime import UTC, datetime
from random import Random
from types import TracebackType
from typing import Any, Generic, Self, TypeVar

import httpx
from fastapi import FastAPI
from prometheus_client import CollectorRegistry

from app.kube.connection import Connection
from tests.fakes import Call, FakeApiServer
from tests.fakes.installed import NAMESPACE
from tests.integration.gates import Gate, Line, start_process
from tests.integration.rbac import Rules

CLIENT = "127.0.0.1"
"""Where clients ask from, unless they say so."""
EPOCH = datetime(2026, 1, 1, tzinfo=UTC)
LEASES = "leases.coordination.k8s.io"
GLANCE_SECONDS = 0.05
"""How often what goes on is looked at."""
_OF_EVERYBODY = ("authentication.k8s.io", "authorization.k8s.io")
"""Kubernetes lets every account ask who it is and what it may do."""

Condition = Callable[[], object]
"""Something that holds or not; also a coroutine function."""


class LoopProcess:
    """One process in one pod.

    Attributes:
        pod: Its name, which is also what the API server knows the process by.
        registry: Its metrics.
        ended: Done when it has ended.
    """

    def __init__(self, server: FakeApiServer, pod: str) -> None:
        """Make what a process has before its parts; nothing runs yet."""
        self.pod = pod
        self.is_killed = False
        self.registry = CollectorRegistry()
        client = server.client(pod)
        self._gate = Gate()
        self._told_to_end = asyncio.Event()
        self._line = Line(client)
        self._connection = Connection(client)
        self._is_to_fail = False

    def run(self, main: Coroutine[Any, Any, None], *apps: FastAPI) -> None:
        """Begin; the first of what it serves has the probes."""
        self._clients = [client_of(each) for each in apps]
        self.ended = start_process(self._gate, main)

    @property
    def is_leading(self) -> bool:
        """Whether it would act, if it got to act at this moment."""
        raise NotImplementedError

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
        """Send SIGCONT; whoever asks in the same step is answered before anything else runs."""
        if not self.is_killed:
            self._gate.open()

    def fail(self, error: Exception) -> None:
        """Have the part that sends the next request fail with what nobody expects."""
        self._line.error = error
        self._is_to_fail = True

    @property
    def is_connected(self) -> bool:
        """Whether its connection to the API server is open."""
        return not self._line.is_closed

    async def get(self, path: str, **headers: str) -> httpx.Response:
        """Send a request."""
        return await self._clients[0].get(path, headers=headers)

    async def unready(self) -> str:
        """Return what /readyz has against this instance, "" if nothing."""
        response = await self.get("/readyz")
        return "" if response.status_code == 200 else response.text

    async def is_ready(self) -> bool:
        return not await self.unready()

    async def discard(self) -> None:
        """End whatever is left; for the end of a test. Raises what the process failed with."""
        failed = self.ended.done()
        await self._line.cut()
        self.is_killed = True
        self._gate.open()
        self.ended.cancel()
        await asyncio.wait([self.ended])
        if self.is_connected:  # it was never run
            await self._connection.close()
        for client in self._clients:
            await client.aclose()
        if failed and not self._is_to_fail:
            self.ended.result()


P = TypeVar("P", bound=LoopProcess)


class LoopProcesses(Generic[P]):
    """All processes of one kind, and the API server that they share.

    Attributes:
        random: All chance there is.
        server: The API server.
        rules: What the manifests allow the processes.
        denied: Resources (as in "volumes.longhorn.io") that RBAC shall not grant after all.
        refused: Calls that the rules do not allow; there must be none at the end.
        all: In the order of their starts.
    """

    def __init__(
        self, seed: int, rules: Rules, name: str, *, latency_seconds: float, streaming_lists: bool
    ) -> None:
        """Set up the server; *name* is that of the Lease, and no request takes longer."""
        self.random = Random(seed)
        self.server = FakeApiServer(Random(self.random.random()), streaming_lists=streaming_lists)
        self.server.latency = lambda _: (
            self.random.uniform(0, latency_seconds / 2),
            self.random.uniform(0, latency_seconds / 2),
        )
        self.server.authorize = self._authorize
        self.rules = rules
        self.denied: set[str] = set()
        self.refused: list[Call] = []
        self.all: list[P] = []
        self._name = name

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

    @property
    def leaders(self) -> list[P]:
        return [each for each in self.all if each.is_leading]

    @property
    def leader(self) -> P:
        """The only one that leads."""
        [leader] = self.leaders
        return leader

    @property
    def holder(self) -> str:
        """Who holds the lease, by the API server."""
        lease = self.server.get(LEASES, self._name, NAMESPACE)
        return str(lease["spec"].get("holderIdentity", "")) if lease else ""

    async def until(
        self, condition: Condition, *, within: float, glance: float = GLANCE_SECONDS
    ) -> float:
        """Wait for *condition*; return how long it took."""
        loop = asyncio.get_running_loop()
        began = loop.time()
        while not await _holds(condition):
            took = loop.time() - began
            assert took < within, f"not after {took:.2f} s: {condition}"
            await asyncio.sleep(glance)
        return loop.time() - began

    async def always(
        self, condition: Condition, *, seconds: float, glance: float = GLANCE_SECONDS
    ) -> None:
        """Watch *condition* hold for a while."""
        loop = asyncio.get_running_loop()
        began = loop.time()
        while loop.time() - began < seconds:
            assert await _holds(condition), f"not at {loop.time() - began:.2f} s: {condition}"
            await asyncio.sleep(glance)

    def _authorize(self, call: Call) -> bool:
        allowed = self.rules.allow(call) or call.group in _OF_EVERYBODY
        if not allowed:
            self.refused.append(call)
        key = f"{call.resource}.{call.group}" if call.group else call.resource
        return allowed and key not in self.denied


def client_of(app: FastAPI, address: str = CLIENT) -> httpx.AsyncClient:
    """Return a client of what a process serves, without a socket."""
    transport = httpx.ASGITransport(app=app, client=(address, 123))
    return httpx.AsyncClient(transport=transport, base_url="http://process")


async def _holds(condition: Condition) -> bool:
    result = condition()
    return bool(await result if asyncio.iscoroutine(result) else result)
