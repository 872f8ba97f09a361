"""Topology spread constraints: those that must be met, and which pods each of them counts.

Source: kubernetes 1.36 pkg/scheduler/framework/plugins/podtopologyspread (common.go, filtering.go)
"""

from collections.abc import Mapping, Sequence

from longhorn import NodeName
from planner.cluster import Cluster
from planner.predicates.nodes import selector_or_affinity, taint
from planner.predicates.refusals import Refusal
from planner.records import KubernetesNode, Pod, Spread
from planner.selectors import selects
from planner.tallies import key_of


def pod_topology_spread(
    pod: Pod, nodes: Sequence[NodeName], cluster: Cluster
) -> Mapping[NodeName, Refusal]:
    """Refuse nodes by the pod's constraints with `DoNotSchedule`.

    With the pod, a domain may have up to maxSkew more pods than the one with the fewest. While
    there are fewer domains than minDomains, that one counts as empty. A node without the label is
    in no domain.
    """
    spreads = [each for each in pod.wishes.spreads if each.is_required]
    if not spreads:
        return {}
    keys = [each.topology_key for each in spreads]
    refused = dict[NodeName, Refusal]()
    for spread in spreads:
        label = spread.topology_key
        counts = pods_by_domain(pod, spread, keys, cluster)
        most = _most_before(pod, spread, counts)
        unlabelled = Refusal("topology_label", f"it lacks label {label} of a topology spread")
        text = f"by maxSkew {spread.max_skew} over {label}, no pod more may come to its domain now"
        skewed = Refusal("topology_spread", text)
        for name in nodes:
            value = cluster.nodes[name].labels.get(label)
            if value is None:
                refused.setdefault(name, unlabelled)
            elif counts.get(value, 0) > most:
                refused.setdefault(name, skewed)
    return refused


def pods_by_domain(
    pod: Pod, spread: Spread, keys: Sequence[str], cluster: Cluster
) -> dict[str, int]:
    """Return for each value of the constraint's label how many of its pods are on such nodes.

    A domain without pods has 0. Nodes count that have all labels of *keys*, those of all the
    constraints that are looked at together, and that the constraint's own policies let count.
    """
    wishes = pod.wishes

    def domain(node: KubernetesNode) -> str | None:
        if any(key not in node.labels for key in keys):
            return None
        if spread.only_allowed and selector_or_affinity(wishes, node) is not None:
            return None
        if spread.only_tolerated and taint(wishes, node) is not None:
            return None
        return node.labels[spread.topology_key]

    allowed = (*sorted(wishes.node_selector.items()), wishes.terms) if spread.only_allowed else ()
    tolerated = wishes.tolerations if spread.only_tolerated else None
    key = "domain", spread.topology_key, *keys, allowed, tolerated
    domains = cluster.by_node(key, domain)
    counts = {each: 0 for each in {*domains.values()} if each is not None}
    for name, number in counted_pods(pod, spread, cluster).items():
        value = domains.get(name)
        if value is not None:
            counts[value] += number
    return counts


def counted_pods(pod: Pod, spread: Spread, cluster: Cluster) -> Mapping[NodeName, int]:
    """Return how many pods on each node a constraint of *pod* counts: those of its namespace.

    Pods that are being deleted do not count, and none do for a selector that selects everything.
    """
    namespace, selector = pod.ref.namespace, spread.selector
    if selector is None or not (selector.labels or selector.requirements):
        return {}

    def counts(other: Pod) -> bool:
        return (
            other.ref.namespace == namespace
            and not other.wishes.deleting
            and selects(selector, other.wishes.labels)
        )

    return cluster.tally(("counted", namespace, key_of(selector)), counts)


def _most_before(pod: Pod, spread: Spread, counts: Mapping[str, int]) -> int:
    """Return how many pods a domain may have before this one comes."""
    least = min(counts.values()) if len(counts) >= spread.least_domains else 0
    is_counted = spread.selector is not None and selects(spread.selector, pod.wishes.labels)
    return spread.max_skew + least - is_counted
