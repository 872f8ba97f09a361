"""The cluster at one moment, what has changed in it, and what is kept as long as that allows."""

from collections.abc import Callable, Collection, Hashable, Iterator, Mapping, Sequence
from typing import Generic, TypeVar

import msgspec

from extender.errors import ClaimProblem, UnresolvableClaimError, UnseenObjectError
from extender.kubernetes import Claim, ClaimKey, PersistentVolume, StorageClass
from extender.records import Index
from extender.space import NodeSpace
from longhorn import (
    BackingImage,
    DiskKind,
    Due,
    Engines,
    NodeName,
    Replica,
    Settings,
    Volume,
    VolumeName,
)

Key = TypeVar("Key", bound=Hashable)
Kept = TypeVar("Kept")
Name = TypeVar("Name", bound=str)

MOST_CHANGES = 10_000
"""So many changes are kept at least, and twice as many at most. A reader that is further behind is
told that everything changed."""
Running = tuple[Engines, bool]
"""What runs on a node, and whether Longhorn's manager is ready there."""


class Cursor(msgspec.Struct, frozen=True):
    """How far somebody has read a `ChangeLog`."""

    era: object
    position: int


class ChangeLog(Generic[Name]):
    """The names of objects that were changed or removed, in order.

    Whoever remembers something about such objects keeps a cursor, and asks what has changed since.
    For a cursor of another log, or one that is too old, everything may have changed.
    """

    def __init__(self) -> None:
        self._names: list[Name] = []
        self._first = 0
        """The position of the first name that is kept."""
        self._era = object()

    def add(self, name: Name) -> None:
        """Note that the object *name* was changed or removed."""
        if len(self._names) == 2 * MOST_CHANGES:
            del self._names[:MOST_CHANGES]
            self._first += MOST_CHANGES
        self._names.append(name)

    def cut(self) -> None:
        """Drop all entries, and have every reader learn that everything may have changed."""
        self._names, self._first, self._era = [], 0, object()

    def since(self, cursor: Cursor | None) -> tuple[Sequence[Name] | None, Cursor]:
        """Return what has changed since *cursor*, and the cursor to ask with the next time.

        The changes are None if everything may have changed, also for a reader without a cursor.
        """
        now = Cursor(self._era, self._first + len(self._names))
        if cursor is None or cursor.era is not self._era or cursor.position < self._first:
            return None, now
        return self._names[cursor.position - self._first :], now


class VersionedCache(Generic[Key, Kept]):
    """Keeps something for each key, with how far a log of changes had come when it was up to date.

    Between two questions with the same key, little has changed as a rule, and whoever asks takes
    that in. What was asked for longest ago goes once there are more than *most*.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._kept: dict[Key, tuple[Kept, Cursor]] = {}

    def __iter__(self) -> Iterator[Key]:
        return iter([*self._kept])

    def get(
        self, key: Key, log: ChangeLog[Name], new: Callable[[], Kept]
    ) -> tuple[Kept, Sequence[Name]]:
        """Return what is kept for *key*, and the objects that have changed since it was asked for.

        The caller takes these in. If nothing is kept, or everything may have changed, *new* makes
        it, and there are none.
        """
        found = self._kept.pop(key, None)
        changed, now = log.since(None if found is None else found[1])
        if found is None or changed is None:
            kept, changed = new(), ()
        else:
            kept = found[0]
        self._kept[key] = kept, now
        if len(self._kept) > self._most:
            del self._kept[next(iter(self._kept))]
        return kept, changed


class ClusterView(msgspec.Struct, frozen=True, kw_only=True):
    """What decisions work on. Nobody changes it while a decision is made."""

    claims: Mapping[ClaimKey, Claim]
    persistent_volumes: Mapping[str, PersistentVolume]
    storage_classes: Mapping[str, StorageClass]
    volumes: Mapping[VolumeName, Volume]
    backing_images: Mapping[str, BackingImage]
    replicas: Mapping[VolumeName, Sequence[Replica]]
    due: Mapping[VolumeName, Due]
    """Volumes of which Longhorn is about to place replicas, as its objects show, and which."""
    paused: Collection[VolumeName]
    """Those of which some replicas are detached by plan, so that it makes none."""
    spaces: Mapping[NodeName, NodeSpace]
    by_running: Index[Running, NodeSpace]
    """The same by what runs there: whether volumes can be attached follows from that alone."""
    disk_kinds: Mapping[DiskKind, int]
    settings: Settings
    setting_values: Mapping[str, str]
    """The values of Longhorn's settings as written; absent ones have their default."""
    node_tags: Collection[str]
    """Every tag that some Longhorn node has."""
    disk_tags: Collection[str]
    """Every tag that some disk has."""
    changes: ChangeLog[NodeName] = msgspec.field(default_factory=ChangeLog)
    """The nodes whose space has changed; shared by the views of one cluster that follow each other.
    """
    volume_changes: ChangeLog[VolumeName] = msgspec.field(default_factory=ChangeLog)
    """The volumes of which the record, a replica, the backing image, or what is due has changed;
    shared like *changes*."""
    unreadable: Mapping[tuple[str, str], str] = msgspec.field(default_factory=dict)
    """Kind and name of objects that exist but could not be read, and why."""
    unreadable_replicas: Mapping[VolumeName, str] = msgspec.field(default_factory=dict)
    """Volumes of which some replica could not be read, and why."""
    unreadable_nodes: Collection[NodeName] = frozenset()
    """Nodes that an unreadable object belongs to, so that what they have left is unknown."""


def running_on(space: NodeSpace) -> Running:
    """Say what runs on a node."""
    return space.engines, space.node.ready.is_true


def find(kind: str, name: Name, objects: Mapping[Name, Kept], view: ClusterView) -> Kept:
    """Return an object that another one names.

    Raises:
        UnresolvableClaimError: It is not there, or cannot be read.
    """
    found = objects.get(name)
    if found is not None:
        return found
    unreadable = view.unreadable.get((kind, name))
    if unreadable is not None:
        raise UnresolvableClaimError(
            ClaimProblem.UNREADABLE, kind, name, "cannot be read", unreadable
        )
    raise UnseenObjectError(
        ClaimProblem.NOT_FOUND,
        kind,
        name,
        "is not in the cluster",
        "create it, or wait until the extender has seen it",
    )
