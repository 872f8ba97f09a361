"""One HTTP server on one port: uvicorn with our limits."""

import asyncio
import socket
import ssl
from collections.abc import Iterator
from contextlib import contextmanager

import structlog
import uvicorn
from fastapi import FastAPI

from app.config import ANY_ADDRESS, ProcessSettings
from app.errors import InputError
from app.process.connections import Connection, Connections

log = structlog.get_logger()

_GRACE_SECONDS = 1
"""How long requests may still take after SIGTERM. A client that does not read gets no longer."""


async def serve_plainly(
    app: FastAPI,
    listener: socket.socket,
    connections: Connections,
    settings: ProcessSettings,
    stop: asyncio.Event,
) -> None:
    """Serve one application without TLS until *stop* is set, and then what has arrived."""
    server = Server(app, connections, settings)
    log.info("serve.started", host=listener.getsockname()[0], port=port_of(listener), tls=False)
    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(server.serve(sockets=[listener]))
        await stop.wait()
        server.should_exit = True


class Server(uvicorn.Server):
    """A server that does not handle signals, and whose connections are limited.

    On a signal uvicorn shuts down at once and then raises the signal again. That would kill the
    process before it has handed over.
    """

    def __init__(
        self,
        app: FastAPI,
        connections: Connections,
        settings: ProcessSettings,
        tls: ssl.SSLContext | None = None,
        allowed: frozenset[str] = frozenset(),
    ) -> None:
        super().__init__(
            uvicorn.Config(
                app,
                timeout_keep_alive=settings.keep_alive_seconds,
                timeout_graceful_shutdown=_GRACE_SECONDS,
                http="h11",  # what `Connection` is made of; no other is loaded
                lifespan="off",
                ws="none",  # after an upgrade, our limits on connections would not hold
                log_config=None,
                access_log=False,
                server_header=False,
            )
        )
        self._connections = connections
        self._settings = settings
        self._tls = tls
        self._allowed = allowed

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Begin to accept connections, with limits on them and on TLS handshakes."""
        settings, is_https = self._settings, self._tls is not None
        [listener] = sockets or []
        server = await asyncio.get_running_loop().create_server(
            self._connection,
            sock=listener,
            backlog=self.config.backlog,
            ssl=self._tls,
            ssl_handshake_timeout=settings.body_timeout_seconds if is_https else None,
            ssl_shutdown_timeout=settings.answer_timeout_seconds if is_https else None,
        )
        self.servers = [server]
        self.started = True

    def _connection(self) -> Connection:
        return Connection(
            self._connections,
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
