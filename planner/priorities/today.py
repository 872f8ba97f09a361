"""The scores of today's kube-scheduler, as far as they decide between nodes of such a plan.

kube-scheduler gives 0 to 100 in whole points; here these are 0 to 10 in tenths. Source: kubernetes
1.36 pkg/scheduler/framework/plugins, the files named below.
"""

from collections.abc import Mapping, Sequence

from longhorn import NodeName
from planner.cluster import ASSUMED, Cluster
from planner.predicates.nodes import is_tolerated
from planner.records import CPU, MEMORY, KubernetesNode, Pod

_HUNDRED, _TENTHS = 100, 10
_BOTH = (CPU, MEMORY)


def least_allocated(
    pod: Pod,
    nodes: Sequence[NodeName],  # noqa: ARG001 - all nodes are remembered
    cluster: Cluster,
) -> Mapping[NodeName, float]:
    """Favour nodes of which less CPU and memory is requested.

    A pod that asks for none counts as kube-scheduler assumes, as if it had one container. Source:
    noderesources/least_allocated.go
    """
    wanted = tuple(pod.wishes.requests.get(each) or ASSUMED[each] for each in _BOTH)

    def score(node: KubernetesNode) -> float:
        there, taken = node.allocatable, cluster.requested(node.name)
        assumed = cluster.assumed(node.name)
        points = [
            max(0, there[each] - amount - taken.get(each, 0) - assumed.get(each, 0))
            * _HUNDRED
            // there[each]
            for each, amount in zip(_BOTH, wanted, strict=True)
            if there.get(each)
        ]
        return sum(points) // len(points) / _TENTHS if points else 0

    return cluster.by_node(("least allocated", wanted), score)


def balanced_allocation(
    pod: Pod,
    nodes: Sequence[NodeName],  # noqa: ARG001
    cluster: Cluster,
) -> Mapping[NodeName, float]:
    """Favour nodes where the pod brings the shares of CPU and memory nearer to each other.

    A pod that asks for neither does not change them, and scores no node. Source:
    noderesources/balanced_allocation.go
    """
    wanted = tuple(pod.wishes.requests.get(each, 0) for each in _BOTH)
    if not any(wanted):
        return {}

    def score(node: KubernetesNode) -> float:
        taken = cluster.requested(node.name)
        before = [taken.get(each, 0) for each in _BOTH]
        after = [amount + more for amount, more in zip(before, wanted, strict=True)]
        gain = _balance(after, node) - _balance(before, node)
        return (50 + (50 + gain) // 2) / _TENTHS

    return cluster.by_node(("balance", wanted), score)


def taint_toleration(
    pod: Pod, nodes: Sequence[NodeName], cluster: Cluster
) -> Mapping[NodeName, float]:
    """Favour nodes with fewer taints that ask pods to stay away if they can.

    Source: tainttoleration/taint_toleration.go
    """
    tolerations = pod.wishes.tolerations

    def unwanted(node: KubernetesNode) -> int:
        return sum(
            taint.effect == "PreferNoSchedule" and not is_tolerated(taint, tolerations)
            for taint in node.taints
        )

    numbers = cluster.by_node(("unwanted taints", tolerations), unwanted)
    most = max((numbers[name] for name in nodes), default=0)
    if not most:
        return dict.fromkeys(nodes, _HUNDRED / _TENTHS)
    return {name: (_HUNDRED - _HUNDRED * numbers[name] // most) / _TENTHS for name in nodes}


def _balance(requested: Sequence[int], node: KubernetesNode) -> int:
    """Return 100 less half of the difference of the two shares; 100 if the node lacks a size."""
    sizes = [node.allocatable.get(each, 0) for each in _BOTH]
    if not all(sizes):
        return _HUNDRED
    cpu, memory = (min(1.0, each / size) for each, size in zip(requested, sizes, strict=True))
    return int((1 - abs((cpu - memory) / 2)) * _HUNDRED)
