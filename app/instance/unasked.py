"""Finds pods that got a node without being asked about, though they ask for the extender.

Somebody has taken the verbs out of kube-scheduler's configuration and not put them back, or made
the extender ignorable while it did not answer: their volumes may not fit there. No pod is watched
for that. Those that have a node and have not begun to run are few, and are listed now and then: so
not each is found, but where many start, some are.
"""

import asyncio
from collections.abc import Callable, Iterable
from typing import NoReturn

import structlog

from app.kube.connection import Connection
from app.kube.errors import ApiError
from app.kube.pods import list_starting
from app.serving.metrics import Metrics

log = structlog.get_logger()

PERIOD_SECONDS = 30.0
REMEMBER_SECONDS = 900.0
"""kube-scheduler waits up to 600 s for volumes between its request and binding the pod."""
_MOST_PODS = 100_000
"""Some 20 MB; the earliest are forgotten before their time then."""


class Unasked:
    """Counts such pods while this instance leads.

    Args:
        connection: To the API server.
        metrics: Counts them.
        is_leading: Whether this instance leads, and knows what was asked before.
        clock: Monotonic seconds.
    """

    def __init__(
        self,
        connection: Connection,
        metrics: Metrics,
        *,
        is_leading: Callable[[], bool],
        clock: Callable[[], float],
    ) -> None:
        self._connection, self._metrics = connection, metrics
        self._is_leading, self._clock = is_leading, clock
        self._known: dict[str, float] = {}
        """When each pod, by its uid, was asked about or seen to start last, the earliest first."""

    def note(self, uids: Iterable[str]) -> None:
        """Note pods that were asked about, or that the leader before may have been asked about."""
        now = self._clock()
        for uid in uids:
            self._known.pop(uid, None)
            self._known[uid] = now
        while self._known and self._is_over(next(iter(self._known.values())), now):
            del self._known[next(iter(self._known))]

    def _is_over(self, noted: float, now: float) -> bool:
        return now - noted > REMEMBER_SECONDS or len(self._known) > _MOST_PODS

    def forget_all(self) -> None:
        """Forget all: another instance leads, and is asked."""
        self._known.clear()

    async def run(self) -> NoReturn:
        """Look again and again, until cancelled."""
        while True:
            await asyncio.sleep(PERIOD_SECONDS)
            if self._is_leading():
                await self._look()

    async def _look(self) -> None:
        try:
            starting = await list_starting(self._connection)
        except ApiError as error:
            log.warning("pods.not_listed", error=str(error))
            return
        if not self._is_leading():  # then it does not know who was asked about
            return
        for pod in (each for each in starting if each.asks):
            if pod.uid not in self._known:
                self._metrics.unasked_pods_total.inc()
                log.warning("pod.not_asked_about", pod=pod.key, node=pod.node)
            self.note([pod.uid])  # also one that has begun to start long ago
