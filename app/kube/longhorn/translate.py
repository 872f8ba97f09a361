"""From the fields of Longhorn's objects to records, one function a kind."""

from collections.abc import Iterable, Mapping
from datetime import datetime
from functools import lru_cache
from sys import intern

import msgspec

from app.kube.longhorn import objects
from app.kube.objects import Condition as GivenCondition
from longhorn import (
    BackingImage,
    Condition,
    Disk,
    DiskId,
    DiskName,
    DiskSchedule,
    Entry,
    EntryState,
    Locality,
    Node,
    NodeName,
    Replica,
    ReplicaName,
    Setting,
    Shard,
    TopologyTerm,
    Volume,
    VolumeName,
    shard_size_bytes,
)


def node_record(node: objects.LonghornNode) -> Node:
    """Translate a Longhorn Node; disks missing in spec or in status are left out."""
    spec, status = node.spec or objects.NodeSpec(), node.status or objects.NodeStatus()
    disk_statuses = status.disk_status or {}
    return Node(
        name=NodeName(node.metadata.name),
        zone=status.zone or "",
        region=status.region or "",
        tags=_tags(tuple(spec.tags or ())),
        allow_scheduling=bool(spec.allow_scheduling),
        evicting=bool(spec.eviction_requested),
        ready=condition_of(status.conditions, "Ready"),
        schedulable=condition_of(status.conditions, "Schedulable"),
        deleting=bool(node.metadata.deletion_timestamp),
        disks=tuple(
            _disk(name, disk_spec, disk_statuses[name] or objects.DiskStatus())
            for name, disk_spec in sorted((spec.disks or {}).items())
            if disk_spec is not None and name in disk_statuses
        ),
    )


def _disk(name: str, spec: objects.DiskSpec, status: objects.DiskStatus) -> Disk:
    return Disk(
        name=DiskName(name),
        id=DiskId(status.disk_uuid) if status.disk_uuid else None,
        type=spec.disk_type or "filesystem",
        filesystem=status.filesystem_type or "",
        tags=_tags(tuple(spec.tags or ())),
        allow_scheduling=bool(spec.allow_scheduling),
        evicting=bool(spec.eviction_requested),
        ready=condition_of(status.conditions, "Ready"),
        schedulable=condition_of(status.conditions, "Schedulable"),
        maximum_bytes=_bytes(status.storage_maximum),
        reserved_bytes=_bytes(spec.storage_reserved),
        available_bytes=_bytes(status.storage_available),
        scheduled_bytes=_bytes(status.storage_scheduled),
        listed={name: _bytes(size) for name, size in (status.scheduled_replica or {}).items()},
        listed_images={
            name: _bytes(size) for name, size in (status.scheduled_backing_image or {}).items()
        },
    )


def volume_record(volume: objects.Volume) -> Volume:
    """Translate a Longhorn Volume."""
    spec, status = volume.spec or objects.VolumeSpec(), volume.status or objects.VolumeStatus()
    labels, attached_to = volume.metadata.labels, status.current_node_id
    record = Volume(
        name=VolumeName(volume.metadata.name),
        size_bytes=_bytes(spec.size),
        actual_bytes=_bytes(status.actual_size),
        locality=_LOCALITIES.get(spec.data_locality or "", Locality.DISABLED),
        disk_type="block" if spec.data_engine == "v2" else "filesystem",
        node_selector=tuple(spec.node_selector or ()),
        disk_selector=tuple(spec.disk_selector or ()),
        backing_image=spec.backing_image or None,
        topology=tuple(
            TopologyTerm(zone=term.zone or "", region=term.region or "")
            for term in spec.topology_requirement or ()
        ),
        shared=spec.access_mode == "rwx" and not spec.migratable,
        standby=bool(spec.standby or status.is_standby),
        copying=_is_copying(spec, status),
        linked_to=_source_of(spec) if spec.clone_mode == "linked-clone" else None,
        is_frozen=labels is not None and labels.legacy_clone == "true",
        deleting=bool(volume.metadata.deletion_timestamp),
        wanted_replicas=max(0, spec.number_of_replicas or 0),
        node=NodeName(spec.node_id) if spec.node_id else None,
        attached_to=NodeName(attached_to) if attached_to and status.state == "attached" else None,
        has_frontend=not status.frontend_disabled,
        soft_anti_affinity=_is_soft(spec.replica_soft_anti_affinity),
        zone_soft_anti_affinity=_is_soft(spec.replica_zone_soft_anti_affinity),
        disk_soft_anti_affinity=_is_soft(spec.replica_disk_soft_anti_affinity),
        engine_image=intern(spec.image or ""),
        current_image=intern(status.current_image or ""),
        auto_balance=(None if spec.replica_auto_balance in _AS_SET else spec.replica_auto_balance),
        degraded=status.robustness == "degraded",
        healthy=status.robustness == "healthy",
        degraded_at=_time(status.last_degraded_at),
    )
    layout = spec.data_layout
    return record if layout is None or layout.type != "sharded" else _in_shards(record, layout)


