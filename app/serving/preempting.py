"""The answer to /preempt: on which nodes eviction helps, or a status that says nobody can tell.

kube-scheduler sees at any other status than 200 that it cannot be told, and evicts nobody for now.
"""

from time import perf_counter

import structlog
from fastapi import Response

from app.metrics import Metrics
from app.serving.answers import JSON
from app.serving.decisions import Decisions, UnavailableError
from app.serving.exchange import LOGGED_TEXT_LENGTH, UNKNOWN_NODE_BYTES, Call, error_body, timed
from app.serving.victims import decode_preemption, encode_victims
from app.serving.wire import Verb
from extender import UnresolvableClaimError

log = structlog.get_logger()


class Preempting:
    """Answers /preempt.

    Args:
        decisions: Says which nodes have room.
        metrics: Counts the answers.
    """

    verb = Verb.PREEMPT
    most_bytes = None

    def __init__(self, decisions: Decisions, metrics: Metrics) -> None:
        self._decisions = decisions
        self._metrics = metrics

    def count_failure(self, outcome: str) -> None:
        """Count a request that was not answered."""
        self._metrics.count_preemption(outcome)

    async def answer(self, call: Call, started: float) -> Response:
        """Leave out the nodes that would be rejected even without the victims.

        Raises:
            BadRequestError: The request cannot be decoded.
        """
        preemption = decode_preemption(call.body.content, self._decisions.node_names)
        request = preemption.request
        call.body.count(UNKNOWN_NODE_BYTES * request.unknown)
        pod = f"{request.pod.namespace}/{request.pod.name}"[:LOGGED_TEXT_LENGTH]
        duration_seconds = self._metrics.preempt_duration_seconds
        try:
            found = await self._decisions.preempt(request)
        except UnavailableError as error:
            self.count_failure("unavailable")
            log.warning("preempt.unavailable", pod=pod, error=str(error))
            return Response(error_body(str(error)), 503, media_type=JSON)
        except UnresolvableClaimError as error:
            self.count_failure("error")
            log.warning("preempt.unanswered", pod=pod, error=str(error)[:LOGGED_TEXT_LENGTH])
            return timed(error_body(str(error)), started, duration_seconds, status=422)
        self._metrics.count_preemption("left_out" if found.rejected else "kept")
        log.info(
            "preempt.answered",
            pod=pod,
            candidates=len(request.candidates),
            kept=len(found.accepted),
            duration_seconds=round(perf_counter() - started, 6),
        )
        return timed(encode_victims(preemption, found.accepted), started, duration_seconds)
