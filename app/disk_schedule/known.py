"""What is known of disks and of those who need room on them, and what must be decided anew. Pure.

Every change of what a decision rests on names the schedules that it may change: nothing is looked
at again because time has passed.
"""

from collections.abc import Iterable
from typing import Generic, TypeVar

from app.disk_schedule.stored import ImageCopies, StoredSchedule
from app.kube.mirror import Change, Known
from longhorn import (
    DiskId,
    DiskSchedule,
    Node,
    NodeName,
    Owner,
    OwnerKind,
    Replica,
    ReplicaName,
    Setting,
    Settings,
    Unreadable,
    owners_of,
    parse_int,
    unowned,
)

Key = TypeVar("Key")
Name = TypeVar("Name")

PERCENT = "storage-over-provisioning-percentage"
LONGHORN = "longhorn-manager"
"""The name under which Longhorn's own processes write."""


class KnownDisks:
    """The objects that decisions rest on, as they were last seen.

    Attributes:
        schedules: By the UUID of the disk.
        nodes: Longhorn's nodes.
        over_provisioning_percent: None if the setting cannot be read.
    """

    def __init__(self) -> None:
        self.schedules: dict[DiskId, StoredSchedule] = {}
        self.nodes: dict[NodeName, Node] = {}
        self.over_provisioning_percent: int | None = Settings().over_provisioning_percent
        self._of_node = _Index[NodeName, DiskId]()
        self._of_longhorn: set[DiskId] = set()
        self._asked_for = _Index[Owner, DiskId]()
        self._replicas: dict[ReplicaName, Replica] = {}
        self._on_disk = _Index[DiskId, ReplicaName]()
        self._images: dict[str, ImageCopies] = {}
        self._unreadable: dict[tuple[str, str], Unreadable] = {}

    def note_changes(self, changes: Iterable[Change]) -> set[DiskId]:
        """Take in what has changed; return the schedules that it may change."""
        due: set[DiskId] = set()
        for old, new in changes:
            if isinstance(new, StoredSchedule) and self.schedules.get(new.name) == new:
                continue  # learned from the answer to a write: there is nothing new to decide
            if old is not None:
                due |= self._remove(old)
            if new is not None:
                due |= self._add(new)
        return due & self.schedules.keys()

    def learn(self, written: StoredSchedule, *, instead_of: StoredSchedule) -> None:
        """Take in what the API server answered to a write, unless the watch was faster.

        What the watch has shown since is that write or a newer one.
        """
        if self.schedules.get(written.name) == instead_of:
            self._remove(instead_of)
            self._add(written)

    def unowned(self, schedule: DiskSchedule) -> frozenset[Owner]:
        """Return whose requirements are to be purged if the API server says so, too."""
        replicas = {name for name in schedule.replicas if self._lives(self._replicas.get(name))}
        images = {name for name in schedule.images if self._lives(self._images.get(name))}
        return unowned(schedule, replicas, images)

    def schedules_of(self, node: NodeName) -> list[StoredSchedule]:
        """Return the schedules of a node's disks, in order of their names."""
        return [self.schedules[name] for name in sorted(self._of_node[node])]

    def replicas_on(self, disk: DiskId) -> list[Replica]:
        """Return the Replicas on a disk."""
        return [self._replicas[name] for name in sorted(self._on_disk[disk])]

    def copies_on(self, disk: DiskId) -> dict[str, int]:
        """Return the copies of backing images of data engine v1 on a disk, with their bytes."""
        return {
            each.name: each.size_bytes
            for each in self._images.values()
            if disk in each.on_disks and each.size_bytes and not (each.is_v2 or each.deleting)
        }

    def hidden(self, schedule: DiskSchedule) -> list[str]:
        """Return what cannot be read and may be on the disk: it cannot be taken over."""
        return sorted(
            f"{each.kind} {each.name}"
            for each in self._unreadable.values()
            if each.kind == "BackingImage"
            or (each.kind == "Replica" and (schedule.node in each.nodes or not each.nodes))
        )

    def rivals(self) -> list[str]:
        """Return the schedules that Longhorn itself has written, in order of their names.

        A Longhorn that writes any of them has a controller of its own.
        """
        return sorted(self._of_longhorn)

    def _remove(self, old: Known) -> set[DiskId]:
        match old:
            case StoredSchedule():
                self._remove_schedule(old)
            case Node():
                del self.nodes[old.name]
                return self._of_node[old.name]
            case Replica():
                del self._replicas[old.name]
                if old.disk is not None:
                    self._on_disk.discard(old.disk, old.name)
                return self._asked_for[Owner(OwnerKind.REPLICA, old.name)]
            case ImageCopies():
                del self._images[old.name]
                return self._asked_for[Owner(OwnerKind.IMAGE, old.name)]
            case Setting(name=name) | Unreadable(kind="Setting", name=name):
                return self._set(name, Settings().over_provisioning_percent)
            case Unreadable():
                del self._unreadable[old.kind, old.name]
                return {e.name for e in self.schedules.values() if e.schedule.ready is None}
        return set()

    def _add(self, new: Known) -> set[DiskId]:
        match new:
            case StoredSchedule():
                self._add_schedule(new)
                return {new.name}
            case Node():
                self.nodes[new.name] = new
                return self._of_node[new.name]
            case Replica():
                self._replicas[new.name] = new
                if new.disk is not None:
                    self._on_disk.add(new.disk, new.name)
                return self._asked_for[Owner(OwnerKind.REPLICA, new.name)]
            case ImageCopies():
                self._images[new.name] = new
                return self._asked_for[Owner(OwnerKind.IMAGE, new.name)]
            case Setting():
                return self._set(new.name, _percent(new.value))
            case Unreadable(kind="Setting"):
                return self._set(new.name, None)
            case Unreadable():
                self._unreadable[new.kind, new.name] = new
        return set()

    def _remove_schedule(self, old: StoredSchedule) -> None:
        known = self.schedules.pop(old.name)  # may have been learned, and not come by the watch
        self._of_node.discard(known.schedule.node, old.name)
        self._of_longhorn.discard(old.name)
        for owner in owners_of(known.schedule):
            self._asked_for.discard(owner, old.name)

    def _add_schedule(self, new: StoredSchedule) -> None:
        self.schedules[new.name] = new
        self._of_node.add(new.schedule.node, new.name)
        if any(manager == LONGHORN for manager, _ in new.managers):
            self._of_longhorn.add(new.name)
        for owner in owners_of(new.schedule):
            self._asked_for.add(owner, new.name)

    def _set(self, name: str, percent: int | None) -> set[DiskId]:
        if name != PERCENT:
            return set()
        self.over_provisioning_percent = percent
        return set(self.schedules)

    @staticmethod
    def _lives(owner: Replica | ImageCopies | None) -> bool:
        return owner is not None and not owner.deleting


def _percent(value: str) -> int | None:
    try:
        return parse_int(value)
    except ValueError:
        return None


class _Index(Generic[Key, Name]):
    """Names by what they have in common; a key without names takes no memory."""

    def __init__(self) -> None:
        self._names: dict[Key, set[Name]] = {}

    def __getitem__(self, key: Key) -> set[Name]:
        return set(self._names.get(key, ()))

    def add(self, key: Key, name: Name) -> None:
        self._names.setdefault(key, set()).add(name)

    def discard(self, key: Key, name: Name) -> None:
        names = self._names.get(key, set())
        names.discard(name)
        if not names:
            self._names.pop(key, None)
