"""The replicas of one volume in a plan: which is placed next, which it needs no more.

When they are placed and removed is for `volumes` to say.
"""

from collections.abc import Iterable, Sequence
from random import Random

from msgspec import structs

from longhorn import (
    NOTHING_DUE,
    RETRY_LIMIT,
    Candidate,
    DataState,
    Disk,
    Due,
    Locality,
    Node,
    NodeName,
    Reason,
    Replica,
    ReplicaName,
    Shard,
    Usability,
    Volume,
    VolumeData,
    VolumeName,
    data_of,
    due_replicas,
    is_on,
    is_placed,
    is_usable,
    new_replica,
    surplus,
)
from planner.cluster import Cluster
from planner.placing import Placing


class Replicas:
    """The replicas of a cluster.

    Args:
        cluster: Where they are.
        random: For the choice between disks that are as good.

    Attributes:
        new: The names of all that this plan placed.
        gone: The names of all that this plan lost with their disks.
        lost: The volumes that lost their newest data so.
    """

    def __init__(self, cluster: Cluster, random: Random) -> None:
        self.new: set[ReplicaName] = set()
        self.gone: set[ReplicaName] = set()
        self.lost: set[VolumeName] = set()
        self._cluster = cluster
        self._placing = Placing(random)
        self._made = 0

    def place_next(self, name: VolumeName) -> Replica | tuple[Reason, ...] | None:
        """Place one replica of a volume, or say why none can be; None if none is due."""
        volume = self._cluster.get(Volume, name)
        if volume is None:
            return None
        due = self._due(volume)
        pending = self._pending(volume)
        if pending is None and (due.waits or not (due.anywhere or due.on_node)):
            return None
        if self.is_broken(volume):
            return None
        replica = pending or self._new_replica(volume, due.on_node)
        view = self._cluster.view
        found = self._placing.place(replica, volume, view, self._cluster.utc)
        if not isinstance(found, Candidate):
            return found
        done = structs.replace(replica, node=found.node, disk=found.disk)
        self._cluster.put(done)
        self.new.add(done.name)
        return done

    def is_lost(self, volume: Volume) -> bool:
        """Whether a volume had replicas, and none is left that has its data.

        One that was never written to may be started from any of its replicas. Failed replicas are
        data as long as nothing newer was lost with this plan.
        """
        is_stale = volume.name in self.lost
        return self.is_broken(volume) and (
            is_stale or self.data(volume).state is not DataState.FAULTED
        )

    def is_broken(self, volume: Volume) -> bool:
        """Whether nothing can be made of the replicas of a volume: it is lost, or all failed."""
        replicas = self._cluster.view.replicas.get(volume.name, ())
        data, left = self.data(volume), [each for each in replicas if not each.failed]
        if volume.sharded:
            return len(left) < min(volume.data_chunks, len(replicas))
        if data.is_new:
            return bool(replicas) and not left
        return data.state in (DataState.FAULTED, DataState.LOST)

    def newest(self, volume: Volume) -> set[ReplicaName]:
        """Return the replicas with the newest data of a volume, wherever they are."""
        data = self.data(volume)
        there = data.those(Usability.USABLE, Usability.UNKNOWN, Usability.AWAITED)
        held = [each.replica for each in there] or data.holders
        return set() if data.is_new or volume.sharded else {each.name for each in held}

    def data(self, volume: Volume) -> VolumeData:
        """Say what is left of the data of a volume, as the plan goes."""
        view = self._cluster.view
        replicas = [
            structs.replace(each, disk=None) if each.name in self.gone else each
            for each in view.replicas.get(volume.name, ())
        ]
        return data_of(volume, replicas, view.spaces, unreadable=view.unreadable_nodes)

    def spare(
        self, volume: Volume, replicas: Iterable[Replica], placed: Sequence[Replica]
    ) -> list[Replica]:
        """Return the replicas that a volume needs no more, given all and those on disks.

        Of those that are to move, one goes for each that came in its place. Source:
        longhorn-manager controller/volume_controller.go cleanupExtraHealthyReplicas.
        """
        excess = len(placed) - volume.wanted_replicas
        if excess < 0:
            return []
        given_up = sorted(filter(_is_given_up, replicas), key=lambda each: each.name)
        staying = [each for each in placed if not each.evicting]
        moved = sorted((each for each in placed if each.evicting), key=lambda each: each.name)
        if moved:
            return [*given_up, *(moved[:excess] if staying else [])]
        if given_up or not excess:
            return given_up
        spaces = self._cluster.view.spaces.values()
        zones = {space.node.name: space.node.zone for space in spaces}
        return [*surplus(volume, staying, zones)[:1]]

    def remove(self, replica: Replica) -> None:
        """Remove a replica, and give its room back where Longhorn has counted it."""
        self._cluster.remove(replica)
        node = self._cluster.get(Node, replica.node or "")
        if node is None:
            return
        disks = tuple(
            structs.replace(
                disk,
                listed={name: size for name, size in disk.listed.items() if name != replica.name},
                scheduled_bytes=disk.scheduled_bytes - counted,
            )
            if (counted := self._counted(replica, node.name, disk))
            else disk
            for disk in node.disks
        )
        if disks != node.disks:
            self._cluster.put(structs.replace(node, disks=disks))

    def _due(self, volume: Volume) -> Due:
        view = self._cluster.view
        if view.settings.unreadable is not None:
            return NOTHING_DUE
        replicas = view.replicas.get(volume.name, ())
        # One that is detached is attached by Longhorn so that it can be moved.
        moves = any(each.evicting and not each.failed for each in replicas)
        return due_replicas(volume, replicas, view.settings, attaching=moves, paused=view.paused)

    def _pending(self, volume: Volume) -> Replica | None:
        """Return a replica of a volume that exists, may be placed, and is not."""
        if volume.node is None and volume.locality is not Locality.DISABLED:
            return None
        replicas = self._cluster.view.replicas.get(volume.name, ())
        return next((each for each in replicas if is_usable(each) and not is_placed(each)), None)

    def _new_replica(self, volume: Volume, on_node: NodeName | None) -> Replica:
        self._made += 1
        name = ReplicaName(f"{volume.name}-r-plan{self._made}")
        return new_replica(volume, name, on_node)

    def _counted(self, replica: Replica, node: NodeName, disk: Disk) -> int:
        """Return what Longhorn has counted of a replica on a disk; shards have no name there."""
        if isinstance(replica, Shard) and is_on(replica, node, disk):
            return 0 if replica.name in self.new else replica.size_bytes
        return disk.listed.get(replica.name, 0)


def _is_given_up(replica: Replica) -> bool:
    return replica.failed and replica.rebuild_retries >= RETRY_LIMIT
