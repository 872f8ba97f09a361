"""A cluster's records, and the view of them that decisions work on."""

from collections import defaultdict
from collections.abc import Iterable
from typing import TypeVar

import msgspec

from app.kube.records import AnyRecord, Unreadable
from app.kube.translate import KubernetesNode, Setting
from extender import (
    SCHEDULER_SETTINGS,
    BackingImage,
    Claim,
    ClaimKey,
    ClusterView,
    Disk,
    DiskKind,
    Node,
    NodeName,
    PersistentVolume,
    PodRef,
    Policy,
    Replica,
    ReplicaName,
    StorageClass,
    UnreadableSetting,
    Volume,
    VolumeName,
    node_space,
    read_policy,
)

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
    settings: dict[str, str] = {}
    pods: dict[str, PodRef] = {}
    """By namespace and name, joined by a slash."""
    kubernetes_nodes: dict[NodeName, None] = {}
    unreadable: dict[tuple[str, str], Unreadable] = {}

    def add(self, record: AnyRecord | Unreadable) -> bool:  # noqa: C901 (a case for each kind)
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
                return _added(self.settings, record.name, record.value)
            case PodRef():
                return _added(self.pods, f"{record.namespace}/{record.name}", record)
            case KubernetesNode():
                return _added(self.kubernetes_nodes, record.name, None)
            case Unreadable():
                return _added(self.unreadable, (record.kind, record.name), record)

    def candidates(self) -> tuple[NodeName, ...]:
        """Return the names kube-scheduler would start from: all nodes, sorted."""
        return tuple(sorted(self.kubernetes_nodes or self.nodes))


def build_view(cluster: ClusterObjects) -> ClusterView:
    """Index the records, and work out what every node has left."""
    policy = _policy(cluster)
    of_node: dict[NodeName, list[Replica]] = defaultdict(list)
    of_volume: dict[VolumeName, list[Replica]] = defaultdict(list)
    for replica in cluster.replicas.values():
        of_node[replica.node or replica.hard_node_affinity].append(replica)
        of_volume[replica.volume].append(replica)
    unreadable_nodes = {
        node
        for broken in cluster.unreadable.values()
        for node in broken.nodes
        if broken.kind != "Node" or node not in cluster.nodes  # read in another version
    }
    kinds: dict[DiskKind, int] = {}
    return ClusterView(
        claims=cluster.claims,
        persistent_volumes=cluster.persistent_volumes,
        storage_classes=cluster.storage_classes,
        volumes=cluster.volumes,
        backing_images=cluster.backing_images,
        replicas=dict(of_volume),
        spaces={
            name: node_space(node, of_node.get(name, ()), policy, kinds)
            for name, node in cluster.nodes.items()
            if name not in unreadable_nodes
        },
        disk_kinds=kinds,
        policy=policy,
        settings=cluster.settings,
        node_tags=_all_tags(cluster.nodes.values()),
        disk_tags=_all_tags(disk for node in cluster.nodes.values() for disk in node.disks),
        unreadable={key: broken.why for key, broken in cluster.unreadable.items()},
        unreadable_replicas={
            broken.volume: f"its Replica {broken.name} cannot be read: {broken.why}"
            for broken in cluster.unreadable.values()
            if broken.volume
        },
        unreadable_nodes=unreadable_nodes,
    )


def _policy(cluster: ClusterObjects) -> Policy | UnreadableSetting:
    for kind, name in sorted(cluster.unreadable):
        if kind == "Setting" and name in SCHEDULER_SETTINGS:
            return UnreadableSetting(name=name)
    return read_policy(cluster.settings)


def _all_tags(tagged: Iterable[Node] | Iterable[Disk]) -> frozenset[str]:
    return frozenset(tag for holder in tagged for tag in holder.tags)


def _added(records: dict[Key, Kept], key: Key, record: Kept) -> bool:
    if key in records:
        return False
    records[key] = record
    return True
