"""Answers a request: decides, and lets /filter wait while its answer may soon be another one."""

import asyncio
import contextlib
from collections.abc import Awaitable, Callable
from datetime import datetime

import msgspec

from app.errors import AppError
from app.serving.metrics import Metrics
from app.serving.names import NodeNames
from app.serving.wire import ExtenderRequest, Verb
from extender import NODES_IN_ONE_GO, Answer, ClusterView, Extender, Scores, UnresolvableClaimError
from extender.errors import UnseenObjectError

UNSEEN_SECONDS = 0.25
"""How long an answer waits for an object that kube-scheduler knows and we do not. Watches differ by
milliseconds, and after an error the pod would wait for a second or more."""


class UnavailableError(AppError):
    """There is no answer now. The text is the same as long as the cause is.

    Attributes:
        outcome: How it counts if the request had waited.
    """

    def __init__(self, text: str, outcome: str = "unavailable") -> None:
        super().__init__(text)
        self.outcome = outcome


class Asking(msgspec.Struct, frozen=True, kw_only=True):
    """A request, and who sent it."""

    request: ExtenderRequest
    client: str
    """Its address."""
    is_gone: Callable[[], Awaitable[bool]]
    """Says whether the client no longer waits for the answer."""


_NOBODY_WAITS = "nobody waits for the answer"


