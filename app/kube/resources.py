"""The kinds of objects we read: where they are, in which version, and what they become."""

from collections.abc import Callable, Mapping
from typing import Any

import msgspec

from app.kube import objects, translate
from extender import Claim, PersistentVolume, StorageClass
from longhorn import BackingImage, Node, Replica, Volume

AnyRecord = (
    BackingImage
    | Claim
    | translate.ConfigMap
    | translate.KubernetesNode
    | Node
    | PersistentVolume
    | translate.Pod
    | Replica
    | translate.Setting
    | StorageClass
    | Volume
)


class Resource(msgspec.Struct, frozen=True, kw_only=True):
    """One kind, in the one version that we read."""

    group: str = ""
    version: str = "v1"
    plural: str
    kind: str
    type: type[Any]
    """The structure of its fields that we read."""
    record_of: Callable[[Any], AnyRecord]

    @property
    def api_version(self) -> str:
        """As it stands in objects."""
        return f"{self.group}/{self.version}" if self.group else self.version

    @property
    def name(self) -> str:
        """As kubectl and CRDs spell it: `volumes.longhorn.io`."""
        return f"{self.plural}.{self.group}" if self.group else self.plural

    def path(self, namespace: str = "") -> str:
        """Return the path of all objects, or of those in *namespace*."""
        root = f"/apis/{self.api_version}" if self.group else f"/api/{self.api_version}"
        return (
            f"{root}/namespaces/{namespace}/{self.plural}" if namespace else f"{root}/{self.plural}"
        )


_LONGHORN, _LONGHORN_VERSION = "longhorn.io", "v1beta2"

CLAIMS = Resource(
    plural="persistentvolumeclaims",
    kind="PersistentVolumeClaim",
    type=objects.PersistentVolumeClaim,
    record_of=translate.claim_record,
)
PERSISTENT_VOLUMES = Resource(
    plural="persistentvolumes",
    kind="PersistentVolume",
    type=objects.PersistentVolume,
    record_of=translate.persistent_volume_record,
)
STORAGE_CLASSES = Resource(
    group="storage.k8s.io",
    plural="storageclasses",
    kind="StorageClass",
    type=objects.StorageClass,
    record_of=translate.storage_class_record,
)
CONFIG_MAPS = Resource(
    plural="configmaps",
    kind="ConfigMap",
    type=objects.ConfigMap,
    record_of=translate.config_map_record,
)
PODS = Resource(
    plural="pods",
    kind="Pod",
    type=objects.Pod,
    record_of=translate.pod_record,
)
KUBERNETES_NODES = Resource(
    plural="nodes",
    kind="Node",
    type=objects.KubernetesNode,
    record_of=translate.kubernetes_node_record,
)
NODES = Resource(
    group=_LONGHORN,
    version=_LONGHORN_VERSION,
    plural="nodes",
    kind="Node",
    type=objects.LonghornNode,
    record_of=translate.node_record,
)
VOLUMES = Resource(
    group=_LONGHORN,
    version=_LONGHORN_VERSION,
    plural="volumes",
    kind="Volume",
    type=objects.Volume,
    record_of=translate.volume_record,
)
REPLICAS = Resource(
    group=_LONGHORN,
    version=_LONGHORN_VERSION,
    plural="replicas",
    kind="Replica",
    type=objects.Replica,
    record_of=translate.replica_record,
)
BACKING_IMAGES = Resource(
    group=_LONGHORN,
    version=_LONGHORN_VERSION,
    plural="backingimages",
    kind="BackingImage",
    type=objects.BackingImage,
    record_of=translate.backing_image_record,
)
SETTINGS = Resource(
    group=_LONGHORN,
    version=_LONGHORN_VERSION,
    plural="settings",
    kind="Setting",
    type=objects.Setting,
    record_of=translate.setting_record,
)

CLUSTER_RESOURCES = (CLAIMS, PERSISTENT_VOLUMES, STORAGE_CLASSES)
"""Read in all namespaces."""
LONGHORN_RESOURCES = (NODES, VOLUMES, REPLICAS, BACKING_IMAGES, SETTINGS)
"""Read in Longhorn's namespace."""

BY_KIND: Mapping[tuple[str, str], Resource] = {
    (resource.group, resource.kind): resource
    for resource in (*CLUSTER_RESOURCES, *LONGHORN_RESOURCES, PODS, KUBERNETES_NODES)
}
"""By group and kind, for objects that say theirs."""
