"""The numbers behind an answer: on which disk each volume is, or would go."""

from collections.abc import Collection, Mapping

import msgspec

from extender.forecast.outlook import outlook_of
from extender.holds.hold import State, charged
from extender.holds.ledger import Ledger
from extender.kubernetes import PodRef
from extender.verdicts.answering import Answer, Basis
from extender.verdicts.candidates import StepLimits
from extender.verdicts.case import prepare_once
from extender.verdicts.judging import judge
from extender.view import ClusterView
from extender.work import Work
from longhorn import DiskName, Moment, NodeName, VolumeName
from packing import Packed, pack


class Plan(msgspec.Struct, frozen=True, kw_only=True):
    """Where the volumes that must be local are, or would go, on one accepted node."""

    existing: Mapping[VolumeName, DiskName] = {}
    """Volumes with a replica there already; nothing is added for them."""
    new: Mapping[VolumeName, DiskName] = {}
    """Volumes that a new replica is needed for."""
    new_bytes: Mapping[VolumeName, int] = {}


class Charge(msgspec.Struct, frozen=True, kw_only=True):
    """What a hold takes of one node."""

    pod: PodRef
    state: State
    bytes: Mapping[VolumeName, int]
    """Of the pod's volumes that are not placed yet."""


class Expected(msgspec.Struct, frozen=True, kw_only=True):
    """Room that a replica will take which Longhorn is about to place where it likes."""

    volume: VolumeName
    disk: DiskName | None
    """A disk on which it fits beside all else; Longhorn may take another one."""
    bytes: int
    is_sure: bool
    """Not only because of a pod that may yet go to several nodes."""


def expected(
    ledger: Ledger,
    view: ClusterView,
    limits: StepLimits,
    *,
    but: str = "",
    own: Collection[VolumeName] = (),
    utc: Moment | None = None,
) -> Mapping[NodeName, list[Expected]]:
    """Return what the forecast takes of each node.

    Args:
        ledger: What is held for pods.
        view: The cluster.
        limits: Bounds on the packing's work.
        but: The uid of a pod whose hold does not count.
        own: Volumes that do not count: that pod's.
        utc: The date and time, None if it is not known.
    """
    if view.settings.unreadable is not None:
        return {}
    outlook = outlook_of(view, ledger, step_limit=limits.per_node, utc=utc)
    loads, forecast, _ = outlook.without(but, own, utc, Work.unlimited())
    found = {}
    for name, remotes in forecast.on.items():
        space = view.spaces[name]
        items = (*loads.on(space).items, *(each.item for each in remotes))
        packed = pack(items, space.bins, step_limit=limits.per_node)
        disks = packed.assignment if isinstance(packed, Packed) else {}
        found[name] = [
            Expected(
                volume=each.coming.volume.name,
                disk=DiskName(disks[each.item.id]) if each.item.id in disks else None,
                bytes=each.item.logical_bytes,
                is_sure=each.coming.is_sure,
            )
            for each in remotes
        ]
    return found


def charges(ledger: Ledger, node: NodeName, view: ClusterView, *, but: str = "") -> list[Charge]:
    """Return what holds take of *node*, without that of the pod with uid *but*."""
    found = [
        Charge(
            pod=hold.pod,
            state=hold.state,
            bytes={
                volume.name: volume.need.size_bytes for volume in charged(hold, node, view.replicas)
            },
        )
        for hold in ledger.on_node(node, but=but)
    ]
    return [charge for charge in found if charge.bytes]


def explain(
    answer: Answer, view: ClusterView, limits: StepLimits, ledger: Ledger
) -> dict[NodeName, Plan]:
    """Return the plan for each accepted node, beside what is held for other pods.

    A packing proves that room exists; Longhorn may still choose other disks.

    Args:
        answer: What was answered.
        view: The cluster that the answer rests on.
        limits: Bounds on the packing's work.
        ledger: What was held at the answer.
    """
    request = answer.request
    existing = {
        name: {
            volume: by_node[name].disk
            for volume, by_node in answer.existing.items()
            if name in by_node
        }
        for name in answer.accepted
    }
    if answer.basis is not Basis.PLACEMENT:
        return {name: Plan(existing=existing[name]) for name in answer.accepted}
    case = prepare_once(request, answer.existing, view, ledger, step_limit=limits.per_node)
    sizes = {volume.name: volume.need.size_bytes for volume in request.volumes}
    plans = {}
    for name in answer.accepted:
        verdict = judge(case, view.spaces[name], step_limit=limits.per_node)
        new = {VolumeName(v): DiskName(disk) for v, disk in verdict.assignment.items()}
        plans[name] = Plan(
            existing=existing[name],
            new=new,
            new_bytes={volume: sizes[volume] for volume in new},
        )
    return plans
