"""The proxy between sockets of a test's own: a service, its clients, and the calls recorded."""

import asyncio
import contextlib
import random
import re
import socket
from collections.abc import AsyncIterator
from typing import NamedTuple

from tests.e2e.calls import Call
from tests.e2e.proxy import LOOPBACK, Backend, Proxy
from tests.unit.e2e.exchange import ACCEPTING, http_answer

PATIENCE_SECONDS = 10.0


class Client(NamedTuple):
    """A connection, and how HTTP goes over it."""

    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter

    async def answer(self) -> bytes:
        """Return the next answer, whole."""
        async with asyncio.timeout(PATIENCE_SECONDS):
            head = await self.reader.readuntil(b"\r\n\r\n")
            return head + await self.reader.readexactly(_body_length(head))

    async def rest(self) -> bytes:
        """Return all that comes until the peer ends the connection."""
        async with asyncio.timeout(PATIENCE_SECONDS):
            return await self.reader.read()

    async def ask(self, request: bytes) -> bytes:
        self.writer.write(request)
        return await self.answer()


class Service:
    """A backend. It answers every request with the same bytes, or with none while it hangs.

    Attributes:
        is_hasty: Whether it answers as soon as the head of a request is there.
        received: All that came in, over all connections.
        heard: Set when a request was whole.
        left: Set when a client has ended its connection.
    """

    def __init__(self, answer: bytes, *, hangs: bool = False) -> None:
        self.answer = b"" if hangs else answer
        self.is_hasty = False
        self.received = bytearray()
        self.heard = asyncio.Event()
        self.left = asyncio.Event()
        self.port = 0
        self._writers: list[asyncio.StreamWriter] = []

    @contextlib.asynccontextmanager
    async def running(self) -> AsyncIterator["Service"]:
        server = await asyncio.start_server(self._serve, LOOPBACK)
        self.port = server.sockets[0].getsockname()[1]
        try:
            yield self
        finally:
            server.close()
            self.finish_all()

    def reset_all(self) -> None:
        """Break all connections off, as a process does that ends with bytes unread."""
        for writer in self._writers:
            reset(writer)

    def finish_all(self) -> None:
        """End all connections in order."""
        for writer in self._writers:
            writer.close()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._writers.append(writer)
        pending = bytearray()
        with contextlib.suppress(ConnectionError):
            while data := await reader.read(2**20):
                self.received += data
                pending += data
                if self.is_hasty and b"\r\n\r\n" in data:
                    writer.write(self.answer)
                if length := _message_length(pending):
                    del pending[:length]
                    self.heard.set()
                    if not self.is_hasty:
                        writer.write(self.answer)
                    if b"Connection: close" in self.answer:
                        break
        self.left.set()
        writer.close()


class Bench:
    """A running proxy.

    Attributes:
        addresses: Those that are ready now; a test changes them as a slice would.
    """

    def __init__(self) -> None:
        self.addresses: list[str] = []
        self.port = 0
        self._places: dict[str, Backend] = {}
        self._calls: asyncio.Queue[Call] = asyncio.Queue()
        self._stack = contextlib.AsyncExitStack()

    async def __aenter__(self) -> "Bench":
        listener = self._stack.enter_context(socket.create_server((LOOPBACK, 0)))
        self.port = listener.getsockname()[1]
        proxy = Proxy(self._backends, self._calls.put_nowait, random.Random(0))
        self._running = asyncio.create_task(proxy.run(listener))
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.stop()
        await self._stack.aclose()

    async def stop(self) -> None:
        self._running.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await self._running

    async def service(self, address: str, answer: bytes = b"", *, hangs: bool = False) -> Service:
        """Start a backend and have it be the ready one."""
        service = Service(answer or http_answer(ACCEPTING), hangs=hangs)
        await self._stack.enter_async_context(service.running())
        self._publish(address, service.port)
        return service

    def publish_nobody(self, address: str) -> None:
        """Have an address be ready where nobody listens."""
        self._publish(address, 0)

    def publish_frozen(self, address: str) -> None:
        """Have an address be ready where only the kernel takes connections, up to its buffers."""
        frozen = self._stack.enter_context(socket.create_server((LOOPBACK, 0)))
        self._publish(address, frozen.getsockname()[1])

    async def connect(self) -> Client:
        async with asyncio.timeout(PATIENCE_SECONDS):
            client = Client(*await asyncio.open_connection(LOOPBACK, self.port, limit=2**24))
        self._stack.callback(client.writer.close)
        return client

    async def call(self) -> Call:
        """Return the next call that was recorded."""
        async with asyncio.timeout(PATIENCE_SECONDS):
            return await self._calls.get()

    @property
    def is_silent(self) -> bool:
        """Whether no more calls were recorded than were taken."""
        return self._calls.empty()

    def _publish(self, address: str, port: int) -> None:
        self._places[address] = Backend(address, LOOPBACK, port)
        self.addresses = [address]

    def _backends(self) -> list[Backend]:
        return [self._places[address] for address in self.addresses]


async def soon(event: asyncio.Event) -> None:
    async with asyncio.timeout(PATIENCE_SECONDS):
        await event.wait()


def reset(writer: asyncio.StreamWriter) -> None:
    """Break a connection off, and have the peer notice."""
    linger = b"\1\0\0\0\0\0\0\0"
    peer = writer.get_extra_info("socket")
    peer.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
    writer.transport.abort()


def _message_length(data: bytearray) -> int:
    """Return the length of the first message, 0 if it is not whole."""
    head, end, body = data.partition(b"\r\n\r\n")
    length = _body_length(head)
    return len(head) + len(end) + length if end and len(body) >= length else 0


def _body_length(head: bytes | bytearray) -> int:
    found = re.search(rb"(?i)content-length: ([0-9]+)", head)
    return int(found[1]) if found else 0
