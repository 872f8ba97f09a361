"""The HTTP server of Longhorn's extender, on loopback."""

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

from aiohttp import web

from tests.actors.api import Object

HOST = "127.0.0.1"
_LARGEST_BYTES = 64 * 2**20
"""kube-scheduler sends whole nodes."""
_GOODBYE_SECONDS = 0.1


@asynccontextmanager
async def serving(answer: Callable[[Object], Awaitable[Object]]) -> AsyncIterator[int]:
    """Serve `/filter` and `/healthz` until the end of the block; yields the port.

    Requests that still wait then are broken off.
    """

    async def on_filter(request: web.Request) -> web.Response:
        return web.json_response(await answer(await request.json()))

    async def on_healthz(_: web.Request) -> web.Response:
        return web.Response(text="ok")

    app = web.Application(client_max_size=_LARGEST_BYTES)
    app.router.add_post("/filter", on_filter)
    app.router.add_get("/healthz", on_healthz)
    runner = web.AppRunner(
        app, handler_cancellation=True, shutdown_timeout=_GOODBYE_SECONDS, access_log=None
    )
    await runner.setup()
    try:
        await web.TCPSite(runner, HOST, 0).start()
        yield int(runner.addresses[0][1])
    finally:
        await runner.cleanup()
