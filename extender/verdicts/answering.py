"""Which of the candidate nodes a pod may run on, once its claims are resolved."""

from collections.abc import Iterable, Mapping, Sequence
from enum import StrEnum
from itertools import filterfalse

import msgspec

from extender.demand.existing import Existing, Worth, existing_of
from extender.demand.requests import PodRequest
from extender.forecast.outlook import Outlook
from extender.holds.hold import Mode
from extender.holds.ledger import Ledger
from extender.verdicts.candidates import Judging, StepLimits
from extender.verdicts.case import Case, counts, prepare
from extender.verdicts.rejections import (
    PodUnscheduled,
    Rejection,
    ReplicasElsewhere,
    SettingUnreadable,
)
from extender.verdicts.remembered import RememberedVerdicts
from extender.verdicts.risk import risks
from extender.verdicts.starting import crowded_out, needs_room, start_rejection
from extender.view import ChangeLog, ClusterView
from extender.work import Work
from longhorn import Moment, NodeName


class Basis(StrEnum):
    """What an answer rests on."""

    NOTHING_LOCAL = "nothing_local"
    """The pod needs no replica on its node: all candidates are accepted."""
    REPLICAS = "replicas"
    """Accepted nodes hold usable replicas of all volumes that must be local."""
    PLACEMENT = "placement"
    """Each node was judged by whether the volumes fit on its disks."""


class Answer(msgspec.Struct, frozen=True, kw_only=True):
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
    """Of the packing."""
    is_cut_short: bool = False
    """Whether the work for it was over before all was decided (`extender.work`): what was not
    decided to be moved counts as able to give way, and what was not packed is rejected."""
    forecast: Mapping[str, int] = {}
    """How many replicas of other volumes count that are not placed: sure, open, nowhere. Empty if
    nothing was judged."""

    @property
    def is_open(self) -> bool:
        """Whether no node is accepted, and some only because of pods that may also go elsewhere.

        Once the nodes of these are chosen, the answer may be another.
        """
        return not self.accepted and any(each.is_open for each in self.rejected.values())

    @property
    def depends_on_others(self) -> bool:
        """Whether room on a node that was not asked about may lead to another answer."""
        return any(each.depends_on_others for each in self.rejected.values())


def answer(
    request: PodRequest,
    candidates: Sequence[NodeName],
    view: ClusterView,
    *,
    limits: StepLimits,
    remembered: RememberedVerdicts,
    outlook: Outlook,
    ledger: Ledger,
    work: Work,
    now: float,
    utc: Moment | None,
) -> tuple[Answer, Case | None]:
    """Split *candidates*, each named once, into accepted and rejected nodes.

    Returns also what was prepared to judge them, None if there was nothing to judge.

    Args:
        request: The pod with its claims resolved.
        candidates: The nodes that kube-scheduler asks about.
        view: The cluster now.
        limits: Bounds on the packing's work.
        remembered: What is known already for pods of the same needs; added to.
        outlook: What else will take room, and where it finds room; kept up to date.
        ledger: What is held for pods; a pod's own hold does not count against it.
        work: What may be done for the answer.
        now: The time, in seconds.
        utc: The date and time, None if it is not known.
    """
    if not (request.volumes or request.remote):
        return Answer(request=request, basis=Basis.NOTHING_LOCAL, accepted=candidates), None
    existing = existing_of(request, view)
    holders = nodes_with_all_replicas(existing, candidates)
    if holders:
        others = filterfalse(set(holders).__contains__, candidates)
        found = Answer(
            request=request,
            existing=existing,
            basis=Basis.REPLICAS,
            accepted=holders,
            rejected=dict.fromkeys(others, ReplicasElsewhere()),
        )
        return found, None
    basis = Basis.PLACEMENT if request.volumes else Basis.NOTHING_LOCAL
    rejected: Mapping[NodeName, Rejection]
    steps, forecast, case = 0, dict[str, int](), None
    if view.settings.unreadable is not None:
        rejected = {}
        if request.volumes:
            rejected = dict.fromkeys(
                candidates, SettingUnreadable(setting=view.settings.unreadable)
            )
    elif not (request.volumes or needs_room(request, view)):
        rejected = {}
    elif request.volumes and ledger.mode is Mode.NODE and ledger.is_choosing(but=request.pod.uid):
        rejected = dict.fromkeys(candidates, PodUnscheduled())
    else:
        outlook.catch_up(view, ledger, now=now, utc=utc, work=Work.unlimited())
        case = prepare(
            request,
            existing,
            view,
            outlook=outlook,
            step_limit=limits.per_node,
            work=work,
            utc=utc,
        )
        forecast = counts(case)
        judging = Judging(case, limits, ledger)
        rejected, case = _judge(case, candidates, judging, remembered, outlook.changes, ledger)
        steps = judging.steps
    found = Answer(
        request=request,
        existing=existing,
        basis=basis,
        # A built-in filter, since this is most of what thousands of known nodes cost.
        accepted=list(filterfalse(rejected.__contains__, candidates)) if rejected else candidates,
        rejected=rejected,
        steps=steps,
        is_cut_short=work.is_over,
        forecast=forecast,
    )
    return found, case


def _judge(
    case: Case,
    candidates: Sequence[NodeName],
    judging: Judging,
    remembered: RememberedVerdicts,
    changes: ChangeLog[NodeName],
    ledger: Ledger,
) -> tuple[Mapping[NodeName, Rejection], Case]:
    """Return why candidates are rejected, and the case with all that is forecast for it."""
    rejected: Mapping[NodeName, Rejection] = {}
    if case.request.volumes:
        rejected = judging.rejections(candidates, remembered, changes)
    if len(rejected) == len(candidates):
        return rejected, case
    everywhere, case = start_rejection(case)
    if everywhere is not None:
        return dict.fromkeys(candidates, everywhere), case
    # Lazily: for most pods nobody looks at the thousands of nodes that are accepted so far.
    crowded = crowded_out(case, filterfalse(rejected.__contains__, candidates))
    rejected = {**rejected, **crowded} if crowded else rejected
    at_risk = risks(case, filterfalse(rejected.__contains__, candidates), ledger)
    return {**rejected, **at_risk} if at_risk else rejected, case


def nodes_with_all_replicas(existing: Existing, candidates: Iterable[NodeName]) -> list[NodeName]:
    """Return the candidates that hold a usable replica of every volume; the pod restarts there.

    If some of them hold replicas none of which is being evicted, only these: the others' data are
    about to move. Longhorn's schedulability of the node does not matter, as nothing new is put
    there.
    """
    if not existing:
        return []
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
