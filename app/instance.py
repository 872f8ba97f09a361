"""One replica of the service on a live cluster: what it knows, whether it leads, what it answers.

It is built from a connection, clocks and randomness alone, so that several can run on one loop
and on virtual time.
"""

import asyncio
from collections.abc import Callable, Coroutine
from datetime import datetime
from random import Random
from uuid import UUID

import structlog
from fastapi import FastAPI

from app.config import NAME, Settings
from app.http import create_app
from app.kube.cluster import LiveCluster
from app.kube.connection import Connection
from app.kube.store import NamespaceStore
from app.metrics import Metrics
from extender import Extender
from leader import Election, LeaseSettings, Publisher, PublisherSettings

log = structlog.get_logger()

_HAND_OVER_SECONDS = 2.0
"""Most that giving back the lease and the endpoints may take, each."""


class Instance:
    """A replica.

    Args:
        connection: To the cluster's API server.
        settings: Of the process.
        port: The port that requests arrive at.
        metrics: Its metrics.
        version: Of the service.
        clock: Seconds that also pass while the process or the machine is suspended.
        wall_clock: UTC, for times that people read.
        random: Spreads what several replicas would do at once, and makes the identity.
    """

    def __init__(
        self,
        connection: Connection,
        settings: Settings,
        *,
        port: int,
        metrics: Metrics,
        version: str,
        clock: Callable[[], float],
        wall_clock: Callable[[], datetime],
        random: Random,
    ) -> None:
        self._clock = clock
        self._pod_name = settings.pod_name
        self._metrics = metrics
        self._is_stopping = False
        self.cluster = LiveCluster(connection, settings, metrics, clock=clock, random=random)
        store = NamespaceStore(connection, settings.namespace)
        self.election = Election(
            store,
            LeaseSettings(
                name=NAME,
                namespace=settings.namespace,
                identity=f"{settings.pod_name}_{UUID(int=random.getrandbits(128), version=4)}",
                duration_seconds=settings.lease_duration_seconds,
                renew_deadline_seconds=settings.renew_deadline_seconds,
                retry_seconds=settings.retry_period_seconds,
            ),
            clock=clock,
            wall_clock=wall_clock,
            random=random,
            may_lead=self._may_lead,
            on_change=self._role_changed,
        )
        self.publisher = Publisher(
            store,
            PublisherSettings(service=NAME, pod=settings.pod_name, port=port),
            is_leading=self.is_leading,
        )
        metrics.heartbeat.labels(settings.node_name).set_function(self.is_leading)
        self.app: FastAPI = create_app(
            extender=Extender(settings.step_limits),
            current_view=lambda: self.cluster.view,
            unavailable=self.unavailable,
            unready=self.unready,
            metrics=metrics,
            settings=settings,
            version=version,
        )

    def is_leading(self) -> bool:
        """Whether this replica may act at this very moment."""
        return self.election.is_leading(self._clock())

    def unavailable(self) -> str:
        """Return why /filter cannot be answered now, "" if it can."""
        if self._is_stopping:
            return "this replica of the extender is shutting down"
        if not self.cluster.live_settings.enabled:
            return "the extender is disabled by the setting scheduler-extender-enabled"
        if self.cluster.gaps(self._clock()):
            # Which kinds they are varies while the cause stands; /readyz and the log name them.
            return "this replica of the extender does not know the cluster; its /readyz says why"
        if not self.is_leading():
            return "this replica of the extender is not the leader"
        return ""

    def unready(self) -> str:
        """Return why this replica could not take over now, "" if it could."""
        if self._is_stopping:
            return "shutting down"
        reasons = [
            f"{gap.kind}: {gap.why}" + (f": {gap.trouble}" if gap.trouble else "")
            for gap in self.cluster.gaps(self._clock())
        ]
        if not self.publisher.knows_address:
            reasons.append(f"the addresses of pod {self._pod_name} are not known")
        return "; ".join(reasons)

    def loops(self) -> list[Coroutine[None, None, None]]:
        """Return what must run for as long as the replica does; none of them ends by itself."""
        followers = [reflector.run() for reflector in self.cluster.reflectors]
        return [*followers, self.election.run(), self.publisher.run()]

    async def hand_over(self) -> None:
        """Stop answering, and leave the lease and the endpoints to another replica.

        The loops must have ended. A second call does nothing.
        """
        if self._is_stopping:
            return
        self._is_stopping = True
        for step in (self.election.release, self.publisher.withdraw):
            try:
                async with asyncio.timeout(_HAND_OVER_SECONDS):
                    await step()
            except TimeoutError:
                log.warning("instance.not_handed_over", step=step.__name__)

    def _may_lead(self) -> bool:
        """Whether to compete, or to go on leading.

        A leader that does not know the cluster any more leaves it to one that does. To begin, a
        replica must besides follow everything at this moment: what it missed may be new.
        """
        return (
            self.cluster.live_settings.enabled
            and not self._is_stopping
            and self.publisher.knows_address
            and not self.cluster.gaps(self._clock())
            and (self.is_leading() or self.cluster.is_followed)
        )

    def _role_changed(self, is_leading: bool) -> None:  # noqa: FBT001 (as the election tells it)
        role = "leader" if is_leading else "standby"
        self._metrics.leader_transitions_total.labels(role).inc()
        self.publisher.wake()
