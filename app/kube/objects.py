"""The fields we read of Kubernetes objects, as they are in JSON, and what all objects have.

Every field may be null or absent: objects may be incomplete and of any version. Longhorn writes
some sizes as strings and others as numbers; both are accepted everywhere.
"""

from collections.abc import Sequence
from typing import Annotated

import msgspec

Text = str | None
Integer = Annotated[int, msgspec.Meta(ge=-(2**63), le=2**63 - 1)]
Bytes = Annotated[int, msgspec.Meta(ge=0, le=2**63 - 1)] | str | None
Name = Annotated[str, msgspec.Meta(min_length=1, max_length=253)]


class KubeStruct(msgspec.Struct, frozen=True, rename="camel", gc=False):
    """Base of all objects here: unknown fields are ignored."""


class Metadata(KubeStruct, frozen=True):
    name: Name
    namespace: Text = None
    uid: Text = None
    resource_version: Text = None
    deletion_timestamp: Text = None


class Condition(KubeStruct, frozen=True):
    type: Text = None
    status: Text = None
    reason: Text = None


class ResourceList(KubeStruct, frozen=True):
    storage: str | int | float | None = None


class ResourceRequirements(KubeStruct, frozen=True):
    requests: ResourceList | None = None


class DataSource(KubeStruct, frozen=True):
    kind: Text = None
    name: Text = None


class ClaimSpec(KubeStruct, frozen=True):
    volume_name: Text = None
    volume_mode: Text = None
    data_source: DataSource | None = None
    storage_class_name: Text = None
    access_modes: list[str] | None = None
    resources: ResourceRequirements | None = None


class ClaimAnnotations(KubeStruct, frozen=True):
    selected_node: Text = msgspec.field(default=None, name="volume.kubernetes.io/selected-node")


class Controller(KubeStruct, frozen=True):
    uid: Text = None
    controller: bool | None = None


class ClaimMetadata(Metadata, frozen=True, rename="camel"):
    annotations: ClaimAnnotations | None = None
    owner_references: Sequence[Controller] | None = None


class PersistentVolumeClaim(KubeStruct, frozen=True):
    metadata: ClaimMetadata
    spec: ClaimSpec | None = None


class CsiSource(KubeStruct, frozen=True):
    driver: Text = None
    volume_handle: Text = None


class PersistentVolumeSpec(KubeStruct, frozen=True):
    csi: CsiSource | None = None


class PersistentVolume(KubeStruct, frozen=True):
    metadata: Metadata
    spec: PersistentVolumeSpec | None = None


class StorageClassAnnotations(KubeStruct, frozen=True):
    is_default: Text = msgspec.field(
        default=None, name="storageclass.kubernetes.io/is-default-class"
    )
    is_beta_default: Text = msgspec.field(
        default=None, name="storageclass.beta.kubernetes.io/is-default-class"
    )


class StorageClassMetadata(Metadata, frozen=True, rename="camel"):
    creation_timestamp: Text = None
    annotations: StorageClassAnnotations | None = None


class StorageClass(KubeStruct, frozen=True):
    metadata: StorageClassMetadata
    provisioner: Text = None
    parameters: dict[str, Text] | None = None
    volume_binding_mode: Text = None


class ConfigMap(KubeStruct, frozen=True):
    metadata: Metadata
    data: dict[str, Text] | None = None


class PodClaimSource(KubeStruct, frozen=True):
    claim_name: Text = None


class PodEphemeralSource(KubeStruct, frozen=True):
    pass


class PodVolume(KubeStruct, frozen=True):
    name: Text = None
    persistent_volume_claim: PodClaimSource | None = None
    ephemeral: PodEphemeralSource | None = None


class PodSchedulingGroup(KubeStruct, frozen=True):
    pod_group_name: Text = None


class PodSpec(KubeStruct, frozen=True):
    volumes: Sequence[PodVolume] | None = None
    node_name: Text = None
    scheduling_group: PodSchedulingGroup | None = None


class PodCondition(KubeStruct, frozen=True):
    type: Text = None
    status: Text = None
    reason: Text = None
    message: Text = None
    last_transition_time: Text = None


class PodStatus(KubeStruct, frozen=True):
    phase: Text = None
    nominated_node_name: Text = None
    conditions: list[PodCondition] | None = None


class Pod(KubeStruct, frozen=True):
    metadata: Metadata
    spec: PodSpec | None = None
    status: PodStatus | None = None
