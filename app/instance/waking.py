"""Wakes pods that got no node, once there is room for them, or once what they were told is over.

kube-scheduler watches no Longhorn objects, so a pod that we rejected would sleep until something
else happens, or for five minutes, and its event would say as long that room is held. An annotation
on the pod makes kube-scheduler try it again. Claims are never touched: kube-scheduler's own write
to a claim would fail.
"""

import asyncio
import contextlib
from collections.abc import Callable, Collection, Iterable, Iterator
from datetime import datetime
from typing import NoReturn

import structlog

from app.budget import Budget
from app.kube.backoff import Backoff
from app.kube.errors import ApiError, StatusError
from app.kube.pods import wake
from app.process.surroundings import Surroundings
from app.serving.metrics import Metrics
from extender import (
    NODES_IN_ONE_GO,
    Answer,
    ClusterView,
    Extender,
    PodRef,
    Rejection,
    UnresolvableClaimError,
)
from extender.verdicts import ClusterChange
from extender.waiting import (
    ALL,
    Changes,
    ChangesOfView,
    Probe,
    Rejected,
    WaitingPod,
    WaitingPods,
    current_wants,
    probes_for,
    wants_of,
)
from longhorn import NodeName

log = structlog.get_logger()

_PAUSE_SECONDS = 0.05
"""Between two wake-ups: kube-scheduler asks about a woken pod within milliseconds, so that what it
gets is held before the next pod is judged."""
_SHARE, _MOST_SECONDS = 0.08, 0.15
"""With thousands of waiting pods and nodes that change all the time, judging would take all the
CPU. It may take this share, and so much at once: in any ten seconds less than one."""
PODS_IN_ONE_GO = 200
"""What so many pods ask for is found out without giving way to anything else."""
_TIME_SECONDS = 10.0
"""So often pods are looked at that depend on others: what these wait for may be given up because
of the time alone, which no change tells of."""
_GONE = frozenset({404, 409, 422})
"""The pod does not exist, or another one has its name."""


