"""Longhorn in a plan: attaches volumes, places their replicas, and moves them away.

It does at once what Longhorn does in seconds to hours: a rebuild is done when it is placed. Its
figures are always up to date; a real Longhorn's lag by some seconds, so that replicas placed at
the same time may overfill a disk (docs/limits.md).
"""

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from random import Random

import msgspec
from msgspec import structs

from extender.demand import LONGHORN_DRIVERS
from extender.kubernetes import Claim, PersistentVolume
from longhorn import (
    RETRY_LIMIT,
    NodeName,
    Reason,
    Replica,
    Volume,
    VolumeName,
    has_data,
    is_serving,
)
from planner.cluster import Cluster
from planner.following import to_be_moved
from planner.records import Pod
from planner.replicas import Replicas

_LONG_AGO = datetime.min.replace(tzinfo=UTC)
"""When volumes became degraded that a plan degrades: Longhorn waits no longer for what failed."""


class Settled(msgspec.Struct, frozen=True, kw_only=True):
    """What Longhorn did until there was nothing more that it could do."""

    placed: tuple[Replica, ...] = ()
    """In the order in which they were placed."""
    removed: tuple[Replica, ...] = ()
    """That are no longer needed."""
    unplaced: dict[VolumeName, tuple[Reason, ...]] = {}
    """Volumes that lack replicas, with Longhorn's reasons; it may have none."""


