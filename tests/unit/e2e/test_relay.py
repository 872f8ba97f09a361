"""The way to the API server is really cut and slow when a test wants it to be."""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from tests.e2e.relay import Relay

End = tuple[asyncio.StreamReader, asyncio.StreamWriter]
PATIENCE_SECONDS = 10.0
DELAY_SECONDS = 0.05


@asynccontextmanager
async def connected() -> AsyncIterator[tuple[Relay, End, End]]:
    """Yield a relay, and the client's and the server's end of a connection through it."""
    accepted: asyncio.Queue[End] = asyncio.Queue()
    server = await asyncio.start_server(
        lambda reader, writer: accepted.put_nowait((reader, writer)), "127.0.0.1"
    )
    async with Relay(server.sockets[0].getsockname()[1]).running() as relay:
        async with asyncio.timeout(PATIENCE_SECONDS):
            client = await asyncio.open_connection("127.0.0.1", relay.port)
            ends = [client, await accepted.get()]
            yield relay, ends[0], ends[1]
    for _, writer in ends:
        writer.transport.abort()
    server.close()


async def rest(end: End) -> bytes:
    """Return what comes until the connection is over, in whatever way."""
    with contextlib.suppress(ConnectionError):
        return await end[0].read()
    return b""


async def test_a_cut_breaks_both_sides_and_loses_what_is_under_way():
    async with connected() as (relay, client, server):
        relay.delay_seconds = 3600.0
        server[1].write(b"late")
        client[1].write(b"asked")
        assert await server[0].readexactly(5) == b"asked"

        assert relay.cut() == 1

        assert (await rest(client), await rest(server)) == (b"", b"")


async def test_what_the_server_sends_comes_later_and_unchanged():
    loop = asyncio.get_running_loop()
    data = bytes(range(256)) * 4096
    async with connected() as (relay, client, server):
        relay.delay_seconds = DELAY_SECONDS
        began = loop.time()
        server[1].write(data)
        server[1].write_eof()

        assert await client[0].readexactly(len(data)) == data
        assert loop.time() - began >= DELAY_SECONDS
