"""From records to the view that decisions work on, kept up to date record by record.

Changes are applied at once and settled later: a node's space is worked out again only when
something that it depends on has changed, however many nodes there are. What the change of one
object makes of its node and its volume is settled in one go: a hold may end because of it. What may
concern all nodes or volumes is settled piece by piece, so that the caller can give way in between:
whatever there is at first, what a changed setting of Longhorn's makes of it, and the volumes of a
changed backing image.

While pieces are left, decisions go on. The view has the new settings from the beginning, so that
nothing is placed any more if they cannot be read. A node or a volume that is not worked out yet is
as the old settings made it, as if the change had been heard of a moment later there; what changes
meanwhile is worked out with the new ones. Volumes come before nodes, so that no node has new room
while it is not known what is due.
"""

from collections.abc import Collection, Iterable
from itertools import islice
from typing import Any, TypeVar

from extender.derived import Derived, DirtySet
from extender.kubernetes import Claim, CsiNode, EngineOptOut, PersistentVolume, StorageClass
from extender.records import Record, Records, Unread, is_record, key_of, put
from extender.view import ChangeLog, ClusterView
from longhorn import (
    SCHEDULER_SETTINGS,
    BackingImage,
    DiskSchedule,
    EngineImage,
    InstanceManager,
    InstanceManagerUpgrade,
    Node,
    NodeName,
    Replica,
    Setting,
    Settings,
    Unreadable,
    Volume,
    VolumeName,
    read_settings,
)

Kept = TypeVar("Kept")

_TELLING = (CsiNode, EngineImage, InstanceManager, Unreadable)
"""Whose coming and going may change whether anything is known of what runs on nodes."""
NODES_AT_ONCE, VOLUMES_AT_ONCE = 50, 500
"""So many are a piece: some 5 ms."""


