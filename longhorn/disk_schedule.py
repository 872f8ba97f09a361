"""What becomes of a DiskSchedule: one pass over one object, from what is asked to what is held.

A disk is decided on by one decider alone, from one reading of its object; who writes the result
says which version that was. Then, whatever the order in which things are asked:

- The sum of all entries never rises above the limit of that moment, except for what was on the
  disk before anybody decided. A limit that falls takes nothing back.
- What an owner holds becomes less only if its requirement does, or goes, or the owner is gone.
- A pass over its own result changes nothing.

Source: longhorn/longhorn PR 11924 and longhorn-manager PR 4366 at c65c877,
controller/disk_schedule_controller.go. Decision 18 says where this differs, and why.
"""

from collections.abc import Callable, Collection, Container, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from msgspec import structs

from longhorn.grants import (
    Closed,
    Decision,
    EntryChange,
    Happened,
    LetGo,
    NodeUnknown,
    Owner,
    OwnerKind,
    Refusal,
    disk_of,
    entries_of,
    granted_limit_bytes,
    requirements,
)
from longhorn.records import Disk, Node, ReplicaName
from longhorn.replicas import Replica
from longhorn.schedules import DiskSchedule, Entry, EntryState


class OnDisk(NamedTuple):
    """What is on a disk by Longhorn's other objects."""

    size_bytes: int
    has_data: bool
    """Whether there is, or may be, data."""


def found_on_disk(
    schedule: DiskSchedule, replicas: Iterable[Replica], copies: Mapping[str, int]
) -> dict[Owner, OnDisk]:
    """Return what is on the disk of a schedule.

    Args:
        schedule: The schedule.
        replicas: At least all Replicas on the disk.
        copies: The copies of backing images on the disk, of data engine v1, and the bytes of each.
    """
    found = {
        Owner(OwnerKind.IMAGE, name): OnDisk(size, has_data=True) for name, size in copies.items()
    }
    for each in replicas:
        if (each.node, each.disk) == (schedule.node, schedule.name) and not each.deleting:
            has_data = each.healthy_once or each.failed or each.started
            found[Owner(OwnerKind.REPLICA, each.name)] = OnDisk(each.size_bytes, has_data)
    return {owner: each for owner, each in found.items() if each.size_bytes > 0}


def decide_schedule(
    schedule: DiskSchedule,
    node: Node | None,
    over_provisioning_percent: int | None,
    *,
    gone: Container[Owner],
    found: Mapping[Owner, OnDisk],
    shuffled: Callable[[Sequence[Owner]], Iterable[Owner]],
) -> Decision | LetGo | NodeUnknown:
    """Say what a DiskSchedule becomes.

    What nobody asks for any more is released first, then what shrinks does, and then what remains
    may grow: as a whole or not at all, one after another. One that does not fit stops none after
    it.

    Args:
        node: The Longhorn Node that it names, None if there is none.
        over_provisioning_percent: The setting; None if it cannot be read.
        gone: Owners that no longer exist or are being deleted. Whoever names one here has asked
            the API server itself: what a watch does not show yet has only just been made.
        found: For a schedule that is not ready: what `found_on_disk` returns.
        shuffled: Orders those that want to grow; they are given sorted. A random order favours
            none of them.
    """
    if schedule.deleting:
        return LetGo()
    if node is None:
        return NodeUnknown(schedule.node)
    asked, entries = requirements(schedule), entries_of(schedule)
    before, kept = dict(entries), dict[Owner, Entry]()
    if schedule.ready is None:
        wanting = [owner for owner in found if asked.get(owner, 0) <= 0]
        asked |= {owner: found[owner].size_bytes for owner in wanting}
        kept = _kept(found, asked, entries)
    purged = {owner for owner in asked if owner in gone}
    asked = {owner: size for owner, size in asked.items() if owner not in purged}
    required = {owner: size for owner, size in asked.items() if size > 0}
    entries = _shrunk(entries | kept, required)

    limit = granted_limit_bytes(schedule, node, over_provisioning_percent)
    closed = _closed(node, disk_of(schedule, node), limit)
    refused: dict[Owner, Refusal] = {}
    if limit is not None and closed is None:
        growing = sorted(owner for owner in required if _held(entries, owner) < required[owner])
        refused = _grow(entries, required, shuffled(growing), limit)
    return Decision(
        before=schedule,
        after=_written(schedule, asked, entries),
        changes=tuple(_changes(before, entries, purged, kept)),
        refused=refused,
        limit_bytes=limit,
        closed=closed,
    )