def _in_shards(volume: Volume, layout: objects.DataLayout) -> Volume:
    """Add how an erasure-coded volume is spread: each shard has a node of its own.

    Tags of nodes, zones and disks that replicas share do not matter then.

    Source: longhorn-manager scheduler/shard_scheduler.go ScheduleShard.
    """
    data_chunks = max(1, layout.data_chunks or 0)
    return msgspec.structs.replace(
        volume,
        data_chunks=data_chunks,
        shard_bytes=shard_size_bytes(
            volume.size_bytes, data_chunks=data_chunks, strip_kib=layout.strip_size_kb or 4
        ),
        wanted_replicas=data_chunks + max(0, layout.parity_chunks or 0),
        node_selector=(),
        backing_image=None,
        soft_anti_affinity=False,
        zone_soft_anti_affinity=True,
    )


def shard_record(shard: objects.Shard) -> Shard:
    """Translate a Longhorn Shard.

    One that has failed keeps its disk until it is rebuilt there, or its object is gone. What it
    takes is known once it is placed.
    """
    spec, status = shard.spec or objects.ShardSpec(), shard.status or objects.ShardStatus()
    return Shard(
        name=ReplicaName(shard.metadata.name),
        volume=VolumeName(spec.shard_group_name or ""),
        size_bytes=_bytes(spec.size),
        node=NodeName(spec.node_id) if spec.node_id else None,
        disk=DiskId(spec.disk_uuid) if spec.disk_uuid else None,
        hard_node_affinity=None,
        active=True,
        evicting=bool(spec.eviction_requested),
        deleting=bool(shard.metadata.deletion_timestamp),
        failed=False,
        healthy_once=status.state == "normal",
        started=status.state == "normal",
        rebuild_retries=0,
    )


def _is_copying(spec: objects.VolumeSpec, status: objects.VolumeStatus) -> bool:
    """Whether a volume is a full copy of another one or of a snapshot that is not done.

    Source: longhorn-manager types/types.go IsDataFromVolume, controller/volume_controller.go
    getReplenishReplicasCount.
    """
    state = (status.clone_status.state if status.clone_status else None) or ""
    is_copy = _source_of(spec) is not None and spec.clone_mode != "linked-clone"
    return is_copy and not (state == "completed" or state.startswith("copy-completed"))


def _source_of(spec: objects.VolumeSpec) -> VolumeName | None:
    """Return the volume that another one is made from, `vol://NAME` or `snap://NAME/SNAPSHOT`.

    Source: longhorn-manager types/types.go GetVolumeName.
    """
    scheme, _, rest = (spec.data_source or "").partition("://")
    return VolumeName(rest.partition("/")[0]) if scheme in ("vol", "snap") else None


def replica_record(replica: objects.Replica) -> Replica:
    """Translate a Longhorn Replica."""
    spec, status = replica.spec or objects.ReplicaSpec(), replica.status or objects.ReplicaStatus()
    return Replica(
        name=ReplicaName(replica.metadata.name),
        volume=VolumeName(spec.volume_name or ""),
        size_bytes=_bytes(spec.volume_size),
        node=NodeName(spec.node_id) if spec.node_id else None,
        disk=DiskId(spec.disk_id) if spec.disk_id else None,
        hard_node_affinity=NodeName(spec.hard_node_affinity) if spec.hard_node_affinity else None,
        active=bool(spec.active),
        evicting=bool(spec.eviction_requested),
        deleting=bool(replica.metadata.deletion_timestamp),
        failed=bool(spec.failed_at),
        failed_at=_time(spec.failed_at) if spec.failed_at else None,
        healthy_once=bool(spec.healthy_at),
        had_data=bool(spec.last_healthy_at),
        started=bool(status.started),
        stopped=spec.desire_state == status.current_state == "stopped",
        rebuild_retries=spec.rebuild_retry_count or 0,
        source=ReplicaName(name) if (name := spec.linked_clone_src_replica_name) else None,
    )


