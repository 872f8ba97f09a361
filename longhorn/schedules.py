"""Longhorn's DiskSchedules, as far as its rules read them, and how far each request has come."""

from collections.abc import Mapping
from enum import StrEnum
from typing import TypeVar

import msgspec

from longhorn.records import DiskId, DiskName, NodeName, ReplicaName

Name = TypeVar("Name", bound=str)


class EntryState(StrEnum):
    """What was decided about one request of a DiskSchedule.

    Any other word in an object reads as REJECTED: its bytes are held, its request is not granted.
    """

    SCHEDULED = "scheduled"
    REJECTED = "rejected"


class Entry(msgspec.Struct, frozen=True, gc=False):
    """What a disk holds for one replica or one copy of a backing image."""

    state: EntryState
    scheduled_bytes: int
    """Held now, also while a request for more is rejected; 0 for a new request without room."""


class DiskSchedule(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A Longhorn DiskSchedule: what is asked of one disk, and what the disk holds.

    Names without an entry are not decided yet; entries without a request are about to be released.
    Replicas and backing images are separate names.

    Source: longhorn/longhorn PR 11924 and longhorn-manager PR 4366, neither of them released.
    """

    name: DiskId
    """The disk's UUID: there is one object per disk."""
    node: NodeName
    disk: DiskName
    replicas: Mapping[ReplicaName, int] = {}
    """Bytes that are asked for, as written. 0 or less means the same as no request."""
    images: Mapping[str, int] = {}
    """The same for copies of backing images, by the name of the BackingImage."""
    held_replicas: Mapping[ReplicaName, Entry] = {}
    held_images: Mapping[str, Entry] = {}
    scheduled_bytes: int = 0
    """storageScheduled as written: the sum of all entries, unless the writer was wrong."""
    ready: bool | None = None
    """The condition Ready; None if it is absent or Unknown: no controller has decided yet."""
    deleting: bool = False


class Standing(StrEnum):
    """How far a request of a DiskSchedule has come."""

    GRANTED = "granted"
    PENDING = "pending"
    """Nothing was decided yet."""
    GROWING = "growing"
    """It holds less than it asks for now, and that was not decided yet."""
    SHRINKING = "shrinking"
    """It holds more than it asks for now."""
    REFUSED = "refused"
    """It holds what it held before, which is nothing for a new one."""
    RELEASING = "releasing"
    """It is not asked for any more."""


class Part(msgspec.Struct, frozen=True, kw_only=True):
    """What a DiskSchedule says of one replica, or of one copy of a backing image."""

    standing: Standing
    held_bytes: int
    asked_bytes: int

    @property
    def bytes(self) -> int:
        """What it counts with: what it may hold once all that is open is decided in its favour."""
        if self.standing is Standing.REFUSED:
            return self.held_bytes
        return max(self.held_bytes, self.asked_bytes)

    @property
    def refused_bytes(self) -> int:
        """What it asks for beyond that, and was refused."""
        return max(0, self.asked_bytes - self.bytes)


def parts(requests: Mapping[Name, int], entries: Mapping[Name, Entry]) -> dict[Name, Part]:
    """Return what becomes of each name that is asked for or holds something, by name."""
    found = {}
    for name in sorted({*requests, *entries}):
        asked, entry = max(0, requests.get(name, 0)), entries.get(name)
        if asked or entry is not None:
            held = 0 if entry is None else max(0, entry.scheduled_bytes)
            standing = _standing(asked, held, entry)
            found[name] = Part(standing=standing, held_bytes=held, asked_bytes=asked)
    return found


def _standing(asked_bytes: int, held_bytes: int, entry: Entry | None) -> Standing:
    if not asked_bytes:
        return Standing.RELEASING
    if entry is None:
        return Standing.PENDING
    if held_bytes > asked_bytes:
        return Standing.SHRINKING
    # A growth that was refused and taken back stays rejected, and its replica is not started.
    if entry.state is EntryState.REJECTED:
        return Standing.REFUSED
    return Standing.GRANTED if held_bytes == asked_bytes else Standing.GROWING
