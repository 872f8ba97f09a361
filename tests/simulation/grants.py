"""Which replicas stay on their disks, by what the DiskSchedules of these say. Pure.

A replica is placed on a disk first, and asks it for room then. Until it is granted it takes room
there, and may be refused yet. One that was refused, and would be again, is not placed: Longhorn
finds another disk for it. Disks without a DiskSchedule that is Ready are not asked.
"""

from collections.abc import Iterable, Iterator, Mapping

from tests.actors.api import Object
from tests.actors.longhorn.records import condition_status
from tests.actors.longhorn.schedules import Asker, Room, names_in, room_of


def is_ready(schedule: Object) -> bool:
    """Say whether a disk was decided on at least once."""
    return condition_status(schedule.get("status") or {}, "Ready") == "True"


def is_granted(replica: Object, schedules: Mapping[str, Object]) -> bool:
    """Say whether a replica that is placed stays where it is. One with data does."""
    if replica["spec"]["healthyAt"]:
        return True
    schedule = schedules.get(replica["spec"]["diskID"])
    if schedule is None or not is_ready(schedule):
        return True
    room = room_of(schedule, Asker.REPLICA, replica["metadata"]["name"])
    return not room.is_refused and room.covers(int(replica["spec"]["volumeSize"]))


def turned_away(
    replicas: Iterable[Object], schedules: Mapping[str, Object], limits: Mapping[str, int]
) -> set[str]:
    """Name those of *replicas* that their disk refused and would refuse again.

    Args:
        replicas: All that have a disk.
        schedules: By the UUID of the disk.
        limits: The most that may be scheduled on each of these disks.
    """
    by_disk: dict[str, list[Object]] = {}
    for replica in replicas:
        by_disk.setdefault(replica["spec"]["diskID"], []).append(replica)
    return {
        name
        for disk, here in by_disk.items()
        if disk in schedules and is_ready(schedules[disk])
        for name in _turned_away(here, schedules[disk], limits[disk])
    }


def _turned_away(here: list[Object], schedule: Object, limit_bytes: int) -> Iterator[str]:
    rooms = [
        room_of(schedule, asker, name) for asker in Asker for name in names_in(schedule, asker)
    ]
    known = set(names_in(schedule, Asker.REPLICA))
    unknown = [each for each in here if each["metadata"]["name"] not in known]
    taken = sum(map(_counted, rooms)) + sum(int(each["spec"]["volumeSize"]) for each in unknown)
    for replica in here:
        name = replica["metadata"]["name"]
        room = room_of(schedule, Asker.REPLICA, name)
        refused_bytes = room.asked_bytes - room.held_bytes
        is_refused = room.is_refused and not room.held_bytes and refused_bytes > 0
        if is_refused and not replica["spec"]["healthyAt"] and refused_bytes > limit_bytes - taken:
            yield name


def _counted(room: Room) -> int:
    return room.held_bytes if room.is_refused else max(room.asked_bytes, room.held_bytes)
