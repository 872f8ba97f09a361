"""The answer to /preempt: on which nodes eviction helps, or a status that says nobody can tell.

kube-scheduler sees at any other status than 200 that it cannot be told, and evicts nobody for now.
"""

from time import perf_counter

import structlog
from fastapi import Response

from app.serving.decisions import Decisions
from app.serving.exchange import Call, count_unknown, found_or_status, pod_of, timed
from app.serving.metrics import Metrics
from app.serving.victims import MOST_BYTES, decode_preemption, encode_victims
from app.serving.wire import Verb

log = structlog.get_logger()


class Preempting:
    """Answers /preempt.

    Args:
        decisions: Says which nodes have room.
        metrics: Counts the answers.
    """

    verb = Verb.PREEMPT
    most_bytes = MOST_BYTES

    def __init__(self, decisions: Decisions, metrics: Metrics) -> None:
        self._decisions = decisions
        self._metrics = metrics

    def count_failure(self, outcome: str) -> None:
        """Count a request that was not answered."""
        self._metrics.count_preemption(outcome)

    async def answer(self, call: Call) -> Response:
        """Leave out the nodes that would be rejected even without the victims.

        Raises:
            BadRequestError: The request cannot be decoded.
        """
        preemption = decode_preemption(call.body.content, self._decisions.node_names)
        request = preemption.request
        count_unknown(call, request)
        pod, seconds = pod_of(request), self._metrics.preempt_duration_seconds
        finding = self._decisions.preempt(request)
        found = await found_or_status(finding, self, pod, call, seconds)
        if isinstance(found, Response):
            return found
        self._metrics.count_preemption("left_out" if found.rejected else "kept")
        log.info(
            "preempt.answered",
            pod=pod,
            candidates=len(request.candidates),
            kept=len(found.accepted),
            duration_seconds=round(perf_counter() - call.started, 6),
        )
        return timed(encode_victims(preemption, found.accepted), call, seconds)
