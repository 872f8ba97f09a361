"""All records that decisions rest on, and which of them refer to what."""

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from typing import Any, Generic, TypeGuard, TypeVar, get_args

from extender.kubernetes import Claim, CsiNode, EngineOptOut, PersistentVolume, StorageClass
from longhorn import (
    BackingImage,
    DiskId,
    DiskSchedule,
    EngineImage,
    InstanceManager,
    InstanceManagerUpgrade,
    Node,
    NodeName,
    Replica,
    Setting,
    Shard,
    Unreadable,
    Volume,
    VolumeName,
    paused_by,
)

Key = TypeVar("Key")
Kept = TypeVar("Kept")
Record = (
    BackingImage | Claim | CsiNode | DiskSchedule | EngineImage | EngineOptOut | InstanceManager
    | InstanceManagerUpgrade | Node | PersistentVolume | Replica | Setting | Shard | StorageClass
    | Unreadable | Volume
)  # fmt: skip
"""What decisions rest on."""


class Index(Generic[Key, Kept]):
    """Records by what they refer to. What none refers to is not in it."""

    def __init__(self, referred: Callable[[Kept], Iterable[Key]]) -> None:
        self._referred = referred
        self._found: dict[Key, dict[Any, Kept]] = {}

    def of(self, key: Key) -> Collection[Kept]:
        """Return the records that refer to *key*."""
        return self._found.get(key, _NOTHING).values()

    def keys(self) -> Collection[Key]:
        """Return what some record refers to; it is the same collection each time."""
        return self._found.keys()

    def add(self, name: Any, record: Kept) -> None:
        """Add a record by its name."""
        for key in self._referred(record):
            self._found.setdefault(key, {})[name] = record

    def remove(self, name: Any, record: Kept) -> None:
        """Remove a record that was added."""
        for key in self._referred(record):
            found = self._found[key]
            del found[name]
            if not found:
                del self._found[key]


class Records:
    """All records.

    Attributes:
        replicas_on: Those on each disk of a node; with None for the disk, those bound to the node
            and not placed yet.
        schedules_on: Those that name each node, whether or not it has such a disk.
        paused: By volumes that get no new replica while a live upgrade is under way.
        broken_of: Replicas of each volume that cannot be read.
        broken_kinds: What cannot be read of each kind.
        broken_on: What cannot be read and belongs to each node.
    """

    def __init__(self) -> None:
        self._records: defaultdict[type, dict[Any, Any]] = defaultdict(dict)
        self.replicas_of = Index[VolumeName, Replica](lambda replica: (replica.volume,))
        self.replicas_on = Index[tuple[NodeName, DiskId | None], Replica](_place_of)
        self.schedules_on = Index[NodeName, DiskSchedule](lambda schedule: (schedule.node,))
        self.managers_on = Index[NodeName, InstanceManager](lambda manager: (manager.node,))
        self.paused = Index[VolumeName, InstanceManagerUpgrade](paused_by)
        self.volumes_from = Index[str, Volume](lambda volume: _if_any(volume.backing_image))
        self.clones_of = Index[VolumeName, Volume](lambda volume: _if_any(volume.linked_to))
        self.broken_of = Index[VolumeName, Unreadable](lambda broken: _if_any(broken.volume))
        self.broken_kinds = Index[str, Unreadable](lambda broken: (broken.kind,))
        self.broken_on = Index[NodeName, Unreadable](lambda broken: {*broken.nodes})
        self.with_node_tag = Index[str, Node](lambda node: node.tags)
        self.with_disk_tag = Index[str, Node](
            lambda node: {tag for disk in node.disks for tag in disk.tags}
        )
        self._indexes: Mapping[type, tuple[Index[Any, Any], ...]] = {
            Replica: (self.replicas_of, self.replicas_on),
            Shard: (self.replicas_of, self.replicas_on),
            DiskSchedule: (self.schedules_on,),
            InstanceManager: (self.managers_on,),
            InstanceManagerUpgrade: (self.paused,),
            Volume: (self.volumes_from, self.clones_of),
            Unreadable: (self.broken_of, self.broken_on, self.broken_kinds),
            Node: (self.with_node_tag, self.with_disk_tag),
        }

    def all(self, type_: type[Kept]) -> dict[Any, Kept]:
        """Return all records of a type, by `key_of`; it is the same mapping each time."""
        return self._records[type_]

    def knows(self, kind: type[CsiNode | EngineImage | InstanceManager]) -> bool:
        """Say whether the objects of a kind tell what runs where.

        They do not if there is none: then it is not served, or may not be read. Nor do they if one
        of them cannot be read.
        """
        return bool(self.all(kind)) and not self.broken_kinds.of(_LABELS[kind])

    def add(self, record: Record) -> None:
        """Add a record."""
        name = key_of(record)
        self._records[type(record)][name] = record
        for index in self._indexes.get(type(record), ()):
            index.add(name, record)

    def remove(self, record: Record) -> None:
        """Remove a record that was added."""
        name = key_of(record)
        del self._records[type(record)][name]
        for index in self._indexes.get(type(record), ()):
            index.remove(name, record)


