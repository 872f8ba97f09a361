"""The answer to /prioritize: a score for every candidate, or a status that says there is none.

kube-scheduler ignores errors of this verb, and gives a node that is left out nothing. So an error
costs no node the scores that it has from others, while a list of zeros would look like a judgement.
"""

from time import perf_counter

import structlog
from fastapi import Response

from app.metrics import Metrics
from app.serving import wire
from app.serving.answers import JSON
from app.serving.decisions import Decisions, UnavailableError
from app.serving.exchange import (
    LOGGED_TEXT_LENGTH,
    Call,
    asking_of,
    error_body,
    pod_of,
    timed,
)
from app.serving.wire import Verb
from extender import UnresolvableClaimError

log = structlog.get_logger()


class Prioritizing:
    """Answers /prioritize.

    Args:
        decisions: Makes the scores.
        metrics: Counts the answers.
    """

    verb = Verb.PRIORITIZE
    most_bytes = None

    def __init__(self, decisions: Decisions, metrics: Metrics) -> None:
        self._decisions = decisions
        self._metrics = metrics

    def count_failure(self, outcome: str) -> None:
        """Count a request without scores."""
        self._metrics.count_prioritization(outcome)

    async def answer(self, call: Call, started: float) -> Response:
        """Say how good each candidate is, or why that cannot be said.

        Raises:
            BadRequestError: The request cannot be decoded.
        """
        asking = asking_of(call, self._decisions.node_names)
        request, pod = asking.request, pod_of(asking)
        duration_seconds = self._metrics.prioritize_duration_seconds
        try:
            scores = await self._decisions.prioritize(request)
        except UnavailableError as error:
            self.count_failure("unavailable")
            log.warning("prioritize.unavailable", pod=pod, error=str(error))
            return Response(error_body(str(error)), 503, media_type=JSON)
        except UnresolvableClaimError as error:
            self.count_failure("error")
            log.warning("prioritize.unanswered", pod=pod, error=str(error)[:LOGGED_TEXT_LENGTH])
            return timed(error_body(str(error)), started, duration_seconds, status=422)
        answer = wire.encode_scores(scores)
        self._metrics.count_prioritization("scored")
        log.info(
            "prioritize.answered",
            pod=pod,
            candidates=len(scores.nodes),
            duration_seconds=round(perf_counter() - started, 6),
        )
        return timed(answer, started, duration_seconds)
