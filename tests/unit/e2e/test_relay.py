"""The relay passes bytes on as they came, late if it is told to, until it breaks off."""

import asyncio
import contextlib
import random
import socket
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import NamedTuple

import pytest

from tests.e2e.relay import Relay
from tests.unit.e2e.bench import PATIENCE_SECONDS, reset

LOOPBACK = "127.0.0.1"
DELAY_SECONDS = 0.05
NEVER_SECONDS = 3600.0


class End(NamedTuple):
    """One end of a connection."""

    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter

    async def send(self, data: bytes) -> None:
        async with asyncio.timeout(PATIENCE_SECONDS):
            self.writer.write(data)
            await self.writer.drain()

    async def receive(self, count: int) -> bytes:
        async with asyncio.timeout(PATIENCE_SECONDS):
            return await self.reader.readexactly(count)

    async def rest(self) -> bytes:
        """Return all that comes until the peer has no more to say."""
        async with asyncio.timeout(PATIENCE_SECONDS):
            return await self.reader.read()

    async def is_broken(self) -> bool:
        """Wait until it is over, in whatever way."""
        try:
            return await self.rest() == b""
        except ConnectionError:
            return True


class Server:
    """What the relay leads to. It hands out its ends of connections in their order."""

    def __init__(self) -> None:
        self.port = 0
        self.accepted: asyncio.Queue[End] = asyncio.Queue()

    @contextlib.asynccontextmanager
    async def running(self) -> AsyncIterator["Server"]:
        server = await asyncio.start_server(self._accept, LOOPBACK)
        self.port = server.sockets[0].getsockname()[1]
        try:
            yield self
        finally:
            server.close()

    async def end(self) -> End:
        """Return its end of the next connection."""
        async with asyncio.timeout(PATIENCE_SECONDS):
            return await self.accepted.get()

    async def ends(self) -> list[End]:
        """Return its ends of all connections that have begun by now."""
        _, last = await asyncio.open_connection(LOOPBACK, self.port)
        ends: list[End] = []
        while not ends or ends[-1].writer.get_extra_info("peername") != last.get_extra_info(
            "sockname"
        ):
            ends.append(await self.end())
        last.close()
        ends.pop().writer.close()
        return ends

    def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.accepted.put_nowait(End(reader, writer))


Connect = Callable[[], Awaitable[tuple[End, End]]]


@pytest.fixture
async def server() -> AsyncIterator[Server]:
    async with Server().running() as running:
        yield running


@pytest.fixture
async def relay(server: Server) -> AsyncIterator[Relay]:
    async with Relay(server.port) as running:
        yield running


@pytest.fixture
async def connect(server: Server, relay: Relay) -> AsyncIterator[Connect]:
    """Connect through the relay; both ends are closed after the test."""
    ends: list[End] = []

    async def client_and_server() -> tuple[End, End]:
        ends.append(End(*await asyncio.open_connection(LOOPBACK, relay.port)))
        ends.append(await server.end())
        return ends[-2], ends[-1]

    yield client_and_server
    for end in ends:
        end.writer.transport.abort()


async def test_bytes_pass_both_ways_unchanged(connect: Connect) -> None:
    client, server = await connect()
    there, back = random.Random(0).randbytes(1_000_000), random.Random(1).randbytes(1_500_000)

    _, _, received, answered = await asyncio.gather(
        client.send(there), server.send(back), server.receive(len(there)), client.receive(len(back))
    )

    assert (received, answered) == (there, back)


async def test_connections_do_not_mix(connect: Connect, relay: Relay) -> None:
    first, second = await connect(), await connect()

    for number, (client, server) in enumerate((first, second)):
        await client.send(b"asked %d" % number)
        await server.send(b"answered %d" % number)

    assert [await server.receive(7) for _, server in (first, second)] == [b"asked 0", b"asked 1"]
    assert [await client.receive(10) for client, _ in (first, second)] == [
        b"answered 0",
        b"answered 1",
    ]
    assert relay.connections == 2


async def test_a_cut_breaks_both_sides(connect: Connect, relay: Relay) -> None:
    pairs = [await connect(), await connect()]

    assert relay.cut() == 2

    assert all([await end.is_broken() for pair in pairs for end in pair])
    assert (relay.connections, relay.cut()) == (0, 0)


async def test_after_a_cut_new_connections_pass(connect: Connect, relay: Relay) -> None:
    await connect()
    relay.cut()

    client, server = await connect()
    await client.send(b"asked")

    assert await server.receive(5) == b"asked"


async def test_what_is_under_way_is_lost_with_a_cut(connect: Connect, relay: Relay) -> None:
    relay.delay_seconds = NEVER_SECONDS
    client, server = await connect()
    await server.send(b"late")

    relay.cut()

    assert await client.is_broken()


