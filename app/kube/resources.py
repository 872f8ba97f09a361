"""The kinds of objects that the service reads."""

from collections.abc import Callable
from typing import Any

from msgspec import structs

from app.kube import engines, objects, schedules, translate
from app.kube.resource import AnyRecord, Resource
from extender import Claim, CsiNode, EngineOptOut, PersistentVolume, StorageClass
from longhorn import (
    BackingImage,
    DiskSchedule,
    EngineImage,
    InstanceManager,
    Node,
    Replica,
    Setting,
    Shard,
    Volume,
)


def _longhorn(
    plural: str,
    structure: type[Any],
    record: type[AnyRecord],
    record_of: Callable[[Any], AnyRecord],
    *,
    is_optional: bool = False,
    is_advisory: bool = False,
) -> Resource:
    """Describe a kind of Longhorn's; its records have the name of the kind."""
    return Resource(
        group="longhorn.io",
        version="v1beta2",
        plural=plural,
        kind=record.__name__,
        structure=structure,
        record=record,
        record_of=record_of,
        is_optional=is_optional,
        is_advisory=is_advisory,
    )


CLAIMS = Resource(
    plural="persistentvolumeclaims",
    kind="PersistentVolumeClaim",
    structure=objects.PersistentVolumeClaim,
    record=Claim,
    record_of=translate.claim_record,
    has_namespaces=True,
)
PERSISTENT_VOLUMES = Resource(
    plural="persistentvolumes",
    kind="PersistentVolume",
    structure=objects.PersistentVolume,
    record=PersistentVolume,
    record_of=translate.persistent_volume_record,
)
STORAGE_CLASSES = Resource(
    group="storage.k8s.io",
    plural="storageclasses",
    kind="StorageClass",
    structure=objects.StorageClass,
    record=StorageClass,
    record_of=translate.storage_class_record,
)
CONFIG_MAPS = Resource(
    plural="configmaps",
    kind="ConfigMap",
    structure=objects.ConfigMap,
    record=translate.ConfigMap,
    record_of=translate.config_map_record,
)
PODS = Resource(
    plural="pods",
    kind="Pod",
    structure=objects.Pod,
    record=translate.Pod,
    record_of=translate.pod_record,
    has_namespaces=True,
)
NODES = _longhorn("nodes", objects.LonghornNode, Node, translate.node_record)
VOLUMES = _longhorn("volumes", objects.Volume, Volume, translate.volume_record)
REPLICAS = _longhorn("replicas", objects.Replica, Replica, translate.replica_record)
BACKING_IMAGES = _longhorn(
    "backingimages", objects.BackingImage, BackingImage, translate.backing_image_record
)
SETTINGS = _longhorn("settings", objects.Setting, Setting, translate.setting_record)
DISK_SCHEDULES = _longhorn(
    "diskschedules",
    objects.DiskSchedule,
    DiskSchedule,
    translate.disk_schedule_record,
    is_optional=True,
)
ENGINE_IMAGES = _longhorn(
    "engineimages",
    engines.EngineImageObject,
    EngineImage,
    engines.engine_image_record,
    is_advisory=True,
)
INSTANCE_MANAGERS = _longhorn(
    "instancemanagers",
    engines.InstanceManagerObject,
    InstanceManager,
    engines.instance_manager_record,
    is_advisory=True,
)
SHARDS = _longhorn(
    "shards",
    objects.Shard,
    Shard,
    translate.shard_record,
    is_optional=True,
    is_advisory=True,
)
CSI_NODES = Resource(
    group="storage.k8s.io",
    plural="csinodes",
    kind="CSINode",
    structure=engines.CsiNodeObject,
    record=CsiNode,
    record_of=engines.csi_node_record,
    is_advisory=True,
)
OPTED_OUT_NODES = Resource(
    plural="nodes",
    kind="Node",
    structure=engines.OptedOutNode,
    record=EngineOptOut,
    record_of=engines.opted_out_record,
    is_metadata_alone=True,
    is_advisory=True,
)
"""Those Kubernetes Nodes that have a label, so that the service reads no others."""


STORED_SCHEDULES = Resource(
    group="longhorn.io",
    version="v1beta2",
    plural="diskschedules",
    kind="DiskSchedule",
    structure=schedules.StoredObject,
    record=schedules.StoredSchedule,
    record_of=schedules.stored_schedule_record,
)
IMAGE_COPIES = structs.replace(
    BACKING_IMAGES,
    structure=schedules.Image,
    record=schedules.ImageCopies,
    record_of=schedules.image_copies_record,
)
SCHEDULED = (STORED_SCHEDULES, NODES, REPLICAS, IMAGE_COPIES, SETTINGS)
"""What the controller of DiskSchedules reads, in Longhorn's namespace."""

CLUSTER_RESOURCES = (CLAIMS, PERSISTENT_VOLUMES, STORAGE_CLASSES, CSI_NODES)
"""Read in all namespaces."""
LONGHORN_RESOURCES = (
    NODES,
    VOLUMES,
    REPLICAS,
    BACKING_IMAGES,
    SETTINGS,
    DISK_SCHEDULES,
    ENGINE_IMAGES,
    INSTANCE_MANAGERS,
    SHARDS,
)
"""Read in Longhorn's namespace."""
