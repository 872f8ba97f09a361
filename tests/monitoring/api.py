"""The in-memory API server on a loopback port, for real processes."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import aiohttp
from aiohttp import web

from tests.fakes import FakeApiServer


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
