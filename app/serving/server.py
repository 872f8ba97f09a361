"""The HTTP servers of the process: uvicorn with our limits, on one port and up to three."""

import asyncio
import socket
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

import structlog
import uvicorn
from fastapi import FastAPI

from app.config import ANY_ADDRESS, ProcessSettings, Settings
from app.errors import InputError
from app.metrics import Metrics
from app.serving.connections import Connection, Connections
from app.serving.http import Apps
from app.serving.lag import watch_lag
from app.serving.tls import Tls, TlsFiles

log = structlog.get_logger()

_GRACE_SECONDS = 1
"""How long requests may still take after SIGTERM. A client that does not read gets no longer."""


class Listeners:
    """The sockets that requests arrive at. Leaving the context closes them.

    Raises:
        InputError: An address cannot be listened on.
    """

    def __init__(self, settings: Settings) -> None:
        with ExitStack() as opened:

            def open_if(port: int | None) -> socket.socket | None:
                return None if port is None else opened.enter_context(listen(settings.host, port))

            self.main = opened.enter_context(listen(settings.host, settings.port))
            self.metrics = open_if(settings.metrics_port)
            """For metrics, if they have a port of their own."""
            self.webhook = open_if(settings.webhook_port)
            """For /mutate, if there is a webhook."""
            self._opened = opened.pop_all()

    @property
    def port(self) -> int:
        """The port of kube-scheduler's requests."""
        return _port(self.main)

    def __enter__(self) -> "Listeners":
        """Keep them open."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close them."""
        self._opened.close()


class Servers:
    """A server for each listening socket. All share the limits on connections.

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
        tls = Tls(_main_files(settings), metrics) if settings.tls_cert_file else None
        main = _Server(apps.main, connections, settings, tls, settings.allowed_clients)
        self._servers = {main: listeners.main}
        self._certificates = [] if tls is None else [tls]
        self._observe_lag = metrics.event_loop_lag_seconds.observe
        ports = {"port": listeners.port}
        if apps.on_metrics_port is not None and listeners.metrics is not None:
            server = _Server(apps.on_metrics_port, connections, settings, None)
            self._servers[server] = listeners.metrics
            ports["metrics_port"] = _port(listeners.metrics)
        if apps.on_webhook_port is not None and listeners.webhook is not None:
            webhook_tls = Tls(_webhook_files(settings), metrics)
            self._certificates.append(webhook_tls)
            server = _Server(apps.on_webhook_port, connections, settings, webhook_tls)
            self._servers[server] = listeners.webhook
            ports["webhook_port"] = _port(listeners.webhook)
        host = listeners.main.getsockname()[0]
        log.info("serve.started", host=host, **ports, tls=tls is not None)

    async def run(self, stop: asyncio.Event) -> None:
        """Serve until *stop* is set, then until the requests that have arrived are answered."""
        async with asyncio.TaskGroup() as tasks:
            following = [tasks.create_task(each.follow()) for each in self._certificates]
            following.append(tasks.create_task(watch_lag(self._observe_lag, time.monotonic)))
            serving = [
                tasks.create_task(server.serve(sockets=[listener]))
                for server, listener in self._servers.items()
            ]
            await stop.wait()
            for server in self._servers:
                server.should_exit = True
            await asyncio.wait(serving)
            for task in following:
                task.cancel()


async def serve_plainly(
    app: FastAPI,
    listener: socket.socket,
    connections: Connections,
    settings: ProcessSettings,
    stop: asyncio.Event,
) -> None:
    """Serve one application without TLS until *stop* is set, and then what has arrived."""
    server = _Server(app, connections, settings, None)
    log.info("serve.started", host=listener.getsockname()[0], port=_port(listener), tls=False)
    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(server.serve(sockets=[listener]))
        await stop.wait()
        server.should_exit = True


class _Server(uvicorn.Server):
    """A server that does not handle signals, and whose connections are limited.

    On a signal uvicorn shuts down at once and then raises the signal again. That would kill the
    process before it has handed over.
    """

    def __init__(
        self,
        app: FastAPI,
        connections: Connections,
        settings: ProcessSettings,
        tls: Tls | None,
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
            ssl=self._tls.context if self._tls is not None else None,
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


def _main_files(settings: Settings) -> TlsFiles:
    return TlsFiles(settings.tls_cert_file, settings.tls_private_key_file, settings.client_ca_file)


def _webhook_files(settings: Settings) -> TlsFiles:
    return TlsFiles(settings.webhook_cert_file, settings.webhook_private_key_file)


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


def _port(listener: socket.socket) -> int:
    return int(listener.getsockname()[1])
