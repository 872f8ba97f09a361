"""Keeps the ledger of a leader true to a live cluster.

The ledger decides. This tells it what is observed, and acts on what has changed: it follows the
pods that have a hold, counts and logs how holds end, and tells who waits for room.
"""

import asyncio
import contextlib
from collections.abc import Callable, Coroutine, Sequence
from typing import NoReturn

import structlog

from app.instance.cluster import LiveCluster
from app.instance.scores import LastScores
from app.kube.following import restart_counter
from app.kube.mirror import Change
from app.kube.pods import FollowedPods
from app.kube.resources import PODS
from app.kube.translate import ConfigMap
from app.process.surroundings import Surroundings
from app.serving.decisions import UnavailableError
from app.serving.metrics import Metrics
from app.serving.wire import ExtenderRequest
from extender import Answer, Extender, Hold, Mode
from extender.errors import OtherPodError, TooMuchHeldError
from extender.holds import (
    ATTACHING_SECONDS,
    Asked,
    End,
    Outcome,
    State,
    Timeouts,
    count_lost_rooms,
    size_bytes,
)
from extender.kubernetes import Claim, PodStatus
from extender.waiting import WaitingPods
from longhorn import DiskSchedule, NodeName, Replica, Setting, Volume

log = structlog.get_logger()

_SETTLING_SECONDS = 0.02
"""Replicas change in bursts: they are compared with the holds at most this often."""
_STANDSTILL_SECONDS = 0.1
"""If we wake so much too late, the process or the machine stood still."""
_HEARING_SECONDS = 1.0
"""So long it takes then at most until all is read that the API server has sent."""
_CLAIM_SECONDS = 0.2
"""How long the watch of a pod with unbound claims may wait. kube-scheduler marks a claim some 6 ms
after the pod, and the claims are watched already. A connection for each pod of a burst would take
longer, and would delay the answers meanwhile."""

_TOO_MUCH = "too much is held for pods that have no node yet; try again"


