"""What the extender says of nodes, as refusals."""

from collections.abc import Mapping, Sequence

from extender import Answer, UnresolvableClaimError
from longhorn import NodeName
from planner.cluster import Cluster
from planner.predicates.refusals import Refusal
from planner.records import Pod

LONGHORN_FIT = "LonghornFit"


def longhorn_fit(
    pod: Pod, nodes: Sequence[NodeName], cluster: Cluster
) -> tuple[Answer | None, Mapping[NodeName, Refusal]]:
    """Ask the extender as kube-scheduler does at `/filter`: its answer, and the nodes it rejects.

    There is no answer if a claim does not lead to a volume; then all nodes are refused.
    """
    try:
        answer = cluster.answer(pod, nodes)
    except UnresolvableClaimError as error:
        return None, dict.fromkeys(nodes, Refusal(error.problem, str(error)))
    return answer, {
        name: Refusal(rejection.reason, str(rejection))
        for name, rejection in answer.rejected.items()
    }