class ViewBuilder:
    """Keeps a `ClusterView` that equals one built from the same records."""

    def __init__(self) -> None:
        self._records = Records()
        self._derived = Derived(self._records)
        self._setting_values: dict[str, str] = {}
        self._unread = Unread(self._records)
        self._changes = ChangeLog[NodeName]()
        self._volume_changes = ChangeLog[VolumeName]()
        self._kinds: set[type] = set()
        """Those whose objects tell what runs on nodes."""
        self._at_once, self._in_pieces = DirtySet(), DirtySet()
        self._is_outdated = True
        """Whether the view needs more than its mappings brought up to date."""
        self.view = self._new_view(Settings(unreadable=""))
        """As of the last time it was settled. Its mappings are changed in place meanwhile."""

    @property
    def is_behind(self) -> bool:
        """Whether pieces are left."""
        return bool(self._in_pieces.volumes or self._in_pieces.nodes)

    def of(self, type_: type[Kept]) -> dict[Any, Kept]:
        """Return all records of a type, by `key_of`; it is the same mapping each time."""
        return self._records.all(type_)

    def stored(self, record: Record) -> Record | None:
        """Return the record of the type and name of *record*, None if there is none."""
        return self._records.all(type(record)).get(key_of(record))

    def apply(self, old: object, new: object) -> None:
        """Apply the change of an object: new without an *old* record, gone without a *new* one.

        Records that no decision rests on are passed over.
        """
        if is_record(old):
            self._records.remove(old)
            self._note(old)
        if is_record(new):
            self._records.add(new)
            self._note(new)
        if isinstance(old, _TELLING) or isinstance(new, _TELLING):
            self._note_kinds()  # only now: of one that changes, the old record is gone for a moment
        if isinstance(old, EngineImage) or isinstance(new, EngineImage):
            self._note_image(old, new)

    def settle(self) -> None:
        """Bring the view up to date with all changes applied."""
        self.settle_changes()
        while self.is_behind:
            self.settle_piece()

    def settle_for(self, nodes: Iterable[NodeName]) -> None:
        """Bring the view up to date for some nodes; what is in pieces of others is left."""
        self.settle_changes()
        for name in nodes:
            if name in self._in_pieces.nodes:
                self._settle_node(name, self._in_pieces)

    def settle_changes(self) -> None:
        """Bring the view up to date with the changes applied, but for what is done in pieces."""
        if self._is_outdated:
            self._begin_view()
        while self._at_once.volumes or self._at_once.nodes:
            for volume in [*self._at_once.volumes]:
                self._settle_volume(volume, self._at_once)
            # What disks turn away is due again: then its volumes are worked out once more. That
            # changes no disk, unless it was not known yet that their backing image has changed.
            for node in sorted(self._at_once.nodes):
                self._settle_node(node, self._at_once)

    def settle_piece(self) -> None:
        """Settle one of the pieces that are left."""
        volumes = [*islice(self._in_pieces.volumes, VOLUMES_AT_ONCE)]
        for volume in volumes:
            self._settle_volume(volume, self._in_pieces)
        if not volumes:
            for node in [*islice(self._in_pieces.nodes, NODES_AT_ONCE)]:
                self._settle_node(node, self._in_pieces)

    def _begin_view(self) -> None:
        """Begin a view on which nothing was decided yet."""
        self._is_outdated = False
        self._changes.cut()
        self._volume_changes.cut()
        previous = self.view.settings
        self.view = self._new_view(self._longhorn_settings())
        if self.view.settings != previous:
            volumes = {**self._at_once.volumes, **dict.fromkeys(self.of(Volume))}
            self._in_pieces.volumes.update(volumes)
            for node in sorted({*self._at_once.nodes, *self.of(Node)}):
                self._in_pieces.add_node(node)
            self._at_once = DirtySet()

    def _settle_node(self, name: NodeName, dirty: DirtySet) -> None:
        disks = self._at_once.nodes.pop(name, set())
        is_all = self._in_pieces.nodes.pop(name, None) is not None
        if self._derived.refresh_node(name, None if is_all else disks, self.view, dirty):
            self._changes.add(name)

    def _settle_volume(self, name: VolumeName, dirty: DirtySet) -> None:
        self._at_once.volumes.pop(name, None)
        self._in_pieces.volumes.pop(name, None)
        is_other = self._derived.refresh_volume(name, self.view.settings, dirty)
        if is_other or dirty is self._at_once:  # then its record may be another one
            self._volume_changes.add(name)

    def _new_view(self, settings: Settings) -> ClusterView:
        return ClusterView(
            claims=self.of(Claim),
            persistent_volumes=self.of(PersistentVolume),
            storage_classes=self.of(StorageClass),
            volumes=self.of(Volume),
            backing_images=self.of(BackingImage),
            by_running=self._derived.by_running,
            replicas=self._derived.replicas,
            due=self._derived.due,
            paused=self._records.paused.keys(),
            spaces=self._derived.spaces,
            disk_kinds=self._derived.kinds,
            settings=settings,
            setting_values=self._setting_values,
            node_tags=self._records.with_node_tag.keys(),
            disk_tags=self._records.with_disk_tag.keys(),
            changes=self._changes,
            volume_changes=self._volume_changes,
            unreadable=self._unread.objects,
            unreadable_replicas=self._unread.replicas,
            unreadable_nodes=self._unread.nodes,
        )

    def _longhorn_settings(self) -> Settings:
        for name in sorted(SCHEDULER_SETTINGS):
            if ("Setting", name) in self._unread.objects:
                return Settings(unreadable=name)
        return read_settings(self._setting_values)

    def _note_volumes(self, volumes: Iterable[Volume]) -> None:
        """Note that what these volumes are made from has changed."""
        for volume in volumes:
            self._volume_changes.add(volume.name)
            self._in_pieces.add_volume(volume.name)

    def _note(self, record: Record) -> None:
        """Note what must be settled now that *record* has come or gone."""
        match record:
            case Replica():
                self._note_replica(record)
            case DiskSchedule():
                self._at_once.add_node(record.node, record.name)
            case Volume():
                self._at_once.add_volume(record.name)
            case Node():
                self._at_once.add_node(record.name)
                self._note_readability(*self._unread.note_node(record.name))
            case BackingImage():
                self._note_volumes(self._records.volumes_from.of(record.name))
            case Setting():
                self._note_setting(record.name)
            case Unreadable():
                self._is_outdated = True
                self._note_readability(*self._unread.note(record))
            case InstanceManager() | InstanceManagerUpgrade() | CsiNode() | EngineOptOut():
                self._note_runner(record)

    def _note_setting(self, name: str) -> None:
        found = self.of(Setting).get(name)
        put(self._setting_values, name, None if found is None else found.value)
        self._is_outdated |= name in SCHEDULER_SETTINGS

    def _note_runner(
        self, record: InstanceManager | InstanceManagerUpgrade | CsiNode | EngineOptOut
    ) -> None:
        """Note what must be settled as what runs volumes on nodes is another."""
        match record:
            case InstanceManager():
                self._at_once.add_node(record.node)
            case InstanceManagerUpgrade():
                for volume in sorted(record.detaching):
                    self._at_once.add_volume(volume)
            case CsiNode() | EngineOptOut():
                self._at_once.add_node(record.name)

    def _note_replica(self, replica: Replica) -> None:
        self._at_once.add_volume(replica.volume)
        self._note_volumes(self._records.clones_of.of(replica.volume))
        node = replica.node or replica.hard_node_affinity
        if node is not None:
            self._at_once.add_node(node, replica.disk)

    def _note_kinds(self) -> None:
        """Note whether the objects of a kind tell of nodes, and did not before, or the reverse."""
        for kind in (CsiNode, EngineImage, InstanceManager):
            if self._records.knows(kind) != (kind in self._kinds):
                self._kinds ^= {kind}
                self._note_nodes(self.of(Node))

    def _note_image(self, old: object, new: object) -> None:
        """Note where an engine image is ready now and was not, or the reverse."""
        if isinstance(old, EngineImage) and isinstance(new, EngineImage) and old.image == new.image:
            self._note_nodes(old.nodes ^ new.nodes)
        else:
            self._note_nodes(self.of(Node))

    def _note_nodes(self, names: Collection[NodeName]) -> None:
        """Note that something else runs on nodes, on all of them or on few."""
        dirty = self._at_once if len(names) <= NODES_AT_ONCE else self._in_pieces
        for name in sorted(names):
            dirty.add_node(name)

    def _note_readability(self, *nodes: NodeName) -> None:
        """Note that nodes can be read now and could not, or the reverse."""
        for node in nodes:
            self._at_once.add_node(node)
            self._is_outdated = True
