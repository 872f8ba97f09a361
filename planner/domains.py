"""Nodes that have the same value of a label, and the pods there."""

from collections.abc import Mapping

from longhorn import NodeName
from planner.cluster import Cluster


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
