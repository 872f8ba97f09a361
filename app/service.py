"""The composition root: builds all parts and runs them until the process is told to stop."""

import asyncio
import signal
import socket
from importlib.metadata import version

import structlog
import uvicorn
from prometheus_client import (
    CollectorRegistry,
    GCCollector,
    PlatformCollector,
    ProcessCollector,
    disable_created_metrics,
)

from app.config import Settings
from app.errors import InputError
from app.http import create_app
from app.metrics import Metrics
from extender import ClusterView, Extender, StepLimits

log = structlog.get_logger()

DISTRIBUTION = "longhorn-scheduler-extender"
_GRACE_SECONDS = 1
"""How long requests under way may take after SIGTERM; a client that does not read gets no more."""


def run(view: ClusterView, settings: Settings) -> None:
    """Serve decisions on *view* until SIGTERM or SIGINT.

    Raises:
        InputError: The address cannot be listened on.
    """
    listener = _listen(settings)
    disable_created_metrics()  # type: ignore[no-untyped-call]  # a start time for every series
    registry = CollectorRegistry()
    ProcessCollector(registry=registry)
    PlatformCollector(registry=registry)
    GCCollector(registry=registry)
    release = version(DISTRIBUTION)
    app = create_app(
        extender=Extender(step_limits(settings)),
        current_view=lambda: view,
        metrics=Metrics(registry, version=release),
        settings=settings,
        version=release,
    )
    config = uvicorn.Config(
        app,
        timeout_keep_alive=settings.keep_alive_seconds,
        timeout_graceful_shutdown=_GRACE_SECONDS,
        http="h11",  # httptools would read headers of any length
        lifespan="off",
        log_config=None,
        access_log=False,
        server_header=False,
    )
    with asyncio.Runner(loop_factory=config.get_loop_factory()) as runner:
        runner.run(_serve(uvicorn.Server(config), listener))


def step_limits(settings: Settings) -> StepLimits:
    """Return the bounds on packing that the settings give."""
    return StepLimits(per_node=settings.step_limit, per_request=settings.request_step_limit)


async def _serve(server: uvicorn.Server, listener: socket.socket) -> None:
    # uvicorn shuts down on these signals and then raises them again; without handlers of ours
    # that would kill the process before it has cleaned up, and with a status other than 0.
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, lambda: None)
    host, port = listener.getsockname()[:2]
    log.info("serve.started", host=host, port=port)
    await server.serve(sockets=[listener])
    log.info("serve.stopped")


def _listen(settings: Settings) -> socket.socket:
    address = (settings.host, settings.port)
    family = socket.AF_INET6 if ":" in settings.host else socket.AF_INET
    try:
        return socket.create_server(address, family=family, backlog=128)
    except OSError as error:
        raise InputError(
            f"cannot listen on {settings.host} port {settings.port}: {error.strerror or error}"
        ) from error
