"""A second kube-scheduler beside the cluster's own, with the configuration shipped for it."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import yaml

from tests.e2e.kubernetes import scheduler_configuration
from tests.e2e.users import SCHEDULER
from tests.e2e.world import World
from tests.ports import free_port
from tests.processes import Process


@asynccontextmanager
async def second_scheduler(world: World, folder: Path) -> AsyncIterator[Process]:
    """Run one that calls our service until the end of the block; its files go to *folder*."""
    file = folder / "second-scheduler.yaml"
    configuration = scheduler_configuration(
        world.control_plane.users.kubeconfig(SCHEDULER),
        world.extender.url,
        file="secondary-scheduler/config.yaml",
    )
    file.write_text(yaml.safe_dump(configuration), encoding="utf-8")
    command = world.control_plane.scheduler_command(file, free_port())
    process = Process("second-scheduler", command, folder / "second-scheduler.log")
    try:
        yield process
    finally:
        await process.stop()