def is_record(value: object) -> TypeGuard[Record]:
    """Say whether decisions rest on *value*, and not on None or another kind of record."""
    return type(value) in _RECORDS  # ten times as fast as to ask whether it is an instance


def key_of(record: Record) -> Any:
    """Return what other objects refer to a record by."""
    match record:
        case Claim():
            return record.key
        case Unreadable():
            return record.kind, record.name
    return record.name


def put(mapping: dict[Key, Kept], key: Key, value: Kept | None) -> bool:
    """Have *mapping* give *value*, None for nothing; return whether that is another one."""
    if mapping.get(key) == value:
        return False
    if value is None:
        del mapping[key]
    else:
        mapping[key] = value
    return True


class Unread:
    """Objects that exist but could not be read.

    Attributes:
        objects: Why, by their kind and name.
        replicas: Volumes of which some replica could not be read, and why.
        nodes: Those that such an object belongs to, so that what they have left is unknown.
    """

    def __init__(self, records: Records) -> None:
        self._records = records
        self.objects: dict[tuple[str, str], str] = {}
        self.replicas: dict[VolumeName, str] = {}
        self.nodes: set[NodeName] = set()

    def note(self, record: Unreadable) -> Iterator[NodeName]:
        """Note that *record* has come or gone; yield the nodes for which that is another state."""
        found = self._records.all(Unreadable).get(key_of(record))
        put(self.objects, key_of(record), None if found is None else found.why)
        if record.volume is not None:
            last = max(self._records.broken_of.of(record.volume), key=key_of, default=None)
            why = None if last is None else f"its Replica {last.name} cannot be read: {last.why}"
            put(self.replicas, record.volume, why)
        for node in record.nodes:
            yield from self.note_node(node)

    def note_node(self, node: NodeName) -> Iterator[NodeName]:
        """Note that *node* has come or gone; yield it if it is in another state than before."""
        is_unreadable = any(
            each.kind != "Node" or node not in self._records.all(Node)  # read in another version
            for each in self._records.broken_on.of(node)
        )
        if is_unreadable != (node in self.nodes):
            self.nodes ^= {node}
            yield node


def _place_of(replica: Replica) -> tuple[tuple[NodeName, DiskId | None], ...]:
    if replica.node is not None:
        return ((replica.node, replica.disk),)
    return () if replica.hard_node_affinity is None else ((replica.hard_node_affinity, None),)


def _if_any(value: Key | None) -> tuple[Key, ...]:
    return () if value is None else (value,)


_LABELS = {CsiNode: "CSINode", EngineImage: "EngineImage", InstanceManager: "InstanceManager"}
_RECORDS = frozenset(get_args(Record))
_NOTHING: Mapping[Any, Any] = {}
