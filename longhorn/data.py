"""What is left of a volume's data: which replicas hold it, and where it can be read.

Sources: longhorn-manager controller/volume_controller.go isFirstAttachment, isAutoSalvageNeeded,
ReconcileVolumeState, openVolumeDependentResources and canInstanceManagerLaunchReplica; for disks
that are not ready IsReplicaUnavailable, which Longhorn asks in a migration: at an attach it tries,
and the replica's process ends in an error.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from datetime import timedelta
from enum import IntEnum, StrEnum, auto

import msgspec

from longhorn.needs import Engine, engine_of
from longhorn.nodes import NodeDisks, is_down
from longhorn.records import Disk, DiskName, NodeName, Volume
from longhorn.replicas import Replica

AUTO_SALVAGE = "auto-salvage"
"""The setting; true where it is absent."""
_OF_THE_NODE = "NodeNotReady"
"""Why no disk of a node is ready whose manager is away: that says nothing of the disk, and replicas
start there. Source: controller/node_controller.go markAllDisksNotReadyWhenNodeNotReady."""
_SALVAGED_TOGETHER = timedelta(minutes=1)
"""One that failed so long before the last one, or longer, has other data."""


class Usability(StrEnum):
    """What a replica is worth to its volume. The order is that of the questions."""

    DELETING = "deleting"
    INACTIVE = "inactive"
    """The second one of a migration or an upgrade."""
    UNPLACED = "unplaced"
    NEVER_HEALTHY = "never-healthy"
    """It has failed or is being rebuilt, and never had all data."""
    UNKNOWN = "unknown"
    """Its node cannot be read, or a disk of that has no UUID yet."""
    GONE = "gone"
    """Its node is not there any more, or does not have its disk."""
    SALVAGEABLE = "salvageable"
    """It has failed, with all data of that time."""
    AWAITED = "awaited"
    """It has all data, and something must come back before it can be started."""
    USABLE = "usable"


class DataState(StrEnum):
    """What is left of a volume's data."""

    NEW = "new"
    """No replica has all data, nor had at some time: nothing was written yet."""
    READABLE = "readable"
    UNKNOWN = "unknown"
    """Too few replicas are usable; of others it is not known, or the rest is about to go."""
    AWAITED = "awaited"
    """All of it is where nothing can read it now."""
    FAULTED = "faulted"
    """Only failed replicas are left."""
    LOST = "lost"
    """No replica with data is left, not even a failed one."""


class Missing(IntEnum):
    """What must come back, in the order in which it is asked for; for a salvage NODE and DISK."""

    NODE = auto()
    MANAGER = auto()
    ENGINE = auto()
    IMAGE = auto()
    DISK = auto()


class Awaited(msgspec.Struct, frozen=True, order=True):
    """What must come back before a replica can be started, or salvaged; `str()` says what then."""

    node: NodeName
    missing: Missing
    disk: DiskName = DiskName("")
    is_salvage: bool = False

    def __str__(self) -> str:
        match self.missing:
            case Missing.NODE:
                return f"node {self.node} is back"
            case Missing.MANAGER:
                return f"an instance manager runs on node {self.node}"
            case Missing.ENGINE:
                return f"data engine v2 is on again on node {self.node}"
            case Missing.IMAGE:
                return f"the engine image is ready on node {self.node}"
            case Missing.DISK if self.is_salvage:
                return f"disk {self.node}/{self.disk} is schedulable"
        return f"disk {self.node}/{self.disk} is ready"


class JudgedReplica(msgspec.Struct, frozen=True, kw_only=True):
    """A replica, and what it is worth."""

    replica: Replica
    usability: Usability
    awaits: Awaited | None = None
    """Of one that is awaited; of a salvageable one, what keeps Longhorn from salvaging it."""