def backing_image_record(image: objects.BackingImage) -> BackingImage:
    """Translate a BackingImage."""
    spec, status = image.spec or objects.BackingImageSpec(), image.status
    return BackingImage(
        name=image.metadata.name,
        size_bytes=_bytes(status.real_size if status else None),
        virtual_bytes=_bytes(status.virtual_size if status else None),
        engine=spec.data_engine or "",
        node_selector=tuple(spec.node_selector or ()),
        disk_selector=tuple(spec.disk_selector or ()),
    )


def disk_schedule_record(schedule: objects.DiskSchedule) -> DiskSchedule:
    """Translate a DiskSchedule."""
    spec = schedule.spec or objects.DiskScheduleSpec()
    status = schedule.status or objects.DiskScheduleStatus()
    ready = condition_of(status.conditions, "Ready").status
    return DiskSchedule(
        name=DiskId(schedule.metadata.name),
        node=NodeName(spec.node_id or ""),
        disk=DiskName(spec.name or ""),
        replicas={ReplicaName(name): size for name, size in (spec.replicas or {}).items()},
        images=spec.backing_images or {},
        held_replicas={
            ReplicaName(name): _entry(entry) for name, entry in (status.replicas or {}).items()
        },
        held_images={name: _entry(entry) for name, entry in (status.backing_images or {}).items()},
        scheduled_bytes=status.storage_scheduled or 0,
        ready={"True": True, "False": False}.get(ready),
        deleting=bool(schedule.metadata.deletion_timestamp),
    )


def _entry(entry: objects.DiskScheduleEntry | None) -> Entry:
    entry = entry or objects.DiskScheduleEntry()
    is_scheduled = entry.state == EntryState.SCHEDULED
    return Entry(
        EntryState.SCHEDULED if is_scheduled else EntryState.REJECTED, entry.scheduled_size or 0
    )


def setting_record(setting: objects.Setting) -> Setting:
    """Translate a Longhorn Setting."""
    return Setting(name=setting.metadata.name, value=setting.value or "")


def condition_of(conditions: Iterable[GivenCondition] | None, type_: str) -> Condition:
    """Return the first condition of the type (longhorn-manager types/condition.go)."""
    for condition in conditions or ():
        if condition.type == type_:
            return _conditions(condition.status or "", condition.reason or "")
    return _UNKNOWN


@lru_cache(maxsize=64)
def _conditions(status: str, reason: str) -> Condition:
    """Share equal ones: a cluster has thousands of disks and few conditions."""
    return Condition(status, reason)


@lru_cache(maxsize=1024)
def _tags(tags: tuple[str, ...]) -> frozenset[str]:
    """Share equal ones, as above."""
    return frozenset(tags)


def _is_soft(anti_affinity: str | None) -> bool | None:
    return None if anti_affinity in _AS_SET else anti_affinity == "enabled"


def _time(text: str | None) -> datetime | None:
    """Read an RFC 3339 time; None if it is none."""
    try:
        moment = datetime.fromisoformat(text or "")
    except ValueError:
        return None
    return moment if moment.tzinfo else None


def _bytes(size: int | str | None) -> int:
    """Read a size that Longhorn writes as a number or as a string of digits; absent is zero."""
    if isinstance(size, str):
        if not size:
            return 0
        if not (size.isascii() and size.isdigit()) or int(size) >= 2**63:
            raise ValueError(f"{size[:60]!r} is not a size in bytes")
        return int(size)
    return size or 0


_UNKNOWN = Condition()
_AS_SET = (None, "", "ignored")
"""What a Volume says where the setting counts."""
_LOCALITIES: Mapping[str, Locality] = {locality.value: locality for locality in Locality}
