"""What a pass over a DiskSchedule results in: records for who writes it, logs it and counts it."""

from collections.abc import Mapping
from enum import StrEnum
from typing import NamedTuple

import msgspec

from longhorn.records import NodeName
from longhorn.schedules import DiskSchedule


class OwnerKind(StrEnum):
    """What room is asked for."""

    IMAGE = "image"
    REPLICA = "replica"


class Owner(NamedTuple):
    """The Replica or the BackingImage that a requirement is for."""

    kind: OwnerKind
    name: str


class Closed(StrEnum):
    """Why nothing may grow on a disk now. What is asked meanwhile is not decided on."""

    NODE = "node"
    """The node's allowScheduling is false."""
    DISK = "disk"
    """The disk's is."""
    NO_DISK = "no_disk"
    """The node does not have a disk of this name and UUID in both spec and status."""
    SETTING = "setting"
    """The percentage of over-provisioning cannot be read."""


class Refusal(StrEnum):
    """Why a disk refuses what is asked."""

    FULL = "full"
    """What others hold leaves too little."""
    TOO_LARGE = "too_large"
    """It is more than the limit: it would not fit if the disk were empty."""
    UNUSABLE = "unusable"
    """The limit is not above 0, as for a disk that is not ready."""


class Happened(StrEnum):
    """What became of one owner in a pass."""

    GRANTED = "granted"
    """It held nothing, and now holds all it asks for."""
    GROWN = "grown"
    SHRUNK = "shrunk"
    KEPT = "kept"
    """It was on the disk before anybody decided, so no limit was asked."""
    CANCELLED = "cancelled"
    """It had been refused more, and now asks for no more than it holds."""
    REFUSED = "refused"
    RELEASED = "released"
    """Nothing is asked for it any more."""
    PURGED = "purged"
    """It is gone without having taken back what it asked for."""


class EntryChange(msgspec.Struct, frozen=True, kw_only=True):
    """One owner in a pass, as far as its entry or its requirement changed."""

    owner: Owner
    happened: Happened
    before_bytes: int
    after_bytes: int


class Decision(msgspec.Struct, frozen=True, kw_only=True):
    """The result of a pass.

    The requirements must be written first, if they changed; the entries only if that succeeded,
    with the version that it gave.
    """

    before: DiskSchedule
    after: DiskSchedule
    changes: tuple[EntryChange, ...]
    """Ordered by owner."""
    refused: Mapping[Owner, Refusal]
    """All that are refused now, also those that were before."""
    limit_bytes: int | None
    """None if the disk or the percentage is not known."""
    closed: Closed | None

    @property
    def changes_spec(self) -> bool:
        """Whether requirements must be written."""
        before, after = self.before, self.after
        return (before.replicas, before.images) != (after.replicas, after.images)

    @property
    def changes_status(self) -> bool:
        """Whether entries, their sum or the condition Ready must be written."""
        before, after = self.before, self.after
        return _status_of(before) != _status_of(after)


class LetGo(msgspec.Struct, frozen=True):
    """The object is being deleted: its finalizer is to be removed, whatever is held."""


class NodeUnknown(msgspec.Struct, frozen=True):
    """The node does not exist. Nothing may be written, not even what would be released."""

    node: NodeName


def _status_of(schedule: DiskSchedule) -> tuple[object, ...]:
    return (schedule.held_replicas, schedule.held_images, schedule.scheduled_bytes, schedule.ready)