class VolumeData(msgspec.Struct, frozen=True, kw_only=True):
    """What is left of the data of one volume."""

    judged: tuple[JudgedReplica, ...]
    needed: int
    """So many replicas, or shards, hold all data together."""
    is_new: bool
    is_sharded: bool
    closed_by: NodeName | None = None
    """A node without any instance manager object, so that the volume attaches nowhere."""

    def those(self, *usabilities: Usability) -> list[JudgedReplica]:
        """Return the replicas of which one of these is true."""
        return [each for each in self.judged if each.usability in usabilities]

    @property
    def usable(self) -> list[Replica]:
        """The replicas that can be started now, or run."""
        return [each.replica for each in self.those(Usability.USABLE)]

    @property
    def state(self) -> DataState:
        """What is left."""
        if self.is_new:
            return DataState.NEW
        return self._state_and_holders[0]

    @property
    def last_nodes(self) -> frozenset[NodeName]:
        """The nodes of which each alone holds what nothing elsewhere makes up for."""
        holders = [each.node for each in self.holders]
        return frozenset(
            node
            for node in holders
            if node is not None and sum(other != node for other in holders) < self.needed
        )

    @property
    def holders(self) -> list[Replica]:
        """The replicas that the data rest on: usable ones, if these are enough, else the next best.

        Of failed ones only the newest: those that failed earlier have older data.
        """
        return [] if self.is_new else [each.replica for each in self._state_and_holders[1]]

    @property
    def awaited(self) -> list[Awaited]:
        """What is waited for, once each: by replicas that have all data, else by failed ones."""
        waiting = self.those(Usability.AWAITED) or self.those(Usability.SALVAGEABLE)
        return sorted({each.awaits for each in waiting if each.awaits is not None})

    @property
    def is_faulted(self) -> bool:
        """Whether Longhorn knows that all replicas with data have failed; of a new volume, all.

        Of one whose node is gone it learns that when the volume is to be attached.
        """
        counted = [each.replica for each in self.judged if self.is_new or each.replica.healthy_once]
        return bool(counted) and all(each.failed for each in counted if each.active)

    @property
    def salvaged(self) -> list[Replica]:
        """The failed replicas that Longhorn takes again by itself, if it is told to."""
        if self.state is not DataState.FAULTED or not self.is_faulted:
            return []
        free = [each for each in self.those(Usability.SALVAGEABLE) if each.awaits is None]
        return [each.replica for each in _newest(free) if each.replica.failed_at is not None]

    @property
    def _state_and_holders(self) -> tuple[DataState, list[JudgedReplica]]:
        """The state of a volume with data, and the replicas that these rest on."""
        usable, unknown = self.those(Usability.USABLE), self.those(Usability.UNKNOWN)
        if len(usable) >= self.needed:
            return DataState.READABLE, usable
        some = [*usable, *unknown, *self.those(Usability.AWAITED)]
        if len(some) >= self.needed:
            is_unknown = len(usable) + len(unknown) >= self.needed
            return (DataState.UNKNOWN if is_unknown else DataState.AWAITED), some
        failed = [] if self.is_sharded else _newest(self.those(Usability.SALVAGEABLE))
        if failed:
            return DataState.FAULTED, failed
        leaving = self.those(Usability.DELETING, Usability.INACTIVE)
        has_left = all(not each.replica.healthy_once or each.replica.failed for each in leaving)
        return (DataState.LOST if has_left else DataState.UNKNOWN), []


def _newest(failed: list[JudgedReplica]) -> list[JudgedReplica]:
    """Return those of some failed replicas that have the newest data, as Longhorn counts."""
    last = max((at for each in failed if (at := each.replica.failed_at)), default=None)
    return [
        each
        for each in failed
        if last is None or (at := each.replica.failed_at) is None or last - at < _SALVAGED_TOGETHER
    ]


def has_data(replicas: Iterable[Replica]) -> bool:
    """Say whether one of these replicas has, or had, all data of its volume (isFirstAttachment)."""
    return any(replica.healthy_once for replica in replicas)


def is_readable(
    volume: Volume,
    replicas: Sequence[Replica],
    nodes: Mapping[NodeName, NodeDisks],
    *,
    unreadable: Collection[NodeName] = frozenset(),
) -> bool:
    """Say whether one replica, of a volume that is not sharded, is usable; mostly the first is."""
    judged = _judged(volume, replicas, nodes, unreadable)
    return any(each.usability is Usability.USABLE for each in judged)


def data_of(
    volume: Volume,
    replicas: Sequence[Replica],
    nodes: Mapping[NodeName, NodeDisks],
    *,
    unreadable: Collection[NodeName] = frozenset(),
) -> VolumeData:
    """Judge all replicas, or shards, of a volume.

    Args:
        volume: The volume.
        replicas: All there are of it.
        nodes: All nodes, with what runs there.
        unreadable: Nodes of which it is not known how they are.
    """
    without = None if volume.sharded else _without_manager(engine_of(volume), replicas, nodes)
    return VolumeData(
        judged=tuple(_judged(volume, replicas, nodes, unreadable)),
        needed=max(1, volume.data_chunks),
        is_new=not has_data(replicas),
        is_sharded=volume.sharded,
        closed_by=without,
    )


