"""The numbers behind an answer: on which disk each volume is, or would go."""

from collections.abc import Mapping

import msgspec

from extender.demand.existing import existing_of
from extender.demand.requests import resolve
from extender.holds.hold import State, charged
from extender.holds.ledger import Ledger
from extender.kubernetes import PodRef
from extender.verdicts.filter import Basis, FilterResult, StepLimits
from extender.verdicts.judging import judge, prepare
from extender.view import ClusterView
from longhorn import DiskName, NodeName, Settings, VolumeName


class Plan(msgspec.Struct, frozen=True, kw_only=True):
    """Where the volumes that must be local are on one accepted node."""

    existing: Mapping[VolumeName, DiskName] = {}
    """Volumes with a replica there already; nothing is added for them."""
    placed: Mapping[VolumeName, DiskName] = {}
    """Volumes that a new replica is needed for."""
    placed_bytes: Mapping[VolumeName, int] = {}


class Charge(msgspec.Struct, frozen=True, kw_only=True):
    """What a promise to a pod takes of one node."""

    pod: PodRef
    state: State
    bytes: Mapping[VolumeName, int]
    """Of its volumes that are not placed yet."""


def charges(ledger: Ledger, node: NodeName, view: ClusterView, *, but: str = "") -> list[Charge]:
    """Return what promises take of *node*, without that to the pod with uid *but*."""
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
    pod: PodRef, result: FilterResult, view: ClusterView, limits: StepLimits, ledger: Ledger
) -> dict[NodeName, Plan]:
    """Return the plan for each accepted node, beside what is promised to other pods.

    A packing proves that room exists; Longhorn may still choose other disks.
    """
    if result.basis is Basis.NOTHING_LOCAL:
        return {name: Plan() for name in result.accepted}
    request = resolve(pod, view)
    existing = existing_of(request, view)
    on_node = {
        name: {
            volume: by_node[name].disk for volume, by_node in existing.items() if name in by_node
        }
        for name in result.accepted
    }
    if result.basis is Basis.REPLICAS:
        return {name: Plan(existing=on_node[name]) for name in result.accepted}
    if not isinstance(view.settings, Settings):
        return {}  # no placement accepts a node without one
    case = prepare(request, existing, view, view.settings)
    sizes = {volume.name: volume.need.size_bytes for volume in request.volumes}
    plans = {}
    for name in result.accepted:
        placement = judge(
            case,
            view.spaces[name],
            step_limit=limits.per_node,
            holds=ledger.on_node(name, but=pod.uid),
        )
        placed = {VolumeName(v): DiskName(disk) for v, disk in placement.assignment.items()}
        plans[name] = Plan(
            existing=on_node[name],
            placed=placed,
            placed_bytes={volume: sizes[volume] for volume in placed},
        )
    return plans
