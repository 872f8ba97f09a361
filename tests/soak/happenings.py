"""What users do, and what goes wrong: drawn by chance, done to a world."""

import asyncio
import time
from collections.abc import Awaitable, Callable, Mapping
from random import Random

import msgspec

from tests.actors import api as kinds
from tests.actors.api import Key
from tests.e2e.extender import InstanceProcess
from tests.e2e.workloads import NAMESPACE, stateful_set
from tests.e2e.world import Disks, World

CLASSES: Mapping[str, Mapping[str, str]] = {
    "one-local": {"numberOfReplicas": "1", "dataLocality": "best-effort"},
    "one-strict": {"numberOfReplicas": "1", "dataLocality": "strict-local"},
    "three-local": {"numberOfReplicas": "3", "dataLocality": "best-effort"},
    "two-anywhere": {"numberOfReplicas": "2", "dataLocality": "disabled"},
}
"""Parameters of each StorageClass, by name."""
NEW_ALONE = frozenset({"one-local", "one-strict"})
"""Classes whose volumes need one replica, on the node of their pod."""
MOST_DEMAND = 0.9
"""Of all room; above it workloads are deleted rather than created."""
AFTERMATH_SECONDS = 20.0
"""So long after something has gone wrong, nothing is expected."""
RECONNECT_SECONDS = 60.0
"""After the API server was away: kube-scheduler connects its watches again ever more slowly."""


class Workload(msgspec.Struct):
    """A StatefulSet that there is."""

    pods: int
    claims: int
    gib: int
    """Of each claim."""
    class_: str

    @property
    def demand_gib(self) -> int:
        copies = int(CLASSES[self.class_]["numberOfReplicas"])
        return self.pods * self.claims * self.gib * copies


def draw_disks(random: Random) -> list[Disks]:
    """Draw the disks of some nodes."""
    return [
        {
            f"disk-{disk}": random.randrange(60, 260, 10)
            for disk in range(1, 1 + random.randint(1, 3))
        }
        for _ in range(random.randint(4, 6))
    ]


class Users:
    """Create, scale and delete workloads, so that the disks are about full."""

    def __init__(self, world: World, random: Random, room_gib: int) -> None:
        self.done = 0
        self._world = world
        self._random = random
        self._room_gib = room_gib
        self._workloads: dict[str, Workload] = {}

    async def act(self) -> None:
        """Do one thing."""
        self.done += 1
        demand = sum(each.demand_gib for each in self._workloads.values()) / self._room_gib
        if not self._workloads or demand < MOST_DEMAND * self._random.random():
            await self._create()
        elif demand > MOST_DEMAND:
            await self._delete()
        else:
            await self._random.choice([self._delete, self._scale, self._restart_pod])()

    async def _create(self) -> None:
        random, name = self._random, f"set-{self.done}"
        new = Workload(
            pods=random.randint(1, 6),
            claims=random.randint(1, 3),
            gib=random.randrange(5, 60),
            class_=random.choice([*CLASSES]),
        )
        made = stateful_set(name, pods=new.pods, claims=new.claims, size=f"{new.gib}Gi")
        for template in made["spec"]["volumeClaimTemplates"]:
            template["spec"]["storageClassName"] = new.class_
        made["spec"]["persistentVolumeClaimRetentionPolicy"] = {
            "whenDeleted": "Delete",
            "whenScaled": "Delete",
        }
        await self._world.api.create(made, kinds.STATEFUL_SETS)
        self._workloads[name] = new

    async def _delete(self) -> None:
        name = self._random.choice([*self._workloads])
        await self._world.api.delete(kinds.STATEFUL_SETS, Key(NAMESPACE, name))
        del self._workloads[name]

    async def _scale(self) -> None:
        name = self._random.choice([*self._workloads])
        self._workloads[name].pods = pods = self._random.randint(1, 6)
        key = Key(NAMESPACE, name)
        await self._world.api.patch(kinds.STATEFUL_SETS, key, {"spec": {"replicas": pods}})

    async def _restart_pod(self) -> None:
        if pods := self._world.seen.pods():
            name = self._random.choice(pods)["metadata"]["name"]
            await self._world.api.delete(kinds.PODS, Key(NAMESPACE, name))