def _judged(
    volume: Volume,
    replicas: Sequence[Replica],
    nodes: Mapping[NodeName, NodeDisks],
    unreadable: Collection[NodeName],
) -> Iterator[JudgedReplica]:
    """Judge replica after replica. Where the volume is attached its engine knows which run."""
    is_new, engine = not has_data(replicas), engine_of(volume)
    at = None if volume.attached_to is None else nodes.get(volume.attached_to)
    is_attached = at is not None and not is_down(at.node)
    for each in replicas:
        there = None if each.node is None else nodes.get(each.node)
        is_known = each.node not in unreadable
        usability, awaits = judge_replica(each, engine, there, is_new=is_new, is_known=is_known)
        runs = is_attached and each.started and not each.failed and there is not None
        if runs and there and not is_down(there.node) and usability in _RUN:
            usability, awaits = Usability.USABLE, None
        yield JudgedReplica(replica=each, usability=usability, awaits=awaits)


_RUN = (Usability.AWAITED, Usability.GONE, Usability.UNKNOWN)
"""What a replica that runs may seem to be, by objects that lag."""


def judge_replica(
    replica: Replica,
    engine: Engine,
    there: NodeDisks | None,
    *,
    is_new: bool,
    is_known: bool = True,
) -> tuple[Usability, Awaited | None]:
    """Say what a replica is worth, and what must come back first.

    Args:
        replica: The replica.
        engine: What runs it.
        there: Its node, None if that is not there.
        is_new: Whether its volume was never written to.
        is_known: Whether it is known how its node is.
    """
    usability = _without_place(replica, is_new=is_new)
    if usability is not None:
        return usability, None
    if not is_known:
        return Usability.UNKNOWN, None
    if there is None:
        return Usability.GONE, None
    disk = next((each.disk for each in there.disks if each.disk.id == replica.disk), None)
    if disk is None:
        is_known = all(each.disk.id is not None for each in there.disks)
        return (Usability.GONE if is_known else Usability.UNKNOWN), None
    missing = _missing_for(replica, engine, there, disk)
    awaits = None
    if missing is not None:
        is_disk = missing is Missing.DISK
        name = disk.name if is_disk else DiskName("")
        awaits = Awaited(there.node.name, missing, name, is_disk and replica.failed)
    if replica.failed:
        return Usability.SALVAGEABLE, awaits
    return (Usability.AWAITED if awaits else Usability.USABLE), awaits


def _without_place(replica: Replica, *, is_new: bool) -> Usability | None:
    """Say what a replica is worth if where it is does not matter."""
    if replica.deleting:
        return Usability.DELETING
    if not replica.active:
        return Usability.INACTIVE
    if replica.node is None or replica.disk is None:
        return Usability.UNPLACED
    if not replica.healthy_once and (replica.failed or not is_new):
        return Usability.NEVER_HEALTHY
    return None


def _missing_for(replica: Replica, engine: Engine, there: NodeDisks, disk: Disk) -> Missing | None:
    """Say what is missing first for a replica to be started; or, if it failed, to be salvaged."""
    engines = there.engines
    if is_down(there.node):
        return Missing.NODE
    if replica.failed:
        return None if disk.schedulable.is_true else Missing.DISK
    if not engines.runs(is_v2=engine.is_v2):
        return Missing.MANAGER
    if engine.is_v2 and not engines.allows_v2:
        return Missing.ENGINE
    if not (engine.is_v2 or engines.has_image(engine.image)):
        return Missing.IMAGE
    is_ready = disk.ready.is_true or disk.ready.reason == _OF_THE_NODE
    return None if is_ready else Missing.DISK


def _without_manager(
    engine: Engine, replicas: Iterable[Replica], nodes: Mapping[NodeName, NodeDisks]
) -> NodeName | None:
    """Return the first node with a replica, whatever its state, and no instance manager object.

    When the volume is to be attached, Longhorn asks each replica's instance manager whether it
    could start it. If there is none at all on a node that is up, it goes no further.
    """
    for name in sorted({each.node for each in replicas if each.node is not None}):
        there = nodes.get(name)
        if there and not is_down(there.node) and not there.engines.has_manager(is_v2=engine.is_v2):
            return name
    return None
