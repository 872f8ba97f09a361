"""Which of the candidate nodes a pod may run on, once its claims are resolved."""

from collections.abc import Iterable, Mapping, Sequence
from enum import StrEnum
from itertools import filterfalse

import msgspec

from extender.capacity import NodeSpace
from extender.existing import ExistingReplica, Worth, existing_by_node
from extender.holds import Hold
from extender.placement import Demand, Placement, demand_of, place
from extender.policy import Policy, UnreadableSetting
from extender.rejections import (
    NodeReserved,
    PackingUndecided,
    PodUnscheduled,
    Rejection,
    ReplicasElsewhere,
    RoomPromised,
    SettingUnreadable,
    StrictLocalElsewhere,
    StrictLocalUnusable,
    UnknownNode,
    UnreadableNode,
)
from extender.requests import PodRequest
from extender.reservations import Ledger, Mode
from extender.rivals import Rivals, rivals_of
from extender.types import NodeName, VolumeName
from extender.verdicts import Verdicts
from extender.view import ClusterView

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
    is_open: bool = False
    """No node was accepted, and some only because of pods that may also go elsewhere: once their
    nodes are chosen, the answer may be another."""


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


def judge(
    case: Case, space: NodeSpace, *, step_limit: int, holds: Sequence[Hold] = ()
) -> Placement:
    """Say whether the pod fits on one node, and on which disks what must be placed anew.

    Volumes that have a replica there need no room and are left out.

    Args:
        case: The pod.
        space: The node.
        step_limit: Most placements to search.
        holds: What was promised to other pods and may take room on this node.
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
    rivals = Rivals()
    if (space.pending or holds) and demand.items:
        own = {volume.name for volume in case.request.volumes}
        rivals = rivals_of(demand, space, own, holds, case.view, case.policy)
    return _place_beside(rivals, demand, space, case.policy, step_limit=step_limit)


def _place_beside(
    rivals: Rivals, demand: Demand, space: NodeSpace, policy: Policy, *, step_limit: int
) -> Placement:
    """Place *demand* with all its rivals; if that fails, find out who is in the way."""
    steps = 0
    shares = [rivals.pending + rivals.promised, rivals.pending + rivals.placed, rivals.pending]
    for beside in dict.fromkeys(shares):
        limit = max(0, step_limit - steps)
        placement = place(demand, space, policy, step_limit=limit, pending=beside)
        steps += placement.steps
        if placement.rejection is None:
            break
    if placement.rejection is not None:
        return msgspec.structs.replace(placement, steps=steps)
    if beside == shares[0]:
        own = {item.id: placement.assignment[item.id] for item in demand.items}
        return Placement(assignment=own, steps=steps)
    return Placement(rejection=RoomPromised(), steps=steps, is_open=beside == shares[1])


def filter_nodes(
    request: PodRequest,
    candidates: Sequence[NodeName],
    view: ClusterView,
    *,
    limits: StepLimits,
    verdicts: Verdicts,
    ledger: Ledger,
) -> FilterResult:
    """Split *candidates*, each named once, into accepted and rejected nodes.

    Args:
        request: The pod with its claims resolved.
        candidates: The nodes kube-scheduler offers.
        view: The cluster now.
        limits: Bounds on the packing's work.
        verdicts: What is known already for pods of the same needs; added to.
        ledger: What was promised to pods; a pod's own promise does not count against it.
    """
    if not request.volumes:
        return FilterResult(basis=Basis.NOTHING_LOCAL, accepted=candidates, rejected={})
    existing = existing_of(request, view)
    holders = nodes_with_all_replicas(existing, candidates)
    if holders:
        return _accept_only(holders, candidates)
    if isinstance(view.policy, UnreadableSetting):
        unreadable = SettingUnreadable(setting=view.policy.name)
        return FilterResult(
            basis=Basis.PLACEMENT, accepted=[], rejected=dict.fromkeys(candidates, unreadable)
        )
    if ledger.mode is Mode.NODE and ledger.is_choosing(but=request.pod.uid):
        return FilterResult(
            basis=Basis.PLACEMENT,
            accepted=[],
            rejected=dict.fromkeys(candidates, PodUnscheduled()),
            is_open=True,
        )
    case = prepare(request, existing, view, view.policy)
    return _judge_all(case, candidates, limits, verdicts, ledger)


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
    case: Case,
    candidates: Sequence[NodeName],
    limits: StepLimits,
    verdicts: Verdicts,
    ledger: Ledger,
) -> FilterResult:
    if case.strict_nodes:
        verdicts = Verdicts()  # they also depend on where the pod's replicas are
    own, steps = _judge_new(case, candidates, limits, verdicts, ledger)
    rejections = verdicts.rejections
    if own:
        merged = {**rejections, **{name: each.rejection for name, each in own.items()}}
        rejections = {name: why for name, why in merged.items() if why is not None}
    if not rejections:
        return FilterResult(basis=Basis.PLACEMENT, accepted=candidates, rejected={}, steps=steps)
    # Built-in filters, since this is all that thousands of known nodes cost.
    rejected = {name: rejections[name] for name in filter(rejections.__contains__, candidates)}
    accepted = list(filterfalse(rejected.__contains__, candidates))
    return FilterResult(
        basis=Basis.PLACEMENT,
        accepted=accepted,
        rejected=rejected,
        steps=steps,
        is_open=not accepted and any(placement.is_open for placement in own.values()),
    )


def _judge_new(
    case: Case,
    candidates: Sequence[NodeName],
    limits: StepLimits,
    verdicts: Verdicts,
    ledger: Ledger,
) -> tuple[dict[NodeName, Placement], int]:
    """Judge the candidates that *verdicts* does not know, and add to it.

    Returns:
        Verdicts that hold for this request only, and the steps it took.
    """
    own: dict[NodeName, Placement] = {}
    passing = case.holders | ledger.nodes(but=case.request.pod.uid)
    if not passing and verdicts.judged.issuperset(candidates):
        return own, 0
    steps = 0
    for name in candidates:
        if name in verdicts.judged and name not in passing:
            continue
        space = case.view.spaces.get(name)
        if space is None:
            own[name] = Placement(rejection=_no_space(name, case.view))
            continue
        holds = ledger.on_node(name, but=case.request.pod.uid) if name in passing else ()
        if holds and ledger.mode is Mode.NODE:
            own[name] = Placement(rejection=NodeReserved())
            continue
        limit = max(0, min(limits.per_node, limits.per_request - steps))
        placement = judge(case, space, step_limit=limit, holds=holds)
        steps += placement.steps
        cut_short = limit < limits.per_node and isinstance(placement.rejection, PackingUndecided)
        if cut_short or space.pending or name in passing:
            own[name] = placement
        else:
            verdicts.remember(name, placement.rejection)
    return own, steps


def _no_space(name: NodeName, view: ClusterView) -> Rejection:
    return UnreadableNode() if name in view.unreadable_nodes else UnknownNode()
