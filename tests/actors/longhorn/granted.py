"""What must hold of DiskSchedules, whoever grants and whoever asks. Pure."""

from collections.abc import Iterable, Iterator, Mapping

from tests.actors.api import Object
from tests.actors.longhorn.schedules import Asker, held_bytes, room_of

Holder = tuple[Asker, str]


def wrong_change(old: Object | None, new: Object, limit_bytes: int) -> Iterator[str]:
    """Say what is wrong with a change of what a disk holds; nothing if that stays as it was.

    The sum is right and nothing is held that is not asked for; nothing rises beyond the limit,
    unless the object is new and holds what was there before; nothing falls below what is asked.

    Args:
        old: The object before, None if there was none.
        new: The object after.
        limit_bytes: The most that may be scheduled on the disk at that moment.
    """
    before, after = holders({} if old is None else old), holders(new)
    name = new["metadata"]["name"]
    if before == after:
        return
    total = sum(after.values())
    if held_bytes(new) != total:
        yield f"{name}: storageScheduled is {held_bytes(new)} B, the entries are {total} B"
    is_first = old is None or not (old.get("status") or {}).get("conditions")
    rises = any(size > before.get(holder, 0) for holder, size in after.items())
    if rises and not is_first and total > limit_bytes:
        yield f"{name}: {total} B held, the limit is {limit_bytes} B"
    for asker, holder in sorted({*before, *after}):
        asked = room_of(new, asker, holder).asked_bytes
        size = after.get((asker, holder))
        if size is not None and not asked:
            yield f"{name}: {holder} is held, and nothing is asked"
        if (size or 0) < min(before.get((asker, holder), 0), asked):
            yield f"{name}: {holder} lost room that it asks for"


def holders(schedule: Object) -> dict[Holder, int]:
    """Return the bytes of each entry."""
    status = schedule.get("status") or {}
    return {
        (asker, name): entry.get("scheduledSize", 0)
        for asker in Asker
        for name, entry in (status.get(asker.value) or {}).items()
    }


def refused_names(schedule: Object) -> set[str]:
    """Name who is refused more than it holds."""
    status = schedule.get("status") or {}
    return {
        name
        for asker in Asker
        for name, entry in (status.get(asker.value) or {}).items()
        if entry["state"] == "rejected"
    }


def starts_without_room(old: Object | None, new: Object, schedules: Mapping[str, Object]) -> bool:
    """Say whether a replica is to run from now on, and its disk does not hold its size."""
    is_started = new["spec"]["desireState"] == "running"
    if not is_started or (old is not None and old["spec"]["desireState"] == "running"):
        return False
    room = room_of(schedules.get(new["spec"]["diskID"]), Asker.REPLICA, new["metadata"]["name"])
    return room.held_bytes < int(new["spec"]["volumeSize"])


def unsettled(replicas: Iterable[Object], schedules: Iterable[Object]) -> list[str]:
    """Say which replicas wait for room on their disk, and who asks for room without need."""
    schedules = {each["metadata"]["name"]: each for each in schedules}
    found, placed = [], set()
    for replica in replicas:
        name, disk = replica["metadata"]["name"], replica["spec"]["diskID"]
        if disk:
            placed.add((disk, name))
            room = room_of(schedules.get(disk), Asker.REPLICA, name)
            if not room.covers(int(replica["spec"]["volumeSize"])):
                found.append(f"{name} has no room on {disk}")
    for disk, schedule in schedules.items():
        for name in schedule["spec"].get(Asker.REPLICA.value) or {}:
            if (disk, name) not in placed:
                found.append(f"{name} asks for room on {disk}, where it is not")
    return sorted(found)
