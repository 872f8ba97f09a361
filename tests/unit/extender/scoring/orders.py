"""How sure room is, found out by trying all orders in which Longhorn may place volumes."""

from collections import Counter
from collections.abc import Sequence
from datetime import UTC, datetime

from msgspec.structs import replace as changed

from extender import ClusterView, Robustness
from extender.space import NodeSpace
from longhorn import Candidate, Volume, choices, find_candidates
from tests.builders import replica

_NOW = datetime(2026, 1, 1, tzinfo=UTC)


def in_all_orders(view: ClusterView, volumes: Sequence[Volume]) -> Robustness:
    """Say how sure it is that Longhorn finds room for *volumes* on the only node there is."""
    [space] = view.spaces.values()
    if not _fit(space, volumes, view):
        return Robustness.SOME_ORDER
    unseen = Counter[Candidate]()
    for each in volumes:
        for choice in _choices(space, each, view):
            unseen[choice] += each.size_bytes
    rooms = {each.disk.id: each.logical_headroom_bytes for each in space.disks}
    if all(taken <= rooms[choice.disk] for choice, taken in unseen.items()):
        return Robustness.EVERY_ORDER_AND_STALE
    return Robustness.EVERY_ORDER


def _fit(space: NodeSpace, volumes: Sequence[Volume], view: ClusterView) -> bool:
    """Whether all orders and all arbitrary choices find room for *volumes*."""
    return all(
        (found := _choices(space, each, view))
        and all(
            _fit(_taken(space, choice, each), [v for v in volumes if v is not each], view)
            for choice in found
        )
        for each in volumes
    )


def _choices(space: NodeSpace, volume: Volume, view: ClusterView) -> tuple[Candidate, ...]:
    new = replica("new", of=volume.name, on="")
    alone = changed(view, spaces={space.node.name: space})
    found = find_candidates(new, volume, [new], alone, _NOW)
    return choices(found, volume.size_bytes)


def _taken(space: NodeSpace, choice: Candidate, volume: Volume) -> NodeSpace:
    """Return the node once a volume has got a disk."""
    disks = tuple(
        changed(each, scheduled_bytes=each.scheduled_bytes + volume.size_bytes)
        if each.disk.id == choice.disk
        else each
        for each in space.disks
    )
    return changed(space, disks=disks)
