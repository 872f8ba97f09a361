"""Whether volumes have room on the disks of a node, by Longhorn's own limit. Pure.

Asks `packing` whether there is an arrangement at all, and nothing of our service.
"""

from collections.abc import Iterable, Mapping

import msgspec

from packing import Bin, Item, Packed, pack
from tests.actors.api import Object
from tests.actors.longhorn.accounts import counted, disks, limit_bytes
from tests.actors.longhorn.records import condition_status

_PLENTY = 2**62
_STEPS = 100_000


class Want(msgspec.Struct, frozen=True, kw_only=True):
    """A volume that is to have a replica on a node."""

    volume: str
    size_bytes: int
    tags: tuple[str, ...] = ()
    """Those that its disk must have."""


def has_room(
    node: Object,
    replicas: Iterable[Object],
    wants: Iterable[Want],
    settings: Mapping[str, str],
    *,
    only_usable: bool = False,
) -> bool:
    """Say whether *wants* fit together on a node beside all of *replicas* that are on its disks.

    Args:
        node: A Longhorn Node.
        replicas: What takes its room where it is.
        wants: Volumes, wherever they have replicas.
        settings: Longhorn's, by name.
        only_usable: Whether to leave out nodes and disks that Longhorn does not use now.
    """
    wants = [*wants]
    if not wants:
        return True
    if only_usable and not _is_usable(node["status"]):
        return False
    taken = [*replicas]
    tags = sorted({want.tags for want in wants})
    bins = [
        Bin(f"{name}", _kind(spec, tags), left, _PLENTY)
        for name, spec, status in disks(node)
        if not only_usable or _is_usable(status)
        for left in (
            limit_bytes(spec, status, settings) - counted(status, taken)["storageScheduled"],
        )
    ]
    items = [
        Item(want.volume, want.size_bytes, 0, _kinds(want.tags, tags))
        for want in sorted(wants, key=lambda want: want.volume)
    ]
    return isinstance(pack(items, bins, step_limit=_STEPS), Packed)


def _kind(spec: Object, tags: list[tuple[str, ...]]) -> int:
    """Number a disk by which of the sets of tags that are asked for it has: one bit for each."""
    has = set(spec.get("tags") or ())
    return sum(1 << bit for bit, asked in enumerate(tags) if has.issuperset(asked))


def _kinds(asked: tuple[str, ...], tags: list[tuple[str, ...]]) -> frozenset[int]:
    bit = 1 << tags.index(asked)
    return frozenset(kind for kind in range(1 << len(tags)) if kind & bit)


def _is_usable(status: Object) -> bool:
    return {condition_status(status, type_) for type_ in ("Ready", "Schedulable")} == {"True"}
