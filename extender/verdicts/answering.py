"""Which of the candidate nodes a pod may run on."""

from collections.abc import Callable, Mapping, Sequence
from enum import StrEnum
from itertools import filterfalse

import msgspec
from msgspec import structs

from extender.demand.existing import Existing, Worth
from extender.demand.requests import PodRequest, by_place
from extender.holds.hold import Mode
from extender.verdicts.attaching import unattachable
from extender.verdicts.candidates import Judging, RememberedVerdicts
from extender.verdicts.rejections import (
    PodUnscheduled,
    Rejection,
    ReplicasElsewhere,
    SettingUnreadable,
)
from extender.verdicts.situation import Situation
from extender.verdicts.start import crowded_out, why_not_started
from extender.verdicts.strict_room import strict_room_at_risk
from extender.view import ClusterView
from longhorn import NodeName

Situate = Callable[[PodRequest], Situation]
"""Gathers what an answer to a request rests on, of the cluster as it is now."""


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
    view: ClusterView
    """The cluster that the answer rests on."""
    situation: Situation | None = None
    """All that it rests on; None for a pod without volumes of Longhorn."""
    basis: Basis
    candidates: Sequence[NodeName]
    """The nodes that kube-scheduler asks about, each once."""
    accepted: Sequence[NodeName]
    """In the order of the candidates."""
    rejected: Mapping[NodeName, Rejection] = {}
    steps: int = 0
    """Of the packing."""
    is_cut_short: bool = False
    """Whether the work for it was over before all was decided (`extender.work`): what was not
    packed is rejected."""

    @property
    def existing(self) -> Existing:
        """The replicas that there are of the request's volumes."""
        return {} if self.situation is None else self.situation.existing

    @property
    def forecast(self) -> Mapping[str, int]:
        """How many replicas of other volumes count that are not placed: sure, open, nowhere."""
        return {} if self.situation is None else self.situation.counts

    @property
    def is_open(self) -> bool:
        """Whether no node is accepted, and some only because of pods that may also go elsewhere.

        Once the nodes of these are chosen, the answer may be another.
        """
        return not self.accepted and any(each.by_open for each in self.rejected.values())


def decide(
    request: PodRequest,
    candidates: Sequence[NodeName],
    view: ClusterView,
    situate: Situate,
    remembered: RememberedVerdicts,
) -> Answer:
    """Split *candidates*, each named once, into accepted and rejected nodes.

    Of nodes to which the pod's volumes cannot be attached nothing else is asked. Where volumes keep
    to the place of their pod's node, each place is decided on by itself: the pod asks for something
    else there.
    """
    answers = list[Answer]()
    for asked, nodes in by_place(request, candidates, view):
        closed = unattachable(asked, nodes, view)
        open_ = [*filterfalse(closed.__contains__, nodes)] if closed else nodes
        answer = _decide(situate(asked), open_, remembered)
        if closed:
            rejected = {**answer.rejected, **closed}
            answer = structs.replace(answer, candidates=nodes, rejected=rejected)
        answers.append(answer)
    if len(answers) == 1:
        return answers[0]
    rejected = {name: why for each in answers for name, why in each.rejected.items()}
    steps = sum(each.steps for each in answers)
    together = _answer(situate(request), candidates, rejected, steps=steps)
    return structs.replace(together, is_cut_short=any(each.is_cut_short for each in answers))


def _decide(
    situation: Situation, candidates: Sequence[NodeName], remembered: RememberedVerdicts
) -> Answer:
    """Decide on nodes to which the pod's volumes can be attached."""
    return (
        _nothing_to_judge(situation, candidates)
        or _back_to_the_data(situation, candidates)
        or _judged(situation, candidates, remembered)
    )


def _nothing_to_judge(situation: Situation, candidates: Sequence[NodeName]) -> Answer | None:
    """Accept all nodes for a pod that needs no room on its node, and none to start."""
    if situation.request.volumes:
        return None
    if situation.view.settings.unreadable is None and situation.needed:
        return None
    return _answer(situation, candidates, {}, Basis.NOTHING_LOCAL)


def _back_to_the_data(situation: Situation, candidates: Sequence[NodeName]) -> Answer | None:
    """Accept only the nodes that hold a usable replica of every volume: the pod restarts there.

    If some of them hold replicas none of which is being evicted, only these: the others' data are
    about to move. Longhorn's schedulability of the node does not matter, as nothing new is put
    there.
    """
    existing = situation.existing
    if not existing:
        return None
    everywhere = set.intersection(*({*by_node} for by_node in existing.values()))
    worst = {
        name: min(by_node[name].worth for by_node in existing.values())
        for name in (candidates if everywhere else ())
        if name in everywhere
    }
    staying = {name for name, worth in worst.items() if worth is Worth.USABLE}
    holders = staying or {name for name, worth in worst.items() if worth is Worth.EVICTING}
    if not holders:
        return None
    others = filterfalse(holders.__contains__, candidates)
    rejected = dict.fromkeys(others, ReplicasElsewhere())
    return _answer(situation, candidates, rejected, Basis.REPLICAS)


def _judged(
    situation: Situation, candidates: Sequence[NodeName], remembered: RememberedVerdicts
) -> Answer:
    """Judge each node; then whether the pod's volumes start, and what its replicas take of others.

    Each of these looks only at the nodes that are accepted so far. Lazily: for most pods nobody
    looks at the thousands of them.
    """
    request, ledger = situation.request, situation.ledger
    unreadable = situation.view.settings.unreadable
    if unreadable is not None:
        why = SettingUnreadable(setting=unreadable)
        return _answer(situation, candidates, dict.fromkeys(candidates, why))
    is_waiting = ledger.mode is Mode.NODE and ledger.is_choosing(but=request.pod.uid)
    if request.volumes and is_waiting:
        return _answer(situation, candidates, dict.fromkeys(candidates, PodUnscheduled()))
    judging = Judging(situation)
    rejected: dict[NodeName, Rejection] = {}
    if request.volumes:
        rejected = judging.rejections(candidates, remembered)
    if len(rejected) < len(candidates):
        why_not = why_not_started(situation)
        if why_not is not None:
            rejected = dict.fromkeys(candidates, why_not)
        else:
            rejected |= crowded_out(situation, filterfalse(rejected.__contains__, candidates))
            accepted = filterfalse(rejected.__contains__, candidates)
            rejected |= strict_room_at_risk(situation, accepted)
    return _answer(situation, candidates, rejected, steps=judging.steps)


def _answer(
    situation: Situation,
    candidates: Sequence[NodeName],
    rejected: Mapping[NodeName, Rejection],
    basis: Basis | None = None,
    *,
    steps: int = 0,
) -> Answer:
    if basis is None:
        basis = Basis.PLACEMENT if situation.request.volumes else Basis.NOTHING_LOCAL
    return Answer(
        request=situation.request,
        view=situation.view,
        situation=situation,
        basis=basis,
        candidates=candidates,
        # A built-in filter, since this is most of what thousands of known nodes cost.
        accepted=list(filterfalse(rejected.__contains__, candidates)) if rejected else candidates,
        rejected=rejected,
        steps=steps,
        is_cut_short=situation.work.is_over,
    )
