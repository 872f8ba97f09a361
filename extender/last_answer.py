"""What `filter` has just found out: kube-scheduler asks for scores right after it."""

from collections.abc import Sequence
from typing import NamedTuple

from msgspec import structs

from extender.demand.requests import resolve
from extender.holds.ledger import Ledger
from extender.kubernetes import PodRef
from extender.verdicts.answering import Answer
from extender.view import ClusterView, Cursor
from longhorn import NodeName


class _Last(NamedTuple):
    """An answer, and of which cluster and holds it is true."""

    answer: Answer
    nodes: Cursor
    volumes: Cursor
    holds: Cursor
    outlook: int


class LastAnswer:
    """The last answer, for as long as no more than its own hold has changed."""

    def __init__(self) -> None:
        self._last: _Last | None = None

    def note(self, answer: Answer, ledger: Ledger, outlook: int) -> None:
        """Note an answer, the holds, and the version of what is upcoming."""
        self._last = _Last(
            answer,
            nodes=answer.view.changes.since(None)[1],
            volumes=answer.view.volume_changes.since(None)[1],
            holds=ledger.changes.since(None)[1],
            outlook=outlook,
        )

    def again(
        self,
        pod: PodRef,
        candidates: Sequence[NodeName],
        view: ClusterView,
        ledger: Ledger,
        outlook: int,
    ) -> Answer | None:
        """Return the answer, if it is about this pod and accepted these nodes, and is true still.

        Raises:
            UnresolvableClaimError: A claim of the pod does not lead to a volume any more.
        """
        last = self._last
        if (
            last is None
            or last.answer.view is not view
            or last.outlook != outlook
            or last.answer.accepted != candidates
        ):
            return None
        request = last.answer.request
        holds = ledger.changes.since(last.holds)[0]
        is_same = (
            view.changes.since(last.nodes)[0] == []
            and view.volume_changes.since(last.volumes)[0] == []
            and holds is not None
            and {pod.uid}.issuperset(holds)
        )
        if not is_same or request.pod != pod or resolve(pod, view) != request:
            return None
        return structs.replace(last.answer, candidates=candidates, rejected={})
