"""Which of the candidate nodes a pod may run on, once its claims are resolved."""

from collections.abc import Iterable, Mapping, Sequence
from enum import StrEnum
from itertools import filterfalse

import msgspec

from extender.demand.existing import Existing, Worth, existing_of
from extender.demand.requests import PodRequest
from extender.holds.ledger import Ledger, Mode
from extender.verdicts.case import Case, prepare
from extender.verdicts.competitors import open_holds
from extender.verdicts.judging import glance, judge
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
from extender.verdicts.remembered import RememberedVerdicts, Verdicts
from extender.view import ClusterView
from longhorn import NodeName, UnreadableSetting
from packing import Item


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

    request: PodRequest
    """The pod with its claims resolved."""
    existing: Existing = {}
    """The replicas that there are of the request's volumes."""
    basis: Basis
    accepted: Sequence[NodeName]
    """In the order of the candidates."""
    rejected: Mapping[NodeName, Rejection] = {}
    steps: int = 0

    @property
    def is_open(self) -> bool:
        """Whether no node is accepted, and some only because of pods that may also go elsewhere.

        Once the nodes of these are chosen, the answer may be another.
        """
        return not self.accepted and any(each.is_open for each in self.rejected.values())


def answer(
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
        candidates: The nodes that kube-scheduler asks about.
        view: The cluster now.
        limits: Bounds on the packing's work.
        remembered: What is known already for pods of the same needs; added to.
        ledger: What is held for pods; a pod's own hold does not count against it.
    """
    if not request.volumes:
        return FilterResult(request=request, basis=Basis.NOTHING_LOCAL, accepted=candidates)
    existing = existing_of(request, view)
    holders = nodes_with_all_replicas(existing, candidates)
    if holders:
        others = filterfalse(set(holders).__contains__, candidates)
        return FilterResult(
            request=request,
            existing=existing,
            basis=Basis.REPLICAS,
            accepted=holders,
            rejected=dict.fromkeys(others, ReplicasElsewhere()),
        )
    if isinstance(view.settings, UnreadableSetting):
        unreadable = SettingUnreadable(setting=view.settings.name)
        return _by_room(request, existing, candidates, dict.fromkeys(candidates, unreadable))
    if ledger.mode is Mode.NODE and ledger.is_choosing(but=request.pod.uid):
        locked = PodUnscheduled()
        return _by_room(request, existing, candidates, dict.fromkeys(candidates, locked))
    judging = _Judging(prepare(request, existing, view, view.settings), limits, ledger)
    rejected = judging.rejections(candidates, remembered)
    return _by_room(request, existing, candidates, rejected, steps=judging.steps)


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


def _by_room(
    request: PodRequest,
    existing: Existing,
    candidates: Sequence[NodeName],
    rejected: Mapping[NodeName, Rejection],
    *,
    steps: int = 0,
) -> FilterResult:
    # A built-in filter, since this is most of what thousands of known nodes cost.
    accepted = list(filterfalse(rejected.__contains__, candidates)) if rejected else candidates
    return FilterResult(
        request=request,
        existing=existing,
        basis=Basis.PLACEMENT,
        accepted=accepted,
        rejected=rejected,
        steps=steps,
    )


class _Judging:
    """Judges the candidates of one request, within its limit of steps.

    Attributes:
        steps: How many were taken.
    """

    def __init__(self, case: Case, limits: StepLimits, ledger: Ledger) -> None:
        self.steps = 0
        self._case = case
        self._limits = limits
        self._ledger = ledger
        self._uid = case.request.pod.uid

    def rejections(
        self, candidates: Sequence[NodeName], remembered: RememberedVerdicts
    ) -> dict[NodeName, Rejection]:
        """Return why candidates are rejected.

        Where the pod's own replicas and the holds on chosen nodes play no part, a verdict follows
        from what is needed and from the node's space, and is remembered: beside no hold, or beside
        the same open holds. A burst of pods to thousands of nodes would pack each node for each
        pod otherwise.
        """
        case = self._case
        open_ = open_holds(self._ledger.offered(but=self._uid), case)
        apart = case.holders | self._ledger.placed_nodes(but=self._uid) | open_.partly
        alone, beside, single = candidates, list[NodeName](), list[NodeName]()
        if case.strict_nodes:
            alone, single = [], [*candidates]
        elif apart or open_.nodes:
            alone = []
            for name in candidates:
                group = single if name in apart else beside if name in open_.nodes else alone
                group.append(name)
        needs, changes = tuple(v.need for v in case.request.volumes), case.view.changes
        found = self._alike(alone, (), remembered.for_needs((needs, ()), changes))
        if beside:
            known = remembered.for_needs((needs, open_.needs), changes)
            found |= self._alike(beside, open_.items, known)
        for name in single:
            rejection, _ = self._judge(name)
            if rejection is not None:
                found[name] = rejection
        return found

    def _alike(
        self, nodes: Sequence[NodeName], beside: Sequence[Item], known: Verdicts
    ) -> dict[NodeName, Rejection]:
        """Return why nodes are rejected on which the same is held for other pods, if anything."""
        singly: dict[NodeName, Rejection] = {}
        missing = known.missing(nodes)
        if missing:
            seen = glance(self._case, missing, beside=beside)
            known.remember(seen.accepted, {})
            known.remember(seen.rejected, seen.rejected)
            for name in seen.rest:
                rejection, is_lasting = self._judge(name)
                rejected = {} if rejection is None else {name: rejection}
                if is_lasting:
                    known.remember([name], rejected)
                else:
                    singly |= rejected
        why = known.rejections
        return {name: why[name] for name in filter(why.__contains__, nodes)} | singly

    def _judge(self, name: NodeName) -> tuple[Rejection | None, bool]:
        """Return why a node is rejected, if it is, and whether that stands until it changes."""
        view = self._case.view
        space = view.spaces.get(name)
        if space is None:
            is_unreadable = name in view.unreadable_nodes
            return UnreadableNode() if is_unreadable else UnknownNode(), False
        holds = self._ledger.on_node(name, but=self._uid)
        if holds and self._ledger.mode is Mode.NODE:
            return NodeReserved(), False
        limit = max(0, min(self._limits.per_node, self._limits.per_request - self.steps))
        verdict = judge(self._case, space, holds, step_limit=limit)
        self.steps += verdict.steps
        is_undecided = isinstance(verdict.rejection, PackingUndecided)
        was_cut_short = is_undecided and limit < self._limits.per_node
        # What pending replicas need depends on their volumes, too.
        return verdict.rejection, not (space.pending or was_cut_short)
