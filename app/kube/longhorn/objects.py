"""The fields we read of Longhorn's objects, as they are in JSON."""

from collections.abc import Mapping, Sequence

import msgspec

from app.kube.objects import Bytes, Condition, Integer, KubeStruct, Metadata, Text


class DiskSpec(KubeStruct, frozen=True):
    disk_type: Text = None
    allow_scheduling: bool | None = None
    eviction_requested: bool | None = None
    storage_reserved: Bytes = None
    tags: list[str] | None = None


class DiskStatus(KubeStruct, frozen=True):
    disk_uuid: Text = msgspec.field(default=None, name="diskUUID")
    filesystem_type: Text = None
    conditions: Sequence[Condition] | None = None
    storage_maximum: Bytes = None
    storage_available: Bytes = None
    storage_scheduled: Bytes = None
    scheduled_replica: dict[str, Bytes] | None = None
    scheduled_backing_image: dict[str, Bytes] | None = None


class NodeSpec(KubeStruct, frozen=True):
    allow_scheduling: bool | None = None
    eviction_requested: bool | None = None
    tags: list[str] | None = None
    disks: dict[str, DiskSpec | None] | None = None


class NodeStatus(KubeStruct, frozen=True):
    conditions: Sequence[Condition] | None = None
    disk_status: Mapping[str, DiskStatus | None] | None = None
    zone: Text = None
    region: Text = None


class LonghornNode(KubeStruct, frozen=True):
    metadata: Metadata
    spec: NodeSpec | None = None
    status: NodeStatus | None = None


class TopologyRequirement(KubeStruct, frozen=True):
    zone: Text = None
    region: Text = None


class DataLayout(KubeStruct, frozen=True):
    type: Text = None
    data_chunks: Integer | None = None
    parity_chunks: Integer | None = None
    strip_size_kb: Integer | None = msgspec.field(default=None, name="stripSizeKB")


class VolumeLabels(KubeStruct, frozen=True):
    legacy_clone: Text = msgspec.field(default=None, name="longhorn.io/legacy-linked-clone")


class VolumeMetadata(Metadata, frozen=True, rename="camel"):
    labels: VolumeLabels | None = None


class VolumeSpec(KubeStruct, frozen=True):
    size: Bytes = None
    data_locality: Text = None
    data_engine: Text = None
    image: Text = None
    node_selector: list[str] | None = None
    disk_selector: list[str] | None = None
    access_mode: Text = None
    migratable: bool | None = None
    standby: bool | None = msgspec.field(default=None, name="Standby")
    backing_image: Text = None
    number_of_replicas: Integer | None = None
    data_source: Text = None
    clone_mode: Text = None
    topology_requirement: list[TopologyRequirement] | None = None
    data_layout: DataLayout | None = None
    node_id: Text = msgspec.field(default=None, name="nodeID")
    replica_auto_balance: Text = None
    replica_soft_anti_affinity: Text = None
    replica_zone_soft_anti_affinity: Text = None
    replica_disk_soft_anti_affinity: Text = None


class CloneStatus(KubeStruct, frozen=True):
    state: Text = None


class VolumeStatus(KubeStruct, frozen=True):
    state: Text = None
    current_node_id: Text = msgspec.field(default=None, name="currentNodeID")
    current_image: Text = None
    frontend_disabled: bool | None = None
    clone_status: CloneStatus | None = None
    actual_size: Bytes = None
    robustness: Text = None
    last_degraded_at: Text = None
    is_standby: bool | None = None


class Volume(KubeStruct, frozen=True):
    metadata: VolumeMetadata
    spec: VolumeSpec | None = None
    status: VolumeStatus | None = None


class ReplicaSpec(KubeStruct, frozen=True):
    volume_name: Text = None
    volume_size: Bytes = None
    node_id: Text = msgspec.field(default=None, name="nodeID")
    disk_id: Text = msgspec.field(default=None, name="diskID")
    hard_node_affinity: Text = None
    healthy_at: Text = None
    last_healthy_at: Text = None
    failed_at: Text = None
    active: bool | None = None
    eviction_requested: bool | None = None
    rebuild_retry_count: Integer | None = None
    linked_clone_src_replica_name: Text = None
    desire_state: Text = None


class ReplicaStatus(KubeStruct, frozen=True):
    current_state: Text = None
    started: bool | None = None


class Replica(KubeStruct, frozen=True):
    metadata: Metadata
    spec: ReplicaSpec | None = None
    status: ReplicaStatus | None = None


class ShardSpec(KubeStruct, frozen=True):
    shard_group_name: Text = None
    size: Bytes = None
    node_id: Text = msgspec.field(default=None, name="nodeID")
    disk_uuid: Text = msgspec.field(default=None, name="diskUUID")
    eviction_requested: bool | None = None


class ShardStatus(KubeStruct, frozen=True):
    state: Text = None


class Shard(KubeStruct, frozen=True):
    metadata: Metadata
    spec: ShardSpec | None = None
    status: ShardStatus | None = None


class BackingImageSpec(KubeStruct, frozen=True):
    node_selector: list[str] | None = None
    disk_selector: list[str] | None = None
    data_engine: Text = None


class BackingImageStatus(KubeStruct, frozen=True):
    real_size: Bytes = None
    virtual_size: Bytes = None


class BackingImage(KubeStruct, frozen=True):
    metadata: Metadata
    spec: BackingImageSpec | None = None
    status: BackingImageStatus | None = None


class DiskScheduleSpec(KubeStruct, frozen=True):
    name: Text = None
    node_id: Text = msgspec.field(default=None, name="nodeID")
    replicas: dict[str, Integer] | None = None
    backing_images: dict[str, Integer] | None = None


class DiskScheduleEntry(KubeStruct, frozen=True):
    state: Text = None
    scheduled_size: Integer | None = None


class DiskScheduleStatus(KubeStruct, frozen=True):
    replicas: dict[str, DiskScheduleEntry | None] | None = None
    backing_images: dict[str, DiskScheduleEntry | None] | None = None
    storage_scheduled: Integer | None = None
    conditions: Sequence[Condition] | None = None


class DiskSchedule(KubeStruct, frozen=True):
    metadata: Metadata
    spec: DiskScheduleSpec | None = None
    status: DiskScheduleStatus | None = None


class Setting(KubeStruct, frozen=True):
    metadata: Metadata
    value: Text = None
