"""The kinds of Longhorn's objects that we read."""

from collections.abc import Callable
from typing import Any

from app.kube.longhorn import engines, objects, translate
from app.kube.resource import AnyRecord, Resource
from longhorn import (
    BackingImage,
    DiskSchedule,
    EngineImage,
    InstanceManager,
    InstanceManagerUpgrade,
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
UPGRADES = _longhorn(
    "instancemanagerupgrades",
    engines.UpgradeObject,
    InstanceManagerUpgrade,
    engines.upgrade_record,
    is_optional=True,
    is_advisory=True,
)
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
    UPGRADES,
)
"""Read in Longhorn's namespace."""
