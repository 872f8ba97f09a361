"""The composition root of the controller: builds its parts and runs them until told to stop."""

import asyncio
import socket
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from random import SystemRandom

import msgspec

from app.config import NAME
from app.disk_schedule.instance import ControllerInstance
from app.disk_schedule.metrics import ControllerMetrics
from app.disk_schedule.settings import ControllerSettings
from app.process.life import clock, new_registry, run_until_told
from app.process.servers import listen, serve_plainly
from app.process.surroundings import Surroundings


def run_controller(
    settings: ControllerSettings, kubeconfig: Path | None, context: str | None
) -> None:
    """Decide on the DiskSchedules of a live cluster until SIGTERM or SIGINT, if it leads.

    Raises:
        InputError: The address cannot be listened on, or there is no cluster to connect to.
    """
    from app.kube.connecting import connect  # noqa: PLC0415 (it takes long)

    pod_name = settings.pod_name or socket.gethostname().lower()
    settings = msgspec.structs.replace(settings, pod_name=pod_name)

    async def main(stop: asyncio.Event) -> None:
        release = version(NAME)
        metrics = ControllerMetrics(new_registry(), version=release)
        instance = ControllerInstance(
            Surroundings(
                await connect(kubeconfig, context), clock, lambda: datetime.now(UTC), SystemRandom()
            ),
            settings,
            metrics=metrics,
            version=release,
        )

        async def serve(stop: asyncio.Event) -> None:
            await serve_plainly(instance.app, listener, settings, metrics, stop)

        await instance.run(stop, serve)

    with listen(settings.host, settings.port) as listener:
        run_until_told(main)
