"""Nodes that a pod would rather have: by their labels, or by the pods near them.

Source: kubernetes 1.36 pkg/scheduler/framework/plugins nodeaffinity/node_affinity.go and
interpodaffinity/scoring.go
"""

from collections.abc import Iterator, Mapping, Sequence

from longhorn import NodeName
from planner.cluster import Cluster
from planner.domains import by_value, selected
from planner.records import KubernetesNode, Pod, PreferredPods
from planner.selectors import is_selected, meets

_HUNDRED, _TENTHS = 100, 10


def node_affinity(
    pod: Pod, nodes: Sequence[NodeName], cluster: Cluster
) -> Mapping[NodeName, float]:
    """Favour nodes that meet more of the preferred node affinity, by its weights."""
    preferred = pod.wishes.preferred_nodes
    if not preferred:
        return {}

    def weight(node: KubernetesNode) -> int:
        return sum(each.weight for each in preferred if meets(node, each.term))

    weights = cluster.by_node(("preferred nodes", preferred), weight)
    most = max((weights[name] for name in nodes), default=0)
    return {name: _HUNDRED * weights[name] // most / _TENTHS for name in nodes} if most else {}


def inter_pod_affinity(
    pod: Pod, nodes: Sequence[NodeName], cluster: Cluster
) -> Mapping[NodeName, float]:
    """Favour nodes near the pods that the pod prefers, and far from those that it avoids.

    What the pods there prefer counts as well.
    """
    sums = dict[str, dict[str, int]]()
    for rule, tally in _rules(pod, cluster):
        label = rule.term.topology_key
        of_label = sums.setdefault(label, {})
        for value, number in by_value(tally, label, cluster).items():
            of_label[value] = of_label.get(value, 0) + rule.weight * number
    if not sums:
        return {}
    totals = {name: _total(cluster.nodes[name], sums) for name in nodes}
    least, most = min(totals.values(), default=0), max(totals.values(), default=0)
    if most == least:
        return {}
    return {
        name: int(_HUNDRED * ((total - least) / (most - least))) / _TENTHS
        for name, total in totals.items()
    }


def _rules(pod: Pod, cluster: Cluster) -> Iterator[tuple[PreferredPods, Mapping[NodeName, int]]]:
    """Yield the rules of a pod, and of other pods about it, with the numbers of these."""
    for rule in pod.wishes.preferred_pods:
        yield rule, selected((rule.term,), cluster)
    for rule, tally in cluster.attracting():
        if is_selected(pod, rule.term):
            yield rule, tally


def _total(node: KubernetesNode, sums: Mapping[str, Mapping[str, int]]) -> int:
    return sum(
        of_label.get(node.labels[label], 0)
        for label, of_label in sums.items()
        if label in node.labels
    )
