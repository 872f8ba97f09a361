"""The decision for one pod, and what is worth remembering between two of them."""

from collections.abc import Iterable

from extender.filter import FilterResult, StepLimits, filter_nodes
from extender.requests import resolve
from extender.reservations import Ledger
from extender.types import NodeName, PodRef
from extender.verdicts import RememberedVerdicts, Verdicts
from extender.view import ClusterView


class Extender:
    """Answers which nodes a pod may run on.

    It remembers verdicts on nodes by what pods need, so that in a cluster of 5,000 nodes of which
    one changed, the next pod of a workload costs one packing.

    Attributes:
        ledger: What was promised to pods and counts against others.
    """

    def __init__(self, limits: StepLimits) -> None:
        self._limits = limits
        self.ledger = Ledger()
        self._verdicts = RememberedVerdicts()

    def filter(
        self, pod: PodRef, candidates: Iterable[NodeName], view: ClusterView
    ) -> FilterResult:
        """Split *candidates* into accepted and rejected nodes; one named twice counts once.

        Raises:
            UnresolvableClaimError: A claim of the pod does not lead to a volume.
        """
        request = resolve(pod, view)
        needs = tuple(volume.need for volume in request.volumes)
        return filter_nodes(
            request,
            list(dict.fromkeys(candidates)),
            view,
            limits=self._limits,
            verdicts=self._verdicts.for_needs(needs, view.changes) if needs else Verdicts(),
            ledger=self.ledger,
        )
