"""The volume controller: brings volumes and their replicas to the state wished for.

Every node's manager works on the volumes that are to be attached there, several at a time.
Volumes and replicas are read anew for every step and written over the version read; only nodes,
settings and backing images come from caches.
"""

import asyncio
from typing import NamedTuple, NoReturn

from tests.actors.api import PERSISTENT_VOLUMES, REPLICAS, VOLUMES, Key, Kind, Object
from tests.actors.controller import Controller
from tests.actors.longhorn import changes, lifecycle
from tests.actors.longhorn.cluster import Cluster, Timers
from tests.actors.longhorn.creation import replica_object
from tests.actors.longhorn.delays import Span
from tests.actors.longhorn.lifecycle import PRECHECK, Step, next_steps
from tests.actors.longhorn.placement import Placement
from tests.actors.longhorn.records import STRICT_LOCAL, read_replica, read_volume

WORKERS = 5
"""How many volumes a node's manager works on at a time."""

_BUSY_SECONDS = 0.02
_MOST_STEPS = 100


class Known(NamedTuple):
    """A volume and its replicas as just read."""

    volume: Object
    replicas: list[Object]

    def replica(self, name: str) -> Object:
        return next(each for each in self.replicas if each["metadata"]["name"] == name)


Failed = dict[str, tuple[str, ...]]
"""Why replicas found no place, by name."""


