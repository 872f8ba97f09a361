"""How evenly kube-scheduler would have the pods of one kind spread over nodes and zones.

Source: kubernetes 1.36 pkg/scheduler/framework/plugins/podtopologyspread/scoring.go
"""

from collections.abc import Mapping, Sequence
from math import log

from longhorn import NodeName
from planner.cluster import Cluster
from planner.domains import by_value
from planner.predicates.nodes import node_affinity
from planner.predicates.spreading import counted_pods, pods_by_domain
from planner.records import KubernetesNode, Pod, Spread
from planner.services import services_of

_HUNDRED, _TENTHS = 100, 10
_HOSTNAME, _ZONE = "kubernetes.io/hostname", "topology.kubernetes.io/zone"
_HOSTNAME_SKEW, _ZONE_SKEW = 3, 5
_SPREAD_OWNERS = ("Deployment", "ReplicaSet", "ReplicationController", "StatefulSet")


def pod_topology_spread(
    pod: Pod, nodes: Sequence[NodeName], cluster: Cluster
) -> Mapping[NodeName, float]:
    """Favour nodes by the pod's constraints with `ScheduleAnyway`.

    A pod without any constraint, of either kind, is spread by default.
    """
    if not pod.wishes.spreads:
        return _default_spread(pod, nodes, cluster)
    spreads = [each for each in pod.wishes.spreads if not each.is_required]
    keys = [each.topology_key for each in spreads]
    scored = [name for name in nodes if all(key in cluster.nodes[name].labels for key in keys)]
    if not (spreads and scored):
        return {}
    costs = dict.fromkeys(scored, 0.0)
    for spread in spreads:
        for name, cost in _costs(pod, spread, keys, scored, cluster).items():
            costs[name] += cost
    unscored = dict.fromkeys(nodes, 0.0)
    return {**unscored, **_normalized({name: int(cost + 0.5) for name, cost in costs.items()})}


def _costs(
    pod: Pod, spread: Spread, keys: Sequence[str], nodes: Sequence[NodeName], cluster: Cluster
) -> dict[NodeName, float]:
    """Return what one constraint says of nodes that have the labels of all: more is worse."""
    if spread.topology_key == _HOSTNAME:
        tally, weight = counted_pods(pod, spread, cluster), log(len(nodes) + 2)
        return {name: tally.get(name, 0) * weight + spread.max_skew - 1 for name in nodes}
    counts = pods_by_domain(pod, spread, keys, cluster)
    domains = {name: cluster.nodes[name].labels[spread.topology_key] for name in nodes}
    weight = log(len({*domains.values()}) + 2)
    return {
        name: counts.get(domain, 0) * weight + spread.max_skew - 1
        for name, domain in domains.items()
    }


def _default_spread(
    pod: Pod, nodes: Sequence[NodeName], cluster: Cluster
) -> Mapping[NodeName, float]:
    """Favour nodes and zones with fewer pods of the same service and controller.

    A pod with neither scores no node. Source: podtopologyspread/plugin.go for the constraints, and
    helper/spread.go DefaultSelector
    """
    tally = _alike(pod, cluster)
    if tally is None:
        return {}
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
    return _normalized(costs)


def _normalized(costs: Mapping[NodeName, int]) -> dict[NodeName, float]:
    most, least = max(costs.values(), default=0), min(costs.values(), default=0)
    if not most:
        return dict.fromkeys(costs, _HUNDRED / _TENTHS)
    return {
        name: _HUNDRED * (most + least - cost) // most / _TENTHS for name, cost in costs.items()
    }


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
