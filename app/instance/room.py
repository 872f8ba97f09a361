"""What the metrics show of room: what is free beside all that comes, and once a node is lost.

Sums alone: tags, zones, anti-affinity, and whether pieces fit are not looked at. `overview`,
`survey` and `plan` say what a StorageClass still takes, and which volumes hang on a node.
"""

from collections.abc import Callable, Iterator, Mapping
from typing import NamedTuple

from prometheus_client import CollectorRegistry
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.registry import Collector

from app.metrics import NAMESPACE
from extender import ClusterView, Ledger
from extender.space import NodeSpace
from extender.view import Cursor
from longhorn import Due, NodeName, Volume, VolumeName, due_replicas, need_of

_FILESYSTEM = "filesystem"
"""What a disk is of whose volume nothing is known."""


class Room(NamedTuple):
    """What the disks of one type have, for the replicas of one data engine."""

    limit_bytes: int
    free_bytes: int
    after_loss_bytes: int


_TEXTS = {
    "room_limit_bytes": "The most that may be scheduled on the disks of a type that take replicas.",
    "room_free_bytes": "What may still be scheduled there, less what is held for pods and what "
    "Longhorn is about to place; below 0 if that is more than there is.",
    "room_free_after_loss_bytes": "What would be free once the node were lost that has most, and "
    "all that is scheduled on it were rebuilt on the others; below 0 if they cannot take it.",
}
"""In the order of `Room`."""


_Sums = tuple[int, int, int]
"""What the disks of one type have on a node: their limit, what of it is free, what is scheduled.
Those that take no replicas have neither of the first two; nothing of one is free that has more
scheduled than its limit."""


class Rooms:
    """The room in the cluster; only nodes that have changed since are summed up again."""

    def __init__(self) -> None:
        self._by_node: dict[NodeName, Mapping[str, _Sums]] = {}
        self._seen: Cursor | None = None

    def by_type(self, view: ClusterView, ledger: Ledger) -> dict[str, Room]:
        """Return what there is by type of disk, beside what is held in *ledger*."""
        changed, self._seen = view.changes.since(self._seen)
        if changed is None:
            self._by_node, changed = {}, [*view.spaces]
        for name in changed:
            self._by_node.pop(name, None)
            if name in view.spaces:
                self._by_node[name] = _sums(view.spaces[name], view)
        limit, free, heaviest = dict[str, int](), dict[str, int](), dict[str, int]()
        for types in self._by_node.values():
            for type_, (limit_bytes, free_bytes, scheduled_bytes) in types.items():
                limit[type_] = limit.get(type_, 0) + limit_bytes
                free[type_] = free.get(type_, 0) + free_bytes
                if free_bytes + scheduled_bytes > heaviest.get(type_, -1):
                    heaviest[type_] = free_bytes + scheduled_bytes
        coming, found = _coming_bytes(view, ledger), dict[str, Room]()
        for type_ in sorted(free):
            free_bytes = free[type_] - coming.get(type_, 0)
            found[type_] = Room(limit[type_], free_bytes, free_bytes - heaviest[type_])
        return found


def show_room(registry: CollectorRegistry, room: Callable[[], Mapping[str, Room]]) -> None:
    """Show what *room* returns when metrics are read: nothing where no holds are known."""
    registry.register(_Shown(room))


class _Shown(Collector):
    def __init__(self, room: Callable[[], Mapping[str, Room]]) -> None:
        self._room = room

    def collect(self) -> Iterator[GaugeMetricFamily]:
        """Return the families."""
        families = [
            GaugeMetricFamily(
                f"{NAMESPACE}_{name}", f"{text} Shown by the leader.", labels=["disk_type"]
            )
            for name, text in _TEXTS.items()
        ]
        for type_, room in self._room().items():
            for family, value in zip(families, room, strict=True):
                family.add_metric([type_], value)
        yield from families


def _sums(space: NodeSpace, view: ClusterView) -> dict[str, _Sums]:
    """Sum up the disks of a node by their type; what is to be placed there counts as placed."""
    found: dict[str, _Sums] = {}
    for disk, usable in zip(space.disks, space.usable, strict=True):
        type_, scheduled_bytes = disk.disk.type, disk.scheduled_bytes
        limit, free, scheduled = found.get(type_, (0, 0, 0))
        if usable is not None and space.takes_replicas:
            limit += disk.limit_bytes
            free += max(0, disk.limit_bytes - scheduled_bytes)
        found[type_] = limit, free, scheduled + scheduled_bytes
    for replica in space.pending:
        volume = view.volumes.get(replica.volume)
        type_ = _FILESYSTEM if volume is None else volume.disk_type
        limit, free, scheduled = found.get(type_, (0, 0, 0))
        found[type_] = limit, free - replica.size_bytes, scheduled + replica.size_bytes
    return found


def _coming_bytes(view: ClusterView, ledger: Ledger) -> dict[str, int]:
    """Return what Longhorn is about to place, by its objects and by what is held for pods."""
    coming: dict[VolumeName, tuple[Volume, Due]] = {
        name: (view.volumes[name], due) for name, due in view.due.items() if name in view.volumes
    }
    for hold in ledger:
        for wanted in (*hold.volumes, *hold.remote):
            volume = view.volumes.get(wanted.name, wanted.volume)
            replicas = view.replicas.get(wanted.name, ())
            due = due_replicas(volume, replicas, view.settings, attaching=True, paused=view.paused)
            coming[wanted.name] = volume, due
    found: dict[str, int] = {}
    for volume, due in coming.values():
        count = due.anywhere + (due.on_node is not None)
        size_bytes = count * need_of(volume, None).size_bytes
        found[volume.disk_type] = found.get(volume.disk_type, 0) + size_bytes
    return found
