"""Longhorn's objects as they stand in JSON, as far as its replica scheduler reads them.

Read with `msgspec.convert(document, Node, strict=False)`: some sizes are strings in JSON and
others numbers, and without strict either is taken for each. Fields that are missing have Go's
zero value, lists and maps may be null, unknown fields are passed over.
"""

from collections.abc import Iterator, Mapping
from datetime import datetime

import msgspec

Strings = tuple[str, ...] | None


class LonghornStruct(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """Base of everything here."""


class Metadata(LonghornStruct, frozen=True):
    name: str = ""
    deletion_timestamp: str | None = None


class Condition(LonghornStruct, frozen=True):
    type: str = ""
    status: str = ""
    reason: str = ""


Conditions = tuple[Condition, ...] | None


class DiskSpec(LonghornStruct, frozen=True):
    disk_type: str = ""
    """Empty means filesystem, which Longhorn's webhook writes."""
    allow_scheduling: bool = False
    eviction_requested: bool = False
    storage_reserved: int = 0
    tags: Strings = None


class DiskStatus(LonghornStruct, frozen=True):
    disk_uuid: str = msgspec.field(default="", name="diskUUID")
    filesystem_type: str = ""
    storage_maximum: int = 0
    storage_available: int = 0
    storage_scheduled: int = 0
    scheduled_replica: Mapping[str, int] | None = None
    conditions: Conditions = None


class Disk(msgspec.Struct, frozen=True, kw_only=True):
    """One disk of a node, known in both its spec and its status."""

    node: str
    spec: DiskSpec
    status: DiskStatus

    @property
    def id(self) -> str:
        return self.status.disk_uuid


class NodeSpec(LonghornStruct, frozen=True):
    allow_scheduling: bool = False
    eviction_requested: bool = False
    tags: Strings = None
    disks: Mapping[str, DiskSpec] | None = None


class NodeStatus(LonghornStruct, frozen=True):
    conditions: Conditions = None
    disk_status: Mapping[str, DiskStatus] | None = None
    zone: str = ""
    region: str = ""


class Node(LonghornStruct, frozen=True):
    metadata: Metadata
    spec: NodeSpec = NodeSpec()
    status: NodeStatus = NodeStatus()

    @property
    def name(self) -> str:
        return self.metadata.name

    def disks(self) -> Iterator[Disk]:
        """Yield the disks that spec and status both know."""
        specs = self.spec.disks or {}
        for name, status in (self.status.disk_status or {}).items():
            if name in specs:
                yield Disk(node=self.name, spec=specs[name], status=status)


class TopologyTerm(LonghornStruct, frozen=True):
    zone: str = ""
    region: str = ""


class VolumeSpec(LonghornStruct, frozen=True):
    size: int = 0
    data_engine: str = ""
    data_locality: str = ""
    node_id: str = msgspec.field(default="", name="nodeID")
    node_selector: Strings = None
    disk_selector: Strings = None
    backing_image: str = ""
    topology_requirement: tuple[TopologyTerm, ...] | None = None
    replica_auto_balance: str = ""
    replica_soft_anti_affinity: str = ""
    replica_zone_soft_anti_affinity: str = ""
    replica_disk_soft_anti_affinity: str = ""


class VolumeStatus(LonghornStruct, frozen=True):
    robustness: str = ""
    last_degraded_at: str = ""
    actual_size: int = 0


class Volume(LonghornStruct, frozen=True):
    metadata: Metadata
    spec: VolumeSpec = VolumeSpec()
    status: VolumeStatus = VolumeStatus()

    @property
    def name(self) -> str:
        return self.metadata.name

    @property
    def is_v2(self) -> bool:
        """Whether it is of data engine v2; anything else counts as v1."""
        return self.spec.data_engine == "v2"


class ReplicaSpec(LonghornStruct, frozen=True):
    volume_name: str = ""
    volume_size: int = 0
    node_id: str = msgspec.field(default="", name="nodeID")
    disk_id: str = msgspec.field(default="", name="diskID")
    hard_node_affinity: str = ""
    healthy_at: str = ""
    failed_at: str = ""
    active: bool = False
    eviction_requested: bool = False
    rebuild_retry_count: int = 0
    desire_state: str = ""


class ReplicaStatus(LonghornStruct, frozen=True):
    current_state: str = ""


class Replica(LonghornStruct, frozen=True):
    metadata: Metadata
    spec: ReplicaSpec = ReplicaSpec()
    status: ReplicaStatus = ReplicaStatus()

    @property
    def name(self) -> str:
        return self.metadata.name


class BackingImageSpec(LonghornStruct, frozen=True):
    node_selector: Strings = None
    disk_selector: Strings = None


class BackingImage(LonghornStruct, frozen=True):
    metadata: Metadata
    spec: BackingImageSpec = BackingImageSpec()


def condition(conditions: Conditions, type_: str) -> Condition:
    """Return the first condition of a type; its status is Unknown if there is none.

    Source: longhorn-manager types/condition.go GetCondition.
    """
    unknown = Condition(type=type_, status="Unknown")
    return next((each for each in conditions or () if each.type == type_), unknown)


def is_true(conditions: Conditions, type_: str) -> bool:
    """Say whether the condition of this type has status True."""
    return condition(conditions, type_).status == "True"


def read_time(text: str) -> datetime | None:
    """Read an RFC 3339 time, such as failedAt; None if it is none."""
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        return None
    return moment if moment.tzinfo else None
