"""Longhorn's DiskSchedules, as far as its rules read them; see `longhorn.records`."""

from collections.abc import Mapping
from enum import StrEnum

import msgspec

from longhorn.records import DiskId, DiskName, NodeName, ReplicaName


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
