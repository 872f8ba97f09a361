"""How requesters write DiskSchedules: each write over the version read, and anew after a conflict.

Every node's managers write into the same objects, and so does the controller that grants room.
"""

import asyncio
from collections.abc import Callable
from functools import partial

from tests.actors.api import DISK_SCHEDULES, Object, RefusedError
from tests.actors.controller import CONFLICT
from tests.actors.longhorn.cluster import Cluster
from tests.actors.longhorn.schedules import Asker, with_request, without_refused

MOST_TRIES = 10
"""After so many conflicts in a row the whole pass begins anew, a little later."""


class Requests:
    """Asks for room on disks, and gives it back.

    Attributes:
        conflicts: How many writes met another one.
    """

    def __init__(self, cluster: Cluster) -> None:
        self.conflicts = 0
        self._cluster = cluster

    async def ask(self, schedule: Object, asker: Asker, name: str, size: int) -> Object | None:
        """Ask for *size* bytes; return the DiskSchedule as it is then, None if it is gone."""
        change = partial(with_request, asker=asker, name=name, size_bytes=size)
        return await self._write(schedule, change)

    async def withdraw(self, schedule: Object, asker: Asker, name: str) -> Object | None:
        """Take back what was refused, but not what is granted at the last moment."""
        return await self._write(schedule, partial(without_refused, asker=asker, name=name))

    async def release(self, disk: str, asker: Asker, name: str) -> None:
        """Ask for nothing any more on a disk, by its UUID."""
        schedule = await self._read(disk)
        if schedule is not None:
            await self.ask(schedule, asker, name, 0)

    async def _write(
        self, schedule: Object | None, change: Callable[[Object], Object | None]
    ) -> Object | None:
        """Write what *change* makes of a DiskSchedule, unless it leaves it as it is.

        Raises:
            RefusedError: Every try met another write (409).
        """
        tries = 0
        while schedule is not None:
            wanted = change(schedule)
            if wanted is None:
                return schedule
            try:
                written = await self._cluster.api.replace(wanted, DISK_SCHEDULES)
            except RefusedError as error:
                self.conflicts += error.status == CONFLICT
                tries += 1
                if error.status != CONFLICT or tries == MOST_TRIES:
                    raise
                schedule = await self._read(schedule["metadata"]["name"])
            else:
                await asyncio.sleep(self._cluster.draw(self._cluster.delays.write))
                return written
        return None

    async def _read(self, disk: str) -> Object | None:
        return await self._cluster.api.get(DISK_SCHEDULES, disk, self._cluster.namespace)
