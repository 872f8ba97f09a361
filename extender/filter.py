"""Which of the candidate nodes a pod may run on, once its claims are resolved."""

from collections.abc import Iterable, Mapping, Sequence
from enum import StrEnum
from itertools import filterfalse

import msgspec

from extender.capacity import NodeSpace
from extender.existing import ExistingReplica, Worth, existing_by_node
from extender.pending import pending_items
from extender.placement import Demand, Placement, demand_of, place
from extender.policy import Policy, UnreadableSetting
from extender.rejections import (
    PackingUndecided,
    Rejection,
    ReplicasElsewhere,
    SettingUnreadable,
    StrictLocalElsewhere,
    StrictLocalUnusable,
    UnknownNode,
    UnreadableNode,
)
from extender.requests import PodRequest
from extender.types import NodeName, VolumeName
from extender.verdicts import Verdicts
from extender.view import ClusterView
from packing import Item

Existing = Mapping[VolumeName, Mapping[NodeName, ExistingReplica]]
"""For each volume that must be local, the nodes that hold a replica worth something."""


class Basis(StrEnum):
    """What an answer rests on."""

    NOTHING_LOCAL = "nothing_local"
    """The pod needs no replica on its node: all candidates are accepted."""
    REPLICAS = "replicas"
    """Accepted nodes hold usable replicas of all volumes that must be local."""
    PLACEMENT = "placement"
    """Each node was judged by whether the volumes fit on its disks."""


class StepLimits(msgspec.Struct, frozen=True, kw_only=True):
    """How many placements the packing may try, so that no request blocks the others for long."""

    per_node: int
    per_request: int


class FilterResult(msgspec.Struct, frozen=True, kw_only=True):
    """The answer for one pod: every candidate is in exactly one of the two."""

    basis: Basis
    accepted: Sequence[NodeName]
    """In the order asked."""
    rejected: Mapping[NodeName, Rejection]
    steps: int = 0


class Case(msgspec.Struct, frozen=True, kw_only=True):
    """A pod's request with all that judging any node needs, prepared once."""

    request: PodRequest
    view: ClusterView
    policy: Policy
    demand: Demand
    """All volumes of the request: what a node without any replica of them must take."""
    existing: Existing
    holders: frozenset[NodeName]
    """The nodes that hold a replica of any of the volumes."""
    strict_nodes: Mapping[VolumeName, frozenset[NodeName]]
    """Where strict-local volumes have their replica; those not placed yet are left out."""


def prepare(request: PodRequest, existing: Existing, view: ClusterView, policy: Policy) -> Case:
    """Gather what judging nodes for *request* needs."""
    return Case(
        request=request,
        view=view,
        policy=policy,
        demand=demand_of(((v.name, v.need) for v in request.volumes), view, policy),
        existing=existing,
        holders=frozenset(name for by_node in existing.values() for name in by_node),
        strict_nodes=_strict_nodes(request, view),
    )


def existing_of(request: PodRequest, view: ClusterView) -> Existing:
    """Look up the replicas that exist of the request's volumes."""
    return {
        volume.name: existing_by_node(view.replicas.get(volume.name, ()), volume.need, view)
        for volume in request.volumes
    }


def nodes_with_all_replicas(existing: Existing, candidates: Iterable[NodeName]) -> list[NodeName]:
    """Return the candidates that hold a usable replica of every volume; the pod restarts there.

    If some of them hold replicas none of which is being evicted, only these: the others' data are
    about to move. Longhorn's schedulability of the node does not matter, as nothing new is put
    there.
    """
    everywhere = set.intersection(*({*by_node} for by_node in existing.values()))
    if not everywhere:
        return []
    worst = {
        name: min(by_node[name].worth for by_node in existing.values())
        for name in candidates
        if name in everywhere
    }
    staying = [name for name, worth in worst.items() if worth is Worth.USABLE]
    return staying or [name for name, worth in worst.items() if worth is Worth.EVICTING]


