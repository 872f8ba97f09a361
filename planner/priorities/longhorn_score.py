"""What the extender says of how good nodes are."""

from collections.abc import Mapping, Sequence

from extender import UnresolvableClaimError
from longhorn import NodeName
from planner.cluster import Cluster
from planner.records import Pod


def longhorn_score(
    pod: Pod, nodes: Sequence[NodeName], cluster: Cluster
) -> Mapping[NodeName, float]:
    """Return the extender's scores, as kube-scheduler gets them at `/prioritize`.

    If a claim of the pod does not lead to a volume, all nodes have 0: kube-scheduler goes on
    without the scores of an extender that answers an error.
    """
    try:
        found = cluster.scores(pod, nodes)
    except UnresolvableClaimError:
        return {}
    return {name: each.total for name, each in found.items()}
