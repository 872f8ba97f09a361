"""What the extender says of nodes, as refusals."""

from collections.abc import Iterator, Mapping, Sequence

from extender import Answer, Rejection, UnresolvableClaimError
from longhorn import NodeName
from packing import is_stranded
from planner.cluster import Cluster
from planner.predicates.refusals import DISK_SPACE, Lack, Refusal
from planner.records import Pod

LONGHORN_FIT = "LonghornFit"
_NO_ROOM = "insufficient_storage"


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
        name: Refusal(rejection.reason, str(rejection), tuple(_lacks(name, rejection, answer)))
        for name, rejection in answer.rejected.items()
    }


def _lacks(name: NodeName, rejection: Rejection, answer: Answer) -> Iterator[Lack]:
    """Say how much the roomiest disk has left for the largest replica that fits on none.

    Nothing is said while other nodes take the pod, as nobody is told of it then, nor if it is no
    logical headroom that the disk lacks.
    """
    situation, space = answer.situation, answer.view.spaces.get(name)
    if rejection.reason != _NO_ROOM or answer.accepted or situation is None or space is None:
        return
    for item, _ in situation.demand_on(name).by_size:
        if is_stranded(item, space.bins):
            left = [bin_.logical_bytes for bin_ in space.bins if bin_.kind in item.kinds]
            if left and max(left) < item.logical_bytes:
                yield Lack(DISK_SPACE, item.logical_bytes, max(left), 0)
            return
