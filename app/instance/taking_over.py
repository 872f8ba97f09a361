"""Finds out what to hold, each time that this instance begins to lead."""

import asyncio
from collections.abc import Callable, Iterable, Sequence
from typing import NoReturn

import structlog

from app.instance.cluster import LiveCluster
from app.instance.holds import Holds
from app.instance.waking import PODS_IN_ONE_GO, Waking
from app.kube.backoff import Backoff
from app.kube.errors import ApiError
from app.kube.pods import list_unfinished
from app.process.surroundings import Surroundings
from extender import Extender, PodRef
from extender.holds import rebuild
from extender.kubernetes import PodStatus

log = structlog.get_logger()


class TakingOver:
    """Reads all unfinished pods once in each term, and fills the ledger from them.

    Args:
        around: What the instance finds around it.
        extender: Has the ledger.
        holds: Filled with what the leader before held.
        waking: Told of the pods that the leader before rejected.
        cluster: What is known of the cluster.
        on_done: Called when the ledger is complete.
        on_found: Called with the uids of the pods that the leader before may have been asked about.
    """

    def __init__(
        self,
        around: Surroundings,
        extender: Extender,
        holds: Holds,
        waking: Waking,
        cluster: LiveCluster,
        on_done: Callable[[], None],
        *,
        on_found: Callable[[Iterable[str]], None] = lambda _: None,
    ) -> None:
        self._extender = extender
        self._holds = holds
        self._waking = waking
        self._cluster = cluster
        self._connection, self._clock, self._wall_clock, random = around
        self._backoff = Backoff(random)
        self._on_done, self._on_found = on_done, on_found
        self._is_wanted = asyncio.Event()
        self._term = 0
        """How many times this instance began or ceased to lead."""

    def begin(self) -> None:
        """Take over: this instance begins to lead."""
        self._term += 1
        self._is_wanted.set()

    def give_up(self) -> None:
        """Stop: this instance leads no longer."""
        self._term += 1
        self._is_wanted.clear()

    async def run(self) -> NoReturn:
        """Take over whenever it is wanted, until cancelled."""
        while True:
            await self._is_wanted.wait()
            term = self._term
            try:
                pods = await list_unfinished(self._connection, lambda: self._cluster.view)
            except ApiError as error:
                log.error("holds.unknown", error=str(error))  # noqa: TRY400 (no traceback)
                await asyncio.sleep(self._backoff.next_seconds())
                continue
            self._backoff.reset()
            if term == self._term:
                self._is_wanted.clear()
                await self._restore(pods, term)

    async def _restore(self, pods: Sequence[tuple[PodRef, PodStatus]], term: int) -> None:
        """Fill the ledger piece by piece, and give way in between: the lease must be renewed."""
        for start in range(0, len(pods), PODS_IN_ONE_GO):
            self._restore_some(pods[start : start + PODS_IN_ONE_GO])
            await asyncio.sleep(0)
            if term != self._term:
                return
        while not self._extender.catch_up(
            self._cluster.view, self._clock(), self._wall_clock()
        ):  # or the first answer would have to
            await asyncio.sleep(0)
            if term != self._term:
                return
        ledger = self._extender.ledger
        ledger.is_complete = True
        log.info("holds.known", pods=len(pods), holds=len(ledger))
        self._waking.note_less_held(None)
        self._on_done()

    def _restore_some(self, pods: Sequence[tuple[PodRef, PodStatus]]) -> None:
        now, ledger = self._clock(), self._extender.ledger
        self._on_found(pod.uid for pod, _ in pods)
        statuses = {pod.uid: status for pod, status in pods}
        for hold in rebuild(pods, self._cluster.view, ledger.mode, now):
            self._holds.restore(hold, statuses[hold.pod.uid], now)
        refused = [pod for pod, status in pods if status.refusal and not status.node]
        self._waking.adopt([pod for pod in refused if ledger.get(pod.uid) is None], now)
