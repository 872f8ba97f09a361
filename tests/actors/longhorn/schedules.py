"""DiskSchedule objects, as those who ask for room read and write them. Pure.

An object is for one disk, and its name is the disk's UUID. Its spec says what is asked of the disk,
its status what the disk holds; only a controller of DiskSchedules writes the latter.

Source: longhorn/longhorn PR 11924 and longhorn-manager PR 4366, neither of them released.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping
from enum import Enum, StrEnum

import msgspec

from tests.actors.api import LONGHORN_NODES, Object

DELETE_ANNOTATION = "longhorn.io/delete-disk-from-longhorn"
"""Longhorn's webhook refuses to delete an object without it."""
NODE_LABEL = "longhornnode"


class DiskSchedules(Enum):
    """What Longhorn does with DiskSchedules."""

    UNUSED = "unused"
    """Nothing, as released."""
    USED = "used"
    """It asks for room in those that somebody else creates."""
    MANAGED = "managed"
    """It also creates one for each disk, and deletes it with the disk."""


class Asker(StrEnum):
    """Who asks for room; the value is the field of its map in spec and status."""

    REPLICA = "replicas"
    IMAGE = "backingImages"


class Room(msgspec.Struct, frozen=True, kw_only=True):
    """What a disk has for one name."""

    asked_bytes: int = 0
    held_bytes: int = 0
    is_refused: bool = False
    """More than *held_bytes* was asked for, and refused."""
    has_schedule: bool = True
    """Whether the disk has a DiskSchedule at all."""

    def covers(self, size_bytes: int) -> bool:
        """Say whether so much is held, and stays so."""
        return min(self.asked_bytes, self.held_bytes) >= size_bytes

    def refuses(self, size_bytes: int) -> bool:
        """Say whether so much was asked for and refused."""
        return self.is_refused and self.asked_bytes == size_bytes > self.held_bytes


def room_of(schedule: Object | None, asker: Asker, name: str) -> Room:
    """Read what a disk has for a name, by its DiskSchedule if there is one."""
    if schedule is None:
        return Room(has_schedule=False)
    entry = _held(schedule, asker).get(name) or {}
    return Room(
        asked_bytes=_asked(schedule, asker).get(name, 0),
        held_bytes=entry.get("scheduledSize", 0),
        is_refused=entry.get("state") == "rejected",
    )


def with_request(schedule: Object, asker: Asker, name: str, size_bytes: int) -> Object | None:
    """Ask for so much, or for nothing with 0; None if that is what is asked already."""
    asked = _asked(schedule, asker)
    if asked.get(name, 0) == size_bytes:
        return None
    others = {key: size for key, size in asked.items() if key != name}
    new = {**others, name: size_bytes} if size_bytes else others
    return {**schedule, "spec": {**schedule["spec"], asker.value: new}}


def without_refused(schedule: Object, asker: Asker, name: str) -> Object | None:
    """Take back what is asked for a name; None if it was granted meanwhile, or is not there."""
    room = room_of(schedule, asker, name)
    return None if room.covers(room.asked_bytes) else with_request(schedule, asker, name, 0)


def changed_names(old: Object | None, new: Object | None, asker: Asker) -> list[str]:
    """Name whose request or whose entry differs, sorted."""
    maps = [
        (read({} if old is None else old, asker), read({} if new is None else new, asker))
        for read in (_asked, _held)
    ]
    names = {name for before, after in maps for name in (*before, *after)}
    return sorted(
        name for name in names if any(before.get(name) != after.get(name) for before, after in maps)
    )


def by_schedules(node: Object, schedules: Mapping[str, Object]) -> Object:
    """Return a node whose disks count what their DiskSchedules hold.

    What is asked and not decided yet does not count. A disk without a DiskSchedule is left out.
    """
    statuses = (node.get("status") or {}).get("diskStatus") or {}
    counted = {
        name: {**status, "storageScheduled": held_bytes(schedules[status["diskUUID"]])}
        for name, status in statuses.items()
        if status["diskUUID"] in schedules
    }
    return {**node, "status": {**node["status"], "diskStatus": counted}}


def without_disks(node: Object, avoided: Collection[str]) -> Object:
    """Return a node as if it had none of the disks with these UUIDs."""
    statuses = (node.get("status") or {}).get("diskStatus") or {}
    left = {name: each for name, each in statuses.items() if each["diskUUID"] not in avoided}
    return {**node, "status": {**node["status"], "diskStatus": left}}


def names_in(schedule: Object, asker: Asker) -> list[str]:
    """Name whoever asks for room on a disk, or holds some, sorted."""
    return sorted({*_asked(schedule, asker), *_held(schedule, asker)})


def held_bytes(schedule: Object) -> int:
    """Return what a disk holds in sum, as its DiskSchedule says."""
    return int((schedule.get("status") or {}).get("storageScheduled", 0))


def disk_schedule(node: Object, disk: str) -> Object:
    """Build the object of a node's disk, with nothing asked of it."""
    metadata = node["metadata"]
    return {
        "metadata": {
            "name": node["status"]["diskStatus"][disk]["diskUUID"],
            "namespace": metadata["namespace"],
            "labels": {NODE_LABEL: metadata["name"]},
            "finalizers": ["longhorn.io"],
            "ownerReferences": [
                {
                    "apiVersion": LONGHORN_NODES.api_version,
                    "kind": LONGHORN_NODES.kind,
                    "name": metadata["name"],
                    "uid": metadata["uid"],
                    "blockOwnerDeletion": True,
                }
            ],
        },
        "spec": {"name": disk, "nodeID": metadata["name"], "replicas": {}, "backingImages": {}},
    }


def missing(node: Object, known: Collection[str]) -> Iterator[Object]:
    """Build the objects of a node's disks that are not among the known names."""
    for disk, uuid in _disks_of(node):
        if uuid not in known:
            yield disk_schedule(node, disk)


def left_over(node: Object, schedules: Iterable[Object]) -> Iterator[Object]:
    """List the objects of disks that a node no longer has; one that was replaced is not there."""
    there = set(_disks_of(node))
    for schedule in schedules:
        metadata, spec = schedule["metadata"], schedule["spec"]
        is_here = (metadata.get("labels") or {}).get(NODE_LABEL) == node["metadata"]["name"]
        if is_here and (spec["name"], metadata["name"]) not in there:
            yield schedule


def _disks_of(node: Object) -> Iterator[tuple[str, str]]:
    """List the disks that both spec and status know: name and UUID."""
    specs = (node.get("spec") or {}).get("disks") or {}
    for disk, status in ((node.get("status") or {}).get("diskStatus") or {}).items():
        if disk in specs and status.get("diskUUID"):
            yield disk, status["diskUUID"]


def _asked(schedule: Object, asker: Asker) -> Mapping[str, int]:
    return (schedule.get("spec") or {}).get(asker.value) or {}


def _held(schedule: Object, asker: Asker) -> Mapping[str, Object]:
    return (schedule.get("status") or {}).get(asker.value) or {}
