"""What a new replica asks of a node and its disk."""

from collections.abc import Iterable
from typing import NamedTuple

import msgspec

from longhorn.clones import Place, places_of
from longhorn.records import BackingImage, TopologyTerm, Volume
from longhorn.replicas import Replica

Selector = tuple[str, ...]


class Engine(NamedTuple):
    """What runs a replica."""

    is_v2: bool
    image: str
    """Of data engine v1; empty for v2, and if it is not known."""


class Need(msgspec.Struct, frozen=True, kw_only=True, cache_hash=True):
    """What one new replica asks of a node and its disk. Equal needs are interchangeable."""

    size_bytes: int
    actual_bytes: int
    disk_type: str
    node_selectors: tuple[Selector, ...]
    """The volume's own and that of its backing image; each must be met."""
    disk_selectors: tuple[Selector, ...]
    topology: tuple[TopologyTerm, ...]
    engine_image: str = ""
    """What it runs; empty for data engine v2, and if that is not known."""
    places: frozenset[Place] | None = None
    """The only disks that it may go to; None if there is no such limit."""

    @property
    def engine(self) -> Engine:
        """What a replica runs."""
        return Engine(self.disk_type == "block", self.engine_image)


def need_of(
    volume: Volume,
    image: BackingImage | None,
    replicas: Iterable[Replica] = (),
    placing: Replica | None = None,
) -> Need:
    """Say what a replica of *volume* asks for that is to be placed, or a shard.

    Args:
        volume: The volume.
        image: Its backing image.
        replicas: Of a linked clone, its own and those of the volume that it shares data with.
        placing: The replica, if it matters which one it is (`places_of`).
    """
    images = (image,) if image else ()
    return Need(
        size_bytes=volume.replica_bytes,
        actual_bytes=volume.actual_bytes,
        disk_type=volume.disk_type,
        node_selectors=(volume.node_selector, *(i.node_selector for i in images)),
        disk_selectors=(volume.disk_selector, *(i.disk_selector for i in images)),
        topology=volume.topology,
        engine_image=engine_of(volume).image,
        places=places_of(volume, replicas, placing),
    )


def engine_of(volume: Volume) -> Engine:
    """Return what runs the replicas of a volume."""
    image = "" if volume.is_v2 else volume.current_image or volume.engine_image
    return Engine(volume.is_v2, image)


def tags_match(tags: frozenset[str], selector: Selector, *, allow_empty: bool) -> bool:
    """Say whether *tags* meet *selector*: all of it, case-sensitive, nothing trimmed.

    An empty selector meets anything if *allow_empty*, else only what has no tags.

    Source: longhorn-manager types.IsSelectorsInTags.
    """
    if not selector:
        return allow_empty or not tags
    return tags.issuperset(selector)


def all_match(tags: frozenset[str], selectors: Iterable[Selector], *, allow_empty: bool) -> bool:
    """Say whether *tags* meet each of *selectors*."""
    return all(tags_match(tags, each, allow_empty=allow_empty) for each in selectors)


def split_tags(text: str) -> Selector:
    """Read the selector of a StorageClass: not trimmed, so that "a, b" asks for a tag " b".

    Source: longhorn-manager csi/util.go getVolumeOptions.
    """
    return tuple(text.split(","))
