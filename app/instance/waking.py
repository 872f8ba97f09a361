"""Wakes pods that got no node once there is room for them.

kube-scheduler watches no Longhorn objects, so that a pod we rejected would sleep until something
else happens, or for five minutes. An annotation on the pod makes it try again. Claims are never
touched: kube-scheduler's own write to a claim would fail.
"""

import asyncio
from collections.abc import Callable, Iterable
from datetime import datetime
from random import Random
from typing import NoReturn

import structlog

from app.kube.backoff import Backoff
from app.kube.connection import Connection
from app.kube.errors import ApiError, StatusError
from app.kube.pods import wake
from app.metrics import Metrics
from extender import (
    Basis,
    ClusterView,
    Cursor,
    Extender,
    PodRef,
    UnresolvableClaimError,
    WaitingPod,
    WaitingPods,
)
from longhorn import NodeName

log = structlog.get_logger()

_PAUSE_SECONDS = 0.05
"""Between two wake-ups: kube-scheduler asks within milliseconds for the one that was woken, and
what that one gets is promised before the next one is judged."""
_REST, _LONGEST_REST_SECONDS = 9, 1.0
"""Rest after judging so many times as long: with thousands of waiting pods, in a cluster where some
node changes all the time, judging them would take all there is."""
_GONE = frozenset({404, 409, 422})
"""There is no such pod, or another one of its name."""


class Waking:
    """Remembers who got no node, and wakes those for whom one has room now.

    Args:
        extender: Judges whether there is room.
        current_view: Returns the cluster as it is known now.
        connection: To its API server.
        metrics: Counts wake-ups.
        may_wake: Whether this replica may act at this very moment.
        clock: Monotonic seconds.
        wall_clock: UTC, for the annotation.
        random: Spreads pauses.

    Attributes:
        pods: Who waits.
    """

    def __init__(
        self,
        extender: Extender,
        current_view: Callable[[], ClusterView],
        connection: Connection,
        metrics: Metrics,
        *,
        may_wake: Callable[[], bool],
        clock: Callable[[], float],
        wall_clock: Callable[[], datetime],
        random: Random,
    ) -> None:
        self._extender = extender
        self._current_view = current_view
        self._connection = connection
        self._metrics = metrics
        self._may_wake = may_wake
        self._clock = clock
        self._wall_clock = wall_clock
        self._backoff = Backoff(random)
        self.pods = WaitingPods()
        self._cursor: Cursor | None = None
        """Up to where the changes of nodes are taken in."""
        self._nodes: set[NodeName] = set()
        """Nodes that may have room since they were last judged."""
        self._all_nodes = False
        self._stirred = asyncio.Event()
        metrics.waiting_pods.set_function(lambda: len(self.pods))
        metrics.longest_wait_seconds.set_function(lambda: self.pods.longest_wait_seconds(clock()))

    def rejected(self, pod: PodRef, candidates: Iterable[NodeName], now: float) -> None:
        """Remember a pod that got no node."""
        if pod.uid:
            self.pods.rejected(pod, candidates, now)

    def found(self, pods: Iterable[PodRef], now: float) -> None:
        """Remember pods that the leader before may have rejected."""
        view = self._current_view()
        for pod in pods:
            if self._needs_room(pod, view):
                self.rejected(pod, view.spaces, now)
        self.room_anywhere()

    def forget(self, uid: str) -> None:
        """Take in that a pod was answered with nodes."""
        self.pods.forget(uid)

    def forget_all(self) -> None:
        """Leave it all to the next leader."""
        self.pods.forget_all()
        self._nodes.clear()

    def room_on(self, nodes: Iterable[NodeName]) -> None:
        """Take in that less is promised on *nodes* than before."""
        self._nodes.update(nodes)
        if self._nodes:
            self._stirred.set()

    def room_anywhere(self) -> None:
        """Take in that any node may have room."""
        self._all_nodes = True
        self._stirred.set()

    def take_changes(self) -> None:
        """Take in which nodes' space has changed."""
        changed, self._cursor = self._current_view().changes.since(self._cursor)
        if changed is None:
            self.room_anywhere()
        else:
            self.room_on(changed)

    async def run(self) -> NoReturn:
        """Wake pods until cancelled."""
        while True:
            await self._stirred.wait()
            self._stirred.clear()
            nodes = None if self._all_nodes else self._nodes
            self._nodes, self._all_nodes = set(), False
            self.pods.forget_old(self._clock())
            busy_seconds = 0.0
            for pod in self.pods:
                began = self._clock()
                fits = self._may_wake() and self.pods.asleep(pod.pod.uid) and self._fits(pod, nodes)
                busy_seconds += self._clock() - began
                if fits:
                    await self._wake(pod)
                await asyncio.sleep(_PAUSE_SECONDS if fits else 0)
            await asyncio.sleep(min(busy_seconds * _REST, _LONGEST_REST_SECONDS))

    def _fits(self, waiting: WaitingPod, nodes: set[NodeName] | None) -> bool:
        """Whether one of *nodes*, None being all, has room for a pod now."""
        candidates = waiting.candidates if nodes is None else waiting.candidates & nodes
        if not candidates:
            return False
        view = self._current_view()
        try:
            result = self._extender.filter(waiting.pod, sorted(candidates), view)
        except UnresolvableClaimError:
            return False
        return bool(result.accepted)

    def _needs_room(self, pod: PodRef, view: ClusterView) -> bool:
        try:
            return self._extender.filter(pod, (), view).basis is not Basis.NOTHING_LOCAL
        except UnresolvableClaimError:
            return False

    async def _wake(self, waiting: WaitingPod) -> None:
        pod = waiting.pod
        name = f"{pod.namespace}/{pod.name}"
        self.pods.woken(pod.uid)  # it may be rejected again before we hear that it was written
        try:
            await wake(self._connection, pod, self._wall_clock())
        except StatusError as error:
            if error.status in _GONE:
                self._metrics.wake_ups_total.labels("gone").inc()
                self.pods.forget(pod.uid)
                return
            await self._failed(pod, error)
        except ApiError as error:
            await self._failed(pod, error)
        else:
            self._backoff.reset()
            self._metrics.wake_ups_total.labels("woken").inc()
            waited = round(self._clock() - waiting.since, 3)
            log.info("pod.woken", pod=name, waited_seconds=waited)

    async def _failed(self, pod: PodRef, error: ApiError) -> None:
        self.pods.not_woken(pod.uid)
        self._metrics.wake_ups_total.labels("failed").inc()
        log.warning("pod.not_woken", pod=f"{pod.namespace}/{pod.name}", error=str(error))
        await asyncio.sleep(self._backoff.next_seconds())
        self.room_anywhere()
