"""Keeps the promises of a leader true to what becomes of the pods on a live cluster.

The ledger decides; this tells it what is seen, when time has run out, and what a leader that begins
finds promised. Whatever ends is logged, counted, and told to those who wait for room.
"""

import asyncio
import contextlib
from collections.abc import Callable, Coroutine, Iterable, Sequence
from random import Random
from typing import NoReturn

import structlog

from app.instance.cluster import LiveCluster, restart_counter
from app.instance.waking import Waking
from app.kube.backoff import Backoff
from app.kube.connection import Connection
from app.kube.errors import ApiError
from app.kube.mirror import Change
from app.kube.pods import FollowedPods, list_unfinished
from app.kube.resources import PODS
from app.kube.translate import ConfigMap, Setting
from app.metrics import Metrics
from app.serving.wire import FilterRequest
from extender import (
    Answer,
    Claim,
    ClaimKey,
    End,
    Ended,
    Extender,
    Hold,
    Mode,
    PodRef,
    PodStatus,
    State,
    Timeouts,
    promised,
    sighting_of,
    without_stale,
)
from longhorn import NodeName, Replica

log = structlog.get_logger()

_SETTLING_SECONDS = 0.02
"""Replicas come in bursts: they are compared with the promises at most so often."""
_CLAIM_SECONDS = 0.2
"""How long the watch of a pod with unbound claims may wait. kube-scheduler marks a claim some 6 ms
after the pod, which a watch that runs already tells; a connection for each pod of a burst would
take longer, and the time from those that are answered meanwhile."""


