"""Finds out what to hold, each time that this instance begins to lead."""

import asyncio
from collections.abc import Callable, Sequence
from random import Random
from typing import NoReturn

import structlog

from app.instance.cluster import LiveCluster
from app.instance.holds import Holds
from app.instance.waking import Waking
from app.kube.backoff import Backoff
from app.kube.connection import Connection
from app.kube.errors import ApiError
from app.kube.pods import list_unfinished
from extender import PodRef, PodStatus, rebuild

log = structlog.get_logger()


class TakingOver:
    """Reads all unfinished pods once in each term, and fills the ledger from them.

    Args:
        holds: Filled with what the leader before held.
        waking: Told of the pods that the leader before rejected.
        cluster: What is known of the cluster.
        connection: To its API server.
        clock: Monotonic seconds.
        random: Spreads retries.
        on_done: Called when the ledger is complete.
    """

    def __init__(
        self,
        holds: Holds,
        waking: Waking,
        cluster: LiveCluster,
        connection: Connection,
        *,
        clock: Callable[[], float],
        random: Random,
        on_done: Callable[[], None],
    ) -> None:
        self._holds = holds
        self._waking = waking
        self._cluster = cluster
        self._connection = connection
        self._clock = clock
        self._backoff = Backoff(random)
        self._on_done = on_done
        self._is_wanted = asyncio.Event()
        self._term = 0
        """How many times this instance began to lead."""

    def begin(self) -> None:
        """Take over: this instance begins to lead."""
        self._term += 1
        self._is_wanted.set()

    def give_up(self) -> None:
        """Stop: this instance leads no longer."""
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
            if term == self._term and self._is_wanted.is_set():
                self._is_wanted.clear()
                self._restore(pods)

    def _restore(self, pods: Sequence[tuple[PodRef, PodStatus]]) -> None:
        now, ledger = self._clock(), self._holds.ledger
        statuses = {pod.uid: status for pod, status in pods}
        for hold in rebuild(pods, self._cluster.view, ledger.mode, now):
            self._holds.restore(hold, statuses[hold.pod.uid], now)
        refused = [pod for pod, status in pods if status.refusal and not status.node]
        self._waking.adopt([pod for pod in refused if ledger.get(pod.uid) is None], now)
        ledger.is_complete = True
        log.info("holds.known", pods=len(pods), holds=len(ledger))
        self._on_done()
