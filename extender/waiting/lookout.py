"""What has changed in the cluster, as far as it may help a pod that waits."""

from collections.abc import Iterable

import msgspec
from msgspec import structs

from extender.space import NodeSpace
from extender.view import ClusterView, Cursor
from extender.waiting.node_sets import ALL, NodeSet, NodeSets
from extender.waiting.wants import Wants
from longhorn import Due, NodeName, VolumeName


class Stir(msgspec.Struct, frozen=True, kw_only=True):
    """What has changed and may help."""

    nodes: NodeSet = 0
    """Where there may be room that there was not before."""
    volumes: frozenset[VolumeName] | None = frozenset()
    """What has changed of the pods' own volumes and of others; None if that may be any."""
    has_less_due: bool = False
    """Whether volumes of others may leave room that they were to take."""

    def is_about(self, wants: Wants) -> bool:
        """Whether a volume of the pod itself has changed."""
        return self.volumes is None or not self.volumes.isdisjoint(wants.volumes)


class Lookout:
    """Gathers what may help waiting pods, until somebody looks after them.

    Args:
        sets: What sets of nodes mean.
    """

    def __init__(self, sets: NodeSets) -> None:
        self._sets = sets
        self._spaces: dict[NodeName, NodeSpace] = {}
        self._due: dict[VolumeName, Due] = {}
        self._cursors: tuple[Cursor | None, Cursor | None] = (None, None)
        self._nodes: NodeSet = 0
        self._volumes = set[VolumeName]()
        self._is_any_volume = False
        self._has_less_due = False

    @property
    def is_stirred(self) -> bool:
        """Whether anything may help anybody."""
        return bool(self._nodes or self._volumes or self._has_less_due)

    def drain(self) -> Stir:
        """Return what has changed since the last time."""
        stir = Stir(
            nodes=self._nodes,
            volumes=None if self._is_any_volume else frozenset(self._volumes),
            has_less_due=self._has_less_due,
        )
        self._nodes, self._is_any_volume, self._has_less_due = 0, False, False
        self._volumes.clear()
        return stir

    def note_everything(self) -> None:
        """Note that there may be room anywhere."""
        self._nodes = ALL

    def note_less_due(self) -> None:
        """Note that volumes of others may leave room that they were to take."""
        self._has_less_due = True

    def note_nodes(self, names: Iterable[NodeName]) -> None:
        """Note that there may be room on nodes."""
        self._nodes |= self._sets.of(names)

    def take(self, view: ClusterView) -> None:
        """Take in what has changed in the cluster."""
        nodes, nodes_seen = view.changes.since(self._cursors[0])
        volumes, volumes_seen = view.volume_changes.since(self._cursors[1])
        self._cursors = nodes_seen, volumes_seen
        if nodes is None or volumes is None:
            self.note_everything()
            self._is_any_volume = True
            self._spaces, self._due = {**view.spaces}, {**view.due}
            return
        self.note_nodes([name for name in dict.fromkeys(nodes) if self._is_roomier(name, view)])
        for name in volumes:
            before, after = self._due.pop(name, None), view.due.get(name)
            self._has_less_due |= before is not None and before != after
            if after is not None:
                self._due[name] = after
        self._volumes.update(volumes)

    def _is_roomier(self, name: NodeName, view: ClusterView) -> bool:
        before, after = self._spaces.pop(name, None), view.spaces.get(name)
        if after is not None:
            self._spaces[name] = after
        return after is not None and (before is None or may_take_more(before, after))


def may_take_more(before: NodeSpace, after: NodeSpace) -> bool:
    """Whether a node may take something that it did not take before."""
    if _standing(before) != _standing(after):
        return True
    bins = {each.id: each for each in before.bins}
    for each in after.bins:
        old = bins.get(each.id)
        if (
            old is None
            or old.kind != each.kind
            or old.logical_bytes < each.logical_bytes
            or old.physical_bytes < each.physical_bytes
        ):
            return True
    return False


def _standing(space: NodeSpace) -> tuple[object, ...]:
    node = structs.replace(space.node, disks=())
    return node, space.all_usable, space.pending, space.turned_away
