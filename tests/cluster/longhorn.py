"""The Longhorn of a cluster with real nodes: played on its API server."""

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from random import Random

from tests.actors import api as kinds
from tests.actors.api import Api, key_of
from tests.actors.longhorn import (
    Longhorn,
    csi_driver,
    engine_image,
    instance_manager,
    longhorn_node,
    storage_class,
)
from tests.actors.provisioner import Provisioner
from tests.e2e.workloads import GIB, STORAGE_CLASS
from tests.e2e.world import DELAYS


@asynccontextmanager
async def running(api: Api, disks: Mapping[str, int]) -> AsyncIterator[None]:
    """Play Longhorn while the block goes on.

    Args:
        api: Of an administrator.
        disks: Gibibytes of the one disk of each node, by the node's name.
    """
    driver = csi_driver()
    driver["spec"]["attachRequired"] = False  # nobody makes and answers VolumeAttachments
    await api.ensure(driver, kinds.CSI_DRIVERS)
    await api.ensure(storage_class(STORAGE_CLASS), kinds.STORAGE_CLASSES)
    longhorn = Longhorn(api, random=Random(0), wall_clock=lambda: datetime.now(UTC), delays=DELAYS)
    cluster = longhorn.cluster
    provisioner = Provisioner(
        api,
        longhorn,
        claims=cluster.claims,
        persistent_volumes=cluster.persistent_volumes,
        storage_classes=cluster.storage_classes,
    )
    await api.ensure(engine_image({}), kinds.ENGINE_IMAGES)
    deployed = {"status": {"nodeDeploymentMap": dict.fromkeys(disks, True)}}
    await api.patch(kinds.ENGINE_IMAGES, key_of(engine_image({})), deployed)
    for node, gib in disks.items():
        await api.ensure(instance_manager(node, "running"), kinds.INSTANCE_MANAGERS)
        await api.ensure(longhorn_node(node, {"disk": gib * GIB}), kinds.LONGHORN_NODES)
    async with asyncio.TaskGroup() as tasks:
        parts = [tasks.create_task(each.run()) for each in (longhorn, provisioner)]
        for informer in cluster.informers:
            await informer.synced.wait()
        yield
        for part in parts:
            part.cancel()
