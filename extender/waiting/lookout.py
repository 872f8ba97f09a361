"""What has changed in the cluster, as far as it may help a pod that waits."""

from collections.abc import Collection, Iterable

import msgspec
from msgspec import structs

from extender.space import NodeSpace
from extender.view import ClusterView, Cursor
from extender.waiting.node_sets import ALL, NodeSet, NodeSets
from extender.waiting.wants import Wants
from longhorn import Due, NodeName, VolumeName


class Stir(msgspec.Struct, kw_only=True):
    """What has changed and may help."""

    nodes: NodeSet = 0
    """Where there may be room that there was not before."""
    volumes: set[VolumeName] = msgspec.field(default_factory=set)
    """What has changed of the pods' own volumes and of others."""
    is_any_volume: bool = False
    """Whether any other volume may have changed, too."""
    has_less_due: bool = False
    """Whether volumes of others may leave room that they were to take."""

    def is_about(self, wants: Wants) -> bool:
        """Whether a volume of the pod itself has changed."""
        return self.is_any_volume or not self.volumes.isdisjoint(wants.volumes)


class Lookout:
    """Gathers what may help waiting pods, until somebody looks after them."""

    def __init__(self, sets: NodeSets) -> None:
        self._sets = sets
        self._spaces: dict[NodeName, NodeSpace] = {}
        self._due: dict[VolumeName, Due] = {}
        self._cursors: tuple[Cursor | None, Cursor | None] = (None, None)
        self._stir = Stir()

    @property
    def is_stirred(self) -> bool:
        """Whether anything may help anybody."""
        return self._stir != Stir()

    def drain(self) -> Stir:
        """Return what has changed since the last time."""
        stir, self._stir = self._stir, Stir()
        return stir

    def note_everything(self) -> None:
        """Note that there may be room anywhere."""
        self._stir.nodes = ALL

    def note_less_due(self) -> None:
        """Note that volumes of others may leave room that they were to take."""
        self._stir.has_less_due = True

    def note_nodes(self, names: Iterable[NodeName], known: Collection[NodeName] = ()) -> None:
        """Note that there may be room on nodes. Those that nobody asked about must be *known*."""
        self._stir.nodes |= self._sets.of(names, known)

    def note_changes(self, view: ClusterView) -> None:
        """Take in what has changed in the cluster."""
        nodes, nodes_seen = view.changes.since(self._cursors[0])
        volumes, volumes_seen = view.volume_changes.since(self._cursors[1])
        self._cursors = nodes_seen, volumes_seen
        if nodes is None or volumes is None:
            self.note_everything()
            self._stir.is_any_volume = True
            self._spaces, self._due = {**view.spaces}, {**view.due}
            return
        roomier = [name for name in dict.fromkeys(nodes) if self._is_roomier(name, view)]
        self.note_nodes(roomier, view.spaces)
        for name in volumes:
            before, after = self._due.pop(name, None), view.due.get(name)
            self._stir.has_less_due |= before is not None and before != after
            if after is not None:
                self._due[name] = after
        self._stir.volumes.update(volumes)

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
    return node, space.engines, space.pending, space.turned_away
