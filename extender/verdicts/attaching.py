"""To which of the candidate nodes a pod's volumes cannot be attached, whatever room there is."""

from collections.abc import Iterable, Sequence
from itertools import filterfalse

from extender.demand.requests import PodRequest
from extender.verdicts.rejections import (
    DriverMissing,
    EngineImageMissing,
    EngineSwitchedOff,
    InstanceManagerMissing,
    NodeNotReady,
    Rejection,
    UnknownNode,
)
from extender.view import ClusterView, Running, running_on
from longhorn import Attachment, AttachRefusal, NodeName, attach_refusal, attachment_of

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
    asked = sorted({attachment_of(volume) for volume in wanted})
    for running in view.by_running.keys():  # noqa: SIM118 (of an index)
        why = _why(running, asked)
        if why is not None:
            there = {space.node.name for space in view.by_running.of(running)}
            rejected |= dict.fromkeys(filter(there.__contains__, candidates), why)
    if not rejected:
        return rejected
    for name in {v.attached_to for v in wanted if not v.shared and v.attached_to in rejected}:
        space = None if name is None else view.spaces.get(name)
        if name is None or space is None:
            continue
        away = sorted({attachment_of(v) for v in wanted if v.shared or v.attached_to != name})
        why = _why(running_on(space), away)
        del rejected[name]
        if why is not None:
            rejected[name] = why
    return rejected


def _why(running: Running, asked: Iterable[Attachment]) -> Rejection | None:
    """Return why the first of the volumes cannot be attached where so much runs."""
    engines, is_ready = running
    for each in asked:
        refusal = attach_refusal(engines, each, is_ready=is_ready)
        if refusal is not None:
            return _WHY[refusal]
    return None
