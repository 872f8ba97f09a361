"""What a DiskSchedule says of each name: how far its request has come, and what it counts with.

Sources: longhorn/longhorn PR 11924, longhorn-manager PR 4366
(controller/disk_schedule_controller.go); neither is released.
"""

from collections.abc import Mapping
from enum import StrEnum
from typing import TypeVar

import msgspec

from longhorn.schedules import Entry, EntryState

Name = TypeVar("Name", bound=str)


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
