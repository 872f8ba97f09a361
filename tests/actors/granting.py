"""A controller of DiskSchedules, as small as one can be: it decides by `longhorn` and writes.

It stands in where the real one is not what a test is about. It asks the API server for all that it
decides on, so that only its own writes and those of requesters can meet.
"""

import asyncio
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from random import Random
from typing import NoReturn

import longhorn
from longhorn import Decision, DiskSchedule, Entry, EntryState, Owner, ReplicaName
from tests.actors import api as kinds
from tests.actors.api import DISK_SCHEDULES, Api, Informer, Object, RefusedError, key_of
from tests.actors.controller import CONFLICT, Controller
from tests.actors.longhorn.records import condition_status, recorded
from tests.actors.longhorn.settings import known

READY = {"lastProbeTime": "", "message": "", "reason": "", "status": "True", "type": "Ready"}


class Granting:
    """Grants what fits on each disk.

    Attributes:
        conflicts: How many of its writes met another one.
    """

    def __init__(
        self, api: Api, *, random: Random, timestamp: Callable[[], str], namespace: str
    ) -> None:
        self.conflicts = 0
        self._api = api
        self._random = random
        self._timestamp = timestamp
        self._namespace = namespace
        self._schedules = Informer(api, DISK_SCHEDULES, namespace)
        self._owners = [
            Informer(api, kind, namespace) for kind in (kinds.REPLICAS, kinds.BACKING_IMAGES)
        ]
        self._limits = [
            Informer(api, kind, namespace) for kind in (kinds.LONGHORN_NODES, kinds.SETTINGS)
        ]
        self._controller: Controller[str] = Controller(self._reconcile, workers=1)

    async def run(self) -> NoReturn:
        """Work until cancelled."""
        self._schedules.handlers.append(self._on_schedule)
        for informer in self._owners:
            informer.handlers.append(self._on_owner)
        for informer in self._limits:
            informer.handlers.append(self._on_limit)
        async with asyncio.TaskGroup() as tasks:
            for informer in (self._schedules, *self._owners, *self._limits):
                tasks.create_task(informer.run())
            tasks.create_task(self._controller.run())
        raise AssertionError("controllers do not end")

    def _on_schedule(self, _old: Object | None, new: Object | None) -> None:
        if new is not None:
            self._controller.add(new["metadata"]["name"])

    def _on_owner(self, _old: Object | None, new: Object | None) -> None:
        """Look at all disks if who asks for room may be gone."""
        if new is None:
            self._on_limit(None, None)

    def _on_limit(self, _old: Object | None, _new: Object | None) -> None:
        for key in self._schedules.objects:
            self._controller.add(key.name)

    async def _reconcile(self, name: str) -> None:
        obj = await self._api.get(DISK_SCHEDULES, name, self._namespace)
        if obj is None:
            return
        decision = await self._decide(obj)
        try:
            match decision:
                case Decision():
                    await self._write(obj, decision)
                case longhorn.LetGo():
                    change = {"finalizers": None, **_version(obj)}
                    await self._api.patch(DISK_SCHEDULES, key_of(obj), {"metadata": change})
                case _:
                    return
        except RefusedError as error:
            self.conflicts += error.status == CONFLICT
            raise

    async def _decide(self, obj: Object) -> object:
        schedule = read_schedule(obj)
        list_of = partial(self._api.list, namespace=self._namespace)
        nodes = {each["metadata"]["name"]: each for each in await list_of(kinds.LONGHORN_NODES)}
        replicas = await list_of(kinds.REPLICAS)
        images = await list_of(kinds.BACKING_IMAGES)
        settings = {
            each["metadata"]["name"]: each["value"] for each in await list_of(kinds.SETTINGS)
        }
        node = nodes.get(schedule.node)
        return longhorn.decide_schedule(
            schedule,
            None if node is None else recorded(node, longhorn.Node),
            known(settings).over_provisioning_percent,
            gone=longhorn.unowned(
                schedule, {ReplicaName(each) for each in _alive(replicas)}, _alive(images)
            ),
            found=longhorn.found_on_disk(
                schedule,
                [recorded(each, longhorn.Replica) for each in replicas],
                _copies(images, schedule.name),
            ),
            shuffled=self._shuffled,
        )

    async def _write(self, obj: Object, decision: Decision) -> None:
        """Write requests first, and what is held only over the version that this gave."""
        after = decision.after
        if decision.changes_spec:
            asked = {"replicas": dict(after.replicas), "backingImages": dict(after.images)}
            written = await self._api.replace(
                {**obj, "spec": {**obj["spec"], **asked}}, DISK_SCHEDULES
            )
            if written is None:
                return
            obj = written
        if decision.changes_status:
            status = {
                "replicas": _entries(after.held_replicas),
                "backingImages": _entries(after.held_images),
                "storageScheduled": after.scheduled_bytes,
                "conditions": [{**READY, "lastTransitionTime": self._timestamp()}],
            }
            if decision.before.ready:
                status["conditions"] = obj["status"]["conditions"]
            await self._api.replace({**obj, "status": status}, DISK_SCHEDULES, "status")

    def _shuffled(self, owners: Sequence[Owner]) -> Iterable[Owner]:
        return self._random.sample(owners, len(owners))


def read_schedule(obj: Object) -> DiskSchedule:
    """Read an object as `longhorn` decides on it."""
    spec, status = obj["spec"], obj.get("status") or {}
    ready = condition_status(status, "Ready")
    return DiskSchedule(
        name=obj["metadata"]["name"],
        node=spec["nodeID"],
        disk=spec["name"],
        replicas=spec.get("replicas") or {},
        images=spec.get("backingImages") or {},
        held_replicas={
            ReplicaName(name): each
            for name, each in _read_entries(status.get("replicas") or {}).items()
        },
        held_images=_read_entries(status.get("backingImages") or {}),
        scheduled_bytes=status.get("storageScheduled", 0),
        ready={"True": True, "False": False}.get(ready),
        deleting=bool(obj["metadata"].get("deletionTimestamp")),
    )


def _read_entries(entries: Mapping[str, Object]) -> dict[str, Entry]:
    return {
        name: Entry(EntryState(each["state"]), each.get("scheduledSize", 0))
        for name, each in entries.items()
    }


def _entries(entries: Mapping[ReplicaName, Entry] | Mapping[str, Entry]) -> Object:
    return {
        name: {"state": each.state.value, "scheduledSize": each.scheduled_bytes}
        for name, each in entries.items()
    }


def _alive(objects: Iterable[Object]) -> set[str]:
    return {
        each["metadata"]["name"]
        for each in objects
        if not each["metadata"].get("deletionTimestamp")
    }


def _copies(images: Iterable[Object], disk: str) -> dict[str, int]:
    """Return the copies that are on a disk, and their bytes."""
    return {
        each["metadata"]["name"]: each["status"].get("size", 0)
        for each in images
        if disk in (each["status"].get("diskFileStatusMap") or {})
    }


def _version(obj: Object) -> Object:
    return {"resourceVersion": obj["metadata"]["resourceVersion"]}
