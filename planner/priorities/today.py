"""The scores of today's kube-scheduler, as far as they decide between nodes of such a plan.

kube-scheduler gives 0 to 100 in whole points; here these are 0 to 10 in tenths. Source: kubernetes
1.36 pkg/scheduler/framework/plugins, the files named below.
"""

from collections.abc import Mapping, Sequence
from math import log

from longhorn import NodeName
from planner.cluster import ASSUMED, Cluster
from planner.domains import by_value
from planner.predicates.nodes import is_tolerated, node_affinity
from planner.records import CPU, MEMORY, KubernetesNode, Pod
from planner.services import services_of

_HUNDRED, _TENTHS = 100, 10
_BOTH = (CPU, MEMORY)
_HOSTNAME, _ZONE = "kubernetes.io/hostname", "topology.kubernetes.io/zone"
_HOSTNAME_SKEW, _ZONE_SKEW = 3, 5
_SPREAD_OWNERS = ("Deployment", "ReplicaSet", "ReplicationController", "StatefulSet")


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
    pod: Pod, nodes: Sequence[NodeName], cluster: Cluster
) -> Mapping[NodeName, float]:
    """Favour nodes where the pod brings the shares of CPU and memory nearer to each other.

    A pod that asks for neither does not change them, and scores no node. Source:
    noderesources/balanced_allocation.go
    """
    wanted = tuple(pod.wishes.requests.get(each, 0) for each in _BOTH)
    if not any(wanted):
        return dict.fromkeys(nodes, 0)

    def score(node: KubernetesNode) -> float:
        taken = cluster.requested(node.name)
        before = [taken.get(each, 0) for each in _BOTH]
        after = [amount + more for amount, more in zip(before, wanted, strict=True)]
        gain = _balance(after, node) - _balance(before, node)
        return (50 + (50 + gain) // 2) / _TENTHS

    return cluster.by_node(("balance", wanted), score)


def default_spread(
    pod: Pod, nodes: Sequence[NodeName], cluster: Cluster
) -> Mapping[NodeName, float]:
    """Favour nodes and zones with fewer pods of the same service and controller.

    A pod with neither scores no node. Source: podtopologyspread/scoring.go with the default
    constraints of plugin.go, and helper/spread.go DefaultSelector
    """
    tally = _alike(pod, cluster)
    if tally is None:
        return dict.fromkeys(nodes, 0)
    places = cluster.by_node("place", _place)
    zone_tally = _zone_tally(tally, pod, cluster)
    weight = log(len(nodes) + 2)
    zone_weight = log(len({places[name][1] for name in nodes}) + 2)
    costs = dict[NodeName, int]()
    for name in nodes:
        named, zone = places[name]
        cost = tally.get(name, 0) * weight + _HOSTNAME_SKEW - 1 if named else 0.0
        if zone is not None:
            cost += zone_tally.get(zone, 0) * zone_weight + _ZONE_SKEW - 1
        costs[name] = int(cost + 0.5)
    most, least = max(costs.values(), default=0), min(costs.values(), default=0)
    if not most:
        return dict.fromkeys(nodes, _HUNDRED / _TENTHS)
    return {
        name: _HUNDRED * (most + least - cost) // most / _TENTHS for name, cost in costs.items()
    }


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


def _place(node: KubernetesNode) -> tuple[bool, str | None]:
    """Return whether the node has the label of its name, and its zone."""
    return _HOSTNAME in node.labels, node.labels.get(_ZONE)


def _zone_tally(tally: Mapping[NodeName, int], pod: Pod, cluster: Cluster) -> dict[str, int]:
    """Return how many pods are in each zone, on those nodes that the pod's own rules allow."""
    known = [name for name in tally if name in cluster.nodes]
    left_out = node_affinity(pod, known, cluster)
    counted = {name: tally[name] for name in known if name not in left_out}
    return by_value(counted, _ZONE, cluster)


def _alike(pod: Pod, cluster: Cluster) -> Mapping[NodeName, int] | None:
    """Return how many pods of the same services and controller are on each node.

    None if there is nothing to be alike by. kube-scheduler asks for the selector of the controller;
    here it is the controller itself.
    """
    namespace, wishes = pod.ref.namespace, pod.wishes
    owner = wishes.owner if wishes.owner and wishes.owner[0] in _SPREAD_OWNERS else None
    selector = dict[str, str]()
    for service in services_of(pod, cluster):
        selector |= service.selector
    if not (selector or owner):
        return None

    def is_alike(other: Pod) -> bool:
        return (
            other.ref.namespace == namespace
            and not other.wishes.deleting
            and owner in (None, other.wishes.owner)
            and selector.items() <= other.wishes.labels.items()
        )

    key = "alike", namespace, owner, tuple(sorted(selector.items()))
    return cluster.tally(key, is_alike)