class Promises:
    """The promises of one replica; there are none while it does not lead.

    Args:
        extender: Has the ledger.
        cluster: What is known of the cluster.
        connection: To its API server.
        metrics: Counts what becomes of promises.
        waking: Told where there is room again, and who waits for it.
        clock: Monotonic seconds.
        random: Spreads pauses.
        on_news: Called when less is promised than before, or nothing any more.
        on_known: Called when all that was promised before is known.

    Attributes:
        ledger: What is promised.
        are_known: Whether this replica leads and knows all that was promised before.
    """

    def __init__(
        self,
        extender: Extender,
        cluster: LiveCluster,
        connection: Connection,
        metrics: Metrics,
        waking: Waking,
        *,
        clock: Callable[[], float],
        random: Random,
        on_news: Callable[[], None],
        on_known: Callable[[], None],
    ) -> None:
        self.are_known = False
        self._extender = extender
        self.ledger = extender.ledger
        self._cluster = cluster
        self._connection = connection
        self._metrics = metrics
        self._waking = waking
        self._clock = clock
        self._on_news = on_news
        self._on_known = on_known
        self._backoff = Backoff(random)
        self._pods = FollowedPods(
            connection,
            on_seen=self._saw,
            on_restart=restart_counter(metrics, PODS),
            clock=clock,
            random=random,
        )
        self._seen: dict[str, PodStatus | None] = {}
        """By uid, the followed pods as last heard of."""
        self._by_claim: dict[ClaimKey, set[str]] = {}
        """The uids of the pods with a promise that use a claim."""
        self._term = 0
        """How many times this replica began to lead."""
        self._leads = asyncio.Event()
        self._stirred = asyncio.Event()
        """Set when something may have to be settled."""
        self._news = asyncio.Event()
        """Set, and replaced, whenever less is promised than before."""
        for state in State:
            self._show(state)

    @property
    def timeouts(self) -> Timeouts:
        """How long promises stand now."""
        live = self._cluster.live_settings
        return Timeouts(
            choosing_seconds=live.pod_scheduling_timeout_seconds,
            placing_seconds=live.node_reservation_timeout_seconds,
        )

    def loops(self) -> list[Coroutine[None, None, NoReturn]]:
        """Return what must run for as long as the replica does."""
        return [self._pods.run(), self._settle(), self._take_over()]

    def give(self, request: FilterRequest, result: Answer, now: float) -> None:
        """Promise what an answer that is about to be given says."""
        pod, view = request.pod, self._cluster.view
        ended = self._extender.hold(result, request.status, view, timeouts=self.timeouts, now=now)
        if ended is not None:
            self._over([ended])
        hold = self.ledger.get(pod.uid)
        if hold is not None:
            self._begin(hold, now)
        if result.accepted or not result.rejected:
            self._waking.forget(pod.uid)
        else:
            self._waking.rejected(pod, request.candidates, now)

    def lead(self) -> None:
        """Begin to lead: find out what was promised."""
        self._term += 1
        self._leads.set()

    def step_down(self) -> None:
        """Lead no longer."""
        self._leads.clear()
        self.are_known = False
        self._over(self.ledger.drop_all(End.HANDED_OVER, self._clock()))
        self._waking.forget_all()
        self._tell()

    def take(self, changes: Sequence[Change]) -> None:
        """Take in what has changed in the cluster."""
        changed = [each for change in changes for each in change]
        self._waking.take_changes()
        self._waking.room_on(_nodes_of(each for each in changed if isinstance(each, Replica)))
        if not len(self.ledger):
            return
        now = self._clock()
        claims = {each.key for each in changed if isinstance(each, Claim)}
        for uid in sorted({uid for key in claims for uid in self._by_claim.get(key, ())}):
            self._look(uid, now)
        if any(isinstance(each, Replica | ConfigMap | Setting) for each in changed):
            self._stirred.set()

    async def all_chosen(self, *, within_seconds: float) -> None:
        """Wait until the node of each pod that was answered shows in the cluster."""
        try:
            async with asyncio.timeout(within_seconds):
                while self.ledger.is_choosing():
                    await self._news.wait()
        except TimeoutError:
            log.warning("promises.not_chosen", pods=self.ledger.count(State.OFFERED))

    async def _settle(self) -> NoReturn:
        """End what is confirmed or has run out of time."""
        while True:
            self._stirred.clear()
            now, timeouts = self._clock(), self.timeouts
            self._over(self.ledger.settle(self._cluster.view.replicas, timeouts, now))
            until = self.ledger.next_deadline(timeouts)
            with contextlib.suppress(TimeoutError):
                left = None if until is None else max(until - now, _SETTLING_SECONDS)
                async with asyncio.timeout(left):
                    await self._stirred.wait()
                    await asyncio.sleep(_SETTLING_SECONDS)

    async def _take_over(self) -> NoReturn:
        """Find out what was promised, each time that this replica begins to lead."""
        while True:
            await self._leads.wait()
            if self.are_known:
                await self._news.wait()
                continue
            term = self._term
            try:
                pods = await list_unfinished(self._connection, lambda: self._cluster.view)
            except ApiError as error:
                log.error("promises.unknown", error=str(error))  # noqa: TRY400 (no traceback)
                await asyncio.sleep(self._backoff.next_seconds())
                continue
            self._backoff.reset()
            if term == self._term and self._leads.is_set():
                self._rebuild(pods)

    def _rebuild(self, pods: Sequence[tuple[PodRef, PodStatus]]) -> None:
        now, view = self._clock(), self._cluster.view
        statuses = {pod.uid: status for pod, status in pods}
        for hold in promised(pods, view, self.ledger.mode, now):
            self._seen[hold.pod.uid] = statuses[hold.pod.uid]
            self.ledger.put(hold)
            self._begin(hold, now)
        refused = [pod for pod, status in pods if status.refusal and not status.node]
        self._waking.found([pod for pod in refused if self.ledger.get(pod.uid) is None], now)
        self.are_known = True
        log.info("promises.known", pods=len(pods), holds=len(self.ledger))
        self._on_known()

    def _begin(self, hold: Hold, now: float) -> None:
        uid = hold.pod.uid
        for key in hold.pod.claims:
            self._by_claim.setdefault(key, set()).add(uid)
        patience = _CLAIM_SECONDS if hold.unbound else 0.0
        self._pods.follow(hold.pod, hold.asked, after_seconds=patience)
        self._stirred.set()
        self._look(uid, now)

    def _saw(self, uid: str, status: PodStatus | None) -> None:
        self._seen[uid] = status
        self._look(uid, self._clock())

    def _look(self, uid: str, now: float) -> None:
        """Compare a promise with what is seen of its pod and its claims."""
        before = self.ledger.get(uid)
        if before is None:
            return
        claims = self._cluster.view.claims
        before = without_stale(before, claims)
        self.ledger.amend(before)
        seen = self._seen.get(uid, before.asked)
        sighting = sighting_of(before, seen, claims, self.ledger.mode)
        ended = self.ledger.see(uid, sighting, now)
        if ended is not None:
            self._over([ended])
            return
        after = self.ledger.get(uid)
        if after is None or after == before:
            return
        self._metrics.count_choice(before, after, now)
        self._stirred.set()
        if (before.state, before.nodes) != (after.state, after.nodes):
            self._freed(before.nodes - after.nodes)
            self._tell()

    def _over(self, ended: Sequence[Ended]) -> None:
        """Take in that promises are over; that of a pod may have been replaced."""
        for each in ended:
            hold, uid = each.hold, each.hold.pod.uid
            for key in hold.pod.claims:
                self._by_claim[key].discard(uid)
                if not self._by_claim[key]:
                    del self._by_claim[key]
            if self.ledger.get(uid) is None:
                self._pods.forget(uid)
                self._seen.pop(uid, None)
            self._metrics.count_end(each)
            self._freed(hold.nodes)
            log.info(
                "hold.ended",
                pod=f"{hold.pod.namespace}/{hold.pod.name}",
                node=hold.node if hold.state is State.PLACED else "",
                why=each.why,
                seconds=round(each.seconds, 3),
            )
        if ended:
            self._tell()

    def _freed(self, nodes: frozenset[NodeName]) -> None:
        """Take in that less is promised on *nodes*; in mode `node` the others were locked too."""
        if self.ledger.mode is Mode.NODE:
            self._waking.room_anywhere()
        else:
            self._waking.room_on(nodes)

    def _tell(self) -> None:
        """Wake who waits for less to be promised."""
        self._news.set()
        self._news = asyncio.Event()
        self._on_news()

    def _show(self, state: State) -> None:
        self._metrics.holds.labels(state).set_function(lambda: self.ledger.count(state))


def _nodes_of(replicas: Iterable[Replica]) -> set[NodeName]:
    """Return where pods may restart, or no longer, by what has become of *replicas*."""
    return {each.node or each.hard_node_affinity for each in replicas} - {NodeName("")}
