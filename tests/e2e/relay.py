"""A way to the API server that can be made slow, cut, and shut: what networks do to a service.

It passes bytes on and understands nothing of them, so TLS goes through it untouched.
"""

import asyncio
import contextlib
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Self

_CHUNK_BYTES = 65536
_MOST_CHUNKS = 256

_Chunks = asyncio.Queue[tuple[float, bytes]]
"""What is under way, each chunk with when it arrives; the last one is empty."""


class Relay:
    """Listens on loopback and passes on to another port.

    Attributes:
        delay_seconds: How much later what the server sends arrives.
        port: Where it listens.
    """

    def __init__(self, target_port: int, listener: socket.socket | None = None) -> None:
        """Listen on a free port, or on a socket that is bound already."""
        self.delay_seconds = 0.0
        self.port = 0
        self._target_port = target_port
        self._listener = listener
        self._open: set[asyncio.Task[None]] = set()
        self._server: asyncio.Server | None = None

    @asynccontextmanager
    async def running(self) -> AsyncIterator[Self]:
        """Listen for as long as the block goes on; then all connections end."""
        if self._listener is None:
            server = await asyncio.start_server(self._accept, "127.0.0.1", 0)
        else:
            server = await asyncio.start_server(self._accept, sock=self._listener)
        self.port = server.sockets[0].getsockname()[1]
        self._server = server
        try:
            yield self
        finally:
            server.close()
            self.cut()
            if self._open:
                await asyncio.wait([*self._open])

    def cut(self) -> int:
        """Break all connections off, as a network does; return how many there were."""
        for task in self._open:
            task.cancel()
        return len(self._open)

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        assert self._server is not None
        self._open.add(task)
        try:
            if self._server.is_serving():  # else it came as the relay ended
                await self._pass_on(reader, writer)
        except* (OSError, asyncio.CancelledError):
            pass
        finally:
            self._open.remove(task)
            writer.transport.abort()

    async def _pass_on(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        there, back = await asyncio.open_connection("127.0.0.1", self._target_port)
        requests, answers = _Chunks(_MOST_CHUNKS), _Chunks(_MOST_CHUNKS)
        try:
            async with asyncio.TaskGroup() as tasks:
                tasks.create_task(self._take(reader, requests, delayed=False))
                tasks.create_task(_hand_on(requests, back))
                tasks.create_task(self._take(there, answers, delayed=True))
                tasks.create_task(_hand_on(answers, writer))
        finally:
            back.transport.abort()

    async def _take(self, source: asyncio.StreamReader, chunks: _Chunks, *, delayed: bool) -> None:
        loop = asyncio.get_running_loop()
        while True:
            data = await source.read(_CHUNK_BYTES)
            delay_seconds = self.delay_seconds if delayed else 0.0
            await chunks.put((loop.time() + delay_seconds, data))
            if not data:
                return


async def _hand_on(chunks: _Chunks, target: asyncio.StreamWriter) -> None:
    loop = asyncio.get_running_loop()
    while True:
        arrives_at, data = await chunks.get()
        await asyncio.sleep(arrives_at - loop.time())
        if not data:
            break
        target.write(data)
        await target.drain()
    with contextlib.suppress(OSError):
        target.write_eof()
