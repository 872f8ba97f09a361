"""Scores that look at nodes alone: by a label, or the same for all."""

from collections.abc import Mapping, Sequence

from longhorn import NodeName
from planner.cluster import Cluster
from planner.priorities.priority import HIGHEST, Priority
from planner.records import Pod


def equal(
    pod: Pod,  # noqa: ARG001 - as all priorities
    nodes: Sequence[NodeName],
    cluster: Cluster,  # noqa: ARG001
) -> Mapping[NodeName, float]:
    """Give all nodes one point."""
    return dict.fromkeys(nodes, 1)


def label_preference(label: str, *, presence: bool) -> Priority:
    """Return the priority that prefers nodes with a label, or without it: 10, the others 0."""

    def score(
        pod: Pod,  # noqa: ARG001
        nodes: Sequence[NodeName],
        cluster: Cluster,
    ) -> Mapping[NodeName, float]:
        return {
            name: HIGHEST if (label in cluster.nodes[name].labels) is presence else 0
            for name in nodes
        }

    return score
