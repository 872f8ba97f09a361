"""The in-memory API server on a loopback port, for real processes."""

import asyncio
import threading
from collections.abc import AsyncIterator, Iterator
from concurrent.futures import Future
from contextlib import asynccontextmanager, contextmanager
from typing import Any

import aiohttp
from aiohttp import web

from tests.fakes.api_server import FakeApiServer


@asynccontextmanager
async def over_http(server: FakeApiServer) -> AsyncIterator[int]:
    """Serve until the end of the block; yields the port. The token of a client is its name."""
    sessions: dict[str, Any] = {}

    async def pass_on(request: web.Request) -> web.StreamResponse:
        name = request.headers["Authorization"].removeprefix("Bearer ")
        if name not in sessions:
            sessions[name] = server.client(name).rest_client.pool_manager
        try:
            return await _pass_on(request, sessions[name])
        except aiohttp.ClientError:  # what the client would meet on its way to the server
            if request.transport is not None:
                request.transport.abort()
            return web.Response()  # to nobody

    app = web.Application()
    app.router.add_route("*", "/{path:.*}", pass_on)
    runner = web.AppRunner(app, handler_cancellation=True, shutdown_timeout=0.1, access_log=None)
    await runner.setup()
    try:
        site = web.TCPSite(runner, "127.0.0.1", 0)
        await site.start()
        yield int(runner.addresses[0][1])
    finally:
        await runner.cleanup()


@contextmanager
def in_a_thread(server: FakeApiServer) -> Iterator[int]:
    """Do the same for a test without a loop."""
    begun = Future[tuple[int, asyncio.AbstractEventLoop, asyncio.Event]]()

    async def serve() -> None:
        over = asyncio.Event()
        async with over_http(server) as port:
            begun.set_result((port, asyncio.get_running_loop(), over))
            await over.wait()

    thread = threading.Thread(target=asyncio.run, args=(serve(),))
    thread.start()
    port, loop, over = begun.result(timeout=10)
    try:
        yield port
    finally:
        loop.call_soon_threadsafe(over.set)
        thread.join()


async def _pass_on(request: web.Request, session: Any) -> web.StreamResponse:
    answer = await session.request(
        method=request.method,
        url=str(request.url),
        headers=request.headers,
        data=await request.read(),
    )
    response = web.StreamResponse(status=answer.status, headers=answer.headers)
    await response.prepare(request)
    try:
        while piece := await answer.content.readany():
            await response.write(piece)
    finally:
        answer.close()
    return response