async def test_what_the_server_sends_comes_later(connect: Connect, relay: Relay) -> None:
    loop = asyncio.get_running_loop()
    client, server = await connect()
    relay.delay_seconds = DELAY_SECONDS

    for _ in range(3):
        sent_at = loop.time()
        await server.send(b"answer")
        await client.receive(6)
        assert loop.time() - sent_at >= DELAY_SECONDS


async def test_what_the_client_sends_does_not(connect: Connect, relay: Relay) -> None:
    relay.delay_seconds = NEVER_SECONDS
    client, server = await connect()

    await client.send(b"asked")
    client.writer.write_eof()

    assert await server.rest() == b"asked"


async def test_much_is_no_later_than_little(connect: Connect, relay: Relay) -> None:
    """The delay is that of a long way, not of a narrow one."""
    relay.delay_seconds = DELAY_SECONDS
    much, little = await connect(), await connect()
    arrived: list[str] = []

    async def send_much() -> None:
        client, server = much
        await asyncio.gather(server.send(bytes(2**20)), client.receive(2**20))
        arrived.append("much")

    async def ask_often() -> None:
        client, server = little
        for _ in range(5):
            await server.send(b"?")
            await client.receive(1)
        arrived.append("little, five times")

    await asyncio.gather(send_much(), ask_often())

    assert arrived == ["much", "little, five times"]


async def test_the_order_stays_when_the_delay_ends(connect: Connect, relay: Relay) -> None:
    client, server = await connect()
    relay.delay_seconds = DELAY_SECONDS
    await server.send(b"late")
    relay.delay_seconds = 0.0

    await server.send(b"soon")

    assert await client.receive(8) == b"latesoon"


@pytest.mark.parametrize("delay_seconds", [0.0, DELAY_SECONDS])
async def test_each_side_may_listen_after_its_last_word(
    connect: Connect, relay: Relay, delay_seconds: float
) -> None:
    relay.delay_seconds = delay_seconds
    client, server = await connect()

    await client.send(b"asked")
    client.writer.write_eof()
    assert await server.rest() == b"asked"
    await server.send(b"answered")
    server.writer.write_eof()

    assert await client.rest() == b"answered"


async def test_the_server_may_have_the_first_last_word(connect: Connect) -> None:
    client, server = await connect()

    server.writer.write_eof()
    assert await client.rest() == b""
    await client.send(b"said")
    client.writer.write_eof()

    assert await server.rest() == b"said"


async def test_a_reset_of_one_side_breaks_the_other(connect: Connect) -> None:
    first, second = await connect(), await connect()

    reset(first[0].writer)
    reset(second[1].writer)

    assert await first[1].is_broken()
    assert await second[0].is_broken()


async def test_a_connection_that_is_over_is_not_open(connect: Connect, relay: Relay) -> None:
    client, server = await connect()

    for end in (client, server):
        end.writer.write_eof()
    await asyncio.gather(client.rest(), server.rest())
    client, server = await connect()  # the relay has had time to notice

    assert relay.connections == 1


async def test_who_finds_nobody_behind_the_relay_is_closed() -> None:
    with socket.create_server((LOOPBACK, 0)) as nobody:
        port = nobody.getsockname()[1]
    async with Relay(port) as relay:
        client = End(*await asyncio.open_connection(LOOPBACK, relay.port))

        assert await client.is_broken()

        assert relay.connections == 0
        client.writer.close()


async def test_the_end_of_the_relay_ends_all(server: Server) -> None:
    async with Relay(server.port) as relay:
        relay.delay_seconds = NEVER_SECONDS
        client = End(*await asyncio.open_connection(LOOPBACK, relay.port))
        other = await server.end()
        await other.send(b"late")

    assert relay.connections == 0
    assert await client.is_broken()
    assert await other.is_broken()
    with pytest.raises(ConnectionRefusedError):
        await asyncio.open_connection(LOOPBACK, relay.port)
    for end in (client, other):
        end.writer.close()


@pytest.mark.parametrize("steps", range(6))
async def test_the_end_comes_while_a_connection_begins(server: Server, steps: int) -> None:
    """Whatever step of the loop it has reached on its way on, it does not outlive the relay."""
    async with Relay(server.port) as relay:
        client = End(*await asyncio.open_connection(LOOPBACK, relay.port))
        for _ in range(100):
            if relay.connections:
                break
            await asyncio.sleep(0)
        for _ in range(steps):
            await asyncio.sleep(0)

    assert relay.connections == 0
    for end in (client, *await server.ends()):
        assert await end.is_broken()
        end.writer.close()
