"""Scores by requested CPU and memory, in whole points, as the first kube-scheduler gave them.

Requested is what the pods on the node and this one ask for. A node that declares no CPU or no
memory counts as full. Source: kubernetes 1.1 plugin/pkg/scheduler/algorithm/priorities
"""

from collections.abc import Mapping, Sequence

from longhorn import NodeName
from planner.cluster import Cluster
from planner.priorities.priority import HIGHEST
from planner.records import CPU, MEMORY, KubernetesNode, Pod


def least_requested(
    pod: Pod,
    nodes: Sequence[NodeName],  # noqa: ARG001 - all nodes are remembered
    cluster: Cluster,
) -> Mapping[NodeName, float]:
    """Favour nodes of which less is requested: the mean of the free shares of CPU and memory."""

    def points(node: KubernetesNode) -> int:
        cpu, memory = (_requested(each, pod, node, cluster) for each in (CPU, MEMORY))
        return (_free_points(*cpu) + _free_points(*memory)) // 2

    return cluster.by_node(("least requested", *_wanted(pod)), points)


def balanced_allocation(
    pod: Pod,
    nodes: Sequence[NodeName],  # noqa: ARG001
    cluster: Cluster,
) -> Mapping[NodeName, float]:
    """Favour nodes where the shares of CPU and memory that are requested are near each other."""

    def points(node: KubernetesNode) -> int:
        cpu, memory = (_requested(each, pod, node, cluster) for each in (CPU, MEMORY))
        return _balance_points(_share(*cpu), _share(*memory))

    return cluster.by_node(("balanced allocation", *_wanted(pod)), points)


def _wanted(pod: Pod) -> tuple[int, int]:
    return pod.wishes.requests.get(CPU, 0), pod.wishes.requests.get(MEMORY, 0)


def _requested(resource: str, pod: Pod, node: KubernetesNode, cluster: Cluster) -> tuple[int, int]:
    """Return what is requested of a node, with the pod, and what it has."""
    requested = cluster.requested(node.name).get(resource, 0)
    return requested + pod.wishes.requests.get(resource, 0), node.allocatable.get(resource, 0)


def _free_points(requested: int, capacity: int) -> int:
    if requested > capacity or not capacity:
        return 0
    return (capacity - requested) * HIGHEST // capacity


def _share(requested: int, capacity: int) -> float:
    return requested / capacity if capacity else 1.0


def _balance_points(cpu: float, memory: float) -> int:
    if cpu >= 1 or memory >= 1:
        return 0
    return int(HIGHEST - abs(cpu - memory) * HIGHEST)
