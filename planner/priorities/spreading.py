"""Scores that spread the pods of a service.

Scores are not rounded: of two nodes or groups, the one with fewer pods has more, however small the
difference. Source: kubernetes 1.1 plugin/pkg/scheduler/algorithm/priorities
"""

from collections.abc import Mapping, Sequence

from longhorn import NodeName
from planner.cluster import Cluster
from planner.domains import by_value
from planner.priorities.priority import HIGHEST, Priority
from planner.records import Pod
from planner.services import peers


def service_spreading(
    pod: Pod, nodes: Sequence[NodeName], cluster: Cluster
) -> Mapping[NodeName, float]:
    """Favour nodes with fewer pods of the same service: 0 for those with the most, 10 for none."""
    tally = peers(pod, cluster)
    most = max(tally.values(), default=0)
    if not most:
        return dict.fromkeys(nodes, HIGHEST)
    return {name: HIGHEST * (most - tally.get(name, 0)) / most for name in nodes}


def service_anti_affinity(label: str) -> Priority:
    """Return the priority that spreads the pods of a service over the values of a label.

    A node has 10 times the share of the service's pods that are not in its group, that is on nodes
    with the same value. Nodes without the label are in no group, and have 0.
    """

    def score(pod: Pod, nodes: Sequence[NodeName], cluster: Cluster) -> Mapping[NodeName, float]:
        tally = peers(pod, cluster)
        total, groups = sum(tally.values()), by_value(tally, label, cluster)
        found = dict[NodeName, float]()
        for name in nodes:
            value = cluster.nodes[name].labels.get(label)
            if value is None:
                found[name] = 0
            elif total:
                found[name] = HIGHEST * (total - groups.get(value, 0)) / total
            else:
                found[name] = HIGHEST
        return found

    return score
