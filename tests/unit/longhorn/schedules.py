"""DiskSchedules for these tests, in few words: `a:30 b:5` is asked for, `a:S30 b:R0` are entries.

Sizes are GiB; `S` is scheduled, and `R` rejected. Names that begin with `i` are backing images; all
others are replicas. The disk has 120 GiB, of which 20 are reserved, so at 100 % its limit is 100.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

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
from tests.builders import GIB, disk, node, replica

UUID = "uuid-disk-1"
"""Of the disk."""


def gib_of(text: str) -> dict[str, int]:
    """Read sizes: `a:30` is 30 GiB, in bytes."""
    return {name: int(float(gib) * GIB) for name, gib in _pairs(text).items()}


def entry(text: str) -> Entry:
    """Read `S30` or `R0`."""
    state = {"S": EntryState.SCHEDULED, "R": EntryState.REJECTED}[text[0]]
    return Entry(state, int(text[1:]) * GIB)


def schedule(
    asked: str = "",
    entries: str = "",
    *,
    written_sum: int | None = None,
    ready: bool | None = True,
    deleting: bool = False,
) -> DiskSchedule:
    """Build a DiskSchedule whose sum is right unless *written_sum* says otherwise."""
    sizes = gib_of(asked)
    held = {name: entry(said) for name, said in _pairs(entries).items()}
    total = sum(each.scheduled_bytes for each in held.values())
    return DiskSchedule(
        name=DiskId(UUID),
        node=NodeName("node-1"),
        disk=DiskName("disk-1"),
        replicas={ReplicaName(n): size for n, size in sizes.items() if not is_image(n)},
        images={n: size for n, size in sizes.items() if is_image(n)},
        held_replicas={ReplicaName(n): each for n, each in held.items() if not is_image(n)},
        held_images={n: each for n, each in held.items() if is_image(n)},
        scheduled_bytes=total if written_sum is None else written_sum * GIB,
        ready=ready,
        deleting=deleting,
    )


def there(text: str, **more: Any) -> list[Replica]:
    """Build replicas on the disk: `y:10` is named y, of volume of-y; *more* holds for each."""
    return [
        replica(name, of=f"of-{name}", size_bytes=size, **more)
        for name, size in gib_of(text).items()
    ]


def the_disk(**spec: object) -> Disk:
    """Build the disk; fields can be given by name."""
    standard = disk(uuid=UUID, maximum_bytes=120 * GIB, reserved_bytes=20 * GIB)
    return msgspec.structs.replace(standard, **spec)


DISK = the_disk()
NODE = node("node-1", DISK)


def owner(name: str) -> Owner:
    """Say whose name it is."""
    return Owner(OwnerKind.IMAGE if is_image(name) else OwnerKind.REPLICA, name)


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


def status(after: DiskSchedule | Decision) -> str:
    """Write the entries as `schedule` takes them, by name."""
    after = after.after if isinstance(after, Decision) else after
    entries = {str(name): each for name, each in after.held_replicas.items()}
    entries |= after.held_images
    return " ".join(f"{name}:{_text(each)}" for name, each in sorted(entries.items()))


def held(after: DiskSchedule | Decision) -> float:
    """Return the sum, in GiB."""
    after = after.after if isinstance(after, Decision) else after
    return after.scheduled_bytes / GIB


def _text(of: Entry) -> str:
    return f"{'S' if of.state is EntryState.SCHEDULED else 'R'}{of.scheduled_bytes / GIB:g}"


def _pairs(text: str) -> dict[str, str]:
    return dict(each.split(":") for each in text.split())


def is_image(name: str) -> bool:
    """Say whether it is the name of a backing image."""
    return name.startswith("i")


def _place(name: str, order: Collection[str]) -> int:
    return list(order).index(name) if name in order else len(order)
