"""What new replicas need now, whether a node takes them, and what else needs its disks."""

from collections.abc import Iterable, Sequence

from extender.demand.items import Demand
from extender.demand.requests import WantedVolume, sharing_replicas
from extender.space import NodeSpace
from extender.upcoming.upcoming import Load, Upcoming
from extender.view import ClusterView
from longhorn import Need, Replica, Volume, need_of
from packing import Bin, Infeasible, Item, Kind, is_stranded, pack

_PLENTY_BYTES = 2**63


def need_in(volume: Volume, view: ClusterView, placing: Replica | None = None) -> Need | None:
    """Say what a replica of a volume needs that is to be placed, None if Longhorn places none.

    Args:
        volume: The volume.
        view: The cluster.
        placing: The replica, if it matters which one it is.
    """
    if volume.deleting:
        return None
    image = None
    if volume.backing_image is not None:
        image = view.backing_images.get(volume.backing_image)
        if image is None and ("BackingImage", volume.backing_image) not in view.unreadable:
            return None
    return need_of(volume, image, sharing_replicas(volume, view), placing)


def need_now(wanted: WantedVolume, view: ClusterView) -> Need:
    """Say what a new replica of a held volume needs, now that the volume may exist.

    It may be larger than its claim asked for: one that is restored from a backup is.
    """
    volume = view.volumes.get(wanted.name)
    return (None if volume is None else need_in(volume, view)) or wanted.need


def fits(items: Sequence[Item], space: NodeSpace, step_limit: int) -> bool:
    """Say whether a node takes all of *items*; not decided within the limit counts as yes."""
    logical = sum(item.logical_bytes for item in items)
    physical = sum(item.physical_bytes for item in items)
    for bin_ in space.roomiest:
        if (
            logical <= bin_.logical_bytes
            and physical <= bin_.physical_bytes
            and all(bin_.kind in item.kinds for item in items)
        ):
            return True
    if any(is_stranded(item, space.roomiest) for item in items):
        return False
    return not isinstance(pack(items, space.bins, step_limit=step_limit), Infeasible)


def emptied(space: NodeSpace) -> list[Bin]:
    """Return the usable disks as if nothing were on them."""
    limits = {str(each.disk.name): each.limit_bytes for each in space.disks}
    return [Bin(bin_.id, bin_.kind, limits[bin_.id], _PLENTY_BYTES) for bin_ in space.bins]


def fitting(upcoming: Iterable[Upcoming], bins: Iterable[Bin]) -> Load:
    """Return what fits on some disk, each alone."""
    bins = tuple(bins)
    return tuple(each for each in upcoming if not is_stranded(each.item, bins))


def competitors_of(
    demand: Demand, space: NodeSpace, upcoming: Iterable[Upcoming]
) -> list[Upcoming]:
    """Return what of all that comes to a node competes with *demand*, the surest first.

    That is what may use the same disks, or disks that the rest may use. Longhorn retries a replica
    with hardNodeAffinity at least every 30 s, so it takes room as soon as there is any.
    docs/decisions/0001 says what counts.
    """
    upcoming = sorted(upcoming, key=lambda each: each.certainty)
    if not upcoming:
        return []
    here = frozenset(bin_.kind for bin_ in space.bins)
    kinds = here.intersection(frozenset().union(*(item.kinds for item in demand.items)))
    reached = _reached(upcoming, kinds, here)
    return [each for each in upcoming if each.item.kinds & reached]


def _reached(
    upcoming: Iterable[Upcoming], kinds: frozenset[Kind], here: frozenset[Kind]
) -> frozenset[Kind]:
    """Return *kinds* of disks, and those that whoever may use any of these may use as well.

    Only kinds of disks that are *here* lead on: two items do not compete on a node because a disk
    of another node would suit both.
    """
    more = kinds.union(*(each.item.kinds & here for each in upcoming if each.item.kinds & kinds))
    return kinds if more == kinds else _reached(upcoming, more, here)
