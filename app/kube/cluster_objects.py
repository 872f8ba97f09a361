"""All records of one cluster as a file or a single reading gives them."""

from collections.abc import Iterable
from typing import TypeVar

import msgspec

from app.kube.mirror import Known
from app.kube.records import Unreadable
from app.kube.translate import ConfigMap, KubernetesNode, Pod, Setting
from extender import Claim, ClaimKey, PersistentVolume, StorageClass
from longhorn import BackingImage, Node, NodeName, Replica, ReplicaName, Volume, VolumeName

Key = TypeVar("Key")
Kept = TypeVar("Kept")


class ClusterObjects(msgspec.Struct):
    """All records of one cluster, by name."""

    claims: dict[ClaimKey, Claim] = {}
    persistent_volumes: dict[str, PersistentVolume] = {}
    storage_classes: dict[str, StorageClass] = {}
    nodes: dict[NodeName, Node] = {}
    volumes: dict[VolumeName, Volume] = {}
    replicas: dict[ReplicaName, Replica] = {}
    backing_images: dict[str, BackingImage] = {}
    settings: dict[str, Setting] = {}
    pods: dict[str, Pod] = {}
    """By namespace and name, joined by a slash."""
    kubernetes_nodes: dict[NodeName, KubernetesNode] = {}
    config_maps: dict[str, ConfigMap] = {}
    unreadable: dict[tuple[str, str], Unreadable] = {}

    def add(self, record: Known) -> bool:  # noqa: C901 (a case for each kind)
        """Take *record* in; return False and leave it out if there is one of its name."""
        match record:
            case Claim():
                return _added(self.claims, record.key, record)
            case PersistentVolume():
                return _added(self.persistent_volumes, record.name, record)
            case StorageClass():
                return _added(self.storage_classes, record.name, record)
            case Node():
                return _added(self.nodes, record.name, record)
            case Volume():
                return _added(self.volumes, record.name, record)
            case Replica():
                return _added(self.replicas, record.name, record)
            case BackingImage():
                return _added(self.backing_images, record.name, record)
            case Setting():
                return _added(self.settings, record.name, record)
            case Pod():
                return _added(self.pods, f"{record.ref.namespace}/{record.ref.name}", record)
            case KubernetesNode():
                return _added(self.kubernetes_nodes, record.name, record)
            case ConfigMap():
                return _added(self.config_maps, record.name, record)
            case Unreadable():
                return _added(self.unreadable, (record.kind, record.name), record)

    def records(self) -> Iterable[Known]:
        """Return all records that a view is made of."""
        for kind in (
            self.claims,
            self.persistent_volumes,
            self.storage_classes,
            self.nodes,
            self.volumes,
            self.replicas,
            self.backing_images,
            self.settings,
            self.unreadable,
        ):
            yield from kind.values()

    def candidates(self) -> tuple[NodeName, ...]:
        """Return the names kube-scheduler would start from: all nodes, sorted."""
        return tuple(sorted(self.kubernetes_nodes or self.nodes))


def _added(records: dict[Key, Kept], key: Key, record: Kept) -> bool:
    if key in records:
        return False
    records[key] = record
    return True
