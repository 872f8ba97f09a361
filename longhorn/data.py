"""What is left of a volume's data: which replicas hold it, and where it can be read.

Sources: longhorn-manager controller/volume_controller.go isFirstAttachment, isAutoSalvageNeeded,
ReconcileVolumeState and openVolumeDependentResources; of single replicas `longhorn.usability`.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from datetime import timedelta
from enum import StrEnum

import msgspec

from longhorn.needs import Engine, engine_of
from longhorn.nodes import NodeDisks, is_down
from longhorn.records import NodeName, Volume
from longhorn.replicas import Replica
from longhorn.usability import Awaited, Usability, judge_replica

AUTO_SALVAGE = "auto-salvage"
"""The setting; true where it is absent."""
_SALVAGED_TOGETHER = timedelta(minutes=1)
"""One that failed so long before the last one, or longer, has other data."""


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


def has_live_engine(volume: Volume, nodes: Mapping[NodeName, NodeDisks]) -> bool:
    """Say whether a volume is attached where its engine knows which replicas run."""
    at = None if volume.attached_to is None else nodes.get(volume.attached_to)
    return at is not None and not is_down(at.node)


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
    is_attached = has_live_engine(volume, nodes)
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
