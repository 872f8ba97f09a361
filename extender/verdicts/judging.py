"""Whether a pod's volumes have room on one node, beside all that is about to be placed there."""

from collections.abc import Mapping, Sequence

import msgspec

from extender.demand.existing import Existing
from extender.demand.requests import PodRequest
from extender.holds.hold import Hold
from extender.space import NodeSpace
from extender.verdicts.competitors import Rivals, rivals_of
from extender.verdicts.placement import Demand, Placement, demand_of, place
from extender.verdicts.rejections import RoomPromised, StrictLocalElsewhere, StrictLocalUnusable
from extender.view import ClusterView
from longhorn import NodeName, Settings, VolumeName
from packing import Item


class Case(msgspec.Struct, frozen=True, kw_only=True):
    """A pod's request with all that judging any node needs, prepared once."""

    request: PodRequest
    view: ClusterView
    settings: Settings
    demand: Demand
    """All volumes of the request: what a node without any replica of them must take."""
    existing: Existing
    holders: frozenset[NodeName]
    """The nodes that hold a replica of any of the volumes."""
    strict_nodes: Mapping[VolumeName, frozenset[NodeName]]
    """Where strict-local volumes have their replica; those not placed yet are left out."""


def prepare(request: PodRequest, existing: Existing, view: ClusterView, settings: Settings) -> Case:
    """Gather what judging nodes for *request* needs."""
    return Case(
        request=request,
        view=view,
        settings=settings,
        demand=demand_of(((v.name, v.need) for v in request.volumes), view, settings),
        existing=existing,
        holders=frozenset(name for by_node in existing.values() for name in by_node),
        strict_nodes=_strict_nodes(request, view),
    )


def judge(
    case: Case,
    space: NodeSpace,
    *,
    step_limit: int,
    holds: Sequence[Hold] = (),
    offered: Sequence[Item] = (),
) -> Placement:
    """Say whether the pod fits on one node, and on which disks what must be placed anew.

    Volumes that have a replica there need no room and are left out.

    Args:
        case: The pod.
        space: The node.
        step_limit: Most placements to search.
        holds: What was promised to other pods and may take room on this node.
        offered: The same, where it is known that it does, of pods that may go elsewhere.
    """
    name = space.node.name
    present: set[VolumeName] = set()
    if name in case.holders:
        present = {volume for volume, by_node in case.existing.items() if name in by_node}
    for volume, nodes in case.strict_nodes.items():
        if name not in nodes:
            return Placement(rejection=StrictLocalElsewhere())
        if volume not in present:
            return Placement(rejection=StrictLocalUnusable())
    demand = case.demand
    if present:
        rest = ((v.name, v.need) for v in case.request.volumes if v.name not in present)
        demand = demand_of(rest, case.view, case.settings)
    steps = 0
    if offered and not (space.pending or holds):
        # Where all of it fits, it does not matter what of it competes.
        all_ = place(demand, space, case.settings, step_limit=step_limit, pending=tuple(offered))
        if all_.rejection is None:
            return _own(demand, all_, all_.steps)
        steps = all_.steps
    rivals = Rivals()
    if (space.pending or holds or offered) and demand.items:
        own = {volume.name for volume in case.request.volumes}
        rivals = rivals_of(demand, space, own, holds, offered, case.view, case.settings)
    return _place_beside(rivals, demand, space, case.settings, steps=steps, step_limit=step_limit)


def _place_beside(
    rivals: Rivals,
    demand: Demand,
    space: NodeSpace,
    settings: Settings,
    *,
    steps: int,
    step_limit: int,
) -> Placement:
    """Place *demand* with all its rivals; if that fails, find out who is in the way.

    Args:
        rivals: What competes.
        demand: What is to be placed.
        space: The node.
        settings: Longhorn's settings.
        steps: Placements that were searched already.
        step_limit: Most placements to search in all.
    """
    shares = [rivals.pending + rivals.promised, rivals.pending + rivals.placed, rivals.pending]
    for beside in dict.fromkeys(shares):
        limit = max(0, step_limit - steps)
        placement = place(demand, space, settings, step_limit=limit, pending=beside)
        steps += placement.steps
        if placement.rejection is None:
            break
    if placement.rejection is not None:
        return msgspec.structs.replace(placement, steps=steps)
    if beside == shares[0]:
        return _own(demand, placement, steps)
    return Placement(rejection=RoomPromised(), steps=steps, is_open=beside == shares[1])


def _own(demand: Demand, placement: Placement, steps: int) -> Placement:
    """Leave out of a placement what was packed along."""
    own = {item.id: placement.assignment[item.id] for item in demand.items}
    return Placement(assignment=own, steps=steps)


def _strict_nodes(request: PodRequest, view: ClusterView) -> dict[VolumeName, frozenset[NodeName]]:
    """Look up where strict-local volumes are placed.

    Longhorn refuses to attach such a volume anywhere else (its volume webhook).
    """
    placed = {
        volume.name: frozenset(
            replica.node
            for replica in view.replicas.get(volume.name, ())
            if replica.node and not replica.deleting
        )
        for volume in request.volumes
        if volume.strict
    }
    return {volume: nodes for volume, nodes in placed.items() if nodes}
