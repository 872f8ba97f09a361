"""To which of the candidate nodes a pod's volumes cannot be attached, whatever room there is."""

from collections.abc import Iterable, Sequence
from itertools import filterfalse

from extender.demand.requests import PodRequest, WantedVolume
from extender.verdicts.rejections import (
    DriverMissing,
    EngineImageMissing,
    EngineSwitchedOff,
    InstanceManagerMissing,
    NodeNotReady,
    Rejection,
    UnknownNode,
)
from extender.verdicts.shortages import ReplicasCannotStart
from extender.view import ClusterView, Running, running_on
from longhorn import (
    Attachment,
    AttachRefusal,
    NodeName,
    Volume,
    attach_refusal,
    attachment_of,
    has_data,
    is_down,
    is_serving,
    starts_replicas,
)

_WHY = {
    AttachRefusal.NO_DRIVER: DriverMissing(),
    AttachRefusal.NOT_READY: NodeNotReady(),
    AttachRefusal.NO_IMAGE: EngineImageMissing(),
    AttachRefusal.NO_MANAGER: InstanceManagerMissing(),
    AttachRefusal.V2_OFF: EngineSwitchedOff(),
}
_UNKNOWN, _STRANDED = UnknownNode(), ReplicasCannotStart()


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
    if rejected:
        _spare_attached(rejected, wanted, view)
    if _is_any_stranded(request, view):
        return {**dict.fromkeys(candidates, _STRANDED), **rejected}
    return rejected


def _spare_attached(
    rejected: dict[NodeName, Rejection], wanted: Sequence[Volume], view: ClusterView
) -> None:
    """Judge the nodes that volumes are attached to by the other volumes alone."""
    for name in {v.attached_to for v in wanted if not v.shared and v.attached_to in rejected}:
        space = None if name is None else view.spaces.get(name)
        if name is None or space is None:
            continue
        away = sorted({attachment_of(v) for v in wanted if v.shared or v.attached_to != name})
        why = _why(running_on(space), away)
        del rejected[name]
        if why is not None:
            rejected[name] = why


def _is_any_stranded(request: PodRequest, view: ClusterView) -> bool:
    """Whether a volume that is detached has replicas, and none of them can be started.

    Longhorn marks those that it cannot start as failed when the volume is to be attached, wherever
    that is; where the instance manager is not known at all, it waits. Where all instance managers
    run nobody looks at replicas.

    Source: longhorn-manager controller/volume_controller.go openVolumeDependentResources and
    canInstanceManagerLaunchReplica, manager/volume.go Attach for the engine image.
    """
    wanted = [
        each
        for each in (*request.volumes, *request.remote)
        if not (each.volume.attached_to or each.volume.is_estimate or each.volume.sharded)
    ]
    needed = {each.need.engine for each in wanted}
    if all(
        starts_replicas(engines, each)
        for engines, _ in view.by_running.keys()  # noqa: SIM118 (of an index)
        for each in needed
    ):
        return False
    return any(_is_stranded(each, view) for each in wanted)


def _is_stranded(wanted: WantedVolume, view: ClusterView) -> bool:
    engine = wanted.need.engine
    replicas = [each for each in view.replicas.get(wanted.name, ()) if is_serving(each)]
    if has_data(replicas):
        replicas = [each for each in replicas if each.healthy_once]
    nodes = {each.node for each in replicas if each.node is not None}
    if not nodes.isdisjoint(view.unreadable_nodes):
        return False
    spaces = [view.spaces[name] for name in nodes if name in view.spaces]
    up = [space.engines for space in spaces if not is_down(space.node)]
    return bool(up) and not any(starts_replicas(engines, engine) for engines in up)


def _why(running: Running, asked: Iterable[Attachment]) -> Rejection | None:
    """Return why the first of the volumes cannot be attached where so much runs."""
    engines, is_ready = running
    for each in asked:
        refusal = attach_refusal(engines, each, is_ready=is_ready)
        if refusal is not None:
            return _WHY[refusal]
    return None
