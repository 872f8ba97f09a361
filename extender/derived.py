"""What follows from the records: what each node has left, and what each volume is about to do."""

from collections.abc import Iterator
from functools import lru_cache

from extender.kubernetes import CsiNode, EngineOptOut
from extender.records import Index, Records, put
from extender.space import KnownDisk, NodeSpace, There, node_space
from extender.view import ClusterView, Running, running_on
from longhorn import (
    NOTHING_DUE,
    BackingImage,
    DiskId,
    DiskKind,
    DiskName,
    DiskSchedule,
    Due,
    EngineImage,
    Engines,
    Growth,
    InstanceManager,
    Node,
    NodeName,
    Replica,
    ReplicaName,
    Settings,
    Volume,
    VolumeName,
    due_replicas,
    engines_of,
    expanded_bytes,
    images_on,
)


class DirtySet:
    """What must be worked out again, in the order in which that was found."""

    def __init__(self) -> None:
        self.nodes: dict[NodeName, set[DiskId | None]] = {}
        """And their disks for which more has changed than the Node."""
        self.volumes: dict[VolumeName, None] = {}

    def add_node(self, name: NodeName, *disks: DiskId | None) -> None:
        """Add a node, and disks of it."""
        self.nodes.setdefault(name, set()).update(disks)

    def add_volume(self, name: VolumeName) -> None:
        """Add a volume."""
        self.volumes[name] = None


class Derived:
    """What follows from the records, as far as it is worked out.

    Attributes:
        spaces: What each node has left.
        by_running: The same by what runs there.
        kinds: A number for each kind of disks.
        replicas: Of each volume, by name; those that their disk turned away as not placed.
        due: Volumes of which Longhorn is about to place replicas, and which.
    """

    def __init__(self, records: Records) -> None:
        self._records = records
        self.spaces: dict[NodeName, NodeSpace] = {}
        self.by_running = Index[Running, NodeSpace](lambda space: (running_on(space),))
        self.kinds: dict[DiskKind, int] = {}
        self.replicas: dict[VolumeName, tuple[Replica, ...]] = {}
        self.due: dict[VolumeName, Due] = {}
        self._expanded: dict[VolumeName, int] = {}
        """The size of volumes whose Replica objects are still smaller."""
        self._images: dict[VolumeName, BackingImage] = {}
        """The backing images of volumes, as far as they are known."""
        self._growth = Growth(expanded=self._expanded, images=self._images)

    def refresh_node(
        self, name: NodeName, disks: set[DiskId | None] | None, view: ClusterView, dirty: DirtySet
    ) -> bool:
        """Work out what a node has left; return whether that is something else than before.

        Args:
            disks: Those for which more has changed than the Node; None for all of them.
            view: Has the settings, and says whether enough is known of the node.
        """
        node, before = self._records.all(Node).get(name), self.spaces.get(name)
        space = None
        if node is not None and name not in view.unreadable_nodes:
            known = _untouched(node, before, disks)
            changed = [disk.id for disk in node.disks if disk.name not in known]
            space = node_space(
                node,
                There(
                    [
                        replica
                        for disk in dict.fromkeys((None, *changed))
                        for replica in self._records.replicas_on.of((name, disk))
                    ],
                    {schedule.name: schedule for schedule in self._records.schedules_on.of(name)},
                    self._engines_on(name, view.settings),
                ),
                view.settings,
                self.kinds,
                self._growth,
                known,
            )
        for each in _differently_turned_away(before, space):
            now = self._records.all(Replica).get(each.name, each)
            dirty.add_volume(each.volume)
            dirty.add_volume(now.volume)
        if before is not None:
            self.by_running.remove(name, before)
        if space is not None:
            self.by_running.add(name, space)
        return put(self.spaces, name, space)

    def _engines_on(self, name: NodeName, settings: Settings) -> Engines:
        """Say what runs on a node."""
        records, csi_node = self._records, self._records.all(CsiNode).get(name)
        images = records.all(EngineImage).values() if records.knows(EngineImage) else ()
        return _shared(
            engines_of(
                records.managers_on.of(name) if records.knows(InstanceManager) else None,
                settings.instance_manager_image,
                images=images_on(name, images),
                has_driver=(csi_node is not None and csi_node.has_longhorn)
                or not records.knows(CsiNode),
                allows_v2=name not in records.all(EngineOptOut),
            )
        )

    def refresh_volume(self, name: VolumeName, settings: Settings, dirty: DirtySet) -> bool:
        """Work out what becomes of a volume; return whether that is something else than before."""
        volume, replicas = self._records.all(Volume).get(name), self._shown_replicas(name)
        due, image = NOTHING_DUE, None
        if volume is not None and settings.unreadable is None:
            due = due_replicas(volume, replicas, settings, paused=self._records.paused.keys())
        if volume is not None and not volume.deleting and volume.backing_image is not None:
            image = self._records.all(BackingImage).get(volume.backing_image)
        is_other = put(self.replicas, name, replicas or None)
        is_other |= put(self.due, name, None if due == NOTHING_DUE else due)
        expanded = expanded_bytes(volume, replicas) or None
        if put(self._expanded, name, expanded) | put(self._images, name, image):
            # As they are: one that its disk turned away is shown without a node.
            for each in self._records.replicas_of.of(name):
                if each.node is not None:
                    dirty.add_node(each.node, each.disk)
            return True
        return is_other

    def _shown_replicas(self, volume: VolumeName) -> tuple[Replica, ...]:
        found = sorted(self._records.replicas_of.of(volume), key=_name_of)
        if not self._records.all(DiskSchedule):  # nothing is turned away
            return tuple(found)
        return tuple(self._shown(each) for each in found)

    def _shown(self, replica: Replica) -> Replica:
        space = None if replica.node is None else self.spaces.get(replica.node)
        return replica if space is None else space.turned_away.get(replica.name, replica)


@lru_cache(maxsize=256)
def _shared(engines: Engines) -> Engines:
    """Share equal ones: most nodes are alike."""
    return engines


def _untouched(
    node: Node, before: NodeSpace | None, disks: set[DiskId | None] | None
) -> dict[DiskName, KnownDisk]:
    """Return what was worked out of disks for which nothing has changed."""
    if before is None or disks is None:
        return {}
    return {
        disk.name: (space, usable)
        for disk, space, usable in zip(node.disks, before.disks, before.usable, strict=False)
        if space.disk is disk and disk.id not in disks and space.schedule is None
    }


def _differently_turned_away(
    before: NodeSpace | None, after: NodeSpace | None
) -> Iterator[Replica]:
    """Yield the replicas that a node turns away and did not before, or the reverse."""
    old = before.turned_away if before is not None else {}
    new = after.turned_away if after is not None else {}
    for name in old.keys() | new.keys():
        if old.get(name) != new.get(name):
            yield from (each[name] for each in (old, new) if name in each)


def _name_of(replica: Replica) -> ReplicaName:
    return replica.name
