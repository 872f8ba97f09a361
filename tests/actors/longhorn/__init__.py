"""A Longhorn made of controllers like its own, without any disk or engine."""

from tests.actors.longhorn.accounts import Overcommitted, nodes_with_replicas, overcommitted
from tests.actors.longhorn.creation import CreateVolumeError
from tests.actors.longhorn.delays import FAST, Delays
from tests.actors.longhorn.longhorn import Longhorn
from tests.actors.longhorn.objects import (
    DRIVER,
    NAMESPACE,
    DiskSpec,
    backing_image,
    csi_driver,
    disk_uuid,
    longhorn_node,
    setting,
    storage_class,
)
from tests.actors.longhorn.runners import (
    ENGINE_IMAGE,
    MANAGER_IMAGE,
    csi_node,
    engine_image,
    instance_manager,
)
from tests.actors.longhorn.schedules import DiskSchedules
from tests.actors.longhorn.upgrades import upgrade

__all__ = [
    "DRIVER",
    "ENGINE_IMAGE",
    "FAST",
    "MANAGER_IMAGE",
    "NAMESPACE",
    "CreateVolumeError",
    "Delays",
    "DiskSchedules",
    "DiskSpec",
    "Longhorn",
    "Overcommitted",
    "backing_image",
    "csi_driver",
    "csi_node",
    "disk_uuid",
    "engine_image",
    "instance_manager",
    "longhorn_node",
    "nodes_with_replicas",
    "overcommitted",
    "setting",
    "storage_class",
    "upgrade",
]
