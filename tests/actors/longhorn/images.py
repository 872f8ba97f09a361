"""The backing image controller: as many copies of each backing image as are wanted.

A copy is assigned to a disk first, asks for room there in a later pass, and is made once that is
granted; a disk that refuses it loses it, and another one is tried. Without DiskSchedules a copy is
made as soon as it is assigned. Volumes do not wait for the copies of their images here.

Source: longhorn/longhorn PR 11924; longhorn-manager controller/backing_image_controller.go.
"""

import asyncio
from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import partial
from typing import NoReturn

import msgspec

import longhorn
from longhorn import Node, node_disks
from tests.actors.api import BACKING_IMAGES, Object
from tests.actors.controller import Controller
from tests.actors.longhorn.accounts import image_bytes
from tests.actors.longhorn.cluster import Cluster, Timers
from tests.actors.longhorn.records import recorded
from tests.actors.longhorn.requests import Requests
from tests.actors.longhorn.schedules import Asker, Room, changed_names, room_of
from tests.actors.longhorn.settings import Settings, known
from tests.actors.longhorn.views import View, Views

WORKERS = 5


class AddCopy(msgspec.Struct, frozen=True):
    """Assign one more copy to a disk that has none."""


class AskForCopy(msgspec.Struct, frozen=True):
    """Ask a disk for room for its copy."""

    disk: str


class DropCopy(msgspec.Struct, frozen=True):
    """Take a copy off a disk that refused it, or that has no DiskSchedule any more."""

    disk: str


class MakeCopy(msgspec.Struct, frozen=True):
    """Make the copy on a disk."""

    disk: str


class RemoveCopy(msgspec.Struct, frozen=True):
    """Remove a copy that is no longer assigned, and give its room back."""

    disk: str


CopyStep = AddCopy | AskForCopy | DropCopy | MakeCopy | RemoveCopy


def next_copy(image: Object, rooms: Mapping[str, Room] | None) -> CopyStep | None:
    """Say what to do next about a backing image; None if nothing is left but to wait.

    Args:
        image: The object.
        rooms: What disks have for it, by disk; None if no DiskSchedules are used.
    """
    size, wanted = image_bytes(image), image["spec"]["minNumberOfCopies"]
    assigned, made = disks_of(image)
    if not size:
        return None
    for disk in sorted(made - assigned):
        return RemoveCopy(disk)
    for disk in sorted(assigned):
        room = None if rooms is None else rooms.get(disk, Room(has_schedule=False))
        step = _next_on_disk(disk, size, room, is_made=disk in made)
        if step is not None:
            return step
    return AddCopy() if len(assigned) < wanted else None


def _next_on_disk(disk: str, size: int, room: Room | None, *, is_made: bool) -> CopyStep | None:
    if room is not None and room.has_schedule and room.asked_bytes != size:
        return AskForCopy(disk)
    if is_made:
        return None
    if room is None or room.covers(size):
        return MakeCopy(disk)
    return DropCopy(disk) if not room.has_schedule or room.refuses(size) else None


def disks_of(image: Object) -> tuple[set[str], set[str]]:
    """Return the disks that copies are assigned to, and those that have one, by UUID."""
    status = image.get("status") or {}
    return set(image["spec"]["diskFileSpecMap"]), set(status.get("diskFileStatusMap") or {})


def disks_for_copy(
    nodes: Iterable[Object], size_bytes: int, taken: Collection[str], settings: Settings
) -> Sequence[str]:
    """Return the UUIDs of the disks that have room for a copy, sorted."""
    spaces = [node_disks(recorded(each, Node), known(settings)) for each in nodes]
    return sorted(
        space.disk.id
        for node in spaces
        if longhorn.refusal_of(node.node) is None
        for space in node.disks
        if longhorn.takes_replicas(space.disk) and space.disk.id and space.disk.id not in taken
        if space.logical_headroom_bytes >= size_bytes
    )


