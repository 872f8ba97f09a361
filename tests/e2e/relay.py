"""A way to the API server that can be made slow, cut, and shut: what networks do to a service.

It passes bytes on and understands nothing of them, so TLS goes through it untouched.
"""

import asyncio
import contextlib
from types import TracebackType
from typing import Self

_CHUNK_BYTES = 65536


class Relay:
    """Listens on loopback and passes on to another port.

    Attributes:
        delay_seconds: How much later what the server sends arrives.
        port: Where it listens.
    """

    def __init__(self, target_port: int) -> None:
        self.delay_seconds = 0.0
        self.port = 0
        self._target_port = target_port
        self._open: dict[asyncio.Task[None], tuple[asyncio.StreamWriter, ...]] = {}
        self._server: asyncio.Server | None = None

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._accept, "127.0.0.1", 0)
        self.port = self._server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        assert self._server is not None
        self._server.close()
        for task in [*self._open]:
            task.cancel()
        if self._open:
            await asyncio.wait([*self._open])

    @property
    def connections(self) -> int:
        """How many are open."""
        return len(self._open)

    def cut(self) -> int:
        """Break all connections off, as a network does; return how many there were."""
        writers = [writer for pair in self._open.values() for writer in pair]
        for writer in writers:
            writer.transport.abort()
        return len(self._open)

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        try:
            there, back = await asyncio.open_connection("127.0.0.1", self._target_port)
        except OSError:
            writer.transport.abort()
            return
        self._open[task] = (writer, back)
        try:
            async with asyncio.TaskGroup() as tasks:
                tasks.create_task(self._pass_on(reader, back, delayed=False))
                tasks.create_task(self._pass_on(there, writer, delayed=True))
        except* (OSError, asyncio.CancelledError):
            pass
        finally:
            del self._open[task]
            for each in (writer, back):
                each.transport.abort()

    async def _pass_on(
        self, source: asyncio.StreamReader, target: asyncio.StreamWriter, *, delayed: bool
    ) -> None:
        while data := await source.read(_CHUNK_BYTES):
            if delayed and self.delay_seconds:
                await asyncio.sleep(self.delay_seconds)
            target.write(data)
            await target.drain()
        with contextlib.suppress(OSError):
            target.write_eof()
