"""The played kube-proxy changes nothing on the way, and does not heal what kube-proxy would not."""

import asyncio
import contextlib
import random
import re
import socket
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import pytest

from tests.actors.api import Object
from tests.e2e.calls import Call, read_calls
from tests.e2e.proxy import LOOPBACK, Backend, Proxy, ready_endpoints

WIRE = Path(__file__).parents[2] / "data" / "wire"
PATIENCE_SECONDS = 10.0
ONE, TWO = "10.42.0.1", "10.42.0.2"
ACCEPTING = {
    "Nodes": None,
    "NodeNames": ["node-1", "node-3"],
    "FailedNodes": {"node-2": "no room"},
    "FailedAndUnresolvableNodes": {"node-4": "no disk"},
    "Error": "",
}


def http_message(start: str, body: bytes) -> bytes:
    return f"{start}\r\nContent-Length: {len(body)}\r\n\r\n".encode() + body


def request(body: bytes) -> bytes:
    return http_message("POST /filter?timeout=5s HTTP/1.1\r\nHost: 10.96.0.10:80", body)


POD = {
    "metadata": {"name": "db-0", "namespace": "shop", "uid": "some-uid"},
    "status": {"nominatedNodeName": "node-2"},
}
NODES = ["node-1", "node-2", "node-3", "node-4"]
ASKED = request(msgspec.json.encode({"Pod": POD, "NodeNames": NODES}))


class Client(NamedTuple):
    """A connection to the proxy."""

    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter

    async def ask(self, request: bytes) -> bytes:
        self.writer.write(request)
        async with asyncio.timeout(PATIENCE_SECONDS):
            head = await self.reader.readuntil(b"\r\n\r\n")
            [length] = re.findall(rb"Content-Length: (\d+)", head)
            return head + await self.reader.readexactly(int(length))


class Service:
    """A backend that answers every request with the same bytes, or with none while it hangs.

    Attributes:
        received: All that came in, over all connections.
        heard: Set when a body has come in.
    """

    def __init__(self, answer: bytes) -> None:
        self.answer = answer
        self.received = bytearray()
        self.heard = asyncio.Event()
        self.writers: list[asyncio.StreamWriter] = []

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.writers.append(writer)
        with contextlib.suppress(ConnectionError, asyncio.IncompleteReadError):
            while True:
                head = await reader.readuntil(b"\r\n\r\n")
                [length] = re.findall(rb"Content-Length: (\d+)", head)
                self.received += head + await reader.readexactly(int(length))
                self.heard.set()
                writer.write(self.answer)
        writer.close()

    def end(self) -> None:
        for writer in self.writers:
            writer.close()


class Bench:
    """A running proxy.

    Attributes:
        ready: The backends that are ready now; a test changes them as a slice would.
        calls: Those that were recorded.
    """

    def __init__(self, stack: contextlib.ExitStack) -> None:
        self.ready: list[Backend] = []
        self.calls: asyncio.Queue[Call] = asyncio.Queue()
        self._stack = stack
        self._listener = stack.enter_context(socket.create_server((LOOPBACK, 0)))

    async def run(self) -> None:
        proxy = Proxy(lambda: self.ready, self.calls.put_nowait, random.Random(0))
        await proxy.run(self._listener)

    async def service(self, address: str, *, hangs: bool = False, body: object = None) -> Service:
        """Start a backend and have it be the ready one."""
        content = msgspec.json.encode(body or ACCEPTING)
        service = Service(b"" if hangs else http_message("HTTP/1.1 200 OK", content))
        server = await asyncio.start_server(service.serve, LOOPBACK)
        self._stack.callback(server.close)
        self._stack.callback(service.end)
        self.ready = [Backend(address, LOOPBACK, server.sockets[0].getsockname()[1])]
        return service

    async def connect(self) -> Client:
        port = self._listener.getsockname()[1]
        client = Client(*await asyncio.open_connection(LOOPBACK, port, limit=2**24))
        self._stack.callback(client.writer.close)
        return client

    async def call(self) -> dict[str, Any]:
        """Return the next call that was recorded, without its times and what is empty."""
        async with asyncio.timeout(PATIENCE_SECONDS):
            found = msgspec.to_builtins(await self.calls.get())
        return {name: value for name, value in found.items() if name not in ("at", "seconds")}


@pytest.fixture
async def bench() -> AsyncIterator[Bench]:
    with contextlib.ExitStack() as stack:
        bench = Bench(stack)
        running = asyncio.create_task(bench.run())
        yield bench
        running.cancel()
        await asyncio.wait([running])


def recorded(**found: object) -> dict[str, Any]:
    """Return a call with ASKED as it must be recorded."""
    asked = Call(
        at=0, seconds=0, pod="shop/db-0", uid="some-uid", candidates=4, nominated=True, backend=ONE
    )
    fields = {**msgspec.to_builtins(asked), **found}
    return {name: value for name, value in fields.items() if name not in ("at", "seconds")}


