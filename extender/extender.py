"""The decision for one pod, and what is worth remembering between two of them."""

from collections.abc import Sequence
from typing import Any

from msgspec import structs

from extender.demand.requests import PodRequest, resolve
from extender.errors import OtherPodError, TooMuchHeldError, UnresolvableClaimError
from extender.holds.deadlines import Timeouts
from extender.holds.evidence import is_shown, may_be_refused
from extender.holds.hold import Asked, End, Mode, Outcome
from extender.holds.ledger import Ledger
from extender.holds.new_hold import fits_memory_budget, hold_for, node_set
from extender.kubernetes import PodRef
from extender.scoring.scores import (
    Balance,
    KnownScores,
    RememberedScores,
    Scores,
    best_alone,
    prioritize,
)
from extender.upcoming.book import Book
from extender.verdicts.answering import Answer, Basis, decide
from extender.verdicts.candidates import RememberedVerdicts, Verdicts
from extender.verdicts.situation import Situation, situation_of
from extender.view import ChangeLog, ClusterView, Cursor
from extender.work import StepLimits, Work
from longhorn import Moment, NodeName

NODES_IN_ONE_GO = 2_500
"""So many nodes are judged without giving way to anything else, where none of them is known."""
_VOLUMES_IN_ONE_GO = 20_000
"""More nodes than that, if the pod has so few volumes that they are no more on all nodes together:
to judge one takes less then."""
_STEPS_IN_ONE_GO = 2_000
"""So much of what has changed is taken in without giving way."""


class LastAnswer:
    """The last answer, for as long as no more than its own hold has changed."""

    def __init__(self) -> None:
        self._answer: Answer | None = None
        self._seen: Sequence[Cursor] = ()

    def note(self, answer: Answer, ledger: Ledger) -> None:
        """Note an answer and the holds."""
        self._answer = answer
        self._seen = [log.since(None)[1] for log in _logs(answer.view, ledger)]

    def again(
        self,
        pod: PodRef,
        candidates: Sequence[NodeName],
        view: ClusterView,
        ledger: Ledger,
    ) -> Answer | None:
        """Return the answer, if it is about this pod and accepted these nodes, and is true still.

        Raises:
            UnresolvableClaimError: A claim of the pod does not lead to a volume any more.
        """
        last = self._answer
        if (
            last is None
            or last.view is not view
            or last.situation is None
            or not last.situation.is_valid
            or last.accepted != candidates
        ):
            return None
        logs = zip(_logs(view, ledger), self._seen, strict=True)
        nodes, volumes, holds = [log.since(cursor)[0] for log, cursor in logs]
        is_same = nodes == volumes == [] and holds is not None and {pod.uid}.issuperset(holds)
        if not is_same or last.request.pod != pod or resolve(pod, view) != last.request:
            return None
        return structs.replace(last, candidates=candidates, rejected={})


