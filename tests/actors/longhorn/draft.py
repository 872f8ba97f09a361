"""A volume and its replicas during one pass of the volume controller. Pure.

As in Longhorn, what a pass decides is in memory until its end: each decision sees those before it,
and all that changes in one object is one write.
"""

from collections.abc import Mapping, Sequence

from tests.actors.api import Object
from tests.actors.longhorn.schedules import Asker, Room, room_of

Reasons = tuple[str, ...]


class Draft:
    """What was read, and what is to be written.

    Attributes:
        volume: The volume with all changes.
        failed: Why replicas found no place, by name.
        placed: Replicas that were given a disk.
        replica_changes: What is to be written into replicas: merge patches by name, in order.
        volume_changes: What is to be written into the volume.
        schedules: The DiskSchedules by disk, with what this pass wrote; None if none are used.
        refusals: Why a disk refused what was asked for a replica, by its name.
    """

    def __init__(
        self,
        volume: Object,
        replicas: Sequence[Object],
        schedules: Mapping[str, Object] | None = None,
    ) -> None:
        self.volume = volume
        self.schedules = None if schedules is None else dict(schedules)
        self.refusals: dict[str, str] = {}
        self.failed: dict[str, Reasons] = {}
        self.placed: set[str] = set()
        self.replica_changes: dict[str, Object] = {}
        self.volume_changes: Object = {}
        self._replicas = {each["metadata"]["name"]: each for each in replicas}

    @property
    def name(self) -> str:
        """The volume's."""
        name: str = self.volume["metadata"]["name"]
        return name

    @property
    def replicas(self) -> list[Object]:
        """All replicas with all changes."""
        return [*self._replicas.values()]

    def replica(self, name: str) -> Object:
        return self._replicas[name]

    def room_of(self, replica: Object) -> Room | None:
        """Say what its disk has for a replica; None without a disk, or without DiskSchedules."""
        disk = replica["spec"].get("diskID")
        if self.schedules is None or not disk:
            return None
        return room_of(self.schedules.get(disk), Asker.REPLICA, replica["metadata"]["name"])

    def put_schedule(self, disk: str, schedule: Object | None) -> None:
        """Take a DiskSchedule as it was just written; None if it is gone."""
        assert self.schedules is not None
        self.schedules.pop(disk, None)
        if schedule is not None:
            self.schedules[disk] = schedule

    def put(self, replica: Object) -> None:
        """Take a replica as it is: a new one, or one that is being removed."""
        self._replicas[replica["metadata"]["name"]] = replica

    def change_replica(self, name: str, change: Object) -> None:
        self._replicas[name] = merged(self._replicas[name], change)
        self.replica_changes[name] = merged(self.replica_changes.get(name, {}), change)

    def change_volume(self, change: Object) -> None:
        self.volume = merged(self.volume, change)
        self.volume_changes = merged(self.volume_changes, change)


def merged(obj: Object, change: Mapping[str, object]) -> Object:
    """Merge a change into an object, which stays as it is; lists are replaced."""
    found = dict(obj)
    for key, value in change.items():
        old = found.get(key)
        found[key] = merged(old, value) if isinstance(value, dict) and old else value
    return found
