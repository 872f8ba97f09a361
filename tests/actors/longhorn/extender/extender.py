"""The extender as a part of longhorn-manager: it runs while its Setting says so."""

import asyncio
from typing import NoReturn

from tests.actors.api import Api
from tests.actors.longhorn.cluster import Cluster
from tests.actors.longhorn.extender.endpoints import NAME, publish, withdraw
from tests.actors.longhorn.extender.filter import Filter
from tests.actors.longhorn.extender.lease import Lease
from tests.actors.longhorn.extender.serving import serving
from tests.actors.longhorn.release import is_extender_on, make_settings

ADDRESS = "10.42.1.13"
"""Of the manager's pod, as the slice has it: none of loopback may be published."""


class Extender:
    """What a manager of 1.13 does besides, beside a Longhorn that runs.

    Args:
        api: With Longhorn's own account, so that others can tell its writes.
        cluster: The caches of that Longhorn.
        node: Of the manager that leads.
    """

    def __init__(self, api: Api, cluster: Cluster, *, node: str) -> None:
        self._api = api
        self._cluster = cluster
        self._lease = Lease(api, cluster.key(NAME), node, cluster.wall_clock)

    async def run(self) -> NoReturn:
        """Make the Settings, then follow them until cancelled."""
        await make_settings(self._api, self._cluster.namespace)
        while True:
            await self._is_turned(on=True)
            async with asyncio.TaskGroup() as tasks:
                leading = tasks.create_task(self._stand())
                await self._is_turned(on=False)
                leading.cancel()

    async def _is_turned(self, *, on: bool) -> None:
        settings = self._cluster.settings
        await settings.until(lambda: is_extender_on(self._cluster.setting_values()) is on)

    async def _stand(self) -> NoReturn:
        """Lead whenever that is possible."""
        while True:
            try:
                await self._lease.acquire()
                await self._lead()
            finally:
                await self._lease.release()

    async def _lead(self) -> None:
        """Answer until the Lease is lost."""
        namespace = self._cluster.namespace
        async with (
            asyncio.TaskGroup() as tasks,
            serving(Filter(self._cluster, tasks).answer) as port,
        ):
            await publish(self._api, namespace, ADDRESS, port)
            try:
                await self._lease.keep()
            finally:
                await withdraw(self._api, namespace)
