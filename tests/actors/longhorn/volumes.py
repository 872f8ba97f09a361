"""The volume controller: brings volumes and their replicas to the state wished for.

Every node's manager works on the volumes that are to be attached there, or else on those that it
owns, several at a time. A pass reads a volume and its replicas anew, decides in memory, and writes
at its end: first the replicas one after another, then the volume, each over the version read. Only
creations, deletions and requests for room are done as they are decided. Nodes, DiskSchedules,
settings and backing images come from caches.
Source: longhorn-manager controller/volume_controller.go syncVolume.
"""

import asyncio
from functools import partial
from typing import NamedTuple, NoReturn

import msgspec

from tests.actors.api import REPLICAS, VOLUMES, Kind, Object
from tests.actors.controller import Controller
from tests.actors.longhorn import changes, lifecycle, salvage
from tests.actors.longhorn.cluster import Cluster, Timers
from tests.actors.longhorn.creation import replica_object
from tests.actors.longhorn.delays import Span
from tests.actors.longhorn.draft import Draft
from tests.actors.longhorn.lifecycle import PRECHECK, Become, Step, next_step_in_shards, next_steps
from tests.actors.longhorn.pinning import pin
from tests.actors.longhorn.placement import Placement
from tests.actors.longhorn.records import Volume, read_replica, read_volume
from tests.actors.longhorn.removals import Removals
from tests.actors.longhorn.requesting import RequestStep
from tests.actors.longhorn.requests import Requests
from tests.actors.longhorn.rooms import Rooms
from tests.actors.longhorn.schedules import Asker, changed_names
from tests.actors.longhorn.settings import ALLOW_DEGRADED, AUTO_SALVAGE, is_on
from tests.actors.longhorn.shards import is_sharded, is_whole
from tests.actors.longhorn.upgrades import is_paused
from tests.actors.longhorn.views import View, Views

WORKERS = 5
"""How many volumes a node's manager works on at a time."""

_BUSY_SECONDS = 0.02
_ATTACH_SECONDS = 0.5
_MOST_STEPS = 100


class Manager(NamedTuple):
    """The work of one node's manager, and what it knows."""

    work: Controller[str]
    view: View


