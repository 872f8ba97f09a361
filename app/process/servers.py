"""One HTTP server on one port: uvicorn with our limits."""

import asyncio
import socket
import ssl
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import structlog
import uvicorn
from fastapi import FastAPI

from app.config import ANY_ADDRESS, ProcessSettings
from app.errors import InputError
from app.metrics import ProcessMetrics
from app.process.connections import Connections
from app.process.door import Door
from app.process.http import Connection

log = structlog.get_logger()

_GRACE_SECONDS = 1
"""How long requests may still take after SIGTERM. A client that does not read gets no longer."""


async def serve_plainly(
    app: FastAPI,
    listener: socket.socket,
    settings: ProcessSettings,
    metrics: ProcessMetrics,
    stop: asyncio.Event,
) -> None:
    """Serve one application without TLS until *stop* is set, and then what has arrived."""
    server = Server(app, settings, metrics)
    metrics.connections.set_function(lambda: len(server.clients))
    log.info("serve.started", host=listener.getsockname()[0], port=port_of(listener), tls=False)
    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(server.serve(sockets=[listener]))
        await stop.wait()
        server.should_exit = True


class Server(uvicorn.Server):
    """A server that does not handle signals, and whose clients come in by a door.

    On a signal uvicorn shuts down at once and then raises the signal again. That would kill the
    process before it has handed over.

    Args:
        app: What answers.
        settings: Limits on clients.
        metrics: Counts those that are not answered.
        tls: What clients are let in by; None: everybody is, over plain HTTP.
        allowed: Names of which a client's certificate must have one, if there are any.
        is_plain_open: Whether plain HTTP is answered beside TLS at this moment.

    Attributes:
        clients: The open connections.
    """

    def __init__(
        self,
        app: FastAPI,
        settings: ProcessSettings,
        metrics: ProcessMetrics,
        tls: ssl.SSLContext | None = None,
        *,
        allowed: frozenset[str] = frozenset(),
        is_plain_open: Callable[[], bool] = lambda: False,
    ) -> None:
        super().__init__(
            uvicorn.Config(
                app,
                timeout_keep_alive=settings.keep_alive_seconds,
                timeout_graceful_shutdown=_GRACE_SECONDS,
                http="httptools",  # what `Connection` is made of
                lifespan="off",
                ws="none",  # after an upgrade, our limits on connections would not hold
                log_config=None,
                access_log=False,
                server_header=False,
            )
        )
        self.clients = Connections(settings, metrics)
        self._settings, self._metrics = settings, metrics
        self._tls, self._allowed, self._is_plain_open = tls, allowed, is_plain_open

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Begin to let clients in."""
        [listener] = sockets or []
        door = Door(
            listener,
            self._connection,
            self._settings,
            self._metrics,
            tls=self._tls,
            is_plain_open=self._is_plain_open,
        )
        self.servers = [door]  # type: ignore[list-item]  # it closes as they do
        self.started = True

    def _connection(self) -> Connection:
        return Connection(
            self.clients,
            self._allowed,
            config=self.config,
            server_state=self.server_state,
            app_state={},
        )


def listen(host: str, port: int) -> socket.socket:
    """Listen on a port; 0 takes a free one.

    Raises:
        InputError: The address cannot be listened on.
    """
    try:
        if host == ANY_ADDRESS and not socket.has_dualstack_ipv6():
            host = "0.0.0.0"  # noqa: S104 (the same where there is no IPv6)
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        return socket.create_server(
            (host, port), family=family, backlog=128, dualstack_ipv6=host == ANY_ADDRESS
        )
    except OSError as error:
        raise InputError(
            f"cannot listen on {host} port {port}: {error.strerror or error}"
        ) from error


def port_of(listener: socket.socket) -> int:
    """Return the port that a socket listens on."""
    return int(listener.getsockname()[1])
