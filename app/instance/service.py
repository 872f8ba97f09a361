"""The composition root: builds all parts and runs them until the process is told to stop."""

import asyncio
import socket
from collections.abc import Awaitable, Callable, Coroutine
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from random import SystemRandom

import msgspec

from app.config import NAME
from app.instance.picture import Caption, Sources, draw
from app.process.beside import Beside
from app.process.health import MetricsText, Pulse
from app.process.life import clock, new_registry, run_until_told
from app.serving.decisions import unchanging
from app.serving.http import create_apps
from app.serving.metrics import Metrics
from app.serving.mutating import Mutating
from app.serving.server import Listeners, Servers
from app.settings import Settings
from extender import ClusterView, Extender
from extender.waiting import WaitingPods


def serve_view(
    view: ClusterView, origin: str, settings: Settings, on_listening: Callable[[int], None]
) -> None:
    """Serve decisions on *view* until SIGTERM or SIGINT.

    Args:
        view: The cluster.
        origin: The files that it is in.
        settings: Of the process.
        on_listening: Called with the port once it is listened on.

    Raises:
        InputError: An address cannot be listened on, or the certificate cannot be used.
    """
    release = version(NAME)
    metrics = _metrics(release)
    pulse = Pulse(lambda: None, lambda: None, clock)
    text = MetricsText(metrics.registry, clock)
    extender = Extender(settings.step_limits, balance=settings.balance)
    decisions = unchanging(extender, view, metrics)
    sources = Sources(current_view=lambda: view, ledger=extender.ledger, waiting=WaitingPods())
    apps = create_apps(
        decisions=decisions,
        mutating=(
            None
            if settings.webhook_port is None
            else Mutating(
                current_view=lambda: view,
                not_injecting=lambda: None,
                scheduler=settings.webhook_scheduler_name,
                metrics=metrics,
            )
        ),
        unready=lambda: None,
        state=None,
        picture=(
            (lambda: draw(sources, Caption(origin=origin), now=0.0)) if settings.debug else None
        ),
        metrics=metrics,
        text=text.latest,
        settings=settings,
        version=release,
    )

    async def serve(listeners: Listeners, beside: Beside, stop: asyncio.Event) -> None:
        servers = Servers(listeners, apps, pulse, text, settings, metrics, version=release)
        on_listening(listeners.port)
        await servers.run(stop, beside)

    _run(serve, settings)


def serve_cluster(settings: Settings, kubeconfig: Path | None, context: str | None) -> None:
    """Serve decisions on a live cluster until SIGTERM or SIGINT, and compete to be the leader.

    Raises:
        InputError: An address cannot be listened on, the certificate cannot be used, or there is
            no cluster to connect to; or everybody would be let in.
    """
    settings.check_door()
    # A file needs none of these, which take as long as the rest of the start.
    from app.instance.instance import Instance  # noqa: PLC0415
    from app.kube.connecting import connect  # noqa: PLC0415
    from app.process.member import Electing  # noqa: PLC0415
    from app.process.surroundings import Surroundings  # noqa: PLC0415

    settings = msgspec.structs.replace(
        settings, pod_name=settings.pod_name or socket.gethostname().lower()
    )

    async def serve(listeners: Listeners, beside: Beside, stop: asyncio.Event) -> None:
        release = version(NAME)
        metrics = _metrics(release)
        connection = await connect(kubeconfig, context)
        of_lease = await beside.run(connect(kubeconfig, context))
        instance = Instance(
            Surroundings(connection, clock, lambda: datetime.now(UTC), SystemRandom()),
            settings,
            port=listeners.port,
            metrics=metrics,
            version=release,
            beside=Electing(beside, of_lease),
        )

        def serve_requests(stop: asyncio.Event) -> Coroutine[None, None, None]:
            apps, pulse, text = instance.apps, instance.pulse, instance.text
            servers = Servers(listeners, apps, pulse, text, settings, metrics, version=release)
            return servers.run(stop, beside)

        try:
            await instance.run(stop, serve_requests)
        finally:
            await beside.run(of_lease.close())

    _run(serve, settings)


def _run(
    serve: Callable[[Listeners, Beside, asyncio.Event], Awaitable[None]], settings: Settings
) -> None:
    with Listeners(settings) as listeners, Beside() as beside:
        run_until_told(lambda stop: serve(listeners, beside, stop))


def _metrics(release: str) -> Metrics:
    return Metrics(new_registry(), version=release)
