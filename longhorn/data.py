"""What is left of a volume's data: which replicas hold it, and where it can be read.

Sources: longhorn-manager controller/volume_controller.go isFirstAttachment, isAutoSalvageNeeded,
ReconcileVolumeState, openVolumeDependentResources, canInstanceManagerLaunchReplica and
IsReplicaUnavailable.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
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
    """Its node cannot be read."""
    GONE = "gone"
    """Its node is not there any more, or has another disk in the place of its one."""
    SALVAGEABLE = "salvageable"
    """It has failed, with all data of that time. Longhorn takes it again if no other is left."""
    AWAITED = "awaited"
    """It has all data, and something must come back before it can be started."""
    USABLE = "usable"


class DataState(StrEnum):
    """What is left of a volume's data."""

    NEW = "new"
    """Nothing was ever written."""
    READABLE = "readable"
    UNKNOWN = "unknown"
    AWAITED = "awaited"
    """All of it is where nothing can read it now."""
    FAULTED = "faulted"
    """All replicas with data have failed."""
    LOST = "lost"


class Missing(IntEnum):
    """What must come back, in the order in which it is asked for."""

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
        return self._state_and_rest[0]

    @property
    def last_nodes(self) -> frozenset[NodeName]:
        """The nodes of which each alone holds what nothing elsewhere makes up for."""
        rest = [] if self.is_new else [each.replica.node for each in self._state_and_rest[1]]
        return frozenset(
            node
            for node in rest
            if node is not None and sum(other != node for other in rest) < self.needed
        )

    @property
    def awaited(self) -> list[Awaited]:
        """What is waited for, once each: by replicas that have all data, else by failed ones."""
        waiting = self.those(Usability.AWAITED) or self.those(Usability.SALVAGEABLE)
        return sorted({each.awaits for each in waiting if each.awaits is not None})

    @property
    def is_faulted(self) -> bool:
        """Whether Longhorn knows that all replicas with data have failed.

        Of one whose node or disk is gone it learns that when the volume is to be attached.
        """
        with_data = [each.replica for each in self.judged if each.replica.healthy_once]
        return all(each.failed for each in with_data if each.active)

    @property
    def salvaged(self) -> list[Replica]:
        """The failed replicas that Longhorn takes again by itself, if it is told to."""
        if self.state is not DataState.FAULTED or not self.is_faulted:
            return []
        found = [
            (at, each.replica)
            for each in self.those(Usability.SALVAGEABLE)
            if each.awaits is None and (at := each.replica.failed_at) is not None
        ]
        last = max((at for at, _ in found), default=None)
        return [each for at, each in found if last and last - at < _SALVAGED_TOGETHER]

    @property
    def _state_and_rest(self) -> tuple[DataState, list[JudgedReplica]]:
        """The state of a volume with data, and the replicas that these are in."""
        usable, unknown = self.those(Usability.USABLE), self.those(Usability.UNKNOWN)
        if len(usable) >= self.needed:
            return DataState.READABLE, usable
        rest = [*usable, *unknown, *self.those(Usability.AWAITED)]
        if len(rest) >= self.needed:
            is_unknown = len(usable) + len(unknown) >= self.needed
            return (DataState.UNKNOWN if is_unknown else DataState.AWAITED), rest
        failed = [] if self.is_sharded else self.those(Usability.SALVAGEABLE)
        return (DataState.FAULTED if failed else DataState.LOST), failed


def has_data(replicas: Iterable[Replica]) -> bool:
    """Say whether the volume of these replicas was ever written to."""
    return any(replica.healthy_once for replica in replicas)


def is_readable(
    volume: Volume,
    replicas: Sequence[Replica],
    nodes: Mapping[NodeName, NodeDisks],
    *,
    unreadable: Collection[NodeName] = frozenset(),
) -> bool:
    """Say whether one replica, of a volume that is not sharded, is usable; mostly the first is."""
    is_new, engine = not has_data(replicas), engine_of(volume)
    for each in replicas:
        there = None if each.node is None else nodes.get(each.node)
        is_known = each.node not in unreadable
        usability, _ = judge_replica(each, engine, there, is_new=is_new, is_known=is_known)
        if usability is Usability.USABLE:
            return True
    return False


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
    is_new, engine = not has_data(replicas), engine_of(volume)
    judged = list[JudgedReplica]()
    for each in replicas:
        there = None if each.node is None else nodes.get(each.node)
        is_known = each.node not in unreadable
        usability, awaits = judge_replica(each, engine, there, is_new=is_new, is_known=is_known)
        judged.append(JudgedReplica(replica=each, usability=usability, awaits=awaits))
    return VolumeData(
        judged=tuple(judged),
        needed=max(1, volume.data_chunks),
        is_new=is_new,
        is_sharded=volume.sharded,
        closed_by=None if volume.sharded else without_manager(engine, replicas, nodes),
    )


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
        return Usability.GONE, None
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


def without_manager(
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