class Extender:
    """Answers which nodes a pod may run on.

    It remembers verdicts on nodes by what pods need, so that in a cluster of 5,000 nodes of which
    one changed, the next pod of a workload costs one packing.

    Attributes:
        ledger: What is held for pods and counts against others.
        steps: What the last call took (`extender.work`).
    """

    def __init__(
        self, limits: StepLimits, mode: Mode = Mode.CAPACITY, balance: Balance = Balance.SPREAD
    ) -> None:
        self._limits = limits
        self._balance = balance
        self.ledger = Ledger(mode)
        self.steps = 0
        self._changes = ChangeLog[NodeName]()
        self._book: Book | None = None
        self._verdicts = RememberedVerdicts(Verdicts, self._changes)
        self._scores = RememberedScores(KnownScores, self._changes)
        self._last = LastAnswer()

    def filter(
        self,
        pod: PodRef,
        candidates: Sequence[NodeName],
        view: ClusterView,
        now: float = 0.0,
        utc: Moment | None = None,
    ) -> Answer:
        """Split *candidates* into accepted and rejected nodes.

        Args:
            candidates: The nodes that kube-scheduler asks about, each once.
            now: The time, in seconds; where no time passes, nothing is given up.
            utc: The date and time, for what Longhorn's objects say the time of. None if it is not
                known, as in a file.

        Raises:
            UnresolvableClaimError: A claim of the pod does not lead to a volume.
        """
        request, self.steps = resolve(pod, view), 0
        if not (request.volumes or request.remote):
            return Answer(
                request=request,
                view=view,
                basis=Basis.NOTHING_LOCAL,
                candidates=candidates,
                accepted=candidates,
            )
        works = list[Work]()

        def situate(asked: PodRequest) -> Situation:
            situation = self.situation(asked, view, now, utc)
            works.append(situation.work)
            return situation

        answer = decide(request, candidates, view, situate, self._verdicts)
        self.steps = sum(each.spent for each in works)
        self._last.note(answer, self.ledger)
        return answer

    def prioritize(
        self,
        pod: PodRef,
        candidates: Sequence[NodeName],
        view: ClusterView,
        now: float = 0.0,
        utc: Moment | None = None,
    ) -> Scores:
        """Score *candidates*; the arguments and errors are those of `filter`.

        A node that `filter` would reject now has nothing. Nothing is held.
        """
        known = self.prioritize_answered(pod, candidates, view)
        return known or self.score(self.filter(pod, candidates, view, now, utc))

    def prioritize_answered(
        self, pod: PodRef, candidates: Sequence[NodeName], view: ClusterView
    ) -> Scores | None:
        """Return the same by what `filter` has just found out; None if something has changed since.

        kube-scheduler asks for the scores of the nodes that were accepted right after `filter`.
        """
        answer = self._last.again(pod, candidates, view, self.ledger)
        return None if answer is None else self.score(answer)

    def catch_up(self, view: ClusterView, now: float = 0.0, utc: Moment | None = None) -> bool:
        """Take in some of what has changed in the cluster; return whether nothing is left to do.

        An answer takes in all that is left. A service whose answers must not take long does it
        before, piece by piece.
        """
        work = Work(_STEPS_IN_ONE_GO)
        book = self._up_to_date(view, now, utc, work)
        self.steps = work.spent
        return not book.is_behind

    def knows(self, pod: PodRef, candidates: Sequence[NodeName], view: ClusterView) -> bool:
        """Whether most verdicts on *candidates* follow from earlier ones, or are few."""
        count = len(candidates)
        if count <= NODES_IN_ONE_GO or count * len(pod.claims) <= _VOLUMES_IN_ONE_GO:
            return True
        try:
            request = resolve(pod, view)
        except UnresolvableClaimError:
            return True
        needs = tuple(volume.need for volume in request.volumes)
        unknown = count - self._verdicts.known(needs)
        return not needs or unknown <= NODES_IN_ONE_GO

    def situation(
        self, request: PodRequest, view: ClusterView, now: float = 0.0, utc: Moment | None = None
    ) -> Situation:
        """Gather what an answer to *request* rests on; the other arguments are those of `filter`.

        A request without volumes gets what is true for all pods.
        """
        book = self._up_to_date(view, now, utc, Work.unlimited())
        return situation_of(request, view, self.ledger, book, limits=self._limits, utc=utc)

    def _up_to_date(self, view: ClusterView, now: float, utc: Moment | None, work: Work) -> Book:
        book = self._book
        if book is None or not book.update(view, now=now, utc=utc, work=work):
            book = self._book = Book(view, self.ledger, self._changes, self._limits.per_node)
            book.update(view, now=now, utc=utc, work=work)
        return book

    def score(self, answer: Answer) -> Scores:
        """Score the candidates of an answer; neither its view nor holds have changed since."""
        return prioritize(answer, self._scores, self._balance)

    def for_member(self, answer: Answer) -> Answer:
        """Return an answer for a member of a group: if it needs room, the best node alone."""
        has_choice = answer.basis is Basis.PLACEMENT and len(answer.accepted) > 1
        return best_alone(answer, self.score(answer)) if has_choice else answer

    def hold(
        self,
        answer: Answer,
        asked: Asked,
        *,
        timeouts: Timeouts,
        now: float,
    ) -> Outcome:
        """Hold for the pod what *answer* says; its view has not changed since.

        An answer is the last word: what was held for the pod after an earlier one is over. Nothing
        is held where no new replica is needed and no disk may refuse one that there is, nor for a
        pod without uid, about which somebody else than kube-scheduler asks.

        Returns:
            What became of the hold of the earlier answer.

        Raises:
            OtherPodError: What is held for this uid is for a pod of another name or other claims.
                Nothing has changed.
            TooMuchHeldError: There is no memory for it. Nothing has changed.
        """
        request, accepted, view = answer.request, answer.accepted, answer.view
        before = self.ledger.get(request.pod.uid)
        if before is not None and before.pod != request.pod:
            pod = request.pod
            raise OtherPodError(
                f"pod {pod.namespace}/{pod.name} is not the one that has its uid and claims"
            )
        pod, volumes = request.pod, (*request.volumes, *request.remote)
        needs_room = (
            answer.basis is Basis.PLACEMENT
            or not all(is_shown(each, view, accepted) for each in volumes)
            or any(may_be_refused(each, view) for each in volumes)
        )
        is_held = needs_room and accepted and pod.uid and timeouts.choosing_seconds
        if not is_held:
            return self.ledger.drop(pod.uid, End.REPLACED, now)
        only_candidate = len(accepted) + len(answer.rejected) == 1
        if not (request.volumes or only_candidate):  # then no name was looked at
            accepted = [*filter(view.spaces.__contains__, accepted)]
        hold = hold_for(
            request,
            node_set(accepted, self.ledger),
            view,
            asked=asked,
            only_candidate=only_candidate,
            now=now,
        )
        if not fits_memory_budget(hold, self.ledger):
            raise TooMuchHeldError
        return self.ledger.put(hold)


def _logs(view: ClusterView, ledger: Ledger) -> Sequence[ChangeLog[Any]]:
    return view.changes, view.volume_changes, ledger.changes
