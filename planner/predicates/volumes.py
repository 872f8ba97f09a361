"""Where kube-scheduler itself lets a pod go for its volumes, Longhorn's disks left aside.

Source: kubernetes pkg/scheduler/framework/plugins volumerestrictions and volumebinding.
"""

from collections.abc import Mapping, Sequence

from extender import Claim
from longhorn import NodeName
from planner.cluster import Cluster
from planner.predicates.refusals import Refusal
from planner.records import CloudDisk, Pod
from planner.selectors import meets

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
        volume = claim.persistent_volume
        terms = cluster.topologies.get(volume or "")
        if volume is None and claim.selected_node is not None:
            refusal = Refusal("claim_selected_node", f"claim {key} is to be made on another node")
            refused |= {name: refusal for name in nodes if name != claim.selected_node}
        elif terms is not None:
            refusal = Refusal("volume_topology", f"PersistentVolume {volume} cannot be used there")
            refused |= {
                name: refusal
                for name in nodes
                if not any(meets(cluster.nodes[name], term) for term in terms)
            }
    return refused


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
