"""The HTTP servers of the service, on one port and up to three."""

import asyncio
import socket
import time
from contextlib import ExitStack

import structlog

from app.process.connections import Connections
from app.process.servers import Server, listen, port_of
from app.serving.http import Apps
from app.serving.lag import watch_lag
from app.serving.metrics import Metrics
from app.serving.tls import Tls, TlsFiles
from app.settings import Settings

log = structlog.get_logger()


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
        context = None if tls is None else tls.context
        main = Server(apps.main, connections, settings, context, settings.allowed_clients)
        self._servers = {main: listeners.main}
        self._certificates = [] if tls is None else [tls]
        self._observe_lag = metrics.event_loop_lag_seconds.observe
        ports = {"port": listeners.port}
        if apps.on_metrics_port is not None and listeners.metrics is not None:
            server = Server(apps.on_metrics_port, connections, settings)
            self._servers[server] = listeners.metrics
            ports["metrics_port"] = port_of(listeners.metrics)
        if apps.on_webhook_port is not None and listeners.webhook is not None:
            webhook_tls = Tls(_webhook_files(settings), metrics)
            self._certificates.append(webhook_tls)
            server = Server(apps.on_webhook_port, connections, settings, webhook_tls.context)
            self._servers[server] = listeners.webhook
            ports["webhook_port"] = port_of(listeners.webhook)
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


def _main_files(settings: Settings) -> TlsFiles:
    return TlsFiles(settings.tls_cert_file, settings.tls_private_key_file, settings.client_ca_file)


def _webhook_files(settings: Settings) -> TlsFiles:
    return TlsFiles(settings.webhook_cert_file, settings.webhook_private_key_file)
