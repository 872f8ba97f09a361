"""One replica of the service on a live cluster: what it knows, whether it leads, what it answers.

It is built from a connection, clocks and randomness alone, so that several can run on one loop
and on virtual time.
"""

import asyncio
from collections.abc import Callable, Coroutine, Sequence
from datetime import datetime
from random import Random
from uuid import UUID

import structlog

from app.config import NAME, Settings
from app.instance.calls import Calls
from app.instance.cluster import LiveCluster
from app.instance.debug import DebugState, RoleState, debug_state
from app.instance.holds import Promises
from app.instance.waking import Waking
from app.kube.connection import Connection
from app.kube.mirror import Change
from app.kube.store import NamespaceStore
from app.metrics import Metrics
from app.serving.connections import Connections
from app.serving.decisions import Decisions
from app.serving.http import create_apps
from app.serving.wire import FilterRequest
from extender import Extender, Mode
from leader import Election, LeaseSettings, Publisher, PublisherSettings

log = structlog.get_logger()

_HAND_OVER_SECONDS = 2.0
"""Most that giving back the lease and the endpoints may take, each."""
_LAST_CHOICES_SECONDS = 1.0
"""Most that kube-scheduler may take to show what it chose of the last answers."""
_EXPIRY_SECONDS = 0.5
"""Within so long a promise whose time is over ends."""


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
        self._settings = settings
        self._metrics = metrics
        self._is_stopping = False
        self._is_handed_over = False
        self.cluster = LiveCluster(
            connection,
            settings,
            metrics,
            clock=clock,
            random=random,
            on_changes=self._cluster_changed,
        )
        store = NamespaceStore(connection, settings.namespace)
        self.publisher = Publisher(
            store,
            PublisherSettings(service=NAME, pod=settings.pod_name, port=port),
            is_leading=self._may_answer,
        )
        extender = Extender(settings.step_limits, settings.reservation_mode)
        self._identity = f"{settings.pod_name}_{UUID(int=random.getrandbits(128), version=4)}"
        self.waking = Waking(
            extender,
            lambda: self.cluster.view,
            connection,
            metrics,
            may_wake=lambda: not self.unavailable(),
            clock=clock,
            wall_clock=wall_clock,
            random=random,
        )
        self.promises = Promises(
            extender,
            self.cluster,
            connection,
            metrics,
            self.waking,
            clock=clock,
            random=random,
            on_news=self._less_is_promised,
            on_known=self.publisher.wake,
        )
        self._calls = Calls(wall_clock)
        self.decisions = Decisions(
            extender,
            current_view=lambda: self.cluster.view,
            unavailable=self.unavailable,
            promise=self.promises.give,
            wait_seconds=self._wait_seconds,
            note=self._called,
            clock=clock,
            metrics=metrics,
        )
        self.election = Election(
            store,
            LeaseSettings(
                name=NAME,
                namespace=settings.namespace,
                identity=self._identity,
                duration_seconds=settings.lease_duration_seconds,
                renew_deadline_seconds=settings.renew_deadline_seconds,
                retry_seconds=settings.retry_period_seconds,
            ),
            clock=clock,
            wall_clock=wall_clock,
            random=random,
            may_lead=self._may_lead,
            on_change=self._role_changed,
            annotate=self._calls.annotations,
        )
        metrics.heartbeat.labels(settings.node_name).set_function(self.is_leading)
        self.connections = Connections(settings, metrics)
        self.apps = create_apps(
            decisions=self.decisions,
            unready=self.unready,
            state=self._debug_state if settings.debug else None,
            metrics=metrics,
            settings=settings,
            unsent_bytes=self.connections.unsent_bytes,
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
        if not self.promises.are_known:
            return "this replica of the extender has just begun to lead; ask again"
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
            reasons.append(f"the addresses of pod {self._settings.pod_name} are not known")
        return "; ".join(reasons)

    def loops(self) -> list[Coroutine[None, None, None]]:
        """Return what must run for as long as the replica does; none of them ends by itself."""
        followers = [reflector.run() for reflector in self.cluster.reflectors]
        loops = [*followers, self.election.run(), self.publisher.run(), *self.promises.loops()]
        return [*loops, self.waking.run()] if self._settings.wake_up else loops

    async def stop_answering(self) -> None:
        """Answer no more, and let the last answers become visible to the next leader.

        The loops must run.
        """
        self._is_stopping = True
        self.decisions.wake()
        await self.promises.all_chosen(within_seconds=_LAST_CHOICES_SECONDS)

    async def hand_over(self) -> None:
        """Leave the lease and the endpoints to another replica, and answer no more.

        The loops must have ended. A second call does nothing.
        """
        if self._is_handed_over:
            return
        self._is_stopping = self._is_handed_over = True
        for step in (self.election.release, self.publisher.withdraw):
            try:
                async with asyncio.timeout(_HAND_OVER_SECONDS):
                    await step()
            except TimeoutError:
                log.warning("instance.not_handed_over", step=step.__name__)

    def _may_answer(self) -> bool:
        return self.is_leading() and self.promises.are_known

    def _wait_seconds(self) -> float:
        """Return how long an answer may wait for others; in mode `node` until they are bound."""
        if self._settings.reservation_mode is Mode.NODE:
            return self.promises.timeouts.choosing_seconds + _EXPIRY_SECONDS
        return self._settings.filter_wait_seconds

    def _debug_state(self) -> DebugState:
        replica = RoleState(
            role="leader" if self.is_leading() else "standby",
            unavailable=self.unavailable(),
            unready=self.unready(),
            identity=self._identity,
            holder=self.election.holder,
        )
        return debug_state(
            replica, self.cluster, self.promises.ledger, self.waking.pods, self._clock()
        )

    def _may_lead(self) -> bool:
        """Whether to compete, or to go on leading.

        A leader that does not know the cluster any more leaves it to one that does. To begin, a
        replica must besides follow everything at this moment: what it missed may be new.
        """
        return (
            self.cluster.live_settings.enabled
            and not self._is_handed_over
            and self.publisher.knows_address
            and not self.cluster.gaps(self._clock())
            and (self.is_leading() or self.cluster.is_followed)
        )

    def _cluster_changed(self, changes: Sequence[Change]) -> None:
        self.promises.take(changes)
        if any(change.old is None for change in changes):
            self.decisions.wake()

    def _called(self, request: FilterRequest) -> None:
        if self.is_leading():  # the lease tells of the leader's calls
            self._calls.note(request)

    def _less_is_promised(self) -> None:
        self.decisions.wake()

    def _role_changed(self, is_leading: bool) -> None:  # noqa: FBT001 (as the election tells it)
        role = "leader" if is_leading else "standby"
        self._metrics.leader_transitions_total.labels(role).inc()
        if is_leading:
            self.promises.lead()
        else:
            self.promises.step_down()
            self._calls.forget()
        self.publisher.wake()