class Waking:
    """Remembers the pods that got no node, and wakes those that fit on one now.

    Args:
        around: What the instance finds around it.
        extender: Judges whether there is room.
        current_view: Returns the cluster as it is known now.
        metrics: Counts wake-ups.
        may_wake: Whether this instance may act at this very moment.

    Attributes:
        pods: The pods that wait.
    """

    def __init__(
        self,
        around: Surroundings,
        extender: Extender,
        current_view: Callable[[], ClusterView],
        metrics: Metrics,
        *,
        may_wake: Callable[[], bool],
    ) -> None:
        self._extender = extender
        self._current_view = current_view
        self._connection = around.connection
        self._metrics = metrics
        self._may_wake = may_wake
        clock = self._clock = around.clock
        self._wall_clock = around.wall_clock
        self._backoff = Backoff(around.random)
        self.pods = WaitingPods()
        self._view_changes, self._changes = ChangesOfView(self.pods.nodes), Changes()
        self._budget = Budget(_SHARE, _MOST_SECONDS)
        self._timed_at = clock()
        """When those that depend on others were last looked at because of the time."""
        self._noted = asyncio.Event()
        metrics.remembered_bytes.labels("waiting_pods").set_function(lambda: self.pods.size_bytes)
        metrics.waiting_pods.set_function(lambda: len(self.pods))
        metrics.longest_wait_seconds.set_function(lambda: self.pods.longest_wait_seconds(clock()))

    def remember(
        self,
        answer: Answer,
        now: float,
        *,
        taken: Collection[NodeName] = (),
    ) -> None:
        """Remember a pod that got no node.

        A node that comes to be known later may be one of its candidates, too.

        Args:
            answer: What was told.
            now: The time.
            taken: Candidates for which it is not to be woken.
        """
        request, view, sets = answer.request, self._current_view(), self.pods.nodes
        if not request.pod.uid:
            return
        why = {name: why for name, why in answer.rejected.items() if name not in taken}
        self._add(
            WaitingPod(
                pod=request.pod,
                wants=wants_of(request, view),
                rejected=sets.by_reason(why, view.spaces),
                found={ClusterChange.NODE: sets.later},
                since=now,
                asked_at=now,
            )
        )

    def adopt(self, pods: Iterable[PodRef], now: float) -> None:
        """Remember pods that the leader before may have rejected."""
        spaces, sets = self._current_view().spaces, self.pods.nodes
        anywhere = {ClusterChange.ANYWHERE: sets.of(spaces, spaces) | sets.later}
        for pod in pods:
            wants = current_wants(pod, self._current_view())
            if wants is not None and wants.volumes:
                self._add(
                    WaitingPod(
                        pod=pod,
                        wants=wants,
                        rejected={},
                        found=anywhere,
                        since=now,
                        asked_at=now,
                    )
                )

    def _add(self, waiting: WaitingPod) -> None:
        is_kept = self.pods.add(waiting)
        self._metrics.not_remembered_total.labels("waiting_pods").inc(not is_kept)

    def forget(self, uid: str) -> None:
        """Forget a pod that got nodes."""
        self.pods.forget(uid)

    def forget_all(self) -> None:
        """Forget all pods: the next leader finds them itself."""
        self.pods.forget_all()
        self._changes = Changes()

    def note_less_held(self, nodes: Collection[NodeName] | None) -> None:
        """Wake the pods that fit because less is held on *nodes*; None: because of all there is."""
        of = ALL if nodes is None else self.pods.nodes.of(nodes)
        self._changes.note(ClusterChange.HOLDS, of)
        self._noted.set()

    def note_changes(self) -> None:
        """Wake the pods that fit because of what has changed in the cluster."""
        self._view_changes.note_in(self._changes, self._current_view())
        if not len(self.pods):
            self.forget_all()
        elif self._changes:
            self._noted.set()

    async def run(self) -> NoReturn:
        """Wake pods until cancelled."""
        while True:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(_TIME_SECONDS):
                    await self._noted.wait()
            self._noted.clear()
            if self._may_wake():
                await self._probe()
            await self._rest()

    async def _probe(self) -> None:
        """Wake the pods that fit because of what is noted."""
        with self._charged():
            now = self._clock()
            self.pods.forget_old(now)
            if now - self._timed_at >= _TIME_SECONDS:  # what changes all the time does not hide it
                self._timed_at = now
                self._changes.note(ClusterChange.ANYWHERE)
            changes, self._changes = self._changes, Changes()
            changed = [each for each in self.pods if changes.are_about(each.wants.volumes)]
        for start in range(0, len(changed), PODS_IN_ONE_GO):
            with self._charged():
                for each in changed[start : start + PODS_IN_ONE_GO]:
                    wants = current_wants(each.pod, self._current_view())
                    self.pods.set_wants(each.pod.uid, wants)
            await asyncio.sleep(0)
        asking = probes_for(self.pods, changes)
        rejected: Rejected | None = None
        while self._may_wake():
            try:
                with self._charged():
                    probe = asking.send(rejected)
            except StopIteration:
                await self._tell_anew()
                return
            rejected = await self._rejected(probe)
            if rejected == {} and probe.is_for_itself and await self._wake(probe.waiting):
                await asyncio.sleep(_PAUSE_SECONDS)
            await self._rest()
        self._changes.note(ClusterChange.SETTINGS)  # anything, for when it may again

    async def _tell_anew(self) -> None:
        """Wake those that were told of holds which are over, though there is no room for them.

        Each costs kube-scheduler one more request, and its event then says what is so now.
        """
        with self._charged():
            told = [each for each in self.pods if each.held and not each.woken]
            holds = self._extender.ledger if told else ()
            busy = self.pods.nodes.of([name for hold in holds for name in hold.nodes])
        for each in told:
            if not (each.held & busy) and self._may_wake() and self.pods.is_asleep(each.pod.uid):
                await self._wake(each)
                await asyncio.sleep(_PAUSE_SECONDS)
                await self._rest()

    async def _rejected(self, probe: Probe) -> Rejected | None:
        """Return why a pod gets none of some nodes, nothing if it gets one.

        None if its claims do not lead to volumes.
        """
        pod, sets, rejected = probe.waiting.pod, self.pods.nodes, dict[NodeName, Rejection]()
        names = sets.names(probe.nodes)
        for start in range(0, len(names), NODES_IN_ONE_GO):
            is_caught_up = False
            while not is_caught_up:  # it gives way after each piece of what has changed
                await asyncio.sleep(0)
                with self._charged():
                    is_caught_up = self._extender.catch_up(*self._now())
            some = names[start : start + NODES_IN_ONE_GO]
            try:
                with self._charged():
                    answer = self._extender.filter(pod, some, *self._now())
            except UnresolvableClaimError:
                self.pods.set_wants(pod.uid, None)
                return None
            if answer.accepted:
                return {}
            rejected |= answer.rejected
            await self._rest()
        return sets.by_reason(rejected)

    def _now(self) -> tuple[ClusterView, float, datetime]:
        return self._current_view(), self._clock(), self._wall_clock()

    @contextlib.contextmanager
    def _charged(self) -> Iterator[None]:
        """Charge what the block takes; it does not give way."""
        began = self._clock()
        try:
            yield
        finally:
            now = self._clock()
            self._budget.spend(now - began, now)

    async def _rest(self) -> None:
        await asyncio.sleep(self._budget.wait_seconds(self._clock()))

    async def _wake(self, waiting: WaitingPod) -> bool:
        """Wake a pod; return whether kube-scheduler tries it again for that."""
        pod = waiting.pod
        self.pods.mark_woken(pod.uid)  # it may be rejected again before the patch is answered
        try:
            status = await wake(self._connection, pod, self._wall_clock())
        except ApiError as error:
            if not (isinstance(error, StatusError) and error.status in _GONE):
                self.pods.mark_asleep(waiting)
                self._metrics.wake_ups_total.labels("failed").inc()
                log.warning("pod.not_woken", pod=f"{pod.namespace}/{pod.name}", error=str(error))
                await asyncio.sleep(self._backoff.next_seconds())
                self._changes.note(ClusterChange.NODE)
                self._noted.set()
                return False
            status = None
        self._backoff.reset()
        self.pods.see(pod, status)
        if status is None or not status.waits:
            self._metrics.wake_ups_total.labels("gone").inc()
            return False
        self._metrics.wake_ups_total.labels("woken").inc()
        waited = round(self._clock() - waiting.since, 3)
        log.info("pod.woken", pod=f"{pod.namespace}/{pod.name}", waited_seconds=waited)
        return True
