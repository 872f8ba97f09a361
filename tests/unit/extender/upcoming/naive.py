"""What comes worked out from the objects alone, all at once.

Nothing of `longhorn` and `extender` is used but their records. Disks are all of one kind, without
tags, and nothing is written to them, so that only what is scheduled counts.
"""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import NamedTuple

from extender import Hold
from extender.demand.requests import WantedVolume
from longhorn import Disk, Locality, Node, NodeName, Replica, Volume, VolumeName

Room = tuple[int, ...]
"""What is left on each usable disk of a node."""


class Coming(NamedTuple):
    """Replicas of a volume that may go anywhere."""

    volume: VolumeName
    number: int
    is_sure: bool
    is_held: bool


class Local(NamedTuple):
    """The sizes of what goes to one node, in order."""

    pending: tuple[int, ...] = ()
    chosen: tuple[int, ...] = ()
    open: tuple[int, ...] = ()


class Due(NamedTuple):
    """What Longhorn places of one volume."""

    anywhere: int = 0
    on_node: str | None = None
    waits: bool = False


class Naive:
    """What is there, and what follows from it."""

    def __init__(
        self,
        nodes: Iterable[Node],
        volumes: Iterable[Volume],
        replicas: Iterable[Replica],
        holds: Iterable[Hold],
        values: Mapping[str, str],
        utc: datetime,
    ) -> None:
        self.nodes = {node.name: node for node in nodes}
        self.volumes = {volume.name: volume for volume in volumes}
        self.replicas = sorted(replicas, key=lambda each: each.name)
        self.holds = sorted(holds, key=lambda each: (each.state != "chosen", each.pod.uid))
        self.values = values
        self.utc = utc

    def of(self, volume: VolumeName) -> list[Replica]:
        return [each for each in self.replicas if each.volume == volume]

    def is_on(self, setting: str) -> bool:
        return self.values[setting] == "true"

    # --- disks ---

    def takes_replicas(self, name: NodeName) -> bool:
        return self._is_candidate(name) and not self.nodes[name].evicting

    def limits(self, name: NodeName) -> Room:
        percent = int(self.values["storage-over-provisioning-percentage"])
        return tuple(d.maximum_bytes * percent // 100 for d in self.usable_disks(name))

    def usable_disks(self, name: NodeName) -> list[Disk]:
        return [d for d in self.nodes[name].disks if d.allow_scheduling and d.ready.is_true]

    def room(self, name: NodeName) -> Room:
        """Return what is left with all that is placed, listed or not, and yet to grow."""
        found = []
        for disk, limit in zip(self.usable_disks(name), self.limits(name), strict=True):
            there = [r for r in self.replicas if (r.node, r.disk) == (name, disk.id)]
            left = limit - sum(disk.listed.values())
            left -= sum(max(0, r.size_bytes - disk.listed.get(r.name, 0)) for r in there)
            for replica in there:
                volume = self.volumes.get(replica.volume)
                known = max(replica.size_bytes, disk.listed.get(replica.name, 0))
                grows = 0 if volume is None or volume.deleting else volume.size_bytes - known
                if 0 < grows <= left:
                    left -= grows
            found.append(left)
        return tuple(found)

    # --- which replicas are due ---

    def due(self, volume: Volume, *, attaching: bool = False) -> Due:
        mine = self.of(volume.name)
        counted = [r for r in mine if not (r.failed or r.evicting or r.deleting)]
        nowhere = [r for r in counted if r.node is None]
        free = [r for r in nowhere if r.hard_node_affinity is None]
        is_open = attaching or volume.node or volume.locality is Locality.DISABLED
        if volume.deleting or not volume.wanted_replicas or not is_open:
            return Due()
        if not any(r.healthy_once for r in mine):
            missing = max(0, volume.wanted_replicas - len(counted) + len(free))
            if volume.locality is Locality.STRICT_LOCAL and volume.node:
                return Due(on_node=volume.node if missing else None)
            return Due(missing)
        if free:
            return Due(len(free))
        is_rebuilding = any(r.node and not (r.healthy_once or r.failed) for r in mine)
        if is_rebuilding or self.values["concurrent-replica-rebuild-per-node-limit"] == "0":
            return Due()
        return self._due_with_data(volume, mine, counted, attaching=attaching)

    def _due_with_data(
        self, volume: Volume, mine: list[Replica], counted: list[Replica], *, attaching: bool
    ) -> Due:
        at = volume.attached_to
        best_effort = volume.locality is Locality.BEST_EFFORT
        extra = [
            r for r in counted if best_effort and at and not r.node and r.hard_node_affinity == at
        ]
        is_attaching = attaching or volume.node
        may_return = any(r.failed and r.node and not r.evicting for r in mine)
        if len(counted) - len(extra) < volume.wanted_replicas:
            leaving = not extra and any(r.evicting and not r.deleting for r in mine)
            if (at and (volume.degraded or leaving)) or (
                not at and is_attaching and not may_return
            ):
                if volume.locality is Locality.STRICT_LOCAL:
                    return Due(on_node=at)
                return Due(1, waits=volume.degraded and may_return)
        placed = [r for r in counted if r.node]
        is_known_there = any(at in (r.node, r.hard_node_affinity) for r in mine)
        if best_effort and volume.healthy and len(placed) >= volume.wanted_replicas:
            return Due(on_node=None if is_known_there else at)
        return Due()

    def is_late(self, volume: Volume) -> bool:
        """Whether a failed replica is waited for no more, and none can be rebuilt where it is."""
        wait = int(self.values["replica-replenishment-wait-interval"])
        assert volume.degraded_at is not None
        is_over = (self.utc - volume.degraded_at).total_seconds() >= wait
        return is_over and not any(self._works(r) for r in self.of(volume.name) if r.failed)

    def _works(self, replica: Replica) -> bool:
        node = self.nodes.get(replica.node or NodeName(""))
        return (
            node is not None
            and not replica.evicting
            and node.ready.is_true
            and node.allow_scheduling
            and any(disk.id == replica.disk for disk in self.usable_disks(node.name))
        )

    # --- what goes to one node ---

    def local(self) -> dict[NodeName, Local]:
        return {name: self._local_on(name) for name in self.nodes}

    def _local_on(self, name: NodeName) -> Local:
        chosen, open_ = dict[VolumeName, int](), dict[VolumeName, int]()
        for hold in self.holds:
            (chosen if hold.state == "chosen" else open_).update(self.charged(hold, name))
        open_ = {volume: size for volume, size in open_.items() if volume not in chosen}
        pending = []
        for replica in self.replicas:
            if replica.node or replica.failed or replica.deleting:
                continue
            volume = self.volumes.get(replica.volume)
            if volume and self._is_idle(volume):
                continue
            if replica.hard_node_affinity == name and not (volume and volume.deleting):
                pending.append(volume.size_bytes if volume else replica.size_bytes)
        for volume in self.volumes.values():
            if self.due(volume).on_node == name and volume.name not in {**chosen, **open_}:
                pending.append(volume.size_bytes)
        return Local(
            pending=_up_to(max(self.room(name), default=-1), pending),
            chosen=_up_to(max(self.limits(name), default=-1), chosen.values()),
            open=_up_to(max(self.limits(name), default=-1), open_.values()),
        )

    def _is_idle(self, volume: Volume) -> bool:
        """Whether Longhorn waits with the one replica, as nobody is about to attach the volume."""
        is_held = any(
            wanted.name == volume.name
            for hold in self.holds
            for wanted in (*hold.volumes, *hold.remote)
        )
        return volume.locality is Locality.STRICT_LOCAL and volume.node is None and not is_held

    def charged(self, hold: Hold, name: NodeName) -> dict[VolumeName, int]:
        """Return the volumes of which a hold keeps room on a node, and their sizes."""
        if name not in hold.nodes:
            return {}
        return {
            wanted.name: self._size_of(wanted.volume)
            for wanted in hold.volumes
            if not self._is_seen(hold, wanted.volume, name)
        }

    def _is_seen(self, hold: Hold, volume: Volume, name: NodeName) -> bool:
        """Whether Longhorn's objects show the replica that a hold keeps room for on a node."""
        mine = self.of(volume.name)
        waiting = [r for r in mine if not (r.node or r.failed or r.deleting)]
        if any(r.hard_node_affinity == name for r in waiting):
            return True
        placed = [r for r in mine if r.node]
        new = [
            r
            for r in placed
            if r.name not in hold.placed_before
            and (r.name, r.node, r.disk) not in hold.ungranted_before
        ]
        usable = [r for r in placed if not (r.failed or r.evicting or r.deleting)]
        enough = volume.wanted_replicas == 1 or len(usable) >= volume.wanted_replicas
        if hold.state == "chosen" and new and enough:
            return True
        was_there = (volume.name, name) in hold.existing
        return any(r.node == name for r in (placed if was_there else new))

    # --- what may go anywhere ---

    def coming(self) -> list[Coming]:
        """List it, the surest first, by name."""
        shown = {name: self.due(volume) for name, volume in self.volumes.items()}
        found, known = list[Coming](), set[VolumeName]()
        for hold in self.holds:
            for wanted in (*hold.volumes, *hold.remote):
                name = wanted.name
                waits = name in shown and shown[name].waits
                is_lost = wanted in hold.volumes and self._has_lost_its_room(hold, wanted)
                keeps_local = self._is_charged(hold, name) and not is_lost
                if name in known or (waits and not keeps_local):
                    continue
                known.add(name)
                is_local = wanted in hold.volumes
                # The one that is made after a wait is the one on the pod's node.
                if waits or (is_local and wanted.volume.wanted_replicas == 1 and not is_lost):
                    continue
                volume = self.volumes.get(name, wanted.volume)
                due = self.due(volume, attaching=True)
                count = 0 if due.waits else due.anywhere
                if keeps_local and volume.locality is not Locality.DISABLED:
                    count -= len(hold.nodes) == 1  # else it may be on any of them
                if count > 0:
                    found.append(Coming(name, count, hold.state == "chosen", is_held=True))
        for name, due in shown.items():
            is_late = not due.waits or self.is_late(self.volumes[name])
            if name not in known and due.anywhere and is_late:
                found.append(Coming(name, due.anywhere, is_sure=True, is_held=False))
        return sorted(found, key=lambda each: (not each.is_sure, each.volume))

    def _has_lost_its_room(self, hold: Hold, wanted: WantedVolume) -> bool:
        """Whether the pod has a node, and no disk there takes the volume now, alone."""
        if hold.state != "chosen" or wanted.volume.locality is Locality.STRICT_LOCAL:
            return False
        [name] = hold.nodes
        volume = self.volumes.get(wanted.name, wanted.volume)
        return name in self.nodes and volume.size_bytes > max(self.room(name), default=-1)

    def _is_charged(self, hold: Hold, volume: VolumeName) -> bool:
        return any(volume in self.charged(hold, name) for name in hold.nodes)

    def _size_of(self, held: Volume) -> int:
        """Return the size of a volume as it is, or as it will be."""
        found = self.volumes.get(held.name, held)
        return held.size_bytes if found.deleting else found.size_bytes

    def _is_candidate(self, name: NodeName) -> bool:
        node = self.nodes[name]
        return node.ready.is_true and node.schedulable.is_true and node.allow_scheduling


def packs(sizes: Iterable[int], room: Sequence[int]) -> bool:
    """Whether disks with so much left take all of these."""
    largest_first = sorted(sizes, reverse=True)
    if not largest_first:
        return True
    first, *rest = largest_first
    return any(
        first <= left and packs(rest, (*room[:at], left - first, *room[at + 1 :]))
        for at, left in enumerate(room)
    )


def _up_to(largest: int, sizes: Iterable[int]) -> tuple[int, ...]:
    return tuple(sorted(size for size in sizes if size <= largest))