class Images:
    """All backing images of the cluster."""

    def __init__(self, cluster: Cluster, requests: Requests, views: Views) -> None:
        self._cluster = cluster
        self._requests = requests
        self._views = views
        self._timers = Timers(cluster.draw)
        self._managers: dict[str, Controller[str]] = {}
        self._removing: set[str] = set()
        self._refused: dict[str, set[str]] = {}

    async def run(self) -> NoReturn:
        """Work until cancelled; the caches are filled."""
        async with asyncio.TaskGroup() as tasks:
            self._tasks = tasks
            self._cluster.backing_images.handlers.append(self._on_image)
            for image in [*self._cluster.backing_images.objects.values()]:
                self._on_image(None, image)
            await asyncio.get_running_loop().create_future()
        raise AssertionError("controllers do not end")

    def remove(self, name: str) -> None:
        """Delete an image once it has given back all room."""
        self._removing.add(name)
        self._add(name)

    def _on_image(self, old: Object | None, new: Object | None) -> None:
        image = new or old
        assert image is not None
        self._add(image["metadata"]["name"])

    def _on_schedule(self, node: str, old: Object | None, new: Object | None) -> None:
        for name in changed_names(old, new, Asker.IMAGE):
            if self._owner_of(name) == node:
                self._add(name)

    def _owner_of(self, name: str) -> str:
        image = self._cluster.backing_images.get(name, self._cluster.namespace)
        return "" if image is None else (image.get("status") or {}).get("ownerID", "")

    def _add(self, name: str) -> None:
        owner = self._owner_of(name)
        if owner not in self._managers:
            view = self._views.make(partial(self._on_schedule, owner))
            controller = Controller(partial(self._reconcile, view), workers=WORKERS)
            self._managers[owner] = controller
            self._tasks.create_task(controller.run())
        self._managers[owner].add(name)

    async def _reconcile(self, view: View, name: str) -> float | None:
        """Take one step; its own write brings the next."""
        cluster = self._cluster
        image = await cluster.api.get(BACKING_IMAGES, name, cluster.namespace)
        if image is None:
            return None
        if name in self._removing:
            await self._release(image)
            await cluster.api.delete(BACKING_IMAGES, cluster.key(name))
            return None
        schedules = view.schedules()
        rooms = (
            None
            if schedules is None
            else {disk: room_of(each, Asker.IMAGE, name) for disk, each in schedules.items()}
        )
        step = next_copy(image, rooms)
        return None if step is None else await self._take(step, image, view)

    async def _take(self, step: CopyStep, image: Object, view: View) -> float | None:
        name, schedules = image["metadata"]["name"], view.schedules() or {}
        match step:
            case AddCopy():
                return await self._assign(image, view)
            case AskForCopy(disk):
                size = image_bytes(image)
                await self._requests.ask(schedules[disk], Asker.IMAGE, name, size)
            case DropCopy(disk):
                await self._drop(image, disk, schedules.get(disk))
            case MakeCopy(disk):
                left = self._timers.left(name, disk, span=self._cluster.delays.image_copy)
                if left:
                    return left
                self._timers.stop(name, disk)
                await self._patch(image, "status", "diskFileStatusMap", disk, {"state": "ready"})
            case RemoveCopy(disk):
                await self._requests.release(disk, Asker.IMAGE, name)
                await self._patch(image, "status", "diskFileStatusMap", disk, None)
        return None

    async def _assign(self, image: Object, view: View) -> float | None:
        """Assign a copy; with no disk for it, forget what was refused, and look again later."""
        name = image["metadata"]["name"]
        taken = disks_of(image)[0] | self._refused.get(name, set())
        settings = self._cluster.setting_values()
        found = disks_for_copy(view.nodes(), image_bytes(image), taken, settings)
        if not found:
            self._refused.pop(name, None)
            return self._cluster.delays.scheduling_retry
        disk = self._cluster.random.choice(found)
        await self._patch(image, "spec", "diskFileSpecMap", disk, {})
        return None

    async def _drop(self, image: Object, disk: str, schedule: Object | None) -> None:
        name = image["metadata"]["name"]
        if schedule is not None:
            schedule = await self._requests.withdraw(schedule, Asker.IMAGE, name)
        if schedule is None or not room_of(schedule, Asker.IMAGE, name).asked_bytes:
            self._refused.setdefault(name, set()).add(disk)
            await self._patch(image, "spec", "diskFileSpecMap", disk, None)

    async def _release(self, image: Object) -> None:
        """Give back room on every disk that has a copy or was to have one."""
        if self._cluster.disk_schedules is not None:
            assigned, made = disks_of(image)
            for disk in sorted(assigned | made):
                await self._requests.release(disk, Asker.IMAGE, image["metadata"]["name"])

    async def _patch(
        self, image: Object, part: str, field: str, disk: str, value: Object | None
    ) -> None:
        """Write one entry of a map, or remove it, over the version that was read."""
        version = {"resourceVersion": image["metadata"]["resourceVersion"]}
        change = {"metadata": version, part: {field: {disk: value}}}
        await self._cluster.api.patch(
            BACKING_IMAGES, self._cluster.key(image["metadata"]["name"]), change
        )