def _held(entries: Mapping[Owner, Entry], owner: Owner) -> int:
    """Return the bytes held; an entry of less than nothing would make room that is not there."""
    entry = entries.get(owner)
    return 0 if entry is None else max(0, entry.scheduled_bytes)


def _kept(
    found: Mapping[Owner, OnDisk],
    asked: Mapping[Owner, int],
    entries: Mapping[Owner, Entry],
) -> dict[Owner, Entry]:
    """Return the entries that data on the disk gets without asking for the limit.

    What is asked beyond the size that it has is growth like any other.
    """
    return {
        owner: Entry(
            EntryState.SCHEDULED, max(min(each.size_bytes, asked[owner]), _held(entries, owner))
        )
        for owner, each in found.items()
        if each.has_data
    }


def _shrunk(entries: Mapping[Owner, Entry], required: Mapping[Owner, int]) -> dict[Owner, Entry]:
    """Return the entries without those released, and none larger than what is asked."""
    return {
        owner: Entry(EntryState.SCHEDULED, required[owner])
        if required[owner] <= _held(entries, owner)
        else Entry(entry.state, _held(entries, owner))
        for owner, entry in entries.items()
        if owner in required
    }


def _closed(node: Node, disk: Disk | None, limit: int | None) -> Closed | None:
    if disk is None:
        return Closed.NO_DISK
    if not node.allow_scheduling:
        return Closed.NODE
    if not disk.allow_scheduling:
        return Closed.DISK
    return Closed.SETTING if limit is None else None


def _grow(
    entries: dict[Owner, Entry], required: Mapping[Owner, int], order: Iterable[Owner], limit: int
) -> dict[Owner, Refusal]:
    """Change the entries of those that want to grow, and return those that may not."""
    refused: dict[Owner, Refusal] = {}
    total = _total(entries.values())
    for owner in order:
        held, size = _held(entries, owner), required[owner]
        if total - held + size <= limit:
            total += size - held
            entries[owner] = Entry(EntryState.SCHEDULED, size)
        else:
            entries[owner] = Entry(EntryState.REJECTED, held)
            refused[owner] = _refusal(size, limit)
    return refused


def _refusal(size_bytes: int, limit: int) -> Refusal:
    if limit <= 0:
        return Refusal.UNUSABLE
    return Refusal.TOO_LARGE if size_bytes > limit else Refusal.FULL


def _total(entries: Iterable[Entry]) -> int:
    return sum(entry.scheduled_bytes for entry in entries)


def _written(
    schedule: DiskSchedule, asked: Mapping[Owner, int], entries: Mapping[Owner, Entry]
) -> DiskSchedule:
    """Return the object as it is to be; the sum is never taken from the one that was read."""
    return structs.replace(
        schedule,
        replicas={
            ReplicaName(o.name): size for o, size in asked.items() if o.kind is OwnerKind.REPLICA
        },
        images={o.name: size for o, size in asked.items() if o.kind is OwnerKind.IMAGE},
        held_replicas={
            ReplicaName(o.name): e for o, e in entries.items() if o.kind is OwnerKind.REPLICA
        },
        held_images={o.name: e for o, e in entries.items() if o.kind is OwnerKind.IMAGE},
        scheduled_bytes=_total(entries.values()),
        ready=True,
    )


def _changes(
    before: Mapping[Owner, Entry],
    after: Mapping[Owner, Entry],
    purged: Collection[Owner],
    kept: Container[Owner],
) -> Iterator[EntryChange]:
    for owner in sorted({*before, *after, *purged}):
        if owner in purged or before.get(owner) != after.get(owner):
            old, new = _held(before, owner), _held(after, owner)
            happened = Happened.PURGED
            if owner not in purged:
                happened = _happened(after.get(owner), old, new, was_kept=owner in kept)
            yield EntryChange(owner=owner, happened=happened, before_bytes=old, after_bytes=new)


def _happened(entry: Entry | None, old: int, new: int, *, was_kept: bool) -> Happened:
    if entry is None:
        return Happened.RELEASED
    if entry.state is EntryState.REJECTED:
        return Happened.REFUSED
    if new < old:
        return Happened.SHRUNK
    if new == old:
        return Happened.CANCELLED
    if was_kept:
        return Happened.KEPT
    return Happened.GROWN if old else Happened.GRANTED
