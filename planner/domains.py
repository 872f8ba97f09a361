"""Nodes that have the same value of a label, and the pods there."""

from collections.abc import Mapping, Sequence

from longhorn import NodeName
from planner.cluster import Cluster
from planner.records import Pod, PodTerm
from planner.selectors import is_selected
from planner.tallies import key_of


def by_value(tally: Mapping[NodeName, int], label: str, cluster: Cluster) -> dict[str, int]:
    """Return the pods of a tally by the value of *label* of their nodes.

    Pods on nodes without the label, or on nodes that are not in the cluster, are left out.
    """
    found = dict[str, int]()
    for name, number in tally.items():
        node = cluster.nodes.get(name)
        value = node.labels.get(label) if node else None
        if value is not None:
            found[value] = found.get(value, 0) + number
    return found


def selected(terms: Sequence[PodTerm], cluster: Cluster) -> Mapping[NodeName, int]:
    """Return how many pods that all of the terms select are on each node."""

    def question(other: Pod) -> bool:
        return all(is_selected(other, term) for term in terms)

    return cluster.tally(("selected", *map(key_of, terms)), question)
