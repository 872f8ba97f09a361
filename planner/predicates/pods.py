"""Rules about other pods that must or must not be near.

Source: kubernetes pkg/scheduler/framework/plugins/interpodaffinity/filtering.go
"""

from collections.abc import Mapping, Sequence

from longhorn import NodeName
from planner.cluster import Cluster
from planner.domains import by_value, selected
from planner.predicates.refusals import Refusal
from planner.records import Pod, PodTerm
from planner.selectors import is_selected

_NOBODY_NEAR = Refusal("pod_affinity", "the pods that the pod must be near are not there")
_NEAR = Refusal("pod_anti_affinity", "a pod is there that the pod must not be near")
_UNWANTED = Refusal("others_anti_affinity", "a pod is there that must not be near the pod")


def inter_pod_affinity(
    pod: Pod, nodes: Sequence[NodeName], cluster: Cluster
) -> Mapping[NodeName, Refusal]:
    """Refuse nodes by required affinity and anti-affinity, also by that of the pods there.

    A node without the label of a rule is in no domain: no pod is near it. The first pod of those
    that must be near each other may go to any node that has the labels.
    """
    refused = dict[NodeName, Refusal]()
    for term, tally in cluster.repelling():
        if is_selected(pod, term):
            refused |= _near(nodes, cluster, term, tally, _UNWANTED)
    for term in pod.wishes.anti_affinity:
        refused |= _near(nodes, cluster, term, selected((term,), cluster), _NEAR)
    return refused | _lonely(pod, nodes, cluster)


def _near(
    nodes: Sequence[NodeName],
    cluster: Cluster,
    term: PodTerm,
    tally: Mapping[NodeName, int],
    refusal: Refusal,
) -> dict[NodeName, Refusal]:
    """Refuse the nodes in whose domain a pod of the tally is."""
    label, taken = term.topology_key, by_value(tally, term.topology_key, cluster)
    if not taken:
        return {}
    return {name: refusal for name in nodes if cluster.nodes[name].labels.get(label) in taken}


def _lonely(pod: Pod, nodes: Sequence[NodeName], cluster: Cluster) -> dict[NodeName, Refusal]:
    """Refuse the nodes that are not near the pods that the pod's affinity asks for."""
    terms = pod.wishes.affinity
    if not terms:
        return {}
    tally, labels = selected(terms, cluster), [term.topology_key for term in terms]
    domains = [(label, by_value(tally, label, cluster)) for label in labels]
    if not any(there for _, there in domains) and all(is_selected(pod, term) for term in terms):
        return {
            name: _NOBODY_NEAR
            for name in nodes
            if not all(label in cluster.nodes[name].labels for label in labels)
        }
    return {
        name: _NOBODY_NEAR
        for name in nodes
        if not all(cluster.nodes[name].labels.get(label) in there for label, there in domains)
    }
