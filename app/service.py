"""The composition root: builds all parts and runs them until the process is told to stop."""

import asyncio
import signal
import socket
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from random import SystemRandom

import msgspec
import structlog
import uvicorn
from fastapi import FastAPI
from prometheus_client import (
    CollectorRegistry,
    GCCollector,
    PlatformCollector,
    ProcessCollector,
    disable_created_metrics,
)

from app.config import ANY_ADDRESS, NAME, Settings
from app.decisions import unchanging
from app.errors import InputError
from app.http import create_app
from app.instance import Instance
from app.kube.cluster_objects import ClusterObjects
from app.kube.connection import connect
from app.kube.snapshot import read_snapshot
from app.metrics import Metrics
from extender import ClusterView, Extender

log = structlog.get_logger()

_GRACE_SECONDS = 1
"""How long requests under way may take after SIGTERM; a client that does not read gets no more."""


class _Server(uvicorn.Server):
    """A server that leaves the signals to us.

    uvicorn shuts down on them at once and raises them again afterwards, which would kill the
    process before it has handed over.
    """

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


def serve_view(view: ClusterView, settings: Settings) -> None:
    """Serve decisions on *view* until SIGTERM or SIGINT.

    Raises:
        InputError: The address cannot be listened on.
    """
    release = version(NAME)
    metrics = _metrics(release)
    app = create_app(
        decisions=unchanging(Extender(settings.step_limits), view, metrics),
        unready=lambda: "",
        state=None,
        metrics=metrics,
        settings=settings,
        version=release,
    )

    async def serve(listener: socket.socket, stop: asyncio.Event) -> None:
        server = _server(app, settings)
        _log_start(listener)
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(server.serve(sockets=[listener]))
            await stop.wait()
            server.should_exit = True

    _run(serve, settings)


def serve_cluster(settings: Settings, kubeconfig: Path | None, context: str | None) -> None:
    """Serve decisions on a live cluster until SIGTERM or SIGINT, and compete to be the leader.

    Raises:
        InputError: The address cannot be listened on, or there is no cluster to connect to.
    """
    settings = msgspec.structs.replace(
        settings, pod_name=settings.pod_name or socket.gethostname().lower()
    )

    async def serve(listener: socket.socket, stop: asyncio.Event) -> None:
        release = version(NAME)
        connection = await connect(kubeconfig, context)
        instance = Instance(
            connection,
            settings,
            port=listener.getsockname()[1],
            metrics=_metrics(release),
            version=release,
            clock=_clock,
            wall_clock=lambda: datetime.now(UTC),
            random=SystemRandom(),
        )
        server = _server(instance.app, settings)
        _log_start(listener)
        try:
            async with asyncio.TaskGroup() as tasks:
                serving = tasks.create_task(server.serve(sockets=[listener]))
                loops = [tasks.create_task(loop) for loop in instance.loops()]
                await stop.wait()
                await instance.stop_answering()
                for loop in loops:
                    loop.cancel()
                await asyncio.wait(loops)
                await instance.hand_over()
                server.should_exit = True
                await serving
        finally:
            await instance.hand_over()  # if a loop has failed
            await connection.close()

    _run(serve, settings)


def read_cluster(
    settings: Settings, kubeconfig: Path | None, context: str | None
) -> tuple[ClusterObjects, list[str]]:
    """Read a live cluster once; return its objects, and a line for each that cannot be read.

    Raises:
        AppError: There is no cluster to connect to, or it does not let us.
    """

    async def read() -> tuple[ClusterObjects, list[str]]:
        connection = await connect(kubeconfig, context)
        try:
            return await read_snapshot(connection, settings)
        finally:
            await connection.close()

    return asyncio.run(read())


def _run(
    serve: Callable[[socket.socket, asyncio.Event], Awaitable[None]], settings: Settings
) -> None:
    listener = _listen(settings)

    async def run() -> None:
        stop = asyncio.Event()
        for number in (signal.SIGTERM, signal.SIGINT):
            asyncio.get_running_loop().add_signal_handler(number, stop.set)
        await serve(listener, stop)
        log.info("serve.stopped")

    with (
        listener,
        asyncio.Runner(
            loop_factory=uvicorn.Config("", log_config=None).get_loop_factory()
        ) as runner,
    ):
        runner.run(run())


def _log_start(listener: socket.socket) -> None:
    host, port = listener.getsockname()[:2]
    log.info("serve.started", host=host, port=port)


def _server(app: FastAPI, settings: Settings) -> _Server:
    return _Server(
        uvicorn.Config(
            app,
            timeout_keep_alive=settings.keep_alive_seconds,
            timeout_graceful_shutdown=_GRACE_SECONDS,
            http="h11",  # httptools would read headers of any length
            lifespan="off",
            log_config=None,
            access_log=False,
            server_header=False,
        )
    )


def _metrics(release: str) -> Metrics:
    disable_created_metrics()  # type: ignore[no-untyped-call]  # a start time for every series
    registry = CollectorRegistry()
    ProcessCollector(registry=registry)
    PlatformCollector(registry=registry)
    GCCollector(registry=registry)
    return Metrics(registry, version=release)


def _clock() -> float:
    """Return seconds that also pass while the machine is suspended (CLOCK_BOOTTIME of Linux)."""
    return time.clock_gettime(getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC))


def _listen(settings: Settings) -> socket.socket:
    host = settings.host
    try:
        if host == ANY_ADDRESS and not socket.has_dualstack_ipv6():
            host = "0.0.0.0"  # noqa: S104 (the same where there is no IPv6)
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        return socket.create_server(
            (host, settings.port), family=family, backlog=128, dualstack_ipv6=host == ANY_ADDRESS
        )
    except OSError as error:
        raise InputError(
            f"cannot listen on {host} port {settings.port}: {error.strerror or error}"
        ) from error
