"""The cluster of a plan, from the objects that were read."""

from collections.abc import Iterable

from msgspec import structs

from app.settings import Settings
from cli.kube.cluster_objects import ClusterObjects
from cli.kube.pods import Pod
from cli.kube.versions import SCORES_CAPACITY, minor_version
from cli.scheduler_config.wanted import SCHEDULER_NAME
from extender.holds import rebuild
from longhorn import CORDONED, Moment, Node, NodeName
from planner import records
from planner.cluster import Cluster, Record, fill
from planner.priorities import is_tracked
from planner.records import Budget, KubernetesNode, Service, Wishes
from planner.workloads import DEPLOYMENT, Workload

_NO_VERSION = (
    "no Kubernetes Node says its version (status.nodeInfo.kubeletVersion); it is taken for older "
    "than 1.37, so that kube-scheduler gives no points for free storage"
)


def planned_cluster(
    objects: ClusterObjects, settings: Settings, utc: Moment | None
) -> tuple[Cluster, list[str]]:
    """Build the cluster that a plan begins with.

    Pods that have ended take nothing and are left out. Without Kubernetes Nodes, Longhorn's count
    in their place: `missing` of `cli.missing` says so. For pods on their way to a node the
    extender holds what it would hold if it began to lead now. kube-scheduler has the version of
    the newest kubelet, which is never newer than it. If there is a second one, pods with volumes
    go there, and it gives no points for free storage.

    Args:
        objects: What was read, by the table `PLANNED`.
        settings: Of the process.
        utc: The date and time, None if it is not known, as for files.

    Returns:
        The cluster, and a line for each thing in it that is not known.
    """
    pods = [(_pod(each), each.status) for each in objects.of(Pod).values() if not each.status.ended]
    known = objects.of(KubernetesNode).values()
    cluster = fill(
        Cluster(settings.step_limits, settings.balance, utc),
        nodes=known or map(_node_of, objects.of(Node).values()),
        pods=(pod for pod, _ in pods),
        services=objects.of(Service).values(),
        budgets=objects.of(Budget).values(),
        workloads=objects.of(Workload).values(),
        records=(each for each in objects.records() if isinstance(each, Record)),
    )
    ledger = cluster.extender.ledger
    for hold in rebuild(((pod.ref, status) for pod, status in pods), cluster.view, ledger.mode, 0):
        ledger.put(hold)
    version = max(filter(None, (minor_version(each.kubelet) for each in known)), default=None)
    has_second = any(
        each.kind == DEPLOYMENT and each.name == SCHEDULER_NAME for each in cluster.workloads
    )
    cluster.scores_capacity = not has_second and (version or (0, 0)) >= SCORES_CAPACITY
    notes = _unlimited(known)
    if version is None and not has_second and is_tracked(cluster):
        notes.append(_NO_VERSION)
    return cluster, notes


def _pod(pod: Pod) -> records.Pod:
    """Translate a pod of the cluster; the extender tells pods apart by uid, files may lack it."""
    ref = structs.replace(pod.ref, uid=pod.ref.uid or pod.key)
    return records.Pod(ref=ref, wishes=pod.wishes or Wishes(), node=pod.status.node)


def _unlimited(nodes: Iterable[KubernetesNode]) -> list[str]:
    silent = [each.name for each in nodes if not each.allocatable]
    if not silent:
        return []
    more = f" and {len(silent) - 1} more do" if len(silent) > 1 else " does"
    return [
        f"Kubernetes Node {silent[0]}{more} not say what pods may ask for (status.allocatable); "
        f"there is no limit of CPU, memory and pods there"
    ]


def _node_of(node: Node) -> KubernetesNode:
    """Say of a Kubernetes Node what Longhorn's shows."""
    labels = {
        "kubernetes.io/hostname": str(node.name),
        "topology.kubernetes.io/zone": node.zone,
        "topology.kubernetes.io/region": node.region,
    }
    return KubernetesNode(
        name=NodeName(node.name),
        labels={name: value for name, value in labels.items() if value},
        cordoned=node.schedulable.reason == CORDONED,
    )
