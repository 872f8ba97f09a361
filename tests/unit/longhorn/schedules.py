"""DiskSchedules for these tests, in few words: sizes in GiB, `S30` and `R0` for entries.

The disk has 120 GiB, of which 20 are reserved, so at 100 % its limit is 100. Names that begin with
`i` are backing images; all others are replicas.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence

import msgspec

from longhorn import (
    Decision,
    Disk,
    DiskId,
    DiskName,
    DiskSchedule,
    Entry,
    EntryState,
    LetGo,
    Node,
    NodeName,
    NodeUnknown,
    Owner,
    OwnerKind,
    Replica,
    ReplicaName,
    decide_schedule,
    found_on_disk,
)
from tests.builders import GIB, disk, node

UUID = "uuid-disk-1"
"""Of the disk."""


def entry(text: str) -> Entry:
    """Read `S30` or `R0`."""
    state = {"S": EntryState.SCHEDULED, "R": EntryState.REJECTED}[text[0]]
    return Entry(state, int(text[1:]) * GIB)


def schedule(
    spec: Mapping[str, float] | None = None,
    status: Mapping[str, str] | None = None,
    *,
    written_sum: int | None = None,
    ready: bool | None = True,
    deleting: bool = False,
) -> DiskSchedule:
    """Build a DiskSchedule whose sum is right unless *written_sum* says otherwise."""
    spec, status = spec or {}, status or {}
    entries = {name: entry(text) for name, text in status.items()}
    total = sum(each.scheduled_bytes for each in entries.values())
    return DiskSchedule(
        name=DiskId(UUID),
        node=NodeName("node-1"),
        disk=DiskName("disk-1"),
        replicas={ReplicaName(n): int(s * GIB) for n, s in spec.items() if not _is_image(n)},
        images={n: int(s * GIB) for n, s in spec.items() if _is_image(n)},
        held_replicas={ReplicaName(n): e for n, e in entries.items() if not _is_image(n)},
        held_images={n: e for n, e in entries.items() if _is_image(n)},
        scheduled_bytes=total if written_sum is None else written_sum * GIB,
        ready=ready,
        deleting=deleting,
    )


def the_disk(**spec: object) -> Disk:
    """Build the disk; fields can be given by name."""
    standard = disk(uuid=UUID, maximum_bytes=120 * GIB, reserved_bytes=20 * GIB)
    return msgspec.structs.replace(standard, **spec)


DISK = the_disk()
NODE = node("node-1", DISK)


def owner(name: str) -> Owner:
    """Say whose name it is."""
    return Owner(OwnerKind.IMAGE if _is_image(name) else OwnerKind.REPLICA, name)


def outcome(
    before: DiskSchedule,
    *,
    at: Node | None = NODE,
    percent: int | None = 100,
    gone: Iterable[str] = (),
    replicas: Iterable[Replica] = (),
    copies: Mapping[str, int] | None = None,
    order: Sequence[str] = (),
) -> Decision | LetGo | NodeUnknown:
    """Make a pass; those in *order* are decided first, in this order."""
    return decide_schedule(
        before,
        at,
        percent,
        gone={owner(name) for name in gone},
        found=found_on_disk(before, replicas, copies or {}),
        shuffled=lambda owners: sorted(owners, key=lambda each: _place(each.name, order)),
    )


def decision(before: DiskSchedule, **given: object) -> Decision:
    """Make a pass that comes to a decision; arguments are those of `outcome`."""
    found = outcome(before, **given)  # type: ignore[arg-type]
    assert isinstance(found, Decision)
    return found


def status(after: DiskSchedule | Decision) -> dict[str, str]:
    """Return the entries as `schedule` takes them."""
    after = after.after if isinstance(after, Decision) else after
    entries = {str(name): each for name, each in after.held_replicas.items()}
    return {name: _text(each) for name, each in sorted((entries | dict(after.held_images)).items())}


def held(after: DiskSchedule | Decision) -> float:
    """Return the sum, in GiB."""
    after = after.after if isinstance(after, Decision) else after
    return after.scheduled_bytes / GIB


def _text(of: Entry) -> str:
    return f"{'S' if of.state is EntryState.SCHEDULED else 'R'}{of.scheduled_bytes / GIB:g}"


def _is_image(name: str) -> bool:
    return name.startswith("i")


def _place(name: str, order: Collection[str]) -> int:
    return list(order).index(name) if name in order else len(order)
