"""Asks disks for room for a volume's replicas, and does what follows from their answers.

What to ask is decided in `requesting`. A refusal is remembered here: by replica, so that one is
not put on the same disk again while others might take it, and by volume, so that an expansion is
not tried again at once. Both may be lost, and only cost another refusal.
"""

import asyncio

from tests.actors.api import Object
from tests.actors.longhorn import changes
from tests.actors.longhorn.accounts import growth_is_beyond
from tests.actors.longhorn.cluster import Cluster
from tests.actors.longhorn.draft import Draft
from tests.actors.longhorn.records import read_replica
from tests.actors.longhorn.requesting import AskForRoom, Expand, HoldBack, RequestStep, Withdraw
from tests.actors.longhorn.requests import Requests
from tests.actors.longhorn.schedules import Asker, room_of
from tests.actors.longhorn.views import View


class Rooms:
    """What was refused, and the steps to and from it."""

    def __init__(self, cluster: Cluster, requests: Requests) -> None:
        self._cluster = cluster
        self._requests = requests
        self._avoided: dict[str, set[str]] = {}
        self._held_back: dict[str, tuple[int, float]] = {}

    def avoided(self, replica: str) -> frozenset[str]:
        """Return the disks, by UUID, that refused a replica since it last had one."""
        return frozenset(self._avoided.get(replica, ()))

    def forget(self, replica: str) -> None:
        """Let every disk be tried again for a replica."""
        self._avoided.pop(replica, None)

    def held_back(self, volume: str) -> tuple[int, float]:
        """Return the size that a volume is not expanded to, and for how many seconds; or (0, 0)."""
        size, until = self._held_back.get(volume, (0, 0.0))
        left = until - asyncio.get_running_loop().time()
        if left > 0:
            return size, left
        self._held_back.pop(volume, None)
        return 0, 0.0

    async def take(self, step: RequestStep, draft: Draft, view: View) -> None:
        """Take a step: DiskSchedules are written at once, replicas with the draft."""
        match step:
            case AskForRoom(name, size):
                disk, schedule = self._of(draft, name)
                written = await self._requests.ask(schedule, Asker.REPLICA, name, size)
                draft.put_schedule(disk, written)
            case Withdraw(name):
                await self._withdraw(draft, name)
            case HoldBack(size, refused):
                self._hold_back(draft, size)
                for name in refused:
                    disk = draft.replica(name)["spec"]["diskID"]
                    draft.refusals[name] = f"{name} may not grow to {size} B on disk {disk}"
            case Expand(size):
                self._expand(draft, size, view)

    async def _withdraw(self, draft: Draft, name: str) -> None:
        spec = draft.replica(name)["spec"]
        node, disk, size = spec["nodeID"], spec["diskID"], spec["volumeSize"]
        assert draft.schedules is not None
        schedule = draft.schedules.get(disk)
        if schedule is not None:
            schedule = await self._requests.withdraw(schedule, Asker.REPLICA, name)
            draft.put_schedule(disk, schedule)
        # What could not be taken back was granted meanwhile.
        if schedule is None or not room_of(schedule, Asker.REPLICA, name).asked_bytes:
            draft.change_replica(name, changes.unplaced())
            draft.refusals[name] = f"{name} has no room for {size} B on disk {disk} of {node}"
            self._avoided.setdefault(name, set()).add(disk)

    def _hold_back(self, draft: Draft, size: int) -> None:
        until = asyncio.get_running_loop().time() + self._cluster.delays.scheduling_retry
        self._held_back[draft.name] = size, until

    def _expand(self, draft: Draft, size: int, view: View) -> None:
        """Let all replicas grow. Where no disk was asked, Longhorn looks at the nodes before."""
        replicas = [each for each in draft.replicas if not read_replica(each).is_leaving]
        if draft.schedules is None and growth_is_beyond(
            view.nodes(), replicas, size, self._cluster.setting_values()
        ):
            self._hold_back(draft, size)
            return
        for replica in replicas:
            draft.change_replica(replica["metadata"]["name"], changes.of_size(size))

    def _of(self, draft: Draft, name: str) -> tuple[str, Object]:
        """Return the disk of a replica, and its DiskSchedule, which is there."""
        disk = draft.replica(name)["spec"]["diskID"]
        assert draft.schedules is not None
        return disk, draft.schedules[disk]