class Volumes:
    """All volumes of the cluster."""

    def __init__(
        self, cluster: Cluster, placement: Placement, requests: Requests, views: Views
    ) -> None:
        self._cluster = cluster
        self._placement = placement
        self._views = views
        self._rooms = Rooms(cluster, requests)
        self._timers = Timers(cluster.draw)
        self._managers: dict[str, Manager] = {}
        self._removals = Removals(cluster, requests, workers=WORKERS)
        self._busy: set[str] = set()

    async def run(self) -> NoReturn:
        """Work until cancelled; the caches are filled."""
        async with asyncio.TaskGroup() as tasks:
            self._tasks = tasks
            tasks.create_task(self._removals.run())
            self._cluster.volumes.handlers.append(self._on_volume)
            self._cluster.replicas.handlers.append(self._on_replica)
            if self._cluster.shards is not None:
                self._cluster.shards.handlers.append(self._on_shard)
            self._cluster.nodes.handlers.append(self._on_node)
            if self._cluster.upgrades is not None:
                self._cluster.upgrades.handlers.append(self._on_upgrade)
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
        if new is None:
            self._placement.forget(replica["metadata"]["name"])
            self._rooms.forget(replica["metadata"]["name"])
        self._add(replica["spec"]["volumeName"])
        if new is None and replica["spec"].get("linkedCloneSrcReplicaName"):
            self._add(replica["spec"]["linkedCloneSrcReplicaName"].rpartition("-r-")[0])

    def _on_shard(self, old: Object | None, new: Object | None) -> None:
        shard = new or old
        assert shard is not None
        self._add(shard["spec"]["shardGroupName"])

    def _on_node(self, _old: Object | None, _new: Object | None) -> None:
        """Try again what found no place or is faulted; those without replicas wait for their time.

        Source: controller/volume_controller.go enqueueNodeChange.
        """
        replicas = self._cluster.replicas.objects.values()
        for name in dict.fromkeys(
            each["spec"]["volumeName"]
            for each in replicas
            if not each["spec"]["nodeID"] or self._is_faulted(each["spec"]["volumeName"])
        ):
            self._add(name)

    def _is_faulted(self, name: str) -> bool:
        volume = self._cluster.volumes.get(name, self._cluster.namespace)
        return volume is not None and read_volume(volume).robustness == "faulted"

    def _on_upgrade(self, old: Object | None, new: Object | None) -> None:
        for each in (old, new):
            status = (each.get("status") if each else None) or {}
            for name in status.get("plannedDetachedReplicas") or ():
                self._add(name)

    def _on_schedule(self, node: str, old: Object | None, new: Object | None) -> None:
        """Look at a manager's volumes again whose requests or room it now knows to be changed."""
        for name in changed_names(old, new, Asker.REPLICA):
            replica = self._cluster.replicas.get(name, self._cluster.namespace)
            if replica is not None and self._manager_of(replica["spec"]["volumeName"]) == node:
                self._add(replica["spec"]["volumeName"])

    def _manager_of(self, name: str) -> str:
        volume = self._cluster.volumes.get(name, self._cluster.namespace)
        if volume is None:
            return ""
        return read_volume(volume).wished_node or read_volume(volume).owner

    def _add(self, name: str) -> None:
        node = self._manager_of(name)
        if node not in self._managers:
            view = self._views.make(partial(self._on_schedule, node))
            work = Controller(partial(self._reconcile_alone, view), workers=WORKERS)
            self._managers[node] = Manager(work, view)
            self._tasks.create_task(work.run())
        self._managers[node].work.add(name)

    async def _reconcile_alone(self, view: View, name: str) -> float | None:
        """Work on a volume unless another manager still does, from whose node it moved."""
        if name in self._busy:
            return _BUSY_SECONDS
        self._busy.add(name)
        try:
            return await self._reconcile(view, name)
        finally:
            self._busy.discard(name)

    async def _reconcile(self, view: View, name: str) -> float | None:
        """Make one pass; its own writes bring the next."""
        draft = await self._read(view, name)
        if draft is None:
            return None
        if self._cluster.runners.is_declined(draft.volume, read_volume(draft.volume).wished_node):
            return _ATTACH_SECONDS
        if not read_volume(draft.volume).state:
            left = self._timers.left(name, span=self._cluster.delays.volume_sync)
            if left:
                return left
        await pin(self._cluster, draft.volume)
        done: list[Step] = []
        decide = self._decide_in_shards if is_sharded(draft.volume) else self._decide
        again = await decide(draft, view, done)
        await self._write(draft)
        for step in done:
            self._timers.stop(name, *([] if isinstance(step, Become) else [str(step)]))
        return again

    async def _read(self, view: View, name: str) -> Draft | None:
        volume = await self._cluster.api.get(VOLUMES, name, self._cluster.namespace)
        replicas = await self._cluster.replicas_of(name)
        if volume is None:
            for replica in replicas:
                self._removals.begin(replica["metadata"]["name"])
            return None
        now = self._cluster.timestamp()
        marked = [changes.marked(each, self._removals.begun, now) for each in replicas]
        return Draft(volume, marked, view.schedules())

    async def _decide(self, draft: Draft, view: View, done: list[Step]) -> float | None:
        """Take the steps that are due; return when to look again, if not after the next event."""
        nodes = self._cluster.nodes.objects.items()
        zones = {key.name: node["status"].get("zone", "") for key, node in nodes}
        opens = self._opens(draft)
        for _ in range(_MOST_STEPS):
            volume = msgspec.structs.replace(
                read_volume(draft.volume),
                is_paused=is_paused(draft.volume, self._cluster.known_upgrades()),
            )
            shared = self._cluster.sharing.taken
            replicas = [
                read_replica(each, zones, draft.room_of(each), shared) for each in draft.replicas
            ]
            held_back, held_seconds = self._rooms.held_back(draft.name)
            waits = [held_seconds] if held_back else []
            for step in next_steps(volume, replicas, draft.failed, draft.placed, held_back):
                hangs = step == Become("attached") and not self._starts_engine(draft)
                if hangs or (not opens and isinstance(step, lifecycle.RunReplica | Become)):
                    waits.append(_ATTACH_SECONDS)
                    continue
                left = self._left(step, volume)
                if not left:
                    break
                waits.append(left)
            else:
                self._judge(draft)
                retry = [self._cluster.delays.scheduling_retry] if draft.failed else []
                return min([*waits, *retry], default=None)
            await self._take(step, draft, view)
            done.append(step)
            if isinstance(step, Become | lifecycle.DeleteVolume):
                return None
        raise AssertionError(f"volume {draft.name} does not come to rest")

    def _opens(self, draft: Draft) -> bool:
        """Fail and salvage replicas; say whether others may be started, where the volume attaches.

        Those that a pass places are looked at in the next one.
        """
        volume, replicas = read_volume(draft.volume), [read_replica(e) for e in draft.replicas]
        nodes = {key.name: node for key, node in self._cluster.nodes.objects.items()}
        launches = partial(self._cluster.runners.launches, draft.volume)
        is_v1 = draft.volume["spec"]["dataEngine"] == "v1"
        match volume.state:
            case "detached" | "attaching" if volume.wished_node:
                if salvage.attaches_nowhere(replicas, nodes, launches):
                    return False
                failing = salvage.unable(replicas, nodes, launches, needs_disk=is_v1)
                for name in failing:
                    draft.change_replica(name, changes.failed(self._cluster.timestamp()))
            case "detached" if volume.robustness == "faulted":
                if is_on(self._cluster.setting_values(), AUTO_SALVAGE):
                    for name in salvage.salvaged(replicas, nodes):
                        draft.change_replica(name, changes.salvaged())
        return True

    async def _decide_in_shards(self, draft: Draft, view: View, done: list[Step]) -> float | None:
        """Take the step that is due of an erasure-coded volume."""
        shards = await self._cluster.shards_of(draft.name)
        now, volume = self._cluster.timestamp(), read_volume(draft.volume)
        whole = is_whole(draft.volume, shards)
        step = next_step_in_shards(volume, is_whole=whole, is_empty=not shards)
        draft.change_volume(changes.in_shards(draft.volume, shards, now))
        if step is None:
            return None
        left = self._left(step, volume)
        if step == Become("attached") and not self._starts_engine(draft):
            left = _ATTACH_SECONDS
        if left:
            return left
        done.append(step)
        if isinstance(step, Become):
            draft.change_volume(changes.entering_in_shards(step.state, draft.volume, now))
        else:
            await self._take(step, draft, view)
        return None

    def _starts_engine(self, draft: Draft) -> bool:
        node = read_volume(draft.volume).wished_node
        return self._cluster.runners.starts_engine(draft.volume, node)

    def _left(self, step: Step, volume: Volume) -> float:
        """Return how many seconds a step still takes."""
        span = self._span(step, volume)
        return self._timers.left(volume.name, str(step), span=span) if span else 0.0

    def _span(self, step: Step, volume: Volume) -> Span | None:
        """Say how long a step takes, if it takes any time."""
        delays = self._cluster.delays
        match step:
            case lifecycle.FinishRebuild():
                return delays.rebuild
            case lifecycle.StopReplicas():
                return delays.detach
            case Become("attached"):
                return delays.attach
            case Become("detaching" | "detached") if not (
                volume.current_node or volume.wished_node
            ):
                return delays.volume_sync
        return None

    async def _take(self, step: Step, draft: Draft, view: View) -> None:
        match step:
            case lifecycle.CreateReplica(hard_node):
                await self._create(draft, hard_node, view)
            case lifecycle.PlaceReplica(name, hard_node):
                self._place(draft, name, hard_node, view)
            case lifecycle.DeleteReplica(name):
                self._removals.begin(name)
                now = self._cluster.timestamp()
                draft.put(changes.marked(draft.replica(name), self._removals.begun, now))
            case lifecycle.DeleteVolume():
                await self._cluster.api.delete(VOLUMES, self._cluster.key(draft.name))
            case _ if isinstance(step, RequestStep):
                await self._rooms.take(step, draft, view)
            case _:
                self._change(step, draft)

    def _change(self, step: Step, draft: Draft) -> None:
        now = self._cluster.timestamp()
        match step:
            case lifecycle.RunReplica(name):
                draft.change_replica(name, changes.to_be("running"))
            case lifecycle.StopReplicas():
                for replica in draft.replicas:
                    if read_replica(replica).shall_run:
                        draft.change_replica(replica["metadata"]["name"], changes.to_be("stopped"))
            case lifecycle.FinishRebuild(name):
                draft.change_replica(name, changes.healthy(draft.replica(name), now))
            case lifecycle.Judge(robustness):
                draft.change_volume(changes.judged(robustness, now))
            case Become(state):
                self._become(state, draft)

    async def _create(self, draft: Draft, hard_node: str, view: View) -> None:
        reasons: tuple[str, ...] = ()
        if not hard_node:
            reasons = self._placement.precheck(draft.volume, draft.replicas, view.nodes())
        if reasons:
            draft.failed[PRECHECK] = reasons
            return
        sizes = [read_replica(each).size_bytes for each in draft.replicas]
        size = min(sizes, default=read_volume(draft.volume).size_bytes)
        replica = replica_object(draft.volume, size, hard_node, self._cluster.random)
        draft.put(await self._cluster.api.create(replica, REPLICAS))
        await asyncio.sleep(self._cluster.draw(self._cluster.delays.write))

    def _place(self, draft: Draft, name: str, hard_node: str, view: View) -> None:
        if hard_node != draft.replica(name)["spec"]["hardNodeAffinity"]:
            draft.change_replica(name, changes.bound(hard_node))
        nodes = view.nodes(self._rooms.avoided(name))
        found = self._placement.place(draft.replica(name), draft.volume, draft.replicas, nodes)
        if isinstance(found, tuple):
            draft.failed[name] = found
            self._rooms.forget(name)
        else:
            draft.change_replica(name, found)
            draft.placed.add(name)

    def _become(self, state: str, draft: Draft) -> None:
        now = self._cluster.timestamp()
        self._judge(draft)
        if state == "attached":
            for name, change in changes.on_attach(draft.replicas, now):
                draft.change_replica(name, change)
        if state == "detached":
            for name, change in changes.on_detach(draft.replicas, now):
                draft.change_replica(name, change)
        draft.change_volume(changes.entering(state, draft.volume, draft.replicas, now))

    def _judge(self, draft: Draft) -> None:
        """Decide about the conditions, and show whether the volume is to grow."""
        now = self._cluster.timestamp()
        replicas = [read_replica(each, room=draft.room_of(each)) for each in draft.replicas]
        draft.change_volume(changes.allocated(draft.volume, replicas, draft.refusals, now))
        draft.change_volume(changes.expanding(draft.volume, draft.replicas))
        allow_degraded = is_on(self._cluster.setting_values(), ALLOW_DEGRADED)
        draft.change_volume(
            changes.scheduled(
                draft.volume,
                draft.replicas,
                draft.failed,
                allow_degraded=allow_degraded,
                now=now,
            )
        )

    async def _write(self, draft: Draft) -> None:
        """Write what changed, the volume last, so that it is never ahead of its replicas."""
        for name, change in draft.replica_changes.items():
            await self._patch(REPLICAS, draft.replica(name), change)
            await asyncio.sleep(self._cluster.draw(self._cluster.delays.write))
        if draft.volume_changes:
            await self._patch(VOLUMES, draft.volume, draft.volume_changes)

    async def _patch(self, kind: Kind, obj: Object, change: Object) -> None:
        """Merge a change into the version that was read."""
        version = {"resourceVersion": obj["metadata"]["resourceVersion"]}
        change = {**change, "metadata": {**change.get("metadata", {}), **version}}
        await self._cluster.api.patch(kind, self._cluster.key(obj["metadata"]["name"]), change)
