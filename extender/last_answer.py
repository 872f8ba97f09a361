"""What `filter` has just found out: kube-scheduler asks for scores right after it."""

from collections.abc import Sequence
from typing import Any

from msgspec import structs

from extender.demand.requests import resolve
from extender.holds.ledger import Ledger
from extender.kubernetes import PodRef
from extender.verdicts.answering import Answer
from extender.view import ChangeLog, ClusterView, Cursor
from longhorn import NodeName


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


def _logs(view: ClusterView, ledger: Ledger) -> Sequence[ChangeLog[Any]]:
    return view.changes, view.volume_changes, ledger.changes
