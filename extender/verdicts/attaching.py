"""To which of the candidate nodes a pod's volumes cannot be attached, whatever room there is."""

from collections.abc import Iterable, Sequence
from itertools import filterfalse

from extender.demand.requests import PodRequest
from extender.verdicts.rejections import (
    DataLost,
    DriverMissing,
    EngineImageMissing,
    EngineSwitchedOff,
    InstanceManagerMissing,
    NodeNotReady,
    Rejection,
    ReplicasCannotStart,
    UnknownNode,
    VolumeFaulted,
)
from extender.view import ClusterView, Running, running_on
from longhorn import (
    Attachment,
    AttachRefusal,
    Awaited,
    DataState,
    Missing,
    NodeName,
    Usability,
    Volume,
    VolumeData,
    attach_refusal,
    attachment_of,
    data_of,
    has_live_engine,
    is_readable,
)

_WHY = {
    AttachRefusal.NO_DRIVER: DriverMissing(),
    AttachRefusal.NOT_READY: NodeNotReady(),
    AttachRefusal.NO_IMAGE: EngineImageMissing(),
    AttachRefusal.NO_MANAGER: InstanceManagerMissing(),
    AttachRefusal.V2_OFF: EngineSwitchedOff(),
}
_UNKNOWN = UnknownNode()
_MOST_NAMED = 3
"""So many things that must come back are named in the text that each node gets."""


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
    why_none = why_not_read(request, view)
    return rejected if why_none is None else {**dict.fromkeys(candidates, why_none), **rejected}


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


def why_not_read(request: PodRequest, view: ClusterView) -> Rejection | None:
    """Say why no node gets the pod: one of its volumes cannot be read, wherever it is attached.

    Longhorn marks the replicas that it cannot start as failed when the volume is to be attached,
    and attaches no volume of which all have failed. Where a volume is attached already, and the
    node is up, its engine knows better. What is not known rejects nobody.
    """
    for wanted in (*request.volumes, *request.remote):
        volume, replicas = wanted.volume, view.replicas.get(wanted.name, ())
        is_unknown = volume.sharded or volume.standby or wanted.name in view.unreadable_replicas
        if has_live_engine(volume, view.spaces) or is_unknown or not replicas:
            continue
        nodes, unreadable = view.spaces, view.unreadable_nodes
        is_open = all(
            engines.has_manager(is_v2=volume.is_v2)
            for engines, _ in view.by_running.keys()  # noqa: SIM118 (of an index)
        )
        if is_open and is_readable(volume, replicas, nodes, unreadable=unreadable):
            continue
        why = _why_not_read(data_of(volume, replicas, nodes, unreadable=unreadable))
        if why is not None:
            return why
    return None


def _why_not_read(data: VolumeData) -> Rejection | None:
    failed = data.those(Usability.SALVAGEABLE)
    match data.state:
        case DataState.LOST:
            return DataLost()
        case DataState.FAULTED | DataState.NEW if data.is_faulted:
            return VolumeFaulted()
        case DataState.FAULTED if any(each.awaits is None for each in failed):
            pass  # Longhorn salvages one once it has tried to attach the volume
        case DataState.FAULTED | DataState.AWAITED:
            return _cannot_start(data.awaited)
        case DataState.NEW if data.awaited:
            # One that has no disk yet gets one when the volume is to be attached.
            if not (data.usable or data.those(Usability.UNPLACED, Usability.UNKNOWN)):
                return _cannot_start(data.awaited)
    if data.closed_by is not None:
        return _cannot_start([Awaited(data.closed_by, Missing.MANAGER)])
    return None


def _cannot_start(awaited: Sequence[Awaited]) -> Rejection:
    named = [*map(str, awaited[:_MOST_NAMED])]
    more = len(awaited) - len(named)
    return ReplicasCannotStart(awaited=(*named, *([f"one of {more} others"] if more else [])))


def _why(running: Running, asked: Iterable[Attachment]) -> Rejection | None:
    """Return why the first of the volumes cannot be attached where so much runs."""
    engines, is_ready = running
    for each in asked:
        refusal = attach_refusal(engines, each, is_ready=is_ready)
        if refusal is not None:
            return _WHY[refusal]
    return None