async def test_a_call_is_passed_on_and_recorded(bench):
    service = await bench.service(ONE)
    client = await bench.connect()

    answer = await client.ask(ASKED)

    assert (answer, bytes(service.received)) == (service.answer, ASKED)
    assert await bench.call() == recorded(
        status=200,
        accepted=["node-1", "node-3"],
        rejected={"node-2": "no room", "node-4": "no disk"},
    )


@pytest.mark.parametrize(
    "name",
    sorted(path.name for verb in ("filter", "prioritize") for path in WIRE.glob(f"{verb}-*")),
)
async def test_what_kube_scheduler_sent_passes_byte_for_byte(bench, name):
    body = (WIRE / name).read_bytes()
    nodes = [{"metadata": {"name": "node-1"}}]
    service = await bench.service(ONE, body={"Nodes": {"items": nodes}, "NodeNames": None})
    client = await bench.connect()

    answer = await client.ask(request(body))

    assert (answer, bytes(service.received)) == (service.answer, request(body))
    sent = msgspec.json.decode(body)
    call = await bench.call()
    assert call["uid"] == sent["Pod"]["metadata"]["uid"]
    assert call["candidates"] == len(sent["NodeNames"] or sent["Nodes"]["items"]) > 0
    assert call["nominated"] == ("nominated" in name)
    assert (call["accepted"], call["rejected"]) == (["node-1"], {})


async def test_an_established_connection_stays_and_a_new_one_goes_elsewhere(bench):
    first = await bench.service(ONE)
    old = await bench.connect()
    await old.ask(ASKED)

    second = await bench.service(TWO)
    await old.ask(ASKED)
    await (await bench.connect()).ask(ASKED)
    bench.ready = []
    await old.ask(ASKED)

    assert (bytes(first.received), bytes(second.received)) == (ASKED * 3, ASKED)
    assert [(await bench.call())["backend"] for _ in range(4)] == [ONE, ONE, TWO, ONE]


@pytest.mark.parametrize("ready", [[], [Backend(ONE, LOOPBACK, 0)]])
async def test_who_is_taken_by_nobody_is_reset(bench, ready):
    bench.ready = ready
    client = await bench.connect()

    with pytest.raises(ConnectionResetError):
        await client.ask(ASKED)

    assert await bench.call() == recorded(error="refused", backend=ONE if ready else "")


async def test_a_client_that_gives_up_is_noticed(bench):
    service = await bench.service(ONE, hangs=True)
    client = await bench.connect()
    client.writer.write(ASKED)
    await asyncio.wait_for(service.heard.wait(), PATIENCE_SECONDS)

    client.writer.close()

    assert await bench.call() == recorded(error="client gave up")


async def test_a_backend_that_breaks_off_resets_the_client(bench):
    service = await bench.service(ONE, hangs=True)
    client = await bench.connect()
    client.writer.write(ASKED)
    await asyncio.wait_for(service.heard.wait(), PATIENCE_SECONDS)

    [writer] = service.writers
    linger = b"\1\0\0\0\0\0\0\0"
    writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
    writer.transport.abort()

    with pytest.raises(ConnectionResetError):
        await client.reader.read()
    assert await bench.call() == recorded(error="reset")


def test_a_call_that_is_being_written_is_left_out(tmp_path):
    calls = [Call(at=1.5, seconds=0.25, pod="shop/db-0"), Call(at=2.5, seconds=0.5)]
    path = tmp_path / "calls.jsonl"
    path.write_bytes(b"\n".join(map(msgspec.json.encode, calls)))

    assert read_calls(path) == calls[:1]


def test_connections_go_to_ready_endpoints_of_the_service_at_its_port():
    port: Any = {"name": "http", "port": 41001, "protocol": "TCP"}
    service: Object = {
        "metadata": {"name": "ours"},
        "spec": {"ports": [{"name": "http", "port": 80}]},
    }

    def published(address: str, *ports: Any, of: str = "ours", ready: bool | None = True) -> Any:
        return {
            "metadata": {"labels": {"kubernetes.io/service-name": of}},
            "addressType": "IPv4",
            "endpoints": [{"addresses": [address, "10.42.0.9"], "conditions": {"ready": ready}}],
            "ports": [{"name": "metrics", "port": 1}, *ports],
        }

    slices = [
        published(ONE, port),
        published(TWO, port, ready=None),
        published("10.42.0.3", port, ready=False),
        published("10.42.0.4", port, of="theirs"),
        published("10.42.0.5", {**port, "name": "other"}),
        published("10.42.0.6", {**port, "protocol": "UDP"}),
        {**published("10.42.0.7"), "ports": None},
        {**published("10.42.0.8", port), "endpoints": None},
    ]

    assert ready_endpoints(slices, service) == [(ONE, 41001), (TWO, 41001)]