class Volumes:
    """The volumes of a cluster.

    Args:
        cluster: Where they are.
        random: For all that Longhorn leaves to chance: the order of volumes, and equal choices.

    Attributes:
        replicas: The replicas of each.
    """

    def __init__(self, cluster: Cluster, random: Random) -> None:
        self.replicas = Replicas(cluster, random)
        self._cluster = cluster
        self._random = random
        self._touched: set[VolumeName] = set()
        """Volumes that something was done to since the last time they came to rest."""
        self._moved: set[VolumeName] = {
            name
            for name, replicas in cluster.view.replicas.items()
            if any(each.evicting for each in replicas)
        }
        """Volumes with replicas that are to go elsewhere."""
        self._hopeless: dict[VolumeName, tuple[Reason, ...]] = {}
        """Volumes whose replicas find no room, and why, until something makes room."""

    def attach(self, pod: Pod) -> None:
        """Have the volumes of a pod attached where it is, if they are not attached elsewhere."""
        for volume in self.of_pod(pod):
            if volume.node is None and not volume.deleting:
                self._cluster.put(structs.replace(volume, node=pod.node))
                self._touched.add(volume.name)

    def detach(self, pod: Pod) -> None:
        """Detach the volumes of a pod that leaves its node, unless another pod there uses them.

        A pod elsewhere that uses one of them gets it then.
        """
        volumes = [each for each in self.of_pod(pod) if each.node == pod.node]
        if not volumes:
            return
        others = self._users(volumes, but=pod.key)
        for volume in volumes:
            nodes = others.get(volume.name, [])
            if volume.node not in nodes:
                self._move(volume, nodes[0] if nodes else None)

    def leave(self, volumes: Iterable[Volume]) -> None:
        """Detach volumes from their node, and attach each where a pod on another one uses it.

        A shared one is attached where the pod of its share manager is, if that is known.
        """
        volumes = [*volumes]
        users = self._users(volumes, but=None)
        for volume in volumes:
            serving = self._share_manager(volume)
            nodes = [name for name in users.get(volume.name, ()) if name != volume.node]
            self._move(volume, serving or (nodes[0] if nodes else None))

    def delete(self, claim: Claim) -> None:
        """Delete a claim, and the volume that was made for it."""
        self._hopeless.clear()
        cluster = self._cluster
        bound = cluster.get(PersistentVolume, claim.persistent_volume or "")
        if bound is not None:
            volume = cluster.get(Volume, bound.volume_handle or "")
            if volume is not None:
                for replica in cluster.view.replicas.get(volume.name, ()):
                    self._remove(replica)
                cluster.remove(volume)
            cluster.remove(bound)
        cluster.remove(claim)

    def of_pod(self, pod: Pod) -> list[Volume]:
        """Return the Longhorn volumes of a pod that exist."""
        view, found = self._cluster.view, list[Volume]()
        for key in pod.ref.claims:
            claim = view.claims.get(key)
            bound = view.persistent_volumes.get(claim.persistent_volume or "") if claim else None
            if bound is not None and bound.driver in LONGHORN_DRIVERS:
                volume = view.volumes.get(VolumeName(bound.volume_handle or ""))
                if volume is not None and volume not in found:
                    found.append(volume)
        return found

    def is_stuck(self, volume: Volume, pod: Pod) -> bool:
        """Whether a pod cannot start since a volume is not attached, or not where the pod is.

        A shared one is used over the network. Nothing is known of shards that are not listed.
        """
        if volume.sharded and volume.name not in self._cluster.view.replicas:
            return False
        return volume.attached_to is None or not (volume.shared or volume.attached_to == pod.node)

    def settle(self) -> Settled:
        """Let Longhorn do all that it can do, volume after volume in an order of chance."""
        placed, removed = list[Replica](), list[Replica]()
        while True:
            due = {*self._cluster.view.due, *self._moved} - self._hopeless.keys()
            names = sorted(due | self._touched)
            self._random.shuffle(names)
            for name in names:
                self._hopeless.pop(name, None)
                while isinstance(found := self.replicas.place_next(name), Replica):
                    placed.append(found)
                    self._touched.add(name)
                if found is not None:
                    self._hopeless[name] = found
            touched = sorted(self._touched)
            self._touched.clear()
            for name in touched:
                removed += self._judge(name)
            if not self._touched:
                return Settled(
                    placed=tuple(placed), removed=tuple(removed), unplaced={**self._hopeless}
                )

    def follow_evictions(self) -> None:
        """Have those replicas moved that `to_be_moved` names, and no others; `settle` does it.

        Whatever found no room is tried again.
        """
        self._hopeless.clear()
        wanted = to_be_moved(self._cluster)
        for replicas in [*self._cluster.view.replicas.values()]:
            for each in replicas:
                if each.evicting != (each.name in wanted):
                    self._cluster.put(structs.replace(each, evicting=not each.evicting))
                    self._moved.add(each.volume)

    def drop(self, replicas: Iterable[Replica]) -> None:
        """Forget failed replicas for good, as their disk is taken away."""
        for each in replicas:
            self._remove(each)

    def fail(self, replicas: Iterable[Replica]) -> list[Volume]:
        """Lose replicas for good; return the volumes whose data are gone since."""
        replicas = [*replicas]
        known = (
            self._cluster.get(Volume, name) for name in sorted({each.volume for each in replicas})
        )
        alive = [
            volume for volume in known if volume is not None and not self.replicas.is_lost(volume)
        ]
        newest = {volume.name: self.replicas.newest(volume) for volume in alive}
        self.replicas.gone.update(each.name for each in replicas)
        self.replicas.lost.update(
            name for name, held in newest.items() if held and held <= self.replicas.gone
        )
        for replica in replicas:
            self._cluster.put(
                structs.replace(replica, failed=True, started=False, rebuild_retries=RETRY_LIMIT)
            )
            self._touched.add(replica.volume)
        lost = [volume for volume in alive if self.replicas.is_lost(volume)]
        for volume in lost:
            self._move(volume, None)
        return lost

    def _users(
        self, volumes: Iterable[Volume], *, but: str | None
    ) -> Mapping[VolumeName, list[NodeName]]:
        """Return on which nodes other pods use volumes, in the order of the pods' names."""
        names, found = {volume.name for volume in volumes}, dict[VolumeName, list[NodeName]]()
        claims = {
            claim.key: volume
            for claim in self._cluster.all(Claim).values()
            if (volume := self._volume_of(claim)) in names
        }
        for key, pod in sorted(self._cluster.pods.items()):
            if pod.node is not None and key != but:
                for claim in pod.ref.claims:
                    if (used := claims.get(claim)) is not None:
                        found.setdefault(used, []).append(pod.node)
        return found

    def _share_manager(self, volume: Volume) -> NodeName | None:
        """Return the node of the pod that serves a shared volume, if it is another one now.

        Source: longhorn-manager types/types.go GetShareManagerPodNameFromShareManagerName.
        """
        name = f"/share-manager-{volume.name}"
        pods = self._cluster.pods.items() if volume.shared else ()
        nodes = (pod.node for key, pod in pods if key.endswith(name))
        return next((node for node in nodes if node != volume.node), None)

    def _volume_of(self, claim: Claim) -> VolumeName | None:
        bound = self._cluster.get(PersistentVolume, claim.persistent_volume or "")
        return VolumeName(bound.volume_handle or "") if bound else None

    def _move(self, volume: Volume, node: NodeName | None) -> None:
        """Detach a volume, and have it attached to another node if one is given."""
        changed = structs.replace(
            volume, node=node, attached_to=None, healthy=False, degraded=False
        )
        self._cluster.put(changed)
        self._touched.add(volume.name)

    def _judge(self, name: VolumeName) -> list[Replica]:
        """Finish what was begun for a volume, and return the replicas that it needs no more.

        Source: longhorn-manager controller/volume_controller.go ReconcileEngineReplicaState and
        cleanupExtraHealthyReplicas.
        """
        cluster = self._cluster
        volume = cluster.get(Volume, name)
        if volume is None or self.replicas.is_broken(volume):
            return []
        replicas = cluster.view.replicas.get(name, ())
        placed = [each for each in replicas if is_serving(each)]
        if placed and (volume.node is not None or has_data(replicas)):
            for each in placed:
                if not each.healthy_once:
                    cluster.put(structs.replace(each, healthy_once=True, started=True))
                    self._touched.add(name)
        needed = volume.wanted_replicas if volume.sharded and volume.attached_to is None else 1
        if volume.node is not None and len(placed) >= needed:
            # Those that are to move are as good as the others until they do.
            is_whole = len(placed) >= volume.wanted_replicas
            changed = structs.replace(
                volume,
                attached_to=volume.node,
                healthy=is_whole,
                degraded=not is_whole,
                degraded_at=None if is_whole else _LONG_AGO,
            )
            if changed != volume:
                cluster.put(changed)
                self._touched.add(name)
        if not any(each.evicting for each in replicas):
            self._moved.discard(name)
        spare = self.replicas.spare(volume, replicas, placed)
        for each in spare:
            self._remove(each)
            self._touched.add(name)
        return spare

    def _remove(self, replica: Replica) -> None:
        """Remove a replica: there is room again that others may take."""
        self._hopeless.clear()
        self.replicas.remove(replica)