class Troubles:
    """Go wrong one after another, and are mended.

    Attributes:
        counts: How often each has been.
        last: Which one was the last, or is.
    """

    def __init__(self, world: World, random: Random, nodes: Mapping[str, Disks]) -> None:
        self.counts: dict[str, int] = {}
        self.last = "none"
        self._world = world
        self._random = random
        self._nodes = nodes
        self._over_at = 0.0
        self._kinds: Mapping[str, Callable[[], Awaitable[None]]] = {
            "leader killed": self._leader_killed,
            "leader told to end": self._leader_told_to_end,
            "leader frozen": self._leader_frozen,
            "watches cut": self._watches_cut,
            "API server slow": self._slow,
            "API server away": self._api_server_away,
            "kube-scheduler killed": self._scheduler_killed,
            "instance manager stopped": self._manager_stopped,
            "disk takes no replicas": self._disk_off,
            "node drained": self._drained,
        }

    @property
    def is_calm(self) -> bool:
        """Whether nothing is wrong, and has not been for a while."""
        was_away = self.last == "API server away"
        aftermath = RECONNECT_SECONDS if was_away else AFTERMATH_SECONDS
        return time.monotonic() > self._over_at + aftermath

    async def happen(self) -> None:
        """Have one trouble, from its beginning to its end."""
        self.last = name = self._random.choice([*self._kinds])
        self.counts[name] = self.counts.get(name, 0) + 1
        self._over_at = float("inf")
        try:
            await self._kinds[name]()
        finally:
            self._over_at = time.monotonic()

    async def keep_scheduler(self) -> bool:
        """Start kube-scheduler again if it has ended by itself, as a kubelet does; say if it had.

        It ends where its cache contradicts the API server, such as after that was away. Source:
        kubernetes pkg/scheduler/backend/cache/cache.go updatePod
        """
        if self._over_at == float("inf") or self._world.control_plane.has_scheduler:
            return False
        self.last, self._over_at = "kube-scheduler ended by itself", float("inf")
        self.counts[self.last] = self.counts.get(self.last, 0) + 1
        await self._world.start_scheduler()
        self._over_at = time.monotonic()
        return True

    async def _leader(self) -> InstanceProcess:
        """Wait until one leads."""
        while True:
            try:
                return await self._world.extender.leader()
            except ValueError:
                await asyncio.sleep(0.2)

    async def _last(self, least: float, most: float) -> None:
        await asyncio.sleep(self._random.uniform(least, most))

    async def _leader_killed(self) -> None:
        leader = await self._leader()
        leader.process.kill()
        await self._last(0.5, 5.0)
        leader.start()

    async def _leader_told_to_end(self) -> None:
        leader = await self._leader()
        leader.process.terminate()
        await leader.process.ended()
        leader.start()

    async def _leader_frozen(self) -> None:
        leader = await self._leader()
        leader.process.freeze()
        await self._last(1.0, 15.0)
        leader.process.resume()

    async def _watches_cut(self) -> None:
        self._world.relay.cut()

    async def _slow(self) -> None:
        self._world.relay.delay_seconds = self._random.uniform(0.1, 1.5)
        await self._last(2.0, 15.0)
        self._world.relay.delay_seconds = 0.0

    async def _api_server_away(self) -> None:
        self._world.control_plane.kill_api_server()
        await self._last(1.0, 8.0)
        await self._world.control_plane.start_api_server()

    async def _scheduler_killed(self) -> None:
        await self._world.kill_scheduler()
        await self._last(0.5, 5.0)
        await self._world.start_scheduler()

    async def _manager_stopped(self) -> None:
        node = self._random.choice([*self._nodes])
        await self._world.let_run(node, manager="stopped")
        await self._last(2.0, 15.0)
        await self._world.let_run(node)

    async def _disk_off(self) -> None:
        node = self._random.choice([*self._nodes])
        disk = self._random.choice([*self._nodes[node]])
        await self._world.let_schedule(node, disk, on=False)
        await self._last(2.0, 15.0)
        await self._world.let_schedule(node, disk, on=True)

    async def _drained(self) -> None:
        node = self._random.choice([*self._nodes])
        await self._world.drain(node)
        await self._last(5.0, 15.0)
        await self._world.cordon(node, on=False)
