"""How one replica is moved: what makes Longhorn take the disk that it is to go to.

While it moves its volume has one replica more than it wants, and never one less. Where Longhorn
puts that one its own search says, played here (`longhorn.find_candidates`). The volume asks for one
more; if that alone does not lead to the target, the target has a tag meanwhile that only this
volume asks for. If others of the volume are too near, it allows that meanwhile.

Nor does Longhorn itself move replicas of the volume meanwhile: one of locality best-effort or with
auto-balance deletes what there is too much by a choice of its own (longhorn-manager
controller/volume_controller.go cleanupExtraHealthyReplicas), so that both are off. The webhook lets
all this be changed while a volume is attached (webhook/resources/volume/validator.go Update).
"""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime

import msgspec
from msgspec import structs

from longhorn import (
    BackingImage,
    Candidate,
    DiskSpace,
    Locality,
    NodeDisks,
    NodeName,
    Replica,
    ReplicaName,
    Settings,
    Volume,
    VolumeName,
    choices,
    find_candidates,
    new_replica,
)

_LONG_AGO = datetime(1970, 1, 1, tzinfo=UTC)
"""No volume here waits for a failed replica, whatever the time."""
_ALLOWED: Sequence[Mapping[str, bool]] = (
    {},
    {"zone_soft_anti_affinity": True},
    {"soft_anti_affinity": True},
    {"zone_soft_anti_affinity": True, "soft_anti_affinity": True},
)
"""What a volume may have to allow meanwhile, the least first."""


class Move(msgspec.Struct, frozen=True, kw_only=True):
    """A replica, and where it is to go."""

    replica: Replica
    target: Candidate
    volume: Volume
    """As it is before and after."""
    meanwhile: Volume
    """As it is to be while it has one replica more."""
    copied_bytes: int
    is_nominal: bool
    """Whether its size counts, as it is not known what is written."""

    @property
    def new(self) -> Replica:
        """The replica that takes the place of the old one; Longhorn will call it otherwise."""
        name, at = ReplicaName(f"{self.replica.name}-moved"), self.target
        return structs.replace(self.replica, name=name, node=at.node, disk=at.disk)

    @property
    def tags(self) -> tuple[str, ...]:
        """Tags that the target must have meanwhile besides its own: one or none."""
        return self.meanwhile.disk_selector[len(self.volume.disk_selector) :]


class Storage(msgspec.Struct, frozen=True, kw_only=True):
    """Disks and replicas, as the moves so far have left them."""

    settings: Settings
    backing_images: Mapping[str, BackingImage]
    spaces: dict[NodeName, NodeDisks]
    replicas: dict[VolumeName, tuple[Replica, ...]]
    tag: str
    """That no disk has."""
    moved: set[ReplicaName]
    """New ones; what they are called is not known yet."""

    def disk(self, at: Candidate) -> DiskSpace:
        """Return a disk."""
        return next(each for each in self.spaces[at.node].disks if each.disk.id == at.disk)

    def zone(self, node: NodeName) -> str:
        """Return the zone of a node."""
        return self.spaces[node].node.zone

    def image_bytes(self, volume: Volume, at: Candidate) -> int:
        """Return what a copy of a volume's backing image takes of a disk that has none."""
        image, space = self.backing_images.get(volume.backing_image or ""), self.disk(at)
        if image is None or image.name in {*space.disk.listed_images, *space.unlisted_images}:
            return 0
        return image.size_bytes


def place_of(replica: Replica) -> Candidate:
    """Return where a replica is that is placed."""
    assert replica.node is not None
    assert replica.disk is not None
    return Candidate(replica.node, replica.disk)


