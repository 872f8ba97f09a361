"""Wakes pods that got no node, once there is room for them.

kube-scheduler watches no Longhorn objects, so a pod that we rejected would sleep until something
else happens, or for five minutes. An annotation on the pod makes kube-scheduler try it again.
Claims are never touched: kube-scheduler's own write to a claim would fail.
"""

import asyncio
from collections.abc import Callable, Iterable, Sequence
from datetime import datetime
from random import Random
from typing import NoReturn

import structlog

from app.kube.backoff import Backoff
from app.kube.connection import Connection
from app.kube.errors import ApiError, StatusError
from app.kube.mirror import Change
from app.kube.pods import wake
from app.metrics import Metrics
from extender import (
    ClusterView,
    Cursor,
    Extender,
    PodRef,
    UnresolvableClaimError,
    WaitingPod,
    WaitingPods,
)
from longhorn import DiskSchedule, NodeName, Replica, Volume

log = structlog.get_logger()

_PAUSE_SECONDS = 0.05
"""Between two wake-ups: kube-scheduler asks about a woken pod within milliseconds, so that what it
gets is held before the next pod is judged."""
_REST, _LONGEST_REST_SECONDS = 9, 1.0
"""After judging pods, rest this many times as long as it took, and this long at most. With
thousands of waiting pods and nodes that change all the time, judging would take all the CPU."""
_GONE = frozenset({404, 409, 422})
"""The pod does not exist, or another one has its name."""


class Waking:
    """Remembers the pods that got no node, and wakes those that fit on one now.

    Args:
        extender: Judges whether there is room.
        current_view: Returns the cluster as it is known now.
        connection: To its API server.
        metrics: Counts wake-ups.
        may_wake: Whether this instance may act at this very moment.
        clock: Monotonic seconds.
        wall_clock: UTC, also for the annotation.
        random: Spreads pauses.

    Attributes:
        pods: The pods that wait.
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

    def remember(
        self,
        pod: PodRef,
        candidates: Iterable[NodeName],
        now: float,
        *,
        depends_on_others: bool = False,
    ) -> None:
        """Remember a pod that got no node; whether room on other nodes than these helps it, too."""
        if pod.uid:
            self.pods.add(pod, candidates, now, depends_on_others=depends_on_others)

    def adopt(self, pods: Iterable[PodRef], now: float) -> None:
        """Remember pods that the leader before may have rejected."""
        view = self._current_view()
        for pod in pods:
            if self._needs_room(pod, view):
                self.remember(pod, view.spaces, now, depends_on_others=True)
        self.look_everywhere()

    def forget(self, uid: str) -> None:
        """Forget a pod that was answered with nodes."""
        self.pods.forget(uid)

    def forget_all(self) -> None:
        """Forget all pods: the next leader finds them itself."""
        self.pods.forget_all()
        self._nodes.clear()

    def look_on(self, nodes: Iterable[NodeName]) -> None:
        """Look for pods that fit on *nodes* now."""
        self._nodes.update(nodes)
        if self._nodes:
            self._stirred.set()

    def look_everywhere(self) -> None:
        """Look for pods that fit on any node now."""
        self._all_nodes = True
        self._stirred.set()

    def take(self, changes: Sequence[Change]) -> None:
        """Look on the nodes that have changed, and where replicas have: a pod may restart there.

        Pods that depend on other nodes are looked at whenever a volume or replica has changed, or
        what a disk grants.
        """
        self._take_changed_spaces()
        changed = [each for change in changes for each in change]
        replicas = (each for each in changed if isinstance(each, Replica))
        self.look_on(node for each in replicas if (node := each.node or each.hard_node_affinity))
        if self.pods.some_depend_on_others and any(
            isinstance(each, Replica | Volume | DiskSchedule) for each in changed
        ):
            self._stirred.set()

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
                fits = (
                    self._may_wake() and self.pods.is_asleep(pod.pod.uid) and self._fits(pod, nodes)
                )
                busy_seconds += self._clock() - began
                if fits:
                    await self._wake(pod)
                await asyncio.sleep(_PAUSE_SECONDS if fits else 0)
            await asyncio.sleep(min(busy_seconds * _REST, _LONGEST_REST_SECONDS))

    def _take_changed_spaces(self) -> None:
        changed, self._cursor = self._current_view().changes.since(self._cursor)
        if changed is None:
            self.look_everywhere()
        else:
            self.look_on(changed)

    def _fits(self, waiting: WaitingPod, nodes: set[NodeName] | None) -> bool:
        """Whether a pod gets a node now that *nodes* have changed, None being all."""
        candidates = waiting.candidates
        if nodes is not None and not waiting.depends_on_others:
            candidates &= nodes
        if not candidates:
            return False
        view = self._current_view()
        try:
            result = self._extender.filter(
                waiting.pod, sorted(candidates), view, self._clock(), self._wall_clock()
            )
        except UnresolvableClaimError:
            return False
        return bool(result.accepted)

    def _needs_room(self, pod: PodRef, view: ClusterView) -> bool:
        try:
            request = self._extender.filter(pod, (), view, self._clock()).request
            return bool(request.volumes or request.remote)
        except UnresolvableClaimError:
            return False

    async def _wake(self, waiting: WaitingPod) -> None:
        pod = waiting.pod
        name = f"{pod.namespace}/{pod.name}"
        self.pods.mark_woken(pod.uid)  # it may be rejected again before the patch is answered
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
        self.pods.mark_asleep(pod.uid)
        self._metrics.wake_ups_total.labels("failed").inc()
        log.warning("pod.not_woken", pod=f"{pod.namespace}/{pod.name}", error=str(error))
        await asyncio.sleep(self._backoff.next_seconds())
        self.look_everywhere()
