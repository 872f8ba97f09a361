"""The in-memory API server on a loopback port, for real processes."""

import asyncio
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from concurrent.futures import Future
from contextlib import asynccontextmanager, contextmanager
from typing import Any, NamedTuple, TypeVar

import aiohttp
from aiohttp import web

from tests.fakes.api_server import FakeApiServer

Result = TypeVar("Result")
_SECONDS = 10.0
"""Longer than a thread takes for anything here."""


class Served(NamedTuple):
    """A server that another thread runs."""

    port: int
    loop: asyncio.AbstractEventLoop

    def do(self, act: Callable[[], Result]) -> Result:
        """Have that thread do something with the server: it is not made for two at once.

        Without a coroutine: Ctrl-C may come before anybody awaits it, and Python complains then.
        """
        done = Future[Result]()

        def run() -> None:
            try:
                done.set_result(act())
            except Exception as error:  # noqa: BLE001 (it is raised where it was asked for)
                done.set_exception(error)

        self.loop.call_soon_threadsafe(run)
        return done.result(_SECONDS)


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
def in_a_thread(server: FakeApiServer) -> Iterator[Served]:
    """Do the same for who has no loop."""
    begun = Future[tuple[Served, asyncio.Event]]()

    async def serve() -> None:
        over = asyncio.Event()
        async with over_http(server) as port:
            begun.set_result((Served(port, asyncio.get_running_loop()), over))
            await over.wait()

    thread = threading.Thread(target=asyncio.run, args=(serve(),))
    thread.start()
    served, over = begun.result(_SECONDS)
    try:
        yield served
    finally:
        served.loop.call_soon_threadsafe(over.set)
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