def way(replica: Replica, target: Candidate, volume: Volume, storage: Storage) -> Move | None:
    """Return the move of a replica with the tag, None if Longhorn refuses the target even so.

    As no other disk has the tag, only the nodes with replicas of the volume matter to its search.
    """
    nodes = (place_of(each).node for each in storage.replicas[volume.name])
    near = {name: storage.spaces[name] for name in nodes}
    near[target.node] = _tagged(target, storage)
    is_balanced = (volume.auto_balance or storage.settings.auto_balance) != "disabled"
    calm = structs.replace(
        volume,
        wanted_replicas=volume.wanted_replicas + 1,
        locality=Locality.DISABLED,
        auto_balance="disabled" if is_balanced else volume.auto_balance,
        disk_selector=(*volume.disk_selector, storage.tag),
    )
    for allowed in _ALLOWED:
        meanwhile = structs.replace(calm, **allowed)
        if _leads_to(target, meanwhile, structs.replace(storage, spaces=near)):
            image_bytes = storage.image_bytes(volume, target)
            return Move(
                replica=replica,
                target=target,
                volume=volume,
                meanwhile=meanwhile,
                copied_bytes=(volume.actual_bytes or volume.size_bytes) + image_bytes,
                is_nominal=not volume.actual_bytes,
            )
    return None


def simplest(move: Move, storage: Storage) -> Move:
    """Return a move without the tag, if Longhorn takes the target by itself."""
    plain = structs.replace(move.meanwhile, disk_selector=move.volume.disk_selector)
    is_sure = storage.settings.chooses_by_balance and _leads_to(move.target, plain, storage)
    return structs.replace(move, meanwhile=plain) if is_sure else move


def make(move: Move, storage: Storage) -> None:
    """Make a move: the disks change, and the volume has a new replica in place of the old."""
    old, new, volume, target = move.replica, move.new, move.volume, move.target
    source, space = place_of(old), storage.disk(place_of(old))
    disk = structs.replace(
        space.disk,
        listed={name: size for name, size in space.disk.listed.items() if name != old.name},
        available_bytes=space.disk.available_bytes + volume.actual_bytes,
    )
    unlisted = {name: size for name, size in space.unlisted.items() if name != old.name}
    _put(source, structs.replace(space, disk=disk, unlisted=unlisted), -old.size_bytes, storage)
    space, image_bytes = storage.disk(target), storage.image_bytes(volume, target)
    images = {volume.backing_image: image_bytes} if volume.backing_image and image_bytes else {}
    disk = structs.replace(
        space.disk,
        listed={**space.disk.listed, new.name: new.size_bytes},
        listed_images={**space.disk.listed_images, **images},
        available_bytes=max(0, space.disk.available_bytes - move.copied_bytes),
    )
    _put(target, structs.replace(space, disk=disk), new.size_bytes + image_bytes, storage)
    kept = [each for each in storage.replicas[volume.name] if each.name != old.name]
    storage.replicas[volume.name] = (*kept, new)
    storage.moved.add(new.name)


def _leads_to(target: Candidate, volume: Volume, storage: Storage) -> bool:
    """Whether Longhorn would put one more replica of a volume on a disk, and on no other."""
    one_more = new_replica(volume, ReplicaName(f"{volume.name}-r-more"), None)
    found = find_candidates(one_more, volume, storage.replicas[volume.name], storage, _LONG_AGO)
    return choices(found, volume.size_bytes) == (target,)


def _tagged(at: Candidate, storage: Storage) -> NodeDisks:
    space = storage.disk(at)
    tags = space.disk.tags | {storage.tag}
    disk, kind = structs.replace(space.disk, tags=tags), structs.replace(space.kind, tags=tags)
    return _with_disk(at, structs.replace(space, disk=disk, kind=kind), storage)


def _put(at: Candidate, space: DiskSpace, more_bytes: int, storage: Storage) -> None:
    """Put a disk in place of the one there, with more scheduled on it."""
    scheduled_bytes = space.disk.scheduled_bytes + more_bytes
    changed = structs.replace(
        space,
        disk=structs.replace(space.disk, scheduled_bytes=scheduled_bytes),
        scheduled_bytes=space.scheduled_bytes + more_bytes,
    )
    storage.spaces[at.node] = _with_disk(at, changed, storage)


def _with_disk(at: Candidate, changed: DiskSpace, storage: Storage) -> NodeDisks:
    there = storage.spaces[at.node]
    disks = tuple(changed if each.disk.id == at.disk else each for each in there.disks)
    node = structs.replace(there.node, disks=tuple(each.disk for each in disks))
    return structs.replace(there, node=node, disks=disks)
