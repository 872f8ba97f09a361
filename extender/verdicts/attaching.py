"""To which of the candidate nodes a pod's volumes cannot be attached, whatever room there is."""

from collections.abc import Sequence
from itertools import filterfalse

from extender.demand.requests import PodRequest
from extender.space import NodeSpace
from extender.verdicts.rejections import (
    DriverMissing,
    EngineImageMissing,
    EngineSwitchedOff,
    InstanceManagerMissing,
    NodeNotReady,
    Rejection,
    UnknownNode,
)
from extender.view import ClusterView
from longhorn import AttachRefusal, NodeName, attach_refusal, attachment_of

_WHY = {
    AttachRefusal.NO_DRIVER: DriverMissing(),
    AttachRefusal.NOT_READY: NodeNotReady(),
    AttachRefusal.NO_IMAGE: EngineImageMissing(),
    AttachRefusal.NO_MANAGER: InstanceManagerMissing(),
    AttachRefusal.V2_OFF: EngineSwitchedOff(),
}
_UNKNOWN = UnknownNode()


def unattachable(
    request: PodRequest, candidates: Sequence[NodeName], view: ClusterView
) -> dict[NodeName, Rejection]:
    """Return why the pod's volumes cannot be attached to candidates.

    Longhorn finds that out only when the pod is bound, and lets it hang there. To the node that a
    volume is attached to already it need not be attached. Of a node that cannot be read nothing is
    known. Where something must be local, nodes that Longhorn does not know are left to those who
    look at each node's disks.
    """
    wanted = [each.volume for each in (*request.volumes, *request.remote)]
    if not wanted:
        return {}
    rejected: dict[NodeName, Rejection] = {
        name: _UNKNOWN
        for name in filterfalse(view.spaces.__contains__, () if request.volumes else candidates)
        if name not in view.unreadable_nodes
    }
    if not view.hampered:
        return rejected
    asked = {volume.name: attachment_of(volume) for volume in wanted}

    def why(name: NodeName, space: NodeSpace) -> Rejection | None:
        away = {asked[v.name] for v in wanted if v.shared or v.attached_to != name}
        refusals = (attach_refusal(space.node, space.engines, each) for each in sorted(away))
        return next((_WHY[refusal] for refusal in refusals if refusal is not None), None)

    for name in filter(view.hampered.__contains__, candidates):
        rejection = why(name, view.hampered[name])
        if rejection is not None:
            rejected[name] = rejection
    return rejected
