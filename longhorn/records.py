"""Longhorn's objects, as far as its rules read them: plain frozen records, sizes in bytes.

Nothing that a record refers to refers back. So the garbage collector is told to pass over records
(`gc=False`), of which a large cluster has several 100,000.
"""

from collections.abc import Mapping
from datetime import datetime
from enum import StrEnum
from typing import NewType

import msgspec

NodeName = NewType("NodeName", str)
DiskName = NewType("DiskName", str)
DiskId = NewType("DiskId", str)
VolumeName = NewType("VolumeName", str)
ReplicaName = NewType("ReplicaName", str)
Moment = datetime
"""A date with its time, as Longhorn's objects say them. Only Longhorn's rules compare them."""


class Locality(StrEnum):
    """Longhorn's data locality. Any other word in a Volume means the same as disabled."""

    DISABLED = "disabled"
    BEST_EFFORT = "best-effort"
    STRICT_LOCAL = "strict-local"


class Condition(msgspec.Struct, frozen=True, gc=False):
    """One condition of a node or disk; Unknown if the object has none of its type.

    Source: longhorn-manager types/condition.go GetCondition.
    """

    status: str = "Unknown"
    reason: str = ""
    message: str = ""
    """Empty in the service, which does not read it: it changes while the cause is the same."""

    @property
    def is_true(self) -> bool:
        """Whether the status is True; Unknown is not."""
        return self.status == "True"


