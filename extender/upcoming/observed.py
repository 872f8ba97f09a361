"""What a book has seen of nodes and volumes, to know what else has changed once they have."""

from collections.abc import Set as AbstractSet
from heapq import heappop, heappush

from extender.space import NodeSpace
from extender.view import ClusterView
from longhorn import (
    NOTHING_DUE,
    DiskName,
    DiskSpace,
    Moment,
    NodeName,
    NodeRefusal,
    VolumeName,
    wait_is_over,
)


class NodesSeen:
    """The nodes as they were when the book was last brought up to date.

    Attributes:
        beyond: By how many bytes disks were filled beyond their limit meanwhile: more was placed
            there, the limit did not fall.
    """

    def __init__(self, view: ClusterView) -> None:
        self.beyond: dict[tuple[NodeName, DiskName], int] = {}
        self._spaces = {**view.spaces}

    def note(self, node: NodeName, view: ClusterView) -> bool:
        """Note that the space of a node has changed.

        Returns whether its zone has, or whether it is refused: anti-affinity depends on both.
        """
        before, after = self._spaces.pop(node, None), view.spaces.get(node)
        if after is not None:
            self._spaces[node] = after
        old = {} if before is None else {each.disk.name: each for each in before.disks}
        new = {} if after is None else {each.disk.name: each for each in after.disks}
        for disk in {**old, **new}:
            known_bytes = self.beyond.pop((node, disk), 0)
            excess = _excess_bytes(old.get(disk), new.get(disk), known_bytes)
            if excess:
                self.beyond[node, disk] = excess
        return _standing(before) != _standing(after)


class DueOnNodes:
    """The volumes of which a replica without an object is due on one node, by that node."""

    def __init__(self) -> None:
        self.node_of: dict[VolumeName, NodeName] = {}
        self._volumes_on: dict[NodeName, set[VolumeName]] = {}

    @property
    def nodes(self) -> AbstractSet[NodeName]:
        """The nodes with any."""
        return self._volumes_on.keys()

    def on(self, node: NodeName) -> AbstractSet[VolumeName]:
        """Return the volumes of a node."""
        return self._volumes_on.get(node, frozenset())

    def note(self, name: VolumeName, view: ClusterView) -> list[NodeName]:
        """Note what is due of a volume now; return the nodes where it was due or is."""
        before = self.node_of.pop(name, None)
        now = view.due.get(name, NOTHING_DUE).on_node if name in view.volumes else None
        if before is not None:
            self._volumes_on[before].discard(name)
            if not self._volumes_on[before]:
                del self._volumes_on[before]
        if now is not None:
            self.node_of[name] = now
            self._volumes_on.setdefault(now, set()).add(name)
        return [node for node in (before, now) if node is not None]


class ReplenishmentWaits:
    """Volumes of which a failed replica may come back, so that Longhorn makes no new one yet."""

    def __init__(self) -> None:
        self._failed_on: dict[NodeName, set[VolumeName]] = {}
        """Volumes that wait for a failed replica on each node."""
        self._until: dict[VolumeName, float] = {}
        """When Longhorn waits no longer, in seconds since 1970."""
        self._alarms: list[tuple[float, VolumeName]] = []
        """The same as a heap; it may also hold moments that are past or not true any more."""

    def note(self, name: VolumeName, view: ClusterView, utc: Moment | None) -> None:
        """Have a volume that waits for a failed replica be looked at when the wait may be over."""
        volume, due = view.volumes.get(name), view.due.get(name, NOTHING_DUE)
        if volume is None or not due.waits:
            self._until.pop(name, None)
            return
        for replica in view.replicas.get(name, ()):
            if replica.failed and replica.node is not None:
                self._failed_on.setdefault(replica.node, set()).add(name)
        if volume.degraded_at is None or (utc and wait_is_over(volume, view.settings, utc)):
            return
        until = volume.degraded_at.timestamp() + view.settings.replenishment_wait_seconds
        if self._until.get(name) != until:
            self._until[name] = until
            heappush(self._alarms, (until, name))

    def over_at(self, utc: Moment | None) -> list[VolumeName]:
        """Return the volumes whose wait is over by now, each once."""
        found = list[VolumeName]()
        while utc is not None and self._alarms and self._alarms[0][0] <= utc.timestamp():
            until, name = heappop(self._alarms)
            if self._until.get(name) == until:
                del self._until[name]
                found.append(name)
        return found

    def failed_on(self, node: NodeName) -> list[VolumeName]:
        """Return the volumes that wait for a replica on a node that has changed, each once."""
        return sorted(self._failed_on.pop(node, ()))


def _standing(space: NodeSpace | None) -> tuple[str, NodeRefusal | None] | None:
    return None if space is None else (space.node.zone, space.refusal)


def _excess_bytes(before: DiskSpace | None, after: DiskSpace | None, known_bytes: int) -> int:
    """Return by how much a disk was filled beyond its limit, as far as that was seen."""
    if before is None or after is None or before.limit_bytes != after.limit_bytes:
        return 0
    excess = max(0, -after.logical_headroom_bytes)
    is_more = after.logical_headroom_bytes < before.logical_headroom_bytes
    return excess if is_more else min(excess, known_bytes)
