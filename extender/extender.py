"""The decision for one pod, and what is worth remembering between two of them."""

from collections.abc import Iterable

from extender.demand.requests import resolve
from extender.holds.hold import End
from extender.holds.ledger import Ended, Ledger, Mode, Timeouts
from extender.holds.making import offer_to
from extender.kubernetes import PodRef, PodStatus
from extender.verdicts.filter import Basis, FilterResult, StepLimits, filter_nodes
from extender.verdicts.remembered import RememberedVerdicts
from extender.view import ClusterView
from longhorn import NodeName


class Extender:
    """Answers which nodes a pod may run on.

    It remembers verdicts on nodes by what pods need, so that in a cluster of 5,000 nodes of which
    one changed, the next pod of a workload costs one packing.

    Attributes:
        ledger: What was promised to pods and counts against others.
    """

    def __init__(self, limits: StepLimits, mode: Mode = Mode.CAPACITY) -> None:
        self._limits = limits
        self.ledger = Ledger(mode)
        self._verdicts = RememberedVerdicts()

    def filter(
        self, pod: PodRef, candidates: Iterable[NodeName], view: ClusterView
    ) -> FilterResult:
        """Split *candidates* into accepted and rejected nodes; one named twice counts once.

        Raises:
            UnresolvableClaimError: A claim of the pod does not lead to a volume.
        """
        return filter_nodes(
            resolve(pod, view),
            list(dict.fromkeys(candidates)),
            view,
            limits=self._limits,
            remembered=self._verdicts,
            ledger=self.ledger,
        )

    def promise(
        self,
        pod: PodRef,
        asked: PodStatus,
        result: FilterResult,
        view: ClusterView,
        *,
        timeouts: Timeouts,
        now: float,
    ) -> Ended | None:
        """Keep what an answer promises; to be called with the view that *result* rests on.

        An answer is the last word: what an earlier one promised to the pod is over. Where replicas
        of all volumes are, or none is needed, nothing new will be placed and nothing is promised;
        nor is it to a pod without uid, about which somebody else than kube-scheduler asks.

        Returns:
            The promise of the earlier answer.
        """
        is_promise = result.basis is Basis.PLACEMENT and result.accepted and pod.uid
        if not (is_promise and timeouts.choosing_seconds):
            return self.ledger.drop(pod.uid, End.REPLACED, now)
        hold = offer_to(
            resolve(pod, view),
            result.accepted,
            view,
            asked=asked,
            only_candidate=len(result.accepted) + len(result.rejected) == 1,
            now=now,
        )
        return self.ledger.put(hold)
