"""Where kube-scheduler itself lets a pod go for its volumes, Longhorn's disks left aside.

Source: kubernetes pkg/scheduler/framework/plugins volumerestrictions and volumebinding.
"""

from collections.abc import Iterator, Mapping, Sequence

import msgspec

from extender import ClusterView, PodRef
from extender.kubernetes import Claim, NodeTerm, class_of
from longhorn import NodeName
from planner.cluster import Cluster
from planner.predicates.refusals import Refusal
from planner.records import CloudDisk, KubernetesNode, Pod
from planner.selectors import meets, shown

_SHARED_FOR_READING = "gcePersistentDisk"


def no_disk_conflict(
    pod: Pod, nodes: Sequence[NodeName], cluster: Cluster
) -> Mapping[NodeName, Refusal]:
    """Refuse nodes where another pod mounts a disk of GCE or Amazon EBS that the pod mounts.

    Pods may share a disk of GCE if all of them only read it.
    """
    refused = dict[NodeName, Refusal]()
    for disk in pod.wishes.cloud_disks:
        refusal = Refusal("disk_conflict", f"another pod there mounts {disk.kind} {disk.name}")
        for name in nodes:
            if name not in refused and any(
                _conflict(disk, other)
                for each in cluster.pods_on(name).values()
                for other in each.wishes.cloud_disks
            ):
                refused[name] = refusal
    return refused


def volume_restrictions(
    pod: Pod, nodes: Sequence[NodeName], cluster: Cluster
) -> Mapping[NodeName, Refusal]:
    """Refuse all nodes while another pod has a ReadWriteOncePod claim; and as no_disk_conflict.

    A ReadWriteOnce claim keeps no pod away. If such a pod goes to another node than the first one,
    its volume is not attached there and it waits.
    """
    for key in pod.ref.claims:
        claim = cluster.get(Claim, key)
        if claim is not None and claim.read_write_once_pod and _is_in_use(key, pod, cluster):
            text = f"another pod uses claim {key}, which only one pod may use at a time"
            return dict.fromkeys(nodes, Refusal("claim_in_use", text))
    return no_disk_conflict(pod, nodes, cluster)


def volume_topology(
    pod: Pod, nodes: Sequence[NodeName], cluster: Cluster
) -> Mapping[NodeName, Refusal]:
    """Refuse nodes where a claim's volume cannot be used, or is not going to be made.

    A bound claim goes where the node affinity of its PersistentVolume says. For one that is not
    bound, kube-scheduler may have chosen a node already; it keeps to that.
    """
    refused = dict[NodeName, Refusal]()
    for key in pod.ref.claims:
        claim = cluster.get(Claim, key)
        if claim is None:
            continue
        if claim.persistent_volume is None and claim.selected_node is not None:
            refusal = Refusal("claim_selected_node", f"claim {key} is to be made on another node")
            refused |= {name: refusal for name in nodes if name != claim.selected_node}
    for limit in limits_of(pod.ref, cluster.view):
        for name in nodes:
            outside = within(limit, cluster.nodes[name])
            if outside is not None:
                refused[name] = outside
    return refused


class Limit(msgspec.Struct, frozen=True):
    """The nodes that a volume may be used on, or made for: those that meet one of the terms."""

    terms: tuple[NodeTerm, ...]
    refusal: Refusal
    """Of all other nodes."""


def limits_of(pod: PodRef, view: ClusterView) -> list[Limit]:
    """Return the nodes that the volumes of *pod* are limited to, Longhorn's and others.

    Source: kubernetes pkg/scheduler/framework/plugins/volumebinding (checkBoundClaims,
    checkVolumeProvisions).
    """
    return [*_limits(pod, view)]


def within(limit: Limit, node: KubernetesNode) -> Refusal | None:
    """Refuse a node that a volume's limit leaves out."""
    return None if any(meets(node, term) for term in limit.terms) else limit.refusal


def _limits(pod: PodRef, view: ClusterView) -> Iterator[Limit]:
    for key in pod.claims:
        claim = view.claims.get(key)
        if claim is None:
            continue
        volume = view.persistent_volumes.get(claim.persistent_volume or "")
        storage_class = class_of(claim, view.storage_classes)
        if volume is not None and volume.terms is not None:
            text = (
                f"PersistentVolume {volume.name} of claim {key} is limited to nodes with "
                f"{shown(volume.terms)}"
            )
            yield Limit(volume.terms, Refusal("volume_node_affinity", text))
        elif claim.persistent_volume is None and storage_class and storage_class.terms is not None:
            text = (
                f"StorageClass {storage_class.name} of claim {key} makes volumes only for nodes "
                f"with {shown(storage_class.terms)}"
            )
            yield Limit(storage_class.terms, Refusal("allowed_topologies", text))


def _conflict(one: CloudDisk, other: CloudDisk) -> bool:
    if (one.kind, one.name) != (other.kind, other.name):
        return False
    return not (one.kind == _SHARED_FOR_READING and one.read_only and other.read_only)


def _is_in_use(key: str, pod: Pod, cluster: Cluster) -> bool:
    return any(
        other.node is not None and key in other.ref.claims
        for other in cluster.pods.values()
        if other.key != pod.key
    )