class BackingImage(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A Longhorn BackingImage: its selectors bind the replicas of volumes made from it."""

    name: str
    size_bytes: int = 0
    """What a copy of it takes of a disk; 0 while that is not known."""
    virtual_bytes: int = 0
    """A volume made from it is at least so large; 0 while that is not known."""
    engine: str = ""
    """The data engine of its volumes, v1 or v2; empty if that is not known."""
    node_selector: tuple[str, ...]
    disk_selector: tuple[str, ...]


class TopologyTerm(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """One alternative of a Volume's topologyRequirement; an empty part matches any node."""

    zone: str
    region: str


class VolumeTold(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """What a Volume says of itself besides. No decision rests on it."""

    state: str = ""
    """attached, detached, or on the way from one to the other."""
    robustness: str = ""
    scheduled: Condition = Condition()
    """Whether Longhorn found a place for all replicas when it last looked."""
    offline_rebuilding: str = ""
    """spec.offlineRebuilding: enabled, disabled, or what the setting says."""
    restoring: bool = False
    """Its data come from a backup, and have not all come yet."""
    expanding: bool = False
    """status.expansionRequired: its engine is smaller than it is to be."""
    clone_state: str = ""
    """Of a copy of another volume, how far it is; `completed` at last."""

    @property
    def is_copied(self) -> bool:
        """Whether it is a copy of another volume that is not done."""
        return self.clone_state not in ("", "completed")


class Volume(msgspec.Struct, frozen=True, kw_only=True, gc=False):
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
    backing_image: str | None = None
    topology: tuple[TopologyTerm, ...] = ()
    shared: bool = False
    """RWX and not migratable: attached to the share manager's node, not to the pod's."""
    standby: bool = False
    data_chunks: int = 0
    """Of an erasure-coded volume, which has shards in place of replicas, each on a node of its own:
    so many of them hold all its data. 0 of one with replicas."""
    shard_bytes: int = 0
    """The size of each shard."""
    is_estimate: bool = False
    """Not made yet."""
    keeps_zone: bool = False
    """Of one that is not made yet: all its replicas will be in the zone of the pod's node."""
    keeps_region: bool = False
    """The same of its region."""
    copying: bool = False
    """A full copy of another volume that is not done: one replica, the others come later."""
    linked_to: VolumeName | None = None
    """The volume that a linked clone shares data with: its replicas go only to disks with one of
    that volume's."""
    is_frozen: bool = False
    """A linked clone made before Longhorn v1.12.1: it never gets another replica."""
    deleting: bool = False
    wanted_replicas: int = 1
    """spec.numberOfReplicas; of an erasure-coded volume, how many shards it has."""
    node: NodeName | None = None
    """spec.nodeID: where it is to be attached."""
    attached_to: NodeName | None = None
    """status.currentNodeID, if the state is attached."""
    has_frontend: bool = True
    """Whether it is attached so that pods can use it."""
    soft_anti_affinity: bool | None = None
    """Whether two replicas may share a node; None follows the setting, also in the next two."""
    zone_soft_anti_affinity: bool | None = None
    disk_soft_anti_affinity: bool | None = None
    auto_balance: str | None = None
    """None follows the setting."""
    engine_image: str = ""
    """spec.image: what it is to run of data engine v1; empty if that is not known."""
    current_image: str = ""
    """status.currentImage: what its replicas run now."""
    degraded: bool = False
    """Attached, with fewer healthy replicas than wanted."""
    healthy: bool = False
    """Attached, with as many healthy replicas as wanted."""
    degraded_at: datetime | None = None
    """When it was last found so; None also if Longhorn's time cannot be read."""
    told: VolumeTold | None = None
    """Read for commands alone."""

    @property
    def is_v2(self) -> bool:
        """Whether it is of data engine v2; any other engine counts as v1."""
        return self.disk_type == "block"

    @property
    def sharded(self) -> bool:
        """Whether it is erasure-coded."""
        return self.data_chunks > 0

    @property
    def replica_bytes(self) -> int:
        """What each of its replicas, or shards, takes of a disk."""
        return self.shard_bytes or self.size_bytes

    @property
    def needs_local_replica(self) -> bool:
        """Whether Longhorn wants a replica on the pod's node.

        Volumes of disabled locality attach over the network; shared ones attach to the share
        manager's node; standby ones cannot be attached by pods; sharded ones have no replicas.
        """
        detached_from_pod = self.shared or self.standby or self.sharded
        return self.locality is not Locality.DISABLED and not detached_from_pod


class Disk(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A disk listed in both spec and status of its Longhorn Node."""

    name: DiskName
    id: DiskId | None
    """The disk's UUID; None before Longhorn first saw it. Unique only together with the node."""
    type: str
    filesystem: str
    tags: frozenset[str]
    allow_scheduling: bool
    evicting: bool
    ready: Condition
    schedulable: Condition
    maximum_bytes: int
    reserved_bytes: int
    available_bytes: int
    scheduled_bytes: int
    """storageScheduled: what Longhorn has scheduled on it, as its manager last published."""
    listed: Mapping[str, int]
    """scheduledReplica: name of each replica counted in *scheduled_bytes*, and its bytes."""
    listed_images: Mapping[str, int] = {}
    """scheduledBackingImage: the same for copies of backing images."""


class Node(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A Longhorn Node; its name is the Kubernetes node's."""

    name: NodeName
    zone: str
    region: str
    tags: frozenset[str]
    allow_scheduling: bool
    evicting: bool
    ready: Condition
    schedulable: Condition
    deleting: bool
    disks: tuple[Disk, ...]


class Setting(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A Longhorn Setting; its value as written."""

    name: str
    value: str


class Reason(StrEnum):
    """The reasons that occur here (longhorn-manager k8s/pkg/apis/longhorn/v1beta2)."""

    CLIENT_OPERATION_FAILED = "longhorn client operation failed"
    DISKS_UNAVAILABLE = "disks are unavailable"
    ENGINE_IMAGE_NOT_READY = "none of the node candidates contains a ready engine image"
    HARD_AFFINITY = "hard affinity cannot be satisfied"
    INCOMPATIBLE_SIZE = "incompatible volume size"
    INSUFFICIENT_STORAGE = "insufficient storage"
    LINKED_CLONE = "linked clone replica cannot be satisfied"
    NODES_UNAVAILABLE = "nodes are unavailable"
    TAGS = "tags not fulfilled"
    TOPOLOGY = "topology requirement cannot be satisfied"


class Unreadable(msgspec.Struct, frozen=True, kw_only=True):
    """An object of a kind we use that could not be read."""

    kind: str
    name: str
    """As other objects refer to it: the key that its record would have."""
    why: str
    nodes: tuple[NodeName, ...] = ()
    """Nodes whose space it would have counted for."""
    volume: VolumeName | None = None
    """The volume that it is a Replica of, if it is one."""
