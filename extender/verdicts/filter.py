"""Which of the candidate nodes a pod may run on, once its claims are resolved."""

from collections.abc import Iterable, Mapping, Sequence, Set
from enum import StrEnum
from itertools import filterfalse

import msgspec

from extender.demand.existing import Existing, Worth, existing_of
from extender.demand.requests import PodRequest
from extender.holds.ledger import Ledger, Mode
from extender.verdicts.competitors import offers_of
from extender.verdicts.judging import Case, judge, prepare
from extender.verdicts.placement import Placement
from extender.verdicts.rejections import (
    NodeReserved,
    PackingUndecided,
    PodUnscheduled,
    Rejection,
    ReplicasElsewhere,
    SettingUnreadable,
    UnknownNode,
    UnreadableNode,
)
from extender.verdicts.remembered import Known, RememberedVerdicts
from extender.view import ClusterView
from longhorn import NodeName, UnreadableSetting


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


def filter_nodes(
    request: PodRequest,
    candidates: Sequence[NodeName],
    view: ClusterView,
    *,
    limits: StepLimits,
    remembered: RememberedVerdicts,
    ledger: Ledger,
) -> FilterResult:
    """Split *candidates*, each named once, into accepted and rejected nodes.

    Args:
        request: The pod with its claims resolved.
        candidates: The nodes kube-scheduler offers.
        view: The cluster now.
        limits: Bounds on the packing's work.
        remembered: What is known already for pods of the same needs; added to.
        ledger: What was promised to pods; a pod's own promise does not count against it.
    """
    if not request.volumes:
        return FilterResult(basis=Basis.NOTHING_LOCAL, accepted=candidates, rejected={})
    existing = existing_of(request, view)
    holders = nodes_with_all_replicas(existing, candidates)
    if holders:
        return _accept_only(holders, candidates)
    if isinstance(view.settings, UnreadableSetting):
        unreadable = SettingUnreadable(setting=view.settings.name)
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
    case = prepare(request, existing, view, view.settings)
    return _judge_all(case, candidates, limits, remembered, ledger)


def _accept_only(accepted: Sequence[NodeName], candidates: Sequence[NodeName]) -> FilterResult:
    rejected: dict[NodeName, Rejection] = dict.fromkeys(candidates, ReplicasElsewhere())
    for name in accepted:
        del rejected[name]
    return FilterResult(basis=Basis.REPLICAS, accepted=accepted, rejected=rejected)


def _judge_all(
    case: Case,
    candidates: Sequence[NodeName],
    limits: StepLimits,
    remembered: RememberedVerdicts,
    ledger: Ledger,
) -> FilterResult:
    uid = case.request.pod.uid
    own_volumes = {volume.name for volume in case.request.volumes}
    offers = offers_of(ledger.offered(but=uid), own_volumes, case.view, case.settings)
    if case.strict_nodes:
        remembered = RememberedVerdicts()  # they also depend on where the pod's replicas are
    known = Known(case, offers, remembered)
    passing = case.holders | ledger.placed_nodes(but=uid) | offers.others
    passing_verdicts, steps = _judge_new(case, candidates, limits, known, passing, ledger)
    rejections, is_open = known.rejections(candidates, passing_verdicts)
    if not rejections:
        return FilterResult(basis=Basis.PLACEMENT, accepted=candidates, rejected={}, steps=steps)
    accepted = list(filterfalse(rejections.__contains__, candidates))
    return FilterResult(
        basis=Basis.PLACEMENT,
        accepted=accepted,
        rejected=rejections,
        steps=steps,
        is_open=is_open and not accepted,
    )


def _judge_new(
    case: Case,
    candidates: Sequence[NodeName],
    limits: StepLimits,
    known: Known,
    passing: Set[NodeName],
    ledger: Ledger,
) -> tuple[dict[NodeName, Placement], int]:
    """Judge the candidates that are not known, and those in *passing*; add to what is known.

    Returns:
        Verdicts that hold for this request only, and the steps it took.
    """
    own: dict[NodeName, Placement] = {}
    steps = 0
    for name in known.missing(candidates, passing):
        space = case.view.spaces.get(name)
        if space is None:
            own[name] = Placement(rejection=_no_space(name, case.view))
            continue
        holds = ledger.on_node(name, but=case.request.pod.uid) if name in passing else ()
        if holds and ledger.mode is Mode.NODE:
            own[name] = Placement(rejection=NodeReserved())
            continue
        limit = max(0, min(limits.per_node, limits.per_request - steps))
        offered = () if name in passing else known.beside(name)
        placement = judge(case, space, step_limit=limit, holds=holds, offered=offered)
        steps += placement.steps
        cut_short = limit < limits.per_node and isinstance(placement.rejection, PackingUndecided)
        if cut_short or space.pending or name in passing:
            own[name] = placement
        else:
            known.remember(name, placement.rejection)
    return own, steps


def _no_space(name: NodeName, view: ClusterView) -> Rejection:
    return UnreadableNode() if name in view.unreadable_nodes else UnknownNode()
