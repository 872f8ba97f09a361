"""From records to the view that decisions work on, kept up to date record by record.

Changes are applied at once and settled later: a node's space is worked out again only when
something that it depends on has changed, however many nodes there are.
"""

from bisect import bisect_left, insort
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from typing import Any, TypeVar

from extender.kubernetes import Claim, PersistentVolume, StorageClass, Unreadable
from extender.space import NodeSpace, node_space
from extender.view import ChangeLog, ClusterView
from longhorn import (
    NOTHING_DUE,
    SCHEDULER_SETTINGS,
    BackingImage,
    DiskId,
    DiskKind,
    DiskSchedule,
    Due,
    Node,
    NodeName,
    Replica,
    ReplicaName,
    Setting,
    Settings,
    UnreadableSetting,
    Volume,
    VolumeName,
    due_replicas,
    expanded_bytes,
    read_settings,
)

Kept = TypeVar("Kept")
Record = (
    BackingImage
    | Claim
    | DiskSchedule
    | Node
    | PersistentVolume
    | Replica
    | Setting
    | StorageClass
    | Unreadable
    | Volume
)
"""What decisions rest on."""


class ViewBuilder:
    """Keeps a `ClusterView` that equals one built from the same records."""

    def __init__(self) -> None:
        self._records: defaultdict[type, dict[Any, Any]] = defaultdict(dict)
        self._nodes = self.of(Node)
        self._unreadable = self.of(Unreadable)
        self._of_node: defaultdict[NodeName, dict[ReplicaName, Replica]] = defaultdict(dict)
        """The replicas placed on a node, or bound to it and not placed yet."""
        self._schedules: defaultdict[NodeName, dict[DiskId, DiskSchedule]] = defaultdict(dict)
        """Those that name a node, whether or not it has such a disk."""
        self._replicas: dict[VolumeName, list[Replica]] = {}
        """Of each volume, by name; those that their disk turned away as not placed."""
        self._turned_away: dict[NodeName, set[ReplicaName]] = {}
        """Of each node that has such replicas, as last settled."""
        self._due: dict[VolumeName, Due] = {}
        self._expanded: dict[VolumeName, int] = {}
        """The size of volumes whose Replica objects are still smaller."""
        self._images: dict[VolumeName, BackingImage] = {}
        """The backing images of volumes, as far as they are known."""
        self._settings: dict[str, str] = {}
        self._spaces: dict[NodeName, NodeSpace] = {}
        self._kinds: dict[DiskKind, int] = {}
        self._node_tags: Counter[str] = Counter()
        self._disk_tags: Counter[str] = Counter()
        self._changes = ChangeLog[NodeName]()
        self._volume_changes = ChangeLog[VolumeName]()
        self._dirty: set[NodeName] = set()
        """Nodes whose space must be worked out again."""
        self._dirty_volumes: set[VolumeName] = set()
        """Volumes of which it must be found out again what is due and what it takes of disks."""
        self._dirty_images: set[str] = set()
        """Backing images whose volumes are such."""
        self._is_outdated = True
        """Whether the view needs more than its mappings brought up to date."""
        self.view = self._new_view(read_settings({}))
        """As of the last time it was settled. Its mappings are changed in place meanwhile."""

    def of(self, type_: type[Kept]) -> dict[Any, Kept]:
        """Return all records of a type, by `key_of`; it is the same mapping each time."""
        return self._records[type_]

    def apply(self, old: object, new: object) -> None:
        """Apply the change of one object.

        Args:
            old: Its record so far, None if it did not exist. Records that no decision rests on are
                passed over.
            new: Its record from now on, None if it is gone.
        """
        if isinstance(old, Record):
            del self._records[type(old)][key_of(old)]
            self._unindex(old)
        if isinstance(new, Record):
            self._records[type(new)][key_of(new)] = new
            self._index(new)
        for each in (old, new):
            if isinstance(each, BackingImage):
                self._dirty_images.add(each.name)

    def settle(self) -> None:
        """Bring the view up to date with all changes applied."""
        if self._is_outdated:
            self._begin_view()
        if self._dirty_images:
            volumes = self.of(Volume).values()
            self._dirty_volumes.update(
                each.name for each in volumes if each.backing_image in self._dirty_images
            )
            self._dirty_images.clear()
        self._settle_volumes()
        for name in sorted(self._dirty):
            self._settle_node(name)
        self._dirty.clear()
        # What disks turned away is due again. That changes what volumes need, and no disk.
        self._settle_volumes()

    def _begin_view(self) -> None:
        """Begin a view on which nothing was decided yet."""
        self._is_outdated = False
        self._changes.cut()
        self._volume_changes.cut()
        previous = self.view
        self.view = self._new_view(self._longhorn_settings())
        if self.view.settings != previous.settings:
            self._dirty.update(self._nodes)
            self._dirty_volumes.update(self.of(Volume))
        self._dirty.update(set(previous.unreadable_nodes) ^ set(self.view.unreadable_nodes))

    def _settle_node(self, name: NodeName) -> None:
        node = self._nodes.get(name)
        if node is None or name in self.view.unreadable_nodes:
            self._turn_away(name, {})
            if self._spaces.pop(name, None) is not None:
                self._changes.add(name)
            return
        space = node_space(
            node,
            self._of_node.get(name, {}).values(),
            self.view.settings,
            self._kinds,
            self._expanded,
            self._images,
            self._schedules.get(name),
        )
        self._turn_away(name, space.turned_away)
        if space != self._spaces.get(name):
            self._spaces[name] = space
            self._changes.add(name)

    def _turn_away(self, node: NodeName, replicas: Mapping[ReplicaName, Replica]) -> None:
        """Show *replicas* as they are given, and those turned away before as they are known."""
        before = self._turned_away.pop(node, set())
        if replicas:
            self._turned_away[node] = {*replicas}
        here = self._of_node.get(node, {})
        for name in before | replicas.keys():
            known = here.get(name)
            if known is None:  # it is elsewhere or gone; its next node shows it
                continue
            shown = replicas.get(name, known)
            of_volume = self._replicas[known.volume]
            index = bisect_left(of_volume, name, key=_name_of)
            if of_volume[index] != shown:
                of_volume[index] = shown
                self._dirty_volumes.add(known.volume)

    def _settle_volumes(self) -> None:
        for volume in self._dirty_volumes:
            self._settle_volume(volume)
        self._dirty_volumes.clear()

    def _settle_volume(self, name: VolumeName) -> None:
        self._volume_changes.add(name)
        volume, settings = self.of(Volume).get(name), self.view.settings
        replicas = self._replicas.get(name, ())
        due = NOTHING_DUE
        if volume is not None and isinstance(settings, Settings):
            due = due_replicas(volume, replicas, settings)
        if due == NOTHING_DUE:
            self._due.pop(name, None)
        else:
            self._due[name] = due
        expanded = expanded_bytes(volume, replicas)
        image = None
        if volume is not None and not volume.deleting and volume.backing_image is not None:
            image = self.of(BackingImage).get(volume.backing_image)
        before = self._expanded.pop(name, 0), self._images.pop(name, None)
        if before != (expanded, image):
            self._dirty.update(each.node for each in replicas if each.node is not None)
        if expanded:
            self._expanded[name] = expanded
        if image is not None:
            self._images[name] = image

    def _new_view(self, settings: Settings | UnreadableSetting) -> ClusterView:
        broken = [each for _, each in sorted(self._unreadable.items())]
        return ClusterView(
            claims=self.of(Claim),
            persistent_volumes=self.of(PersistentVolume),
            storage_classes=self.of(StorageClass),
            volumes=self.of(Volume),
            backing_images=self.of(BackingImage),
            replicas=self._replicas,
            due=self._due,
            spaces=self._spaces,
            disk_kinds=self._kinds,
            settings=settings,
            setting_values=self._settings,
            node_tags=self._node_tags.keys(),
            disk_tags=self._disk_tags.keys(),
            changes=self._changes,
            volume_changes=self._volume_changes,
            unreadable={(each.kind, each.name): each.why for each in broken},
            unreadable_replicas={
                each.volume: f"its Replica {each.name} cannot be read: {each.why}"
                for each in broken
                if each.volume is not None
            },
            unreadable_nodes={
                node
                for each in broken
                for node in each.nodes
                if each.kind != "Node" or node not in self._nodes  # read in another version
            },
        )

    def _longhorn_settings(self) -> Settings | UnreadableSetting:
        for kind, name in sorted(self._unreadable):
            if kind == "Setting" and name in SCHEDULER_SETTINGS:
                return UnreadableSetting(name=name)
        return read_settings(self._settings)

    def _index(self, record: Record) -> None:
        """Add a record to the indexes, if the view has more than its mapping by key."""
        match record:
            case Replica():
                insort(self._replicas.setdefault(record.volume, []), record, key=_name_of)
                self._dirty_volumes.add(record.volume)
                node = record.node or record.hard_node_affinity
                if node is not None:
                    self._of_node[node][record.name] = record
                    self._dirty.add(node)
            case DiskSchedule():
                self._schedules[record.node][record.name] = record
                self._dirty.add(record.node)
            case Volume():
                self._dirty_volumes.add(record.name)
            case Node():
                self._node_tags.update(record.tags)
                for disk in record.disks:
                    self._disk_tags.update(disk.tags)
                self._dirty.add(record.name)
                self._is_outdated |= ("Node", record.name) in self._unreadable
            case Setting():
                self._settings[record.name] = record.value
                self._is_outdated |= record.name in SCHEDULER_SETTINGS
            case Unreadable():
                self._is_outdated = True

    def _unindex(self, record: Record) -> None:
        match record:
            case Replica():
                of_volume = self._replicas[record.volume]
                del of_volume[bisect_left(of_volume, record.name, key=_name_of)]
                self._dirty_volumes.add(record.volume)
                if not of_volume:
                    del self._replicas[record.volume]
                node = record.node or record.hard_node_affinity
                if node is not None:
                    del self._of_node[node][record.name]
                    self._dirty.add(node)
            case DiskSchedule():
                del self._schedules[record.node][record.name]
                self._dirty.add(record.node)
            case Volume():
                self._dirty_volumes.add(record.name)
            case Node():
                _subtract(self._node_tags, record.tags)
                for disk in record.disks:
                    _subtract(self._disk_tags, disk.tags)
                self._dirty.add(record.name)
                self._is_outdated |= ("Node", record.name) in self._unreadable
            case Setting():
                del self._settings[record.name]
                self._is_outdated |= record.name in SCHEDULER_SETTINGS
            case Unreadable():
                self._is_outdated = True


def key_of(record: Record) -> Any:
    """Return what other objects refer to a record by."""
    match record:
        case Claim():
            return record.key
        case Unreadable():
            return record.kind, record.name
    return record.name


def _name_of(replica: Replica) -> ReplicaName:
    return replica.name


def _subtract(tally: Counter[str], tags: Iterable[str]) -> None:
    for tag in tags:
        tally[tag] -= 1
        if not tally[tag]:
            del tally[tag]