class Volumes:
    """All volumes of the cluster."""

    def __init__(self, cluster: Cluster, placement: Placement) -> None:
        self._cluster = cluster
        self._placement = placement
        self._timers = Timers(cluster.draw)
        self._managers: dict[str, Controller[str]] = {}
        self._removals: Controller[str] = Controller(self._remove, workers=WORKERS)
        self._removing: set[str] = set()  # also those that are gone; names do not come again
        self._busy: set[str] = set()

    async def run(self) -> NoReturn:
        """Work until cancelled; the caches are filled."""
        async with asyncio.TaskGroup() as tasks:
            self._tasks = tasks
            tasks.create_task(self._removals.run())
            self._cluster.volumes.handlers.append(self._on_volume)
            self._cluster.replicas.handlers.append(self._on_replica)
            self._cluster.nodes.handlers.append(self._on_node)
            for volume in [*self._cluster.volumes.objects.values()]:
                self._on_volume(None, volume)
        raise AssertionError("controllers do not end")

    def _on_volume(self, old: Object | None, new: Object | None) -> None:
        volume = new or old
        assert volume is not None
        self._add(volume["metadata"]["name"])

    def _on_replica(self, old: Object | None, new: Object | None) -> None:
        replica = new or old
        assert replica is not None
        self._add(replica["spec"]["volumeName"])

    def _on_node(self, _old: Object | None, _new: Object | None) -> None:
        """Try again what found no place."""
        for key, volume in self._cluster.volumes.objects.items():
            if read_volume(volume).scheduled == "False":
                self._add(key.name)

    def _add(self, name: str) -> None:
        volume = self._cluster.volumes.get(name, self._cluster.namespace)
        node = "" if volume is None else read_volume(volume).wished_node
        if node not in self._managers:
            manager = self._managers[node] = Controller(self._reconcile_alone, workers=WORKERS)
            self._tasks.create_task(manager.run())
        self._managers[node].add(name)

    async def _reconcile_alone(self, name: str) -> float | None:
        """Work on a volume unless another manager still does, from whose node it moved."""
        if name in self._busy:
            return _BUSY_SECONDS
        self._busy.add(name)
        try:
            return await self._reconcile(name)
        finally:
            self._busy.discard(name)

    async def _reconcile(self, name: str) -> float | None:
        failed: Failed = {}
        for _ in range(_MOST_STEPS):
            known = await self._read(name)
            if known is None:
                return None
            waits = await self._step(known, failed)
            if waits is not None:
                await self._report(known, failed)
                retry = [self._cluster.delays.scheduling_retry] if failed else []
                return min([*waits, *retry], default=None)
        raise AssertionError(f"volume {name} does not come to rest")

    async def _read(self, name: str) -> Known | None:
        volume = await self._cluster.api.get(VOLUMES, name, self._cluster.namespace)
        replicas = await self._cluster.replicas_of(name)
        if volume is None:
            for replica in replicas:
                self._begin_removal(replica["metadata"]["name"])
            return None
        now = self._cluster.timestamp()
        return Known(volume, [changes.marked(each, self._removing, now) for each in replicas])

    async def _step(self, known: Known, failed: Failed) -> list[float] | None:
        """Take the first step that is due; None if one was taken, else how long each takes."""
        volume = read_volume(known.volume)
        replicas = [read_replica(each) for each in known.replicas]
        waits = []
        for step in next_steps(volume, replicas, failed):
            span = self._span(step, volume.state)
            left = self._timers.left(volume.name, str(step), span=span) if span else 0.0
            if not left:
                await self._take(step, known, failed)
                self._timers.stop(volume.name, str(step))
                return None
            waits.append(left)
        return waits

    def _span(self, step: Step, state: str) -> Span | None:
        """Say how long a step takes, if it takes any time."""
        delays = self._cluster.delays
        match step:
            case lifecycle.FinishRebuild():
                return delays.rebuild
            case lifecycle.Become("creating"):
                return delays.volume_sync
            case lifecycle.Become("attached"):
                return delays.attach
            case lifecycle.Become("detached"):
                return delays.detach if state == "detaching" else delays.volume_sync
        return None

    async def _take(self, step: Step, known: Known, failed: Failed) -> None:
        now = self._cluster.timestamp()
        match step:
            case lifecycle.CreateReplica(hard_node):
                await self._create(known, hard_node, failed)
            case lifecycle.PlaceReplica(name, hard_node):
                replica = known.replica(name)
                reasons = await self._placement.place(replica, *known, hard_node)
                if reasons:
                    failed[name] = reasons
            case lifecycle.DeleteReplica(name):
                self._begin_removal(name)
            case lifecycle.RunReplica(name):
                await self._write(REPLICAS, known.replica(name), changes.running())
            case lifecycle.FinishRebuild(name):
                await self._write(REPLICAS, known.replica(name), changes.healthy(now))
            case lifecycle.Judge(robustness):
                await self._write(VOLUMES, known.volume, changes.judged(robustness, now))
            case lifecycle.Become(state):
                await self._become(state, known)
            case lifecycle.DeleteVolume():
                await self._cluster.api.delete(VOLUMES, self._key(known.volume))

    async def _create(self, known: Known, hard_node: str, failed: Failed) -> None:
        reasons = () if hard_node else self._placement.precheck(*known)
        if reasons:
            failed[PRECHECK] = reasons
            return
        replica = replica_object(known.volume, hard_node, self._cluster.random)
        await self._cluster.api.create(replica, REPLICAS)

    async def _become(self, state: str, known: Known) -> None:
        """Enter a state: the replicas first, so that a volume is never ahead of them."""
        name, now = known.volume["metadata"]["name"], self._cluster.timestamp()
        if state == "attached":
            for replica, change in changes.on_attach(known.replicas, now):
                await self._write(REPLICAS, replica, change)
            known = Known(known.volume, await self._cluster.replicas_of(name))
            await self._pin(known.volume)
        if state == "detached":
            for replica, change in changes.on_detach(known.replicas):
                await self._write(REPLICAS, replica, change)
            for unfinished in changes.unfinished(known.replicas):
                self._begin_removal(unfinished)
        await self._write(VOLUMES, known.volume, changes.entering(state, *known))
        self._timers.stop(name)

    async def _pin(self, volume: Object) -> None:
        """Keep pods of a strict-local volume on its node (longhorn-manager, after an attach)."""
        decided = read_volume(volume)
        found = self._cluster.persistent_volumes.get(decided.name)
        if decided.locality == STRICT_LOCAL and found and not found["spec"].get("nodeAffinity"):
            key = Key("", decided.name)
            change = changes.pinned(decided.wished_node)
            await self._cluster.api.patch(PERSISTENT_VOLUMES, key, change)

    async def _report(self, known: Known, failed: Failed) -> None:
        """Write the condition Scheduled, if it is another than before."""
        change = changes.scheduled(*known, failed, self._cluster.timestamp())
        if change:
            await self._write(VOLUMES, known.volume, change)

    async def _write(self, kind: Kind, obj: Object, change: Object) -> None:
        """Merge a change into the version that was read."""
        version = {"resourceVersion": obj["metadata"]["resourceVersion"]}
        await self._cluster.api.patch(kind, self._key(obj), {**change, "metadata": version})

    def _key(self, obj: Object) -> Key:
        return self._cluster.key(obj["metadata"]["name"])

    def _begin_removal(self, replica: str) -> None:
        if replica not in self._removing:
            self._removing.add(replica)
            seconds = self._cluster.draw(self._cluster.delays.replica_cleanup)
            self._removals.add_after(replica, seconds)

    async def _remove(self, replica: str) -> None:
        await self._cluster.api.delete(REPLICAS, self._cluster.key(replica))
