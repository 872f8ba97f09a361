"""One instance of the controller on a live cluster: its parts, and its life from start to end.

It is built from a connection, clocks and randomness alone, so that several can run on one loop and
on virtual time.
"""

import asyncio
from collections.abc import Callable, Coroutine, Sequence
from datetime import datetime
from functools import partial
from random import Random
from uuid import UUID

from app.config import CONTROLLER_NAME
from app.disk_schedule.controller import Controller
from app.disk_schedule.figures import disk_figures
from app.disk_schedule.keeping import Keeping
from app.disk_schedule.known import KnownDisks
from app.disk_schedule.metrics import ControllerMetrics
from app.disk_schedule.settings import ControllerSettings
from app.disk_schedule.stored import SCHEDULED
from app.kube.connection import Connection
from app.kube.feed import Source
from app.kube.following import Following
from app.kube.store import NamespaceStore
from app.process.connections import Connections
from app.process.health import create_health_app
from app.process.life import Serve, live
from leader import Election, Leadership, LeaseSettings
from longhorn import Decision


class ControllerInstance:
    """One running instance of the controller of DiskSchedules.

    Args:
        connection: To the cluster's API server; `run` closes it.
        settings: Of the process.
        metrics: Its metrics.
        version: Of the program.
        clock: Seconds that also pass while the process or the machine is suspended.
        wall_clock: UTC, for times that people read.
        random: Spreads what several instances would do at once, orders those who ask for room, and
            makes the identity.

    Attributes:
        known: What is known of disks and of those who need room on them.
        connections: Of its clients.
        app: What is served over HTTP.
    """

    def __init__(
        self,
        connection: Connection,
        settings: ControllerSettings,
        *,
        metrics: ControllerMetrics,
        version: str,
        clock: Callable[[], float],
        wall_clock: Callable[[], datetime],
        random: Random,
    ) -> None:
        self._connection = connection
        self._clock = clock
        self._metrics = metrics
        self._is_stopping = False
        self._passed_at = float("nan")
        self._leadership = Leadership()
        namespace = settings.longhorn_namespace
        self._following = Following(
            connection,
            [Source(resource=resource, namespace=namespace) for resource in SCHEDULED],
            age_limit_seconds=settings.view_age_limit_seconds,
            metrics=metrics,
            clock=clock,
            random=random,
        )
        self.known = KnownDisks()
        self._controller = Controller(
            connection,
            namespace,
            self.known,
            may_write=self.may_write,
            on_decision=self._decided,
            on_conflict=partial(self._failed, "conflict"),
            on_failure=partial(self._failed, "failed"),
            clock=clock,
            wall_clock=wall_clock,
            random=random,
        )
        self._keeping = (
            Keeping(connection, namespace, self.known, may_write=self.may_write, random=random)
            if settings.manage_objects
            else None
        )
        identity = f"{settings.pod_name}_{UUID(int=random.getrandbits(128), version=4)}"
        self._election = Election(
            NamespaceStore(connection, settings.namespace),
            LeaseSettings(
                name=CONTROLLER_NAME,
                namespace=settings.namespace,
                identity=identity,
                duration_seconds=settings.lease_duration_seconds,
                renew_deadline_seconds=settings.renew_deadline_seconds,
                retry_seconds=settings.retry_period_seconds,
            ),
            leadership=self._leadership,
            clock=clock,
            wall_clock=wall_clock,
            random=random,
            may_lead=self._may_lead,
            on_change=self._role_changed,
        )
        metrics.heartbeat.labels(settings.node_name).set_function(self.is_leading)
        metrics.last_pass_age_seconds.set_function(lambda: clock() - self._passed_at)
        metrics.rivals.set_function(lambda: len(self.known.rivals()))
        metrics.show_disks(partial(disk_figures, self.known))
        self.connections = Connections(settings, metrics)
        self.app = create_health_app(self.unready, metrics, version=version)
        self._following.listeners.append(self._controller.take)
        if self._keeping is not None:
            self._following.listeners.append(self._keeping.take)

    async def run(self, stop: asyncio.Event, serve: Serve) -> None:
        """Work until told to stop, and then give back the lease.

        If a part fails, the others end, too, and the lease is given back all the same. The
        connection to the API server is closed in the end.

        Args:
            stop: Set when the process shall end.
            serve: Serves requests until the event that it is given is set.

        Raises:
            ExceptionGroup: What a part failed with.
        """
        try:
            await live(
                stop,
                serve,
                self._loops,
                stop_working=self._stop_deciding,
                hand_over=(self._election.release,),
            )
        finally:
            await self._connection.close()

    def is_leading(self) -> bool:
        """Whether it may act as the leader."""
        return self._leadership.is_held(self._clock())

    def may_write(self) -> bool:
        """Whether it may write at this moment: it leads, and knows all that decisions rest on."""
        now = self._clock()
        is_held = self._leadership.is_held(now) and not self._is_stopping
        return is_held and not self._following.gaps(now)

    def unready(self) -> str | None:
        """Return why this instance could not decide now if it led, None if it could."""
        if self._is_stopping:
            return "shutting down"
        reasons = [str(gap) for gap in self._following.gaps(self._clock())]
        if rivals := self.known.rivals():
            others = f" and {len(rivals) - 1} more" if len(rivals) > 1 else ""
            reasons.append(
                "Longhorn has a controller of its own, so nothing is written here: "
                f"longhorn-manager has written DiskSchedule {rivals[0]}{others}; turn this "
                "controller off, or see docs/disk-schedule.md if that Longhorn is gone"
            )
        return "; ".join(reasons) or None

    def _loops(self) -> Sequence[Coroutine[None, None, None]]:
        """Return what must run for as long as the instance does; none of them ends by itself."""
        followers = [reflector.run() for reflector in self._following.reflectors]
        loops = [*followers, self._election.run(), self._controller.run()]
        return loops if self._keeping is None else [*loops, self._keeping.run()]

    async def _stop_deciding(self) -> None:
        self._is_stopping = True

    def _may_lead(self) -> bool:
        """Whether to compete, or to go on leading.

        To begin, an instance must also follow everything at this moment: what it missed may be new.
        """
        is_informed = not self._following.gaps(self._clock())
        return is_informed and (self.is_leading() or self._following.is_current)

    def _role_changed(self, is_leading: bool) -> None:  # noqa: FBT001 (as the election tells it)
        role = "leader" if is_leading else "standby"
        self._metrics.leader_transitions_total.labels(role).inc()
        if is_leading:
            self._controller.look_at_all()

    def _decided(self, decision: Decision) -> None:
        self._passed_at = self._clock()
        self._metrics.count_decision(decision)

    def _failed(self, outcome: str) -> None:
        self._passed_at = self._clock()
        self._metrics.count_pass(outcome)
