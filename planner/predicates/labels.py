"""Predicates that are made from labels: where a service is, and which labels a node has."""

from collections import Counter
from collections.abc import Mapping, Sequence

from longhorn import NodeName
from planner.cluster import Cluster
from planner.predicates.refusals import Predicate, Refusal
from planner.records import Pod
from planner.services import peers


def service_affinity(labels: Sequence[str]) -> Predicate:
    """Return the predicate that keeps the pods of a service on nodes with the same values.

    Values that the pod's nodeSelector gives count. For the other labels the values are those of the
    nodes where the service's pods are; a label that these lack is to be lacking. The first pod of a
    service may go to any node. If its pods are on nodes with different values already, those with
    the most pods count, and of such the first in the alphabet.
    """
    refusal = Refusal("service_affinity", f"the pod's service is elsewhere, by {_shown(labels)}")

    def judge(pod: Pod, nodes: Sequence[NodeName], cluster: Cluster) -> Mapping[NodeName, Refusal]:
        wanted: dict[str, str | None] = {
            label: pod.wishes.node_selector[label]
            for label in labels
            if label in pod.wishes.node_selector
        }
        if len(wanted) < len(labels):
            wanted = _values_of_service(pod, labels, cluster) | wanted
        return {
            name: refusal
            for name in nodes
            if any(cluster.nodes[name].labels.get(key) != value for key, value in wanted.items())
        }

    return judge


def labels_presence(labels: Sequence[str], *, presence: bool) -> Predicate:
    """Return the predicate that wants all of the labels on a node, or none; values do not matter.

    Args:
        labels: The names of the labels.
        presence: True if all of them must be there, False if none may be.
    """

    def judge(
        pod: Pod,  # noqa: ARG001 - what pods ask for does not matter
        nodes: Sequence[NodeName],
        cluster: Cluster,
    ) -> Mapping[NodeName, Refusal]:
        found = dict[NodeName, Refusal]()
        for name in nodes:
            here = cluster.nodes[name].labels
            wrong = next((label for label in labels if (label in here) is not presence), None)
            if wrong is not None:
                found[name] = refusals[wrong]
        return found

    refusals = {
        label: Refusal("labels_presence", f"it {'lacks' if presence else 'has'} label {label}")
        for label in labels
    }
    return judge


def _values_of_service(pod: Pod, labels: Sequence[str], cluster: Cluster) -> dict[str, str | None]:
    """Return the values of *labels* where most pods of the service are; nothing without pods."""
    numbers = Counter[tuple[str | None, ...]]()
    for name, number in peers(pod, cluster).items():
        if name in cluster.nodes:
            numbers[tuple(map(cluster.nodes[name].labels.get, labels))] += number
    if not numbers:
        return {}
    most = max(numbers.values())
    groups = (values for values, number in numbers.items() if number == most)
    first = min(groups, key=lambda values: [value or "" for value in values])
    return dict(zip(labels, first, strict=True))


def _shown(labels: Sequence[str]) -> str:
    return f"label{'s' if len(labels) > 1 else ''} {', '.join(labels)}"
