"""What runs on nodes besides Longhorn's manager: as it is in JSON, and the records of it."""

from typing import Any

import msgspec

from app.kube.objects import KubeStruct, Metadata, Text
from longhorn import EngineImage, InstanceManager, InstanceManagerUpgrade, NodeName, VolumeName

_DEPLOYED = frozenset({"deployed", "deploying"})
_AIO = "aio"
"""The type of instance managers since Longhorn v1.5: one for engines and replicas."""


class EngineImageSpec(KubeStruct, frozen=True):
    image: Text = None


class EngineImageStatus(KubeStruct, frozen=True):
    state: Text = None
    node_deployment_map: dict[str, bool | None] | None = None


class EngineImageObject(KubeStruct, frozen=True):
    metadata: Metadata
    spec: EngineImageSpec | None = None
    status: EngineImageStatus | None = None


class InstanceManagerSpec(KubeStruct, frozen=True):
    node_id: Text = msgspec.field(default=None, name="nodeID")
    data_engine: Text = None
    image: Text = None
    type: Text = None


class InstanceManagerStatus(KubeStruct, frozen=True):
    current_state: Text = None


class InstanceManagerObject(KubeStruct, frozen=True):
    metadata: Metadata
    spec: InstanceManagerSpec | None = None
    status: InstanceManagerStatus | None = None


class UpgradeStatus(KubeStruct, frozen=True):
    state: Text = None
    engines: dict[str, Any] | None = None
    planned_detached_replicas: dict[str, list[Any] | None] | None = None


class UpgradeObject(KubeStruct, frozen=True):
    metadata: Metadata
    status: UpgradeStatus | None = None


def engine_image_record(image: EngineImageObject) -> EngineImage:
    """Translate an EngineImage.

    Its state is "deploying" while one node lacks it; the map says which.
    """
    spec, status = image.spec or EngineImageSpec(), image.status or EngineImageStatus()
    nodes = (status.node_deployment_map or {}) if status.state in _DEPLOYED else {}
    return EngineImage(
        name=image.metadata.name,
        image=spec.image or "",
        nodes=frozenset(NodeName(name) for name, is_ready in nodes.items() if is_ready),
    )


def instance_manager_record(manager: InstanceManagerObject) -> InstanceManager:
    """Translate an InstanceManager."""
    spec = manager.spec or InstanceManagerSpec()
    status = manager.status or InstanceManagerStatus()
    return InstanceManager(
        name=manager.metadata.name,
        node=NodeName(spec.node_id or ""),
        is_v2=spec.data_engine == "v2",
        image=spec.image or "",
        is_running=spec.type == _AIO and status.current_state == "running",
        deleting=bool(manager.metadata.deletion_timestamp),
    )


def upgrade_record(upgrade: UpgradeObject) -> InstanceManagerUpgrade:
    """Translate an InstanceManagerUpgrade."""
    status = upgrade.status or UpgradeStatus()
    detaching = status.planned_detached_replicas or {}
    return InstanceManagerUpgrade(
        name=upgrade.metadata.name,
        state=status.state or "",
        moving=frozenset(map(VolumeName, status.engines or ())),
        detaching=frozenset(VolumeName(name) for name, there in detaching.items() if there),
    )
