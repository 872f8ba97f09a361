"""The HTTP servers of the process: uvicorn within our bounds, on one port or on two."""

import asyncio
import socket
from collections.abc import Iterator
from contextlib import contextmanager

import structlog
import uvicorn
from fastapi import FastAPI

from app.config import ANY_ADDRESS, Settings
from app.errors import InputError
from app.metrics import Metrics
from app.serving.connections import Connection, Connections
from app.serving.http import Apps
from app.serving.tls import Tls

log = structlog.get_logger()

_GRACE_SECONDS = 1
"""How long requests under way may take after SIGTERM; a client that does not read gets no more."""


class Listeners:
    """The sockets that requests arrive at, to be closed by leaving the context.

    Raises:
        InputError: An address cannot be listened on.
    """

    def __init__(self, settings: Settings) -> None:
        self.main = _listen(settings.host, settings.port)
        self.apart: socket.socket | None = None
        """For metrics, if they have a port of their own."""
        if settings.metrics_port is not None:
            try:
                self.apart = _listen(settings.host, settings.metrics_port)
            except InputError:
                self.main.close()
                raise

    @property
    def port(self) -> int:
        """The port of /filter."""
        return _port(self.main)

    def __enter__(self) -> "Listeners":
        """Keep them open."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close them."""
        for listener in filter(None, (self.main, self.apart)):
            listener.close()


class Servers:
    """A server for each listening socket; all share the bounds on connections.

    Raises:
        InputError: The certificate cannot be used.
    """

    def __init__(
        self,
        listeners: Listeners,
        apps: Apps,
        connections: Connections,
        settings: Settings,
        metrics: Metrics,
    ) -> None:
        self._tls = Tls(settings, metrics) if settings.tls_cert_file else None
        self._servers = {_Server(apps.main, connections, settings, self._tls): listeners.main}
        if apps.apart is not None and listeners.apart is not None:
            self._servers[_Server(apps.apart, connections, settings, None)] = listeners.apart
        host, port = listeners.main.getsockname()[:2]
        apart = {} if listeners.apart is None else {"metrics_port": _port(listeners.apart)}
        log.info("serve.started", host=host, port=port, tls=self._tls is not None, **apart)

    async def run(self) -> None:
        """Serve until told to stop, and then until the requests under way are answered."""
        async with asyncio.TaskGroup() as tasks:
            following = tasks.create_task(self._tls.follow()) if self._tls is not None else None
            await asyncio.wait(
                [
                    tasks.create_task(server.serve(sockets=[listener]))
                    for server, listener in self._servers.items()
                ]
            )
            if following is not None:
                following.cancel()

    def stop(self) -> None:
        """Let `run` end."""
        for server in self._servers:
            server.should_exit = True


class _Server(uvicorn.Server):
    """A server that leaves the signals to us, and whose connections are bounded.

    uvicorn shuts down on signals at once and raises them again afterwards, which would kill the
    process before it has handed over.
    """

    def __init__(
        self,
        app: FastAPI,
        connections: Connections,
        settings: Settings,
        tls: Tls | None,
    ) -> None:
        super().__init__(
            uvicorn.Config(
                app,
                timeout_keep_alive=settings.keep_alive_seconds,
                timeout_graceful_shutdown=_GRACE_SECONDS,
                http="h11",  # what `Connection` is made of; no other is loaded
                lifespan="off",
                ws="none",  # it would take connections out of their bounds
                log_config=None,
                access_log=False,
                server_header=False,
            )
        )
        self._connections = connections
        self._settings = settings
        self._tls = tls

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Begin to accept connections; uvicorn's own would bound neither them nor handshakes."""
        settings, is_https = self._settings, self._tls is not None
        [listener] = sockets or []
        server = await asyncio.get_running_loop().create_server(
            self._connection,
            sock=listener,
            backlog=self.config.backlog,
            ssl=self._tls.context if self._tls is not None else None,
            ssl_handshake_timeout=settings.body_timeout_seconds if is_https else None,
            ssl_shutdown_timeout=settings.answer_timeout_seconds if is_https else None,
        )
        self.servers = [server]
        self.started = True

    def _connection(self) -> Connection:
        return Connection(
            self._connections, config=self.config, server_state=self.server_state, app_state={}
        )


def _listen(host: str, port: int) -> socket.socket:
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


def _port(listener: socket.socket) -> int:
    return int(listener.getsockname()[1])
