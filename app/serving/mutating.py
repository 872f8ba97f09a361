"""The answer to /mutate: new pods with Longhorn volumes ask for the extender by themselves.

Every instance that knows the cluster answers, also one that does not lead: nothing is held.
"""

from collections.abc import Callable
from time import perf_counter

import structlog
from fastapi import Response

from app.process.health import JSON, LOGGED_TEXT_LENGTH
from app.serving.admission import Review, decode_review, encode_answer, new_pod, patch_of
from app.serving.exchange import Call, timed
from app.serving.metrics import Metrics
from extender import ClusterView
from extender.demand import Injection, judge_claims, judge_pod

log = structlog.get_logger()

MOST_BYTES = 4 * 2**20
"""Of a review. The API server takes no object of more than 3 MiB."""


class Mutating:
    """Answers /mutate.

    Args:
        current_view: Returns the cluster.
        not_injecting: Returns why no pod is made to ask for the extender now, None if pods are.
        scheduler: Name of the kube-scheduler that asks the extender, "" if the cluster's own does.
        metrics: Counts the answers.
    """

    verb = "mutate"
    most_bytes = MOST_BYTES

    def __init__(
        self,
        *,
        current_view: Callable[[], ClusterView],
        not_injecting: Callable[[], str | None],
        scheduler: str,
        metrics: Metrics,
    ) -> None:
        self.not_injecting = not_injecting
        self._current_view = current_view
        self._scheduler = scheduler
        self._metrics = metrics

    def count_failure(self, outcome: str) -> None:
        """Count a review without decision."""
        self._metrics.count_mutation(outcome)

    async def answer(self, call: Call) -> Response:
        """Say what is to be added to a new pod, if anything is.

        Raises:
            BadRequestError: The review cannot be decoded.
        """
        review = decode_review(call.body.content)
        if review.pod is None:
            self._metrics.count_mutation("other_object")
            return self._response(encode_answer(review, ()), call)
        pod = new_pod(review.pod, review.namespace)
        injection = judge_pod(pod, self._scheduler)
        if injection is None:
            if (reason := self.not_injecting()) is not None:
                return self._unavailable(review, reason)
            injection = judge_claims(pod, self._scheduler, self._current_view())
        self._note(review, injection, call)
        return self._response(encode_answer(review, patch_of(review.pod, injection)), call)

    def _unavailable(self, review: Review, reason: str) -> Response:
        """Let the pod be created as it is; whoever creates it is told what it lacks."""
        self.count_failure("unavailable")
        log.warning("mutate.unavailable", pod=_logged(review), error=reason)
        warning = (
            f"the pod does not ask for the Longhorn scheduler extender: {reason}; "
            "if it has Longhorn volumes, create it again later"
        )
        return Response(encode_answer(review, (), warning), media_type=JSON)

    def _note(self, review: Review, injection: Injection, call: Call) -> None:
        self._metrics.count_mutation(injection.outcome)
        log.info(
            "mutate.answered",
            pod=_logged(review),
            outcome=injection.outcome,
            duration_seconds=round(perf_counter() - call.started, 6),
        )

    def _response(self, answer: bytes, call: Call) -> Response:
        return timed(answer, call, self._metrics.mutate_duration_seconds)


def _logged(review: Review) -> str:
    return review.name[:LOGGED_TEXT_LENGTH]
