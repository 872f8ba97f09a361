"""Wakes pods that got no node, once there is room for them, or once what they were told is over.

kube-scheduler watches no Longhorn objects, so a pod that we rejected would sleep until something
else happens, or for five minutes, and its event would say as long that room is held. An annotation
on the pod makes kube-scheduler try it again. Claims are never touched: kube-scheduler's own write
to a claim would fail.
"""

import asyncio
import contextlib
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
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
    ClusterView,
    Extender,
    PodRef,
    Rejection,
    UnresolvableClaimError,
)
from extender.demand import PodRequest, resolve
from extender.waiting import (
    Look,
    Lookout,
    NodeSet,
    NodeSets,
    Reasons,
    WaitingPod,
    WaitingPods,
    Wants,
    looks,
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
        self._lookout = Lookout(self.pods.nodes)
        self._budget = Budget(_SHARE, _MOST_SECONDS)
        self._timed_at = clock()
        """When those that depend on others were last looked at because of the time."""
        self._stirred = asyncio.Event()
        metrics.remembered_bytes.labels("waiting_pods").set_function(lambda: self.pods.size_bytes)
        metrics.waiting_pods.set_function(lambda: len(self.pods))
        metrics.longest_wait_seconds.set_function(lambda: self.pods.longest_wait_seconds(clock()))

    def remember(
        self,
        request: PodRequest,
        candidates: Iterable[NodeName],
        now: float,
        *,
        depends_on_others: bool = False,
        held: Iterable[NodeName] = (),
        client: str = "",
        is_found: bool = False,
        shown: Mapping[NodeName, Rejection] = {},
    ) -> None:
        """Remember a pod that got no node.

        A node that comes to be known later may be one of its candidates, too.

        Args:
            request: The pod.
            candidates: Where it got none.
            now: The time.
            depends_on_others: Whether room on other nodes than these helps it, too.
            held: Where it got none because of what is held for others.
            client: Who asked.
            is_found: Whether the API server has shown the pod, and it is this one.
            shown: Why it got none, if that is to be shown.
        """
        if not request.pod.uid:
            return
        self._add(
            WaitingPod(
                pod=request.pod,
                wants=wants_of(request, self._current_view()),
                candidates=self._set_of(candidates),
                depends_on_others=depends_on_others,
                held=self.pods.nodes.of(held, self._current_view().spaces),
                client=client,
                is_found=is_found,
                reasons=_reasons(shown, self.pods.nodes),
                since=now,
                asked_at=now,
            )
        )

    def adopt(self, pods: Iterable[PodRef], now: float) -> None:
        """Remember pods that the leader before may have rejected."""
        everywhere = self._set_of(self._current_view().spaces)
        for pod in pods:
            wants = self._wants_of(pod)
            if wants is not None and wants.volumes:
                self._add(
                    WaitingPod(
                        pod=pod,
                        wants=wants,
                        candidates=everywhere,
                        depends_on_others=True,
                        is_found=True,
                        since=now,
                        asked_at=now,
                    )
                )

    def _add(self, waiting: WaitingPod) -> None:
        is_kept = self.pods.add(waiting)
        self._metrics.not_remembered_total.labels("waiting_pods").inc(not is_kept)

    def forget(self, uid: str, client: str) -> None:
        """Forget a pod that *client* was told nodes for."""
        self.pods.forget(uid, client)

    def forget_all(self) -> None:
        """Forget all pods: the next leader finds them itself."""
        self.pods.forget_all()
        self._lookout.drain()

    def look_on(self, nodes: Iterable[NodeName]) -> None:
        """Look for pods that fit on *nodes* now."""
        self._lookout.note_nodes(nodes)
        self._stir()

    def look_everywhere(self) -> None:
        """Look for pods that fit on any node now."""
        self._lookout.note_everything()
        self._stir()

    def note_changes(self) -> None:
        """Look for pods that fit because of what has changed in the cluster."""
        self._lookout.note_changes(self._current_view())
        if len(self.pods):
            self._stir()
        else:
            self.forget_all()

    async def run(self) -> NoReturn:
        """Wake pods until cancelled."""
        while True:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(_TIME_SECONDS):
                    await self._stirred.wait()
            self._stirred.clear()
            if self._may_wake():
                await self._look()
            await self._rest()

    def _stir(self) -> None:
        if self._lookout.is_stirred:
            self._stirred.set()

    async def _look(self) -> None:
        """Look for pods that fit because of what is noted, and wake them."""
        with self._charged():
            self.pods.forget_old(self._clock())
            self._note_time()
            stir = self._lookout.drain()
            changed = [each for each in self.pods if stir.is_about(each.wants)]
        await self._renew(changed)
        asking = looks(self.pods, stir)
        fits: bool | None = None
        while self._may_wake():
            try:
                with self._charged():
                    look = asking.send(fits)
            except StopIteration:
                await self._tell_anew()
                return
            fits = await self._fits(look)
            if fits and look.is_for_itself and await self._wake(look.waiting):
                await asyncio.sleep(_PAUSE_SECONDS)
            await self._rest()
        self._lookout.note_everything()  # for when it may again

    async def _tell_anew(self) -> None:
        """Wake those that were told of holds which are over, though there is no room for them.

        Each costs kube-scheduler one more request, and its event then says what is so now.
        """
        with self._charged():
            told = [each for each in self.pods if each.held and not each.woken]
            holding = (
                {name for hold in self._extender.ledger for name in hold.nodes} if told else ()
            )
            busy = self.pods.nodes.of(holding)
        for each in told:
            if not (each.held & busy) and self._may_wake() and self.pods.is_asleep(each.pod.uid):
                await self._wake(each)
                await asyncio.sleep(_PAUSE_SECONDS)
                await self._rest()

    def _note_time(self) -> None:
        """Note that time has passed, now and then; what changes all the time does not hide it."""
        now = self._clock()
        if now - self._timed_at >= _TIME_SECONDS:
            self._timed_at = now
            self._lookout.note_less_due()

    async def _renew(self, pods: Sequence[WaitingPod]) -> None:
        """Find out again what pods ask for whose volumes have changed."""
        for start in range(0, len(pods), PODS_IN_ONE_GO):
            with self._charged():
                for each in pods[start : start + PODS_IN_ONE_GO]:
                    self.pods.set_wants(each.pod.uid, self._wants_of(each.pod))
            await asyncio.sleep(0)

    def _set_of(self, candidates: Iterable[NodeName]) -> NodeSet:
        """Return the set of some nodes, and of all that come to be known later."""
        nodes = self.pods.nodes
        return nodes.of(candidates, self._current_view().spaces) | nodes.later

    def _wants_of(self, pod: PodRef) -> Wants | None:
        """Return what a pod asks for now; None if its claims do not lead to volumes."""
        view = self._current_view()
        try:
            return wants_of(resolve(pod, view), view)
        except UnresolvableClaimError:
            return None

    async def _fits(self, look: Look) -> bool | None:
        """Whether a pod gets one of some nodes now; None if its claims do not lead to volumes."""
        names = self.pods.nodes.names(look.nodes)
        for start in range(0, len(names), NODES_IN_ONE_GO):
            await self._catch_up()
            try:
                with self._charged():
                    answer = self._extender.filter(
                        look.waiting.pod,
                        names[start : start + NODES_IN_ONE_GO],
                        self._current_view(),
                        self._clock(),
                        self._wall_clock(),
                    )
            except UnresolvableClaimError:
                self.pods.set_wants(look.waiting.pod.uid, None)
                return None
            if answer.accepted:
                return True
            await self._rest()
        return False

    async def _catch_up(self) -> None:
        """Take in what has changed, and give way after each piece of it."""
        while True:
            with self._charged():
                is_done = self._extender.catch_up(
                    self._current_view(), self._clock(), self._wall_clock()
                )
            if is_done:
                return
            await asyncio.sleep(0)

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
                await self._failed(waiting, error)
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

    async def _failed(self, waiting: WaitingPod, error: ApiError) -> None:
        pod = waiting.pod
        self.pods.mark_asleep(waiting)
        self._metrics.wake_ups_total.labels("failed").inc()
        log.warning("pod.not_woken", pod=f"{pod.namespace}/{pod.name}", error=str(error))
        await asyncio.sleep(self._backoff.next_seconds())
        self.look_everywhere()


def _reasons(rejected: Mapping[NodeName, Rejection], nodes: NodeSets) -> Reasons:
    alike = defaultdict[Rejection, list[NodeName]](list)
    for name, rejection in rejected.items():
        alike[rejection].append(name)
    return [(each.reason, str(each), nodes.of(names)) for each, names in alike.items()]
