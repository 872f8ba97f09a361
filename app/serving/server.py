"""The HTTP servers of the service, on one port and up to three."""

import asyncio
import socket
import time
from contextlib import ExitStack
from datetime import UTC, datetime
from typing import Any, NoReturn

import msgspec
import structlog

from app.process.beside import Beside
from app.process.health import MetricsText, Pulse, create_health_app
from app.process.servers import Server, listen, port_of
from app.serving.http import Apps
from app.serving.lag import watch_lag
from app.serving.metrics import Metrics
from app.serving.tls import Tls, TlsFiles
from app.settings import Settings

log = structlog.get_logger()

_MOST_ASKING, _MOST_OF_AN_ADDRESS = 50, 10
"""Connections for health and metrics: of kubelets, and of what scrapes."""


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
        return port_of(self.main)

    def __enter__(self) -> "Listeners":
        """Keep them open."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close them."""
        self._opened.close()


class Servers:
    """A server for each listening socket.

    That of health and metrics, if these have a port of their own, runs in the thread *beside*.

    Args:
        listeners: The sockets.
        apps: What answers on each port.
        pulse: How the process is.
        text: The metrics.
        settings: Of the process.
        metrics: Counts what becomes of clients.
        version: Of the service.

    Raises:
        InputError: The certificate cannot be used.
    """

    def __init__(
        self,
        listeners: Listeners,
        apps: Apps,
        pulse: Pulse,
        text: MetricsText,
        settings: Settings,
        metrics: Metrics,
        *,
        version: str,
    ) -> None:
        self._pulse, self._text = pulse, text
        self._settings, self._metrics, self._version = settings, metrics, version
        tls = Tls(_main_files(settings), metrics) if settings.tls_cert_file else None
        main = Server(
            apps.main,
            settings,
            metrics,
            None if tls is None else tls.context,
            allowed=settings.allowed_clients,
            is_plain_open=lambda: _is_before(settings.plain_until),
        )
        self._servers = {main: listeners.main}
        self._certificates = [] if tls is None else [tls]
        self._on_metrics_port = listeners.metrics
        ports = {"port": listeners.port}
        if listeners.metrics is not None:
            ports["metrics_port"] = port_of(listeners.metrics)
        if apps.on_webhook_port is not None and listeners.webhook is not None:
            webhook_tls = Tls(_webhook_files(settings), metrics)
            self._certificates.append(webhook_tls)
            server = Server(apps.on_webhook_port, settings, metrics, webhook_tls.context)
            self._servers[server] = listeners.webhook
            ports["webhook_port"] = port_of(listeners.webhook)
        metrics.connections.set_function(lambda: sum(len(each.clients) for each in self._servers))
        host, is_closed = listeners.main.getsockname()[0], bool(settings.client_ca_file)
        log.info("serve.started", host=host, **ports, tls=tls is not None, is_closed=is_closed)

    async def run(self, stop: asyncio.Event, beside: Beside) -> None:
        """Serve until *stop* is set, then until the requests that have arrived are answered."""
        self._pulse.beat()
        async with asyncio.TaskGroup() as tasks:
            following: list[asyncio.Task[Any]] = [
                tasks.create_task(each.follow()) for each in self._certificates
            ]
            following.append(tasks.create_task(self._watch()))
            if self._on_metrics_port is not None:
                serving = self._serve_health(self._on_metrics_port, asyncio.get_running_loop())
                following.append(tasks.create_task(beside.run(serving)))
            serving_all = [
                tasks.create_task(server.serve(sockets=[listener]))
                for server, listener in self._servers.items()
            ]
            await stop.wait()
            for server in self._servers:
                server.should_exit = True
            await asyncio.wait(serving_all)
            for task in following:
                task.cancel()

    async def _watch(self) -> NoReturn:
        """Show how late the loop is, and that it lives."""
        observe = self._metrics.event_loop_lag_seconds.observe

        def woken(late_seconds: float) -> None:
            observe(late_seconds)
            self._pulse.beat()

        await watch_lag(woken, time.monotonic)

    async def _serve_health(self, listener: socket.socket, loop: asyncio.AbstractEventLoop) -> None:
        """Serve health and metrics until cancelled, on another loop than *loop*."""
        app = create_health_app(
            self._pulse.unready,
            self._text.beside(loop),
            version=self._version,
            hanging=self._pulse.hanging,
            idle=self._pulse.idle,
        )
        limited = msgspec.structs.replace(
            self._settings, connection_limit=_MOST_ASKING, address_limit=_MOST_OF_AN_ADDRESS
        )
        await Server(app, limited, self._metrics).serve(sockets=[listener])


def _is_before(end: datetime | None) -> bool:
    return end is not None and datetime.now(UTC) < end


def _main_files(settings: Settings) -> TlsFiles:
    return TlsFiles(settings.tls_cert_file, settings.tls_private_key_file, settings.client_ca_file)


def _webhook_files(settings: Settings) -> TlsFiles:
    return TlsFiles(
        settings.webhook_cert_file,
        settings.webhook_private_key_file,
        settings.webhook_client_ca_file,
    )