def judge(case: Case, space: NodeSpace, *, step_limit: int) -> Placement:
    """Say whether the pod fits on one node, and on which disks what must be placed anew.

    Volumes that have a replica there need no room and are left out.
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
        demand = demand_of(rest, case.view, case.policy)
    pending: tuple[Item, ...] = ()
    if space.pending and demand.items:
        pending = tuple(pending_items(demand, space, case.existing, case.view, case.policy))
    placement = place(demand, space, case.policy, step_limit=step_limit, pending=pending)
    if placement.rejection is not None or not pending:
        return placement
    own = {item.id: placement.assignment[item.id] for item in demand.items}
    return Placement(assignment=own, steps=placement.steps)


def filter_nodes(
    request: PodRequest,
    candidates: Sequence[NodeName],
    view: ClusterView,
    *,
    limits: StepLimits,
    verdicts: Verdicts,
) -> FilterResult:
    """Split *candidates*, each named once, into accepted and rejected nodes.

    Args:
        request: The pod with its claims resolved.
        candidates: The nodes kube-scheduler offers.
        view: The cluster now.
        limits: Bounds on the packing's work.
        verdicts: What is known already for pods of the same needs; added to.
    """
    if not request.volumes:
        return FilterResult(basis=Basis.NOTHING_LOCAL, accepted=candidates, rejected={})
    existing = existing_of(request, view)
    holders = nodes_with_all_replicas(existing, candidates)
    if holders:
        return _accept_only(holders, candidates)
    if isinstance(view.policy, UnreadableSetting):
        unreadable = SettingUnreadable(setting=view.policy.name)
        rejected = dict.fromkeys(candidates, unreadable)
        return FilterResult(basis=Basis.PLACEMENT, accepted=[], rejected=rejected)
    case = prepare(request, existing, view, view.policy)
    return _judge_all(case, candidates, limits, verdicts)


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


def _accept_only(accepted: Sequence[NodeName], candidates: Sequence[NodeName]) -> FilterResult:
    rejected: dict[NodeName, Rejection] = dict.fromkeys(candidates, ReplicasElsewhere())
    for name in accepted:
        del rejected[name]
    return FilterResult(basis=Basis.REPLICAS, accepted=accepted, rejected=rejected)


def _judge_all(
    case: Case, candidates: Sequence[NodeName], limits: StepLimits, verdicts: Verdicts
) -> FilterResult:
    if case.strict_nodes:
        verdicts = Verdicts()  # they also depend on where the pod's replicas are
    own, steps = _judge_new(case, candidates, limits, verdicts)
    rejections = verdicts.rejections
    if own:
        merged: dict[NodeName, Rejection | None] = {**rejections, **own}
        rejections = {name: why for name, why in merged.items() if why is not None}
    if not rejections:
        return FilterResult(basis=Basis.PLACEMENT, accepted=candidates, rejected={}, steps=steps)
    # Built-in filters, since this is all that thousands of known nodes cost.
    rejected = {name: rejections[name] for name in filter(rejections.__contains__, candidates)}
    accepted = list(filterfalse(rejected.__contains__, candidates))
    return FilterResult(basis=Basis.PLACEMENT, accepted=accepted, rejected=rejected, steps=steps)


def _judge_new(
    case: Case, candidates: Sequence[NodeName], limits: StepLimits, verdicts: Verdicts
) -> tuple[dict[NodeName, Rejection | None], int]:
    """Judge the candidates that *verdicts* does not know, and add to it.

    Returns:
        Verdicts that hold for this request only, and the steps it took.
    """
    own: dict[NodeName, Rejection | None] = {}
    if not case.holders and verdicts.judged.issuperset(candidates):
        return own, 0
    steps = 0
    for name in candidates:
        if name in verdicts.judged and name not in case.holders:
            continue
        space = case.view.spaces.get(name)
        if space is None:
            own[name] = _no_space(name, case.view)
            continue
        limit = max(0, min(limits.per_node, limits.per_request - steps))
        placement = judge(case, space, step_limit=limit)
        steps += placement.steps
        cut_short = limit < limits.per_node and isinstance(placement.rejection, PackingUndecided)
        if cut_short or space.pending or name in case.holders:
            own[name] = placement.rejection
        else:
            verdicts.remember(name, placement.rejection)
    return own, steps


def _no_space(name: NodeName, view: ClusterView) -> Rejection:
    return UnreadableNode() if name in view.unreadable_nodes else UnknownNode()
