"""Whether volumes have room on the disks of a node, by Longhorn's own limit. Pure.

Asks `packing` whether there is an arrangement at all, and nothing of our service.
"""

from collections.abc import Iterable, Mapping

import msgspec

from packing import Bin, Item, Packed, pack
from tests.actors.api import Object
from tests.actors.longhorn.accounts import by_disk, counted, disks, limit_bytes
from tests.actors.longhorn.records import condition_status

_PLENTY = 2**62
_STEPS = 100_000
_MOST_TO_ORDER = 5


class Want(msgspec.Struct, frozen=True, kw_only=True):
    """A volume that is to have a replica on a node."""

    volume: str
    size_bytes: int
    tags: tuple[str, ...] = ()
    """Those that its disk must have."""
    disk_type: str = "filesystem"
    places: frozenset[str] | None = None
    """UUIDs of the only disks that it may go to; None for any."""

    def suits(self, spec: Object, status: Object) -> bool:
        """Say whether a disk is such as it needs, whatever room that has."""
        return (
            spec["diskType"] == self.disk_type
            and set(spec.get("tags") or ()).issuperset(self.tags)
            and (self.places is None or status["diskUUID"] in self.places)
        )


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
    taken = by_disk(replicas)
    usable = [
        (name, spec, status)
        for name, spec, status in disks(node)
        if not only_usable or _is_usable(status)
    ]
    bins = [  # each of a kind of its own
        Bin(
            name,
            kind,
            limit_bytes(spec, status, settings) - counted(status, taken)["storageScheduled"],
            _PLENTY,
        )
        for kind, (name, spec, status) in enumerate(usable)
    ]
    items = [
        Item(
            want.volume,
            want.size_bytes,
            0,
            frozenset(k for k, (_, spec, status) in enumerate(usable) if want.suits(spec, status)),
        )
        for want in sorted(wants, key=lambda want: want.volume)
    ]
    return isinstance(pack(items, bins, step_limit=_STEPS), Packed)


def has_room_in_any_order(
    node: Object, replicas: Iterable[Object], wants: Iterable[Want], settings: Mapping[str, str]
) -> bool:
    """Say whether each of *wants* finds room, in whatever order they come and on whatever disks.

    More than five are too many to try all orders; then it is not said.
    """
    wants, taken = [*wants], by_disk(replicas)
    if len(wants) > _MOST_TO_ORDER:
        return False
    usable = [(spec, status) for _, spec, status in disks(node) if _is_usable(status)]
    free = tuple(
        limit_bytes(spec, status, settings) - counted(status, taken)["storageScheduled"]
        for spec, status in usable
    )
    seen: set[tuple[tuple[int, ...], frozenset[int]]] = set()

    def finds_room(free: tuple[int, ...], left: frozenset[int]) -> bool:
        if (free, left) in seen:
            return True
        seen.add((free, left))
        for index in sorted(left):
            size = wants[index].size_bytes
            takers = [
                disk
                for disk, bytes_ in enumerate(free)
                if bytes_ >= size and wants[index].suits(*usable[disk])
            ]
            if not takers:
                return False
            for disk in takers:
                then = (*free[:disk], free[disk] - size, *free[disk + 1 :])
                if not finds_room(then, left - {index}):
                    return False
        return True

    return finds_room(free, frozenset(range(len(wants))))


def _is_usable(status: Object) -> bool:
    return {condition_status(status, type_) for type_ in ("Ready", "Schedulable")} == {"True"}
