"""The cluster at one moment, indexed by what a decision asks for."""

from collections.abc import Collection, Mapping, Sequence

import msgspec

from extender.kubernetes import Claim, ClaimKey, PersistentVolume, StorageClass
from extender.space import NodeSpace
from longhorn import (
    BackingImage,
    DiskKind,
    NodeName,
    Replica,
    Settings,
    UnreadableSetting,
    Volume,
    VolumeName,
)


class ClusterView(msgspec.Struct, frozen=True, kw_only=True):
    """What decisions work on. Nobody changes it while a decision is made."""

    claims: Mapping[ClaimKey, Claim]
    persistent_volumes: Mapping[str, PersistentVolume]
    storage_classes: Mapping[str, StorageClass]
    volumes: Mapping[VolumeName, Volume]
    backing_images: Mapping[str, BackingImage]
    replicas: Mapping[VolumeName, Sequence[Replica]]
    spaces: Mapping[NodeName, NodeSpace]
    disk_kinds: Mapping[DiskKind, int]
    settings: Settings | UnreadableSetting
    setting_values: Mapping[str, str]
    """The values of Longhorn's settings as written; absent ones have their default."""
    node_tags: Collection[str]
    """Every tag that some Longhorn node has."""
    disk_tags: Collection[str]
    """Every tag that some disk has."""
    changes: Sequence[NodeName] = msgspec.field(default_factory=list)
    """Nodes whose space was replaced or removed since this list began. It is appended to as long
    as it is the same object; another object means that anything may have changed."""
    unreadable: Mapping[tuple[str, str], str] = msgspec.field(default_factory=dict)
    """Kind and name of objects that exist but could not be read, and why."""
    unreadable_replicas: Mapping[VolumeName, str] = msgspec.field(default_factory=dict)
    """Volumes of which some replica could not be read, and why."""
    unreadable_nodes: Collection[NodeName] = frozenset()
    """Nodes that an unreadable object belongs to, so that what they have left is unknown."""