class Decisions:
    """Decides on the cluster as it is known now.

    Args:
        extender: Makes the decisions.
        current_view: Returns the cluster.
        unavailable: Returns why there can be no answer now, None if there can.
        on_answer: Called with each answer of /filter that is about to be given, and the time, to
            hold what it needs.
        on_scores: Called with each answer of /prioritize that is about to be given, and the time,
            if all candidates are known nodes: kube-scheduler asks about those that were accepted.
        wait_seconds: Returns how long an answer may wait for the nodes of other pods.
        on_request: Called with each request when it arrives, and what it asks.
        clock: Monotonic seconds.
        wall_clock: UTC, None if no time passes.
        metrics: Shows who waits.
        unseen_seconds: How long an answer may wait for an object that is not known.

    Attributes:
        node_names: Checks the names of candidates.
    """

    def __init__(
        self,
        extender: Extender,
        *,
        current_view: Callable[[], ClusterView],
        unavailable: Callable[[], str | None],
        on_answer: Callable[[ExtenderRequest, Answer, float], None],
        on_scores: Callable[[Scores, float], None],
        wait_seconds: Callable[[], float],
        on_request: Callable[[Verb, ExtenderRequest], None],
        clock: Callable[[], float],
        wall_clock: Callable[[], datetime | None],
        metrics: Metrics,
        unseen_seconds: float = UNSEEN_SECONDS,
    ) -> None:
        self.unavailable = unavailable
        self.node_names = NodeNames(lambda: current_view().spaces)
        self._extender = extender
        self._current_view = current_view
        self._on_answer = on_answer
        self._on_scores = on_scores
        self._wait_seconds = wait_seconds
        self._on_request = on_request
        self._clock = clock
        self._wall_clock = wall_clock
        self._metrics = metrics
        self._unseen_seconds = unseen_seconds
        self._waiting: dict[str, asyncio.Event] = {}
        """What wakes each request that waits, by its pod."""

    def wake(self) -> None:
        """Decide all requests that wait again."""
        for waiting in self._waiting.values():
            waiting.set()

    async def filter(self, asking: Asking) -> Answer:
        """Split the candidates into accepted and rejected nodes.

        Nothing else runs between the decision and the hold for it.

        Raises:
            UnavailableError: This instance cannot answer, somebody has asked about the pod again,
                or the client no longer waits for the answer.
            OtherPodError: The uid is that of another pod, which has a hold.
            UnresolvableClaimError: A claim of the pod does not lead to a volume.
        """
        request = asking.request
        self._on_request(Verb.FILTER, request)
        began = self._clock()
        self._check_available()
        pod = request.pod.uid or f"{request.pod.namespace}/{request.pod.name}"
        if pod in self._waiting:
            self._waiting.pop(pod).set()
        await self._prepare(request)
        decided = self._decide(request, began)
        if isinstance(decided, Answer):
            return decided
        with self._metrics.filter_waiting.track_inprogress():
            return await self._wait(asking, pod, began, decided)

    async def prioritize(self, request: ExtenderRequest) -> Scores:
        """Score the candidates. It never waits and holds nothing.

        Raises:
            UnavailableError: This instance cannot answer.
            UnresolvableClaimError: A claim of the pod does not lead to a volume.
        """
        self._on_request(Verb.PRIORITIZE, request)
        self._check_available()
        pod, candidates = request.pod, request.candidates
        scores = self._extender.prioritize_answered(pod, candidates, self._current_view())
        if scores is None:
            await self._prepare(request)
            scores = self._extender.prioritize(
                pod, candidates, self._current_view(), self._clock(), self._wall_clock()
            )
        if not request.unknown:
            self._on_scores(scores, self._clock())
        return scores

    async def preempt(self, request: ExtenderRequest) -> Answer:
        """Split the nodes with victims as `filter` would. It holds nothing.

        Volumes of Longhorn stay when their pods are evicted, so that frees no room on disks.

        If an object is not known yet, it looks once more after a moment: where no node has CPU
        left, a new pod is asked about here first, and after an error kube-scheduler leaves it for
        minutes.

        Raises:
            UnavailableError: This instance cannot answer.
            UnresolvableClaimError: A claim of the pod does not lead to a volume.
        """
        self._on_request(Verb.PREEMPT, request)
        try:
            await self._prepare(request)
            return self._answer_of(request)
        except UnseenObjectError:
            await asyncio.sleep(self._unseen_seconds)
        await self._prepare(request)
        return self._answer_of(request)

    async def _prepare(self, request: ExtenderRequest) -> None:
        """Do piece by piece what would take too long in one go, and give way in between.

        Raises:
            UnavailableError: This instance cannot answer.
            UnresolvableClaimError: A claim of the pod does not lead to a volume.
        """
        await self._catch_up()
        candidates = request.candidates
        if self._extender.knows(request.pod, candidates, self._current_view()):
            return
        for start in range(0, len(candidates), NODES_IN_ONE_GO):
            piece = candidates[start : start + NODES_IN_ONE_GO]
            self._extender.filter(
                request.pod, piece, self._current_view(), self._clock(), self._wall_clock()
            )
            await asyncio.sleep(0)
            await self._catch_up()

    async def _catch_up(self) -> None:
        """Take in what has changed, so that the next decision need not.

        Raises:
            UnavailableError: This instance cannot answer.
        """
        self._check_available()
        while not self._extender.catch_up(self._current_view(), self._clock(), self._wall_clock()):
            await asyncio.sleep(0)
            self._check_available()

    async def _wait(self, asking: Asking, pod: str, began: float, left_seconds: float) -> Answer:
        woken = self._waiting[pod] = asyncio.Event()
        outcome = "timeout"
        try:
            while True:
                with contextlib.suppress(TimeoutError):
                    async with asyncio.timeout(left_seconds):
                        await woken.wait()
                woken.clear()
                await self._check_wanted(asking, pod, woken)
                await self._catch_up()
                decided = self._decide(asking.request, began)
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

    async def _check_wanted(self, asking: Asking, pod: str, woken: asyncio.Event) -> None:
        if await asking.is_gone():
            raise UnavailableError(_NOBODY_WAITS, "abandoned")
        if self._waiting.get(pod) is not woken:
            raise UnavailableError("kube-scheduler has asked about this pod again", "superseded")

    def _decide(self, request: ExtenderRequest, began: float) -> Answer | float:
        """Return the answer, or for how many seconds it may wait; then nothing is held yet."""
        self._check_available()
        waited = self._clock() - began
        try:
            result = self._answer_of(request)
        except UnseenObjectError:
            if waited >= self._unseen_seconds:
                raise
            return self._unseen_seconds - waited
        left = self._wait_seconds() - waited
        if result.is_open and left > 0:
            return left
        if request.group is not None:
            result = self._extender.for_member(result)
        self._check_available()  # it may have taken so long that another instance leads by now
        self._on_answer(request, result, self._clock())
        return result

    def _answer_of(self, request: ExtenderRequest) -> Answer:
        """Return what is answered now."""
        return self._extender.filter(
            request.pod, request.candidates, self._current_view(), self._clock(), self._wall_clock()
        )

    def _check_available(self) -> None:
        if (reason := self.unavailable()) is not None:
            raise UnavailableError(reason)


def _hold_nothing(_: ExtenderRequest, __: Answer, ___: float) -> None:
    """Be told of no answer, as there are no such pods."""


def unchanging(extender: Extender, view: ClusterView, metrics: Metrics) -> Decisions:
    """Return decisions on a cluster that is a file: nothing is held there."""
    return Decisions(
        extender,
        current_view=lambda: view,
        unavailable=lambda: None,
        on_answer=_hold_nothing,
        on_scores=lambda _scores, _now: None,
        wait_seconds=lambda: 0.0,
        on_request=lambda _verb, _request: None,
        clock=lambda: 0.0,
        wall_clock=lambda: None,
        metrics=metrics,
        unseen_seconds=0.0,
    )
