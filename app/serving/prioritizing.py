"""The answer to /prioritize: a score for every candidate, or a status that says there is none.

kube-scheduler ignores errors of this verb, and gives a node that is left out nothing. So an error
costs no node the scores that it has from others, while a list of zeros would look like a judgement.
"""

from time import perf_counter

import structlog
from fastapi import Response

from app.serving import wire
from app.serving.decisions import Decisions
from app.serving.exchange import Call, asking_of, found_or_status, pod_of, timed
from app.serving.metrics import Metrics
from app.serving.wire import Verb

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

    async def answer(self, call: Call) -> Response:
        """Say how good each candidate is, or why that cannot be said.

        Raises:
            BadRequestError: The request cannot be decoded.
        """
        request = asking_of(call, self._decisions.node_names).request
        pod, seconds = pod_of(request), self._metrics.prioritize_duration_seconds
        finding = self._decisions.prioritize(request)
        scores = await found_or_status(finding, self, pod, call, seconds)
        if isinstance(scores, Response):
            return scores
        answer = wire.encode_scores(scores)
        self._metrics.count_prioritization("scored")
        log.info(
            "prioritize.answered",
            pod=pod,
            candidates=len(scores.nodes),
            duration_seconds=round(perf_counter() - call.started, 6),
        )
        return timed(answer, call, seconds)