class Holds:
    """The holds of one instance. It has none while it does not lead.

    Args:
        around: What the instance finds around it.
        extender: Has the ledger.
        cluster: What is known of the cluster.
        waiting: The pods that wait for room.
        scores: What was told of each node; the chosen one is compared with the others.
        metrics: Counts what becomes of holds.

    Attributes:
        ledger: The holds.
        listeners: Called with the nodes on which less is held, whenever other pods may get another
            answer than before.
    """

    def __init__(
        self,
        around: Surroundings,
        extender: Extender,
        cluster: LiveCluster,
        waiting: WaitingPods,
        scores: LastScores,
        metrics: Metrics,
    ) -> None:
        connection, clock, _, random = around
        self.ledger = extender.ledger
        self.listeners: list[Callable[[frozenset[NodeName]], None]] = []
        self._extender, self._cluster, self._clock = extender, cluster, clock
        self._waiting, self._scores, self._metrics = waiting, scores, metrics
        self._is_due = asyncio.Event()
        """Set when a hold may have to end, or another deadline is the next one."""
        self._changed = asyncio.Event()
        """Set when a hold was made, has moved or has ended."""
        self._pods = FollowedPods(
            connection,
            on_seen=self._pod_seen,
            on_restart=restart_counter(metrics, PODS),
            clock=clock,
            random=random,
        )
        for state in State:
            self._show(state)
        metrics.remembered_bytes.labels("open_holds").set_function(
            lambda: size_bytes(self.ledger.open_holds())
        )

    @property
    def timeouts(self) -> Timeouts:
        """How long holds stand now."""
        live = self._cluster.live_settings
        closes_nodes = self.ledger.mode is Mode.NODE  # which must not wait for slow volumes
        return Timeouts(
            choosing_seconds=live.pod_scheduling_timeout_seconds,
            placing_seconds=live.node_reservation_timeout_seconds,
            attaching_seconds=0.0 if closes_nodes else ATTACHING_SECONDS,
        )

    def loops(self) -> list[Coroutine[None, None, NoReturn]]:
        """Return what must run for as long as the instance does."""
        return [self._pods.run(), self._settle()]

    def answer(self, request: ExtenderRequest, result: Answer, now: float) -> None:
        """Hold what an answer needs that is about to be given.

        Raises:
            OtherPodError: What is held for this uid is for another pod.
            UnavailableError: There is no memory for it.
        """
        pod, claims = request.pod, self._cluster.view.claims
        asked = Asked(status=request.status, group=request.group)
        try:
            outcome = self._extender.hold(result, asked, timeouts=self.timeouts, now=now)
        except TooMuchHeldError:
            self._metrics.not_remembered_total.labels("open_holds").inc()
            raise UnavailableError(_TOO_MUCH) from None
        except OtherPodError:
            self._metrics.refuted_requests_total.inc()
            raise
        self._act(outcome, now)
        hold = self.ledger.get(pod.uid)
        if hold is not None:
            self._follow(hold)
        self._act(self.ledger.see_claims(pod.claims, claims, now), now)

    def taken_by_members(self, request: ExtenderRequest) -> set[NodeName]:
        """Return the nodes that others of the pod's group were given and are not bound to yet.

        If the group is not bound, there is room again: for them, and not for this one.
        """
        if request.group is None:
            return set()
        return {
            node
            for each in self.ledger
            if each.waits_for_group
            and each.group == request.group
            and each.pod.uid != request.pod.uid
            for node in each.nodes
        }

    def restore(self, hold: Hold, status: PodStatus, now: float) -> None:
        """Hold what the leader before held, for a pod that has come as far as *status* says."""
        self._act(self.ledger.put(hold), now)
        self._follow(hold)
        claims = self._cluster.view.claims
        self._act(self.ledger.see_pod(hold.pod.uid, status, claims, now), now)

    def drop_all(self) -> None:
        """End all holds: this instance leads no longer."""
        now = self._clock()
        self._act(self.ledger.drop_all(End.HANDED_OVER, now), now)

    def note_changes(self, changes: Sequence[Change]) -> None:
        """Compare the holds with what has changed in the cluster."""
        if not len(self.ledger):
            return
        now = self._clock()
        changed = [each for change in changes for each in change]
        keys = [each.key for each in changed if isinstance(each, Claim)]
        self._act(self.ledger.see_claims(keys, self._cluster.view.claims, now), now)
        shown_by = Replica | Volume | DiskSchedule | ConfigMap | Setting
        if any(isinstance(each, shown_by) for each in changed):
            self._is_due.set()

    async def all_chosen(self, *, within_seconds: float) -> None:
        """Wait until the nodes of all answered pods show in the cluster."""
        try:
            async with asyncio.timeout(within_seconds):
                while self._is_choosing():
                    self._changed.clear()
                    await self._changed.wait()
        except TimeoutError:
            log.warning("holds.not_chosen", pods=self.ledger.count(State.OPEN))

    def _is_choosing(self) -> bool:
        return self.ledger.is_choosing() or any(each.waits_for_group for each in self.ledger)

    async def _settle(self) -> NoReturn:
        """End the holds that are confirmed or whose time is over.

        Where the process stood still, what came meanwhile is heard first: a pod may be bound.
        """
        while True:
            self._is_due.clear()
            now, timeouts = self._clock(), self.timeouts
            self._act(self.ledger.settle(self._cluster.view, timeouts, now), now)
            until = self.ledger.next_deadline(timeouts)
            with contextlib.suppress(TimeoutError):
                left = None if until is None else max(until - now, _SETTLING_SECONDS)
                async with asyncio.timeout(left):
                    await self._is_due.wait()
                    await asyncio.sleep(_SETTLING_SECONDS)
            if left is not None and self._clock() - now > left + _STANDSTILL_SECONDS:
                await asyncio.sleep(_HEARING_SECONDS)

    def _follow(self, hold: Hold) -> None:
        patience = _CLAIM_SECONDS if hold.unbound else 0.0
        self._pods.follow(hold.pod, hold.asked, after_seconds=patience)
        self._is_due.set()

    def _pod_seen(self, uid: str, status: PodStatus | None) -> None:
        now, claims = self._clock(), self._cluster.view.claims
        self._act(self.ledger.see_pod(uid, status, claims, now), now)

    def _act(self, outcome: Outcome, now: float) -> None:
        """Do what follows from a change of the ledger."""
        for advanced in outcome.advanced:
            if advanced.after.bound_at is not None:
                self._waiting.see(advanced.after.pod, PodStatus(node=advanced.after.node))
            self._metrics.count_choice(advanced.before, advanced.after, now)
            self._count_rank(advanced.before, advanced.after)
            self._is_due.set()
        for ended in outcome.ended:
            hold = ended.hold
            if ended.why is End.POD_GONE:
                self._waiting.see(hold.pod, None)
            follower = self.ledger.get(hold.pod.uid)
            if follower is None or follower.pod != hold.pod:
                self._pods.forget(hold.pod)
            self._metrics.count_end(ended)
            if ended.why is End.CONFIRMED:
                taken = count_lost_rooms(hold, self._cluster.view.replicas)
                self._metrics.local_rooms_taken_total.inc(taken)
            log.info(
                "hold.ended",
                pod=f"{hold.pod.namespace}/{hold.pod.name}",
                node=hold.node if hold.state is State.CHOSEN else "",
                why=ended.why,
                seconds=round(ended.seconds, 3),
            )
        self._changed.set()
        if outcome.concerns_others:
            for listener in self.listeners:
                listener(outcome.freed)

    def _count_rank(self, before: Hold, after: Hold) -> None:
        if before.state is State.OPEN and after.state is State.CHOSEN:
            rank = self._scores.rank(after.pod, after.node)
            if rank is not None:
                self._metrics.chosen_node_rank.observe(rank)

    def _show(self, state: State) -> None:
        self._metrics.holds.labels(state).set_function(lambda: self.ledger.count(state))
