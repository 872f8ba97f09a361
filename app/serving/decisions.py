"""Answers a request: decides, waits if the answer may be another in a moment, and promises it."""

import asyncio
import contextlib
from collections.abc import Awaitable, Callable

from app.errors import AppError
from app.metrics import Metrics
from app.serving.turns import Turns
from app.serving.wire import FilterRequest
from extender import (
    Answer,
    ClusterView,
    Extender,
    UnresolvableClaimError,
    UnseenObjectError,
)

_UNSEEN_SECONDS = 0.25
"""How long an answer waits for an object that kube-scheduler knows and we do not: watches differ by
milliseconds, and an error would have the pod wait for a second or more."""


class UnavailableError(AppError):
    """There is no answer now. The text is the same as long as the cause is.

    Attributes:
        outcome: How it counts if the request had waited.
    """

    def __init__(self, text: str, outcome: str = "unavailable") -> None:
        super().__init__(text)
        self.outcome = outcome


class Decisions:
    """Decides on the cluster as it is known now.

    Args:
        extender: Makes the decisions.
        current_view: Returns the cluster.
        unavailable: Returns why there can be no answer now, "" if there can.
        promise: Told each answer that is about to be given, and when; None if nothing comes of it.
        wait_seconds: Returns the longest that an answer may wait for the nodes of other pods.
        note: Told each request as it comes in, whatever becomes of it.
        clock: Monotonic seconds.
        metrics: Shows who waits.
    """

    def __init__(
        self,
        extender: Extender,
        *,
        current_view: Callable[[], ClusterView],
        unavailable: Callable[[], str],
        promise: Callable[[FilterRequest, Answer, float], None] | None,
        wait_seconds: Callable[[], float],
        note: Callable[[FilterRequest], None],
        clock: Callable[[], float],
        metrics: Metrics,
    ) -> None:
        self.unavailable = unavailable
        self._extender = extender
        self._current_view = current_view
        self._promise = promise
        self._wait_seconds = wait_seconds
        self._note = note
        self._clock = clock
        self._metrics = metrics
        self.turns = Turns()
        """Whoever calls `filter` takes one before."""
        self._waiting: dict[str, asyncio.Event] = {}
        """By pod, what wakes the request that waits."""

    def wake(self) -> None:
        """Have all requests that wait decided anew."""
        for waiting in self._waiting.values():
            waiting.set()

    async def filter(
        self, request: FilterRequest, is_gone: Callable[[], Awaitable[bool]]
    ) -> Answer:
        """Split the candidates into accepted and rejected nodes.

        Nothing else runs between the decision and its promise.

        Args:
            request: The pod and the candidates.
            is_gone: Says whether the client waits for the answer no more.

        Raises:
            UnavailableError: This replica cannot answer, was asked about the pod again, or nobody
                waits for the answer.
            UnresolvableClaimError: A claim of the pod does not lead to a volume.
        """
        self._note(request)
        began = self._clock()
        pod = request.pod.uid or f"{request.pod.namespace}/{request.pod.name}"
        if pod in self._waiting:
            self._waiting.pop(pod).set()
        decided = self._decide(request, began)
        if isinstance(decided, Answer):
            return decided
        with self._metrics.filter_waiting.track_inprogress():
            return await self._wait(request, is_gone, pod, began, decided)

    async def _wait(
        self,
        request: FilterRequest,
        is_gone: Callable[[], Awaitable[bool]],
        pod: str,
        began: float,
        left_seconds: float,
    ) -> Answer:
        woken = self._waiting[pod] = asyncio.Event()
        outcome = "timeout"
        try:
            while True:
                with contextlib.suppress(TimeoutError):
                    async with asyncio.timeout(left_seconds):
                        await woken.wait()
                woken.clear()
                await self.turns.take(pod)
                await self._check_wanted(pod, woken, is_gone)
                decided = self._decide(request, began)
                if isinstance(decided, Answer):
                    outcome = "timeout" if decided.is_open else "resolved"
                    return decided
                left_seconds = decided
        except UnavailableError as error:
            outcome = error.outcome
            raise
        except UnresolvableClaimError as error:
            outcome = "timeout" if isinstance(error, UnseenObjectError) else "resolved"
            raise
        finally:
            if self._waiting.get(pod) is woken:
                del self._waiting[pod]
            waited = self._clock() - began
            self._metrics.filter_wait_duration_seconds.labels(outcome).observe(waited)

    async def _check_wanted(
        self, pod: str, woken: asyncio.Event, is_gone: Callable[[], Awaitable[bool]]
    ) -> None:
        if await is_gone():
            raise UnavailableError("nobody waits for the answer", "abandoned")
        if self._waiting.get(pod) is not woken:
            raise UnavailableError("kube-scheduler has asked about this pod again", "superseded")

    def _decide(self, request: FilterRequest, began: float) -> Answer | float:
        """Return the answer, or for how many seconds it may wait, and nothing is promised yet."""
        if reason := self.unavailable():
            raise UnavailableError(reason)
        waited = self._clock() - began
        try:
            result = self._extender.filter(request.pod, request.candidates, self._current_view())
        except UnseenObjectError:
            if self._promise is None or waited >= _UNSEEN_SECONDS:
                raise
            return _UNSEEN_SECONDS - waited
        if self._promise is None:
            return result
        left = self._wait_seconds() - waited
        if result.is_open and left > 0:
            return left
        self._promise(request, result, self._clock())
        return result


def unchanging(extender: Extender, view: ClusterView, metrics: Metrics) -> Decisions:
    """Return decisions on a cluster that is a file: nothing comes of an answer there."""
    return Decisions(
        extender,
        current_view=lambda: view,
        unavailable=lambda: "",
        promise=None,
        wait_seconds=lambda: 0.0,
        note=lambda _: None,
        clock=lambda: 0.0,
        metrics=metrics,
    )
