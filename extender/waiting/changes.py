"""What has changed in the cluster, as far as it may help a pod that waits."""

from collections import defaultdict
from collections.abc import Iterable, Iterator
from functools import reduce
from operator import or_

import msgspec
from msgspec import structs

from extender.space import NodeSpace
from extender.verdicts.rejections import ClusterChange
from extender.view import ClusterView, Cursor
from extender.waiting.node_sets import ALL, NodeSet, NodeSets
from longhorn import Disk, DiskSpace, Due, NodeName, Volume, VolumeName

_END_ANY = ClusterChange.NODE | ClusterChange.SETTINGS
"""Such changes count for all that are rejected on a node: they are rare, and a replica there may be
of use again."""


class Changes(msgspec.Struct, kw_only=True):
    """What has changed and may help."""

    nodes: dict[ClusterChange, NodeSet] = msgspec.field(default_factory=dict)
    """Where, for each kind. *NODE* includes what has changed of disks besides their room. With
    *SETTINGS* all may have changed, volumes as well."""
    volumes: set[VolumeName] = msgspec.field(default_factory=set)
    """Pods' own, and others."""

    def __bool__(self) -> bool:
        return bool(self.nodes or self.volumes)

    def note(self, kind: ClusterChange, nodes: NodeSet = ALL) -> None:
        """Note a change on nodes."""
        if nodes:
            self.nodes[kind] = self.nodes.get(kind, 0) | nodes

    def are_about(self, volumes: Iterable[VolumeName]) -> bool:
        """Whether one of these volumes may have changed."""
        return ClusterChange.SETTINGS in self.nodes or not self.volumes.isdisjoint(volumes)

    def ending(self, kinds: ClusterChange) -> NodeSet:
        """Return the nodes of which a rejection may be over that these kinds of change end."""
        if ClusterChange.ANYWHERE in kinds:
            return ALL if self.nodes else 0
        kinds |= _END_ANY
        return reduce(or_, (nodes for kind, nodes in self.nodes.items() if kind in kinds), 0)


_Coming = tuple[Due | None, Volume | None]
"""What a volume is about to get, and its record: so much each of its replicas takes."""


def _coming(name: VolumeName, view: ClusterView) -> _Coming | None:
    """Return what comes of a volume that has yet to be placed, None if nothing does."""
    due = view.due.get(name)
    floats = any(each.node is None for each in view.replicas.get(name, ()))
    return (due, view.volumes.get(name)) if floats or due is not None else None


class ChangesOfView:
    """Finds out what has changed of the cluster, and may help.

    Args:
        sets: Nodes that come get their place in it.
    """

    def __init__(self, sets: NodeSets) -> None:
        self._sets = sets
        self._spaces: dict[NodeName, NodeSpace] = {}
        self._coming: dict[VolumeName, _Coming] = {}
        self._cursors: tuple[Cursor | None, Cursor | None] = (None, None)

    def note_in(self, changes: Changes, view: ClusterView) -> None:
        """Note what has changed since the last time."""
        nodes, nodes_seen = view.changes.since(self._cursors[0])
        volumes, volumes_seen = view.volume_changes.since(self._cursors[1])
        self._cursors = nodes_seen, volumes_seen
        if nodes is None or volumes is None:
            changes.note(ClusterChange.SETTINGS)
            self._sets.of(view.spaces, view.spaces)  # which of them come only now
            self._spaces = {**view.spaces}
            pinned = {each.volume for space in view.spaces.values() for each in space.pending}
            found = ((name, _coming(name, view)) for name in {*view.due, *pinned})
            self._coming = {name: each for name, each in found if each is not None}
            return
        kinds = defaultdict[ClusterChange, list[NodeName]](list)
        for name in dict.fromkeys(nodes):
            before, after = self._spaces.pop(name, None), view.spaces.get(name)
            if after is not None:
                self._spaces[name] = after
            for kind in what_may_help(before, after):
                kinds[kind].append(name)
        for kind, names in kinds.items():
            changes.note(kind, self._sets.of(names, view.spaces))
        for volume in volumes:
            was, now = self._coming.pop(volume, None), _coming(volume, view)
            if was is not None and was != now:
                changes.note(ClusterChange.ANYWHERE)
            if now is not None:
                self._coming[volume] = now
        changes.volumes.update(volumes)


def what_may_help(before: NodeSpace | None, after: NodeSpace | None) -> Iterator[ClusterChange]:
    """Say what has changed of a node so that a pod may be taken there, or elsewhere."""
    if before is None or after is None:
        yield ClusterChange.ANYWHERE  # no replica is waited for any more on a node that is gone
        if after is not None:
            yield ClusterChange.NODE
        return
    if before.pending != after.pending or before.turned_away != after.turned_away:
        yield ClusterChange.ANYWHERE
    if _has_other_state(before, after):
        yield ClusterChange.NODE
        return
    usable = zip(before.usable, after.usable, strict=True)
    if any(was and now and now.limit_bytes < was.limit_bytes for was, now in usable):
        yield ClusterChange.ANYWHERE  # what is in the way elsewhere may be too large for it now
    for one, other in zip(before.bins, after.bins, strict=True):
        if one.logical_bytes < other.logical_bytes or one.physical_bytes < other.physical_bytes:
            yield ClusterChange.ROOM
            return


def _has_other_state(before: NodeSpace, after: NodeSpace) -> bool:
    """Whether something else than room may decide whether a node takes, or keeps, replicas."""
    if before.engines != after.engines:
        return True
    if before.node is after.node:
        return False
    if structs.replace(before.node, disks=()) != structs.replace(after.node, disks=()):
        return True
    if len(before.disks) != len(after.disks):
        return True
    disks = zip(before.usable, before.disks, after.usable, after.disks, strict=True)
    for was, one, now, other in disks:
        if was and now:  # so it takes half as long, for all nodes whose figures change
            if was.bin.kind != now.bin.kind or one.disk.id != other.disk.id:
                return True
        elif was or now or _state(one) != _state(other):
            return True
    return False


def _state(space: DiskSpace) -> tuple[bool, Disk]:
    """Return what decides besides room; one that is full takes no failed replica back."""
    figures = {"maximum_bytes": 0, "reserved_bytes": 0, "available_bytes": 0, "scheduled_bytes": 0}
    without = structs.replace(space.disk, listed={}, listed_images={}, **figures)
    return space.physical_headroom_bytes < 0, without
