"""Longhorn's objects, as far as its rules read them: plain frozen records, sizes in bytes."""

from collections.abc import Mapping
from enum import StrEnum
from typing import NewType

import msgspec

NodeName = NewType("NodeName", str)
DiskName = NewType("DiskName", str)
DiskId = NewType("DiskId", str)
VolumeName = NewType("VolumeName", str)
ReplicaName = NewType("ReplicaName", str)


class Locality(StrEnum):
    """Longhorn's data locality. Anything else in a Volume means the same as disabled."""

    DISABLED = "disabled"
    BEST_EFFORT = "best-effort"
    STRICT_LOCAL = "strict-local"


class BackingImage(msgspec.Struct, frozen=True, kw_only=True):
    """A Longhorn BackingImage: its selectors bind the replicas of volumes made from it."""

    name: str
    node_selector: tuple[str, ...]
    disk_selector: tuple[str, ...]


class TopologyTerm(msgspec.Struct, frozen=True, kw_only=True):
    """One alternative of a Volume's topologyRequirement; an empty part matches any node."""

    zone: str
    region: str


class Volume(msgspec.Struct, frozen=True, kw_only=True):
    """A Longhorn Volume, existing or estimated from a claim and its StorageClass."""

    name: VolumeName
    size_bytes: int
    actual_bytes: int = 0
    """What one replica really occupies, snapshots included; may exceed *size_bytes*."""
    locality: Locality
    disk_type: str = "filesystem"
    """filesystem (data engine v1) or block (v2)."""
    node_selector: tuple[str, ...] = ()
    disk_selector: tuple[str, ...] = ()
    backing_image: str = ""
    topology: tuple[TopologyTerm, ...] = ()
    shared: bool = False
    """RWX and not migratable: attached to the share manager's node, not to the pod's."""
    standby: bool = False
    sharded: bool = False
    deleting: bool = False

    @property
    def needs_local_replica(self) -> bool:
        """Whether Longhorn wants a replica on the pod's node.

        Volumes of disabled locality attach over the network; shared ones attach to the share
        manager's node; standby ones cannot be attached by pods; sharded ones have no replicas.
        """
        detached_from_pod = self.shared or self.standby or self.sharded
        return self.locality is not Locality.DISABLED and not detached_from_pod


class Replica(msgspec.Struct, frozen=True, kw_only=True):
    """A Longhorn Replica: one copy of a volume, placed (*node* and *disk* set) or not yet."""

    name: ReplicaName
    volume: VolumeName
    size_bytes: int
    node: NodeName
    disk: DiskId
    hard_node_affinity: NodeName
    active: bool
    evicting: bool
    deleting: bool
    failed: bool
    healthy_once: bool
    """healthyAt is set: it held all data at some time since it was made or last rebuilt."""
    started: bool
    rebuild_retries: int


class Disk(msgspec.Struct, frozen=True, kw_only=True):
    """A disk listed in both spec and status of its Longhorn Node."""

    name: DiskName
    id: DiskId
    """The disk's UUID, empty before Longhorn first saw it. Unique only together with the node."""
    type: str
    filesystem: str
    tags: frozenset[str]
    allow_scheduling: bool
    evicting: bool
    ready: bool
    schedulable: bool
    maximum_bytes: int
    reserved_bytes: int
    available_bytes: int
    scheduled_bytes: int
    listed: Mapping[str, int]
    """scheduledReplica: name of each replica counted in *scheduled_bytes*, and its bytes."""


class Node(msgspec.Struct, frozen=True, kw_only=True):
    """A Longhorn Node; its name is the Kubernetes node's."""

    name: NodeName
    zone: str
    region: str
    tags: frozenset[str]
    allow_scheduling: bool
    evicting: bool
    ready: bool
    schedulable: bool
    deleting: bool
    disks: tuple[Disk, ...]
