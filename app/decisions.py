"""Answers a request: decides, waits if the choice of another pod's node may change the answer, and
promises what it says.
"""

import asyncio
import contextlib
from collections.abc import Callable, Sequence
from typing import Protocol

from app.errors import AppError
from app.metrics import Metrics
from app.wire import FilterRequest
from extender import ClusterView, Extender, FilterResult, NodeName, PodRef, PodStatus


class UnavailableError(AppError):
    """There is no answer now. The text is the same as long as the cause is."""


class Promising(Protocol):
    """Keeps what is promised on a live cluster."""

    def give(
        self,
        pod: PodRef,
        asked: PodStatus,
        candidates: Sequence[NodeName],
        result: FilterResult,
        now: float,
    ) -> None:
        """Promise what an answer that is about to be given says."""


class Decisions:
    """Decides on the cluster as it is known now.

    Args:
        extender: Makes the decisions.
        current_view: Returns the cluster.
        unavailable: Returns why there can be no answer now, "" if there can.
        promises: None if nothing comes of an answer.
        wait_seconds: Returns the longest that an answer may wait.
        clock: Monotonic seconds.
        metrics: Shows who waits.
    """

    def __init__(
        self,
        extender: Extender,
        *,
        current_view: Callable[[], ClusterView],
        unavailable: Callable[[], str],
        promises: Promising | None,
        wait_seconds: Callable[[], float],
        clock: Callable[[], float],
        metrics: Metrics,
    ) -> None:
        self.unavailable = unavailable
        self._extender = extender
        self._current_view = current_view
        self._promises = promises
        self._wait_seconds = wait_seconds
        self._clock = clock
        self._metrics = metrics
        self._waiting: dict[str, asyncio.Event] = {}
        """By pod, what wakes the request that waits."""

    def wake(self) -> None:
        """Have all requests that wait decided anew."""
        for waiting in self._waiting.values():
            waiting.set()

    async def filter(self, request: FilterRequest) -> FilterResult:
        """Split the candidates into accepted and rejected nodes.

        Nothing else runs between the decision and its promise.

        Raises:
            UnavailableError: This replica cannot answer, or was asked about the pod again.
            UnresolvableClaimError: A claim of the pod does not lead to a volume.
        """
        began = self._clock()
        pod = request.pod.uid or f"{request.pod.namespace}/{request.pod.name}"
        if pod in self._waiting:
            self._waiting.pop(pod).set()
        result, left = self._decide(request, began)
        if not left:
            return result
        outcome = "unavailable"
        waiting = self._waiting[pod] = asyncio.Event()
        try:
            with self._metrics.filter_waiting.track_inprogress():
                while left:
                    await _wait(waiting, left)
                    waiting.clear()
                    if self._waiting.get(pod) is not waiting:
                        outcome = "superseded"
                        raise UnavailableError("kube-scheduler has asked about this pod again")
                    result, left = self._decide(request, began)
            outcome = "timeout" if result.is_open else "resolved"
        finally:
            if self._waiting.get(pod) is waiting:
                del self._waiting[pod]
            waited = self._clock() - began
            self._metrics.filter_wait_duration_seconds.labels(outcome).observe(waited)
        return result

    def _decide(self, request: FilterRequest, began: float) -> tuple[FilterResult, float]:
        """Return the answer and 0, or how long it may wait, and nothing is promised yet."""
        if reason := self.unavailable():
            raise UnavailableError(reason)
        result = self._extender.filter(request.pod, request.candidates, self._current_view())
        if self._promises is None:
            return result, 0.0
        now = self._clock()
        left = began + self._wait_seconds() - now
        if result.is_open and left > 0:
            return result, left
        self._promises.give(request.pod, request.status, request.candidates, result, now)
        return result, 0.0


def unchanging(extender: Extender, view: ClusterView, metrics: Metrics) -> Decisions:
    """Return decisions on a cluster that is a file: nothing comes of an answer there."""
    return Decisions(
        extender,
        current_view=lambda: view,
        unavailable=lambda: "",
        promises=None,
        wait_seconds=lambda: 0.0,
        clock=lambda: 0.0,
        metrics=metrics,
    )


async def _wait(event: asyncio.Event, seconds: float) -> None:
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(seconds):
            await event.wait()
