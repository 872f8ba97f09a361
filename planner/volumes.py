"""Longhorn in a plan: makes volumes, attaches them, places their replicas, and moves them away.

It does at once what Longhorn does in seconds to hours: a rebuild is done when it is placed. Its
figures are always up to date; a real Longhorn's lag by some seconds, so that replicas placed at
the same time may overfill a disk (docs/limits.md).
"""

from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from random import Random

import msgspec
from msgspec import structs

from extender import (
    LONGHORN_DRIVERS,
    LONGHORN_PROVISIONERS,
    Claim,
    PersistentVolume,
    estimate_volume,
    future_backing_image,
    needed_class,
)
from longhorn import (
    NOTHING_DUE,
    RETRY_LIMIT,
    Candidate,
    Disk,
    Due,
    Locality,
    Node,
    NodeName,
    Reason,
    Replica,
    ReplicaName,
    Shard,
    Volume,
    VolumeName,
    due_replicas,
    has_data,
    is_on,
    is_placed,
    is_serving,
    is_usable,
    new_replica,
    surplus,
)
from planner.cluster import Cluster
from planner.following import to_be_moved
from planner.placing import Placing
from planner.records import Pod

_DRIVER = "driver.longhorn.io"
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
        new_replicas: The names of all that this plan placed.
    """

    def __init__(self, cluster: Cluster, random: Random) -> None:
        self.new_replicas: set[ReplicaName] = set()
        self._cluster = cluster
        self._random = random
        self._placing = Placing(random)
        self._made = 0
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

    def provision(self, claim: Claim, node: NodeName | None) -> None:
        """Bind a claim to a new volume, as its StorageClass says.

        Args:
            claim: One that is not bound.
            node: The node of its pod; None for a class that does not wait for it.

        Raises:
            UnresolvableClaimError: There is no class for it, or the driver would refuse to create
                the volume.
        """
        cluster = self._cluster
        class_ = needed_class(claim, cluster.view)
        if class_.provisioner not in LONGHORN_PROVISIONERS:
            name = f"pvc-{claim.uid or claim.key.replace('/', '-')}"
            cluster.put(
                PersistentVolume(
                    name=name, driver=None, volume_handle=None, retained=class_.retains
                )
            )
        else:
            volume = estimate_volume(claim, class_, cluster.view)
            image = future_backing_image(class_)
            if image is not None and image.name not in cluster.view.backing_images:
                cluster.put(image)
            if volume.name not in cluster.view.volumes:
                cluster.put(volume)
            name = volume.name
            cluster.put(
                PersistentVolume(
                    name=name, driver=_DRIVER, volume_handle=name, retained=class_.retains
                )
            )
        cluster.put(structs.replace(claim, persistent_volume=name, selected_node=node))

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
        """Detach volumes from their node, and attach each where a pod on another one uses it."""
        volumes = [*volumes]
        users = self._users(volumes, but=None)
        for volume in volumes:
            nodes = [name for name in users.get(volume.name, ()) if name != volume.node]
            self._move(volume, nodes[0] if nodes else None)

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
                while isinstance(found := self._fill(name), Replica):
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
        alive = [volume for volume in known if volume is not None and not self.is_lost(volume)]
        for replica in replicas:
            self._cluster.put(
                structs.replace(replica, failed=True, started=False, rebuild_retries=RETRY_LIMIT)
            )
            self._touched.add(replica.volume)
        lost = [volume for volume in alive if self.is_lost(volume)]
        for volume in lost:
            self._move(volume, None)
        return lost

    def is_lost(self, volume: Volume) -> bool:
        """Whether a volume had replicas, and none is left that has its data.

        One that was never written to may be started from any of its replicas.
        """
        replicas = self._cluster.view.replicas.get(volume.name, ())
        left = [each for each in replicas if not each.failed]
        if volume.sharded:
            return len(left) < min(volume.data_chunks, len(replicas))
        return bool(replicas) and not (has_data(left) if has_data(replicas) else left)

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

    def _due(self, volume: Volume) -> Due:
        view = self._cluster.view
        if view.settings.unreadable is not None:
            return NOTHING_DUE
        replicas = view.replicas.get(volume.name, ())
        # One that is detached is attached by Longhorn so that it can be moved.
        moves = any(each.evicting and not each.failed for each in replicas)
        return due_replicas(volume, replicas, view.settings, attaching=moves)

    def _fill(self, name: VolumeName) -> Replica | tuple[Reason, ...] | None:
        """Place one replica of a volume, or say why none can be; None if none is due."""
        volume = self._cluster.get(Volume, name)
        if volume is None or self.is_lost(volume):
            return None
        due = self._due(volume)
        pending = self._pending(name)
        if pending is None and (due.waits or not (due.anywhere or due.on_node)):
            return None
        replica = pending or self._new_replica(volume, due.on_node)
        view = self._cluster.view
        found = self._placing.place(replica, volume, view, self._cluster.utc)
        if not isinstance(found, Candidate):
            return found
        done = structs.replace(replica, node=found.node, disk=found.disk)
        self._cluster.put(done)
        self.new_replicas.add(done.name)
        return done

    def _pending(self, name: VolumeName) -> Replica | None:
        """Return a replica of a volume that exists, may be placed, and is not."""
        volume = self._cluster.get(Volume, name)
        replicas = self._cluster.view.replicas.get(name, ())
        return next(
            (
                each
                for each in replicas
                if is_usable(each)
                and not is_placed(each)
                and volume is not None
                and (volume.node is not None or volume.locality is Locality.DISABLED)
            ),
            None,
        )

    def _new_replica(self, volume: Volume, on_node: NodeName | None) -> Replica:
        self._made += 1
        name = ReplicaName(f"{volume.name}-r-plan{self._made}")
        return new_replica(volume, name, on_node)

    def _judge(self, name: VolumeName) -> list[Replica]:
        """Finish what was begun for a volume, and return the replicas that it needs no more.

        Source: longhorn-manager controller/volume_controller.go ReconcileEngineReplicaState and
        cleanupExtraHealthyReplicas.
        """
        cluster = self._cluster
        volume = cluster.get(Volume, name)
        if volume is None or self.is_lost(volume):
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
        spare = self._spare(volume, replicas, placed)
        for each in spare:
            self._remove(each)
            self._touched.add(name)
        return spare

    def _spare(
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

    def _remove(self, replica: Replica) -> None:
        """Remove a replica, and give its room back where Longhorn has counted it."""
        self._hopeless.clear()
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

    def _counted(self, replica: Replica, node: NodeName, disk: Disk) -> int:
        """Return what Longhorn has counted of a replica on a disk; shards have no name there."""
        if isinstance(replica, Shard) and is_on(replica, node, disk):
            return 0 if replica.name in self.new_replicas else replica.size_bytes
        return disk.listed.get(replica.name, 0)


def _is_given_up(replica: Replica) -> bool:
    return replica.failed and replica.rebuild_retries >= RETRY_LIMIT
