"""The answer to /filter: status 200 also for an error, as kube-scheduler reads no other body."""

from collections import Counter
from time import perf_counter

import structlog
from fastapi import Response

from app.process.health import LOGGED_TEXT_LENGTH
from app.serving import wire
from app.serving.answers import response_of
from app.serving.decisions import Decisions, UnavailableError
from app.serving.exchange import Call, asking_of, pod_of, timed
from app.serving.metrics import Metrics, outcome_of
from app.serving.wire import Verb
from extender import UnresolvableClaimError
from extender.errors import OtherPodError

log = structlog.get_logger()


class Filtering:
    """Answers /filter.

    Args:
        decisions: Makes the answers.
        metrics: Counts them.
    """

    verb = Verb.FILTER
    most_bytes = None

    def __init__(self, decisions: Decisions, metrics: Metrics) -> None:
        self._decisions = decisions
        self._metrics = metrics

    def count_failure(self, outcome: str) -> None:
        """Count a request without decision."""
        self._metrics.count_failure(outcome)

    async def answer(self, call: Call) -> Response:
        """Say which candidates fit, or why that cannot be said.

        Raises:
            BadRequestError: The request cannot be decoded.
        """
        asking = asking_of(call, self._decisions.node_names)
        request, pod = asking.request, pod_of(asking.request)
        try:
            result = await self._decisions.filter(asking)
        except UnavailableError as error:
            self.count_failure("unavailable")
            log.warning("filter.unavailable", pod=pod, error=str(error))
            return response_of(wire.encode_error(str(error), request))
        except (UnresolvableClaimError, OtherPodError) as error:
            self.count_failure("error")
            log.warning("filter.unanswered", pod=pod, error=str(error)[:LOGGED_TEXT_LENGTH])
            answer = wire.encode_error(str(error), request)
        else:
            reasons = Counter([rejection.reason for rejection in result.rejected.values()])
            self._metrics.count_result(result, reasons)
            answer = wire.encode_result(result, request)
            log.info(
                "filter.answered",
                pod=pod,
                client=asking.client,
                outcome=outcome_of(result),
                candidates=len(request.candidates),
                accepted=len(result.accepted),
                rejected=dict(reasons),
                steps=result.steps,
                cut_short=result.is_cut_short,
                duration_seconds=round(perf_counter() - call.started, 6),
            )
        return timed(answer, call, self._metrics.filter_duration_seconds)
