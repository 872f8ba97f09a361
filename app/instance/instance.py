"""One instance of the service on a live cluster: its parts, and its life from start to end.

It is built from a connection, clocks and randomness alone, so that several can run on one loop
and on virtual time. Each part is built after those that it needs; who is told of changes
subscribes at the end.
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine, Sequence
from datetime import datetime
from itertools import filterfalse
from random import Random
from uuid import UUID

from app.config import NAME
from app.instance.ahead import LookingAhead
from app.instance.attaching import attached_bytes
from app.instance.calls import Calls
from app.instance.cluster import LiveCluster
from app.instance.debug import DebugState, RoleState, debug_state
from app.instance.figures import show_ahead
from app.instance.holds import Holds
from app.instance.picture import Sources, draw
from app.instance.scores import LastScores
from app.instance.standing import Standing
from app.instance.taking_over import TakingOver
from app.instance.waking import Waking
from app.kube.connection import Connection
from app.kube.mirror import Change
from app.kube.store import NamespaceStore
from app.process.connections import Connections
from app.process.life import Serve, live
from app.serving.decisions import Asking, Decisions
from app.serving.http import create_apps
from app.serving.metrics import Metrics
from app.serving.mutating import Mutating
from app.serving.wire import ExtenderRequest, Verb
from app.settings import Settings
from extender import Answer, Extender, Mode
from leader import Election, Leadership, LeaseSettings, Publisher, PublisherSettings
from longhorn import DiskSchedule, NodeName, Replica, Volume

_LAST_CHOICES_SECONDS = 1.0
"""Most that kube-scheduler may take to show what it chose of the last answers."""
_EXPIRY_SECONDS = 0.5
"""A hold whose time is over ends within so long."""
_PICTURE = "picture"
"""Whoever looks at pictures takes turns with clients as if they all were one that is known."""


class Instance:
    """One running instance of the service.

    Args:
        connection: To the cluster's API server; `run` closes it.
        settings: Of the process.
        port: The port that requests arrive at.
        metrics: Its metrics.
        version: Of the service.
        clock: Seconds that also pass while the process or the machine is suspended.
        wall_clock: UTC, for times that people read and those in Longhorn's objects.
        random: Spreads what several instances would do at once, and makes the identity.

    Attributes:
        cluster: What is known of the cluster.
        standing: What it may do now.
        holds: What it holds for pods.
        decisions: What answers kube-scheduler.
        connections: Of its clients.
        apps: What is served over HTTP.
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
        self._connection = connection
        self._clock = clock
        self._wall_clock = wall_clock
        self._settings = settings
        self._metrics = metrics
        self.cluster = LiveCluster(connection, settings, metrics, clock=clock, random=random)
        extender = self._extender = Extender(
            settings.step_limits, settings.reservation_mode, settings.balance
        )
        leadership = Leadership()
        self.standing = Standing(self.cluster, extender.ledger, leadership, clock)
        store = NamespaceStore(connection, settings.namespace)
        self._publisher = Publisher(
            store,
            PublisherSettings(service=NAME, pod=settings.pod_name, port=port),
            is_leading=self.standing.has_taken_over,
        )
        self._identity = f"{settings.pod_name}_{UUID(int=random.getrandbits(128), version=4)}"
        self._waking = Waking(
            extender,
            lambda: self.cluster.view,
            connection,
            metrics,
            may_wake=lambda: self.standing.unavailable() is None,
            clock=clock,
            wall_clock=wall_clock,
            random=random,
        )
        self._scores = LastScores()
        metrics.remembered_bytes.labels("scores").set_function(lambda: self._scores.size_bytes)
        self.holds = Holds(
            extender,
            self.cluster,
            self._waking.pods,
            connection,
            self._scores,
            metrics,
            clock=clock,
            random=random,
        )
        self._looking_ahead = LookingAhead(
            extender,
            lambda: self.cluster.view,
            is_leading=self.standing.has_taken_over,
            clock=clock,
            wall_clock=wall_clock,
        )
        show_ahead(metrics.registry, lambda: self._looking_ahead.figures)
        self._taking_over = TakingOver(
            extender,
            self.holds,
            self._waking,
            self.cluster,
            connection,
            clock=clock,
            wall_clock=wall_clock,
            random=random,
            on_done=self._taken_over,
        )
        self._calls = Calls(wall_clock)
        self.decisions = Decisions(
            extender,
            current_view=lambda: self.cluster.view,
            unavailable=self.standing.unavailable,
            is_known=lambda client: client == _PICTURE or self.holds.is_known(client),
            vouch=self.holds.vouch,
            on_answer=self._answered,
            on_scores=self._scores.remember,
            wait_seconds=self._wait_seconds,
            on_request=self._called,
            clock=clock,
            wall_clock=wall_clock,
            metrics=metrics,
        )
        self._election = Election(
            store,
            LeaseSettings(
                name=NAME,
                namespace=settings.namespace,
                identity=self._identity,
                duration_seconds=settings.lease_duration_seconds,
                renew_deadline_seconds=settings.renew_deadline_seconds,
                retry_seconds=settings.retry_period_seconds,
            ),
            leadership=leadership,
            clock=clock,
            wall_clock=wall_clock,
            random=random,
            may_lead=self._may_lead,
            on_change=self._role_changed,
            annotate=self._calls.annotations,
        )
        metrics.heartbeat.labels(settings.node_name).set_function(self.standing.is_leading)
        self.connections = Connections(settings, metrics)
        self.apps = create_apps(
            decisions=self.decisions,
            mutating=self._mutating(),
            unready=self.unready,
            state=self._debug_state if settings.debug else None,
            picture=self._picture if settings.debug else None,
            metrics=metrics,
            settings=settings,
            version=version,
        )
        self.cluster.listeners.append(self._cluster_changed)
        self.holds.listeners.append(self._less_is_held)

    async def run(self, stop: asyncio.Event, serve: Serve) -> None:
        """Work until told to stop, and then hand over to another instance.

        If a part fails, the others end, too, and the lease and the endpoints are given back all the
        same. The connection to the API server is closed in the end.

        Args:
            stop: Set when the process shall end.
            serve: Serves requests until the event that it is given is set, and then until those
                under way are answered.

        Raises:
            ExceptionGroup: What a part failed with.
        """
        try:
            await live(
                stop,
                serve,
                self._loops,
                stop_working=self._stop_answering,
                hand_over=(self._election.release, self._publisher.withdraw),
            )
        finally:
            await self._connection.close()

    def unready(self) -> str | None:
        """Return why this instance could not take over now, None if it could."""
        if self.standing.is_stopping:
            return "shutting down"
        reasons = [str(gap) for gap in self.cluster.gaps(self._clock())]
        if not self._publisher.knows_address:
            reasons.append(f"the addresses of pod {self._settings.pod_name} are not known")
        return "; ".join(reasons) or None

    def _loops(self) -> list[Coroutine[None, None, None]]:
        """Return what must run for as long as the instance does; none of them ends by itself."""
        leading = [self._election.run(), self._publisher.run(), self._taking_over.run()]
        loops = [*self.cluster.loops(), *leading, *self.holds.loops(), self._looking_ahead.run()]
        return [*loops, self._waking.run()] if self._settings.wake_up else loops

    async def _stop_answering(self) -> None:
        """Answer no more, and let the last answers become visible to the next leader."""
        self.standing.is_stopping = True
        self.decisions.wake()
        await self.holds.all_chosen(within_seconds=_LAST_CHOICES_SECONDS)

    def _mutating(self) -> Mutating | None:
        if self._settings.webhook_port is None:
            return None
        return Mutating(
            current_view=lambda: self.cluster.view,
            uninformed=self.standing.uninformed,
            scheduler=self._settings.webhook_scheduler_name,
            metrics=self._metrics,
        )

    def _wait_seconds(self) -> float:
        """Return how long an answer may wait for others; in mode `node` until they are bound."""
        if self._settings.reservation_mode is Mode.NODE:
            return self.holds.timeouts.choosing_seconds + _EXPIRY_SECONDS
        return self._settings.filter_wait_seconds

    def _role(self) -> RoleState:
        return RoleState(
            role="leader" if self.standing.is_leading() else "standby",
            unavailable=self.standing.unavailable() or "",
            unready=self.unready() or "",
            identity=self._identity,
            holder=self._election.holder,
        )

    def _picture(self) -> AsyncIterator[str]:
        sources = Sources(
            current_view=lambda: self.cluster.view,
            ledger=self.holds.ledger,
            waiting=self._waking.pods,
        )
        return draw(
            sources,
            self._role(),
            lambda: self.decisions.turns.take(_PICTURE),
            now=self._clock(),
            utc=self._wall_clock(),
        )

    def _debug_state(self) -> DebugState:
        return debug_state(
            self._role(),
            self.cluster,
            self._extender,
            self._waking.pods,
            self._scores,
            self._clock(),
            self._wall_clock(),
        )

    def _may_lead(self) -> bool:
        """Whether to compete, or to go on leading.

        A leader that no longer knows the cluster leaves it to one that does. To begin, an instance
        must also follow everything at this moment: what it missed may be new.
        """
        return (
            self.cluster.live_settings.enabled
            and self._publisher.knows_address
            and not self.cluster.gaps(self._clock())
            and (self.standing.is_leading() or self.cluster.is_followed)
        )

    def _cluster_changed(self, changes: Sequence[Change]) -> None:
        if self._settings.wake_up:
            self._waking.take_changes()
        self.holds.take(changes)
        if self.standing.is_leading():  # all instances see the same
            for data, size_bytes in attached_bytes(changes, self.cluster.view).items():
                self._metrics.attached_bytes_total.labels(data).inc(size_bytes)
        shown_by = Replica | Volume | DiskSchedule
        if any(c.old is None or isinstance(c.new, shown_by) for c in changes):
            self.decisions.wake()

    def _called(self, verb: Verb, request: ExtenderRequest) -> None:
        if self.standing.is_leading():  # the lease shows the leader's calls
            self._calls.note(verb, request)

    def _answered(self, asking: Asking, result: Answer, now: float) -> None:
        request = asking.request
        self._scores.forget(request.pod.uid)  # if one node is left, there will be no others
        self.holds.answer(asking, result, now)
        if result.accepted or not result.rejected:
            self._waking.forget(request.pod.uid, asking.client)
        else:
            taken = self.holds.taken_by_members(request)
            self._waking.remember(
                result.request,
                filterfalse(taken.__contains__, request.candidates),
                now,
                depends_on_others=result.depends_on_others,
                client=asking.client,
                is_found=asking.found is not None or self.holds.ledger.is_seen(request.pod),
                shown=result.rejected if self._settings.debug else {},  # only by the picture
            )
            self.holds.note_waiting(asking)

    def _less_is_held(self, nodes: frozenset[NodeName]) -> None:
        if self._settings.reservation_mode is Mode.NODE:  # an open hold closes all nodes
            self._waking.look_everywhere()
        else:
            self._waking.look_on(nodes)
        self.decisions.wake()

    def _taken_over(self) -> None:
        self._publisher.wake()
        self._looking_ahead.begin()

    def _role_changed(self, is_leading: bool) -> None:  # noqa: FBT001 (as the election tells it)
        role = "leader" if is_leading else "standby"
        self._metrics.leader_transitions_total.labels(role).inc()
        if is_leading:
            self._taking_over.begin()
        else:
            self._taking_over.give_up()
            self.holds.drop_all()
            self._waking.forget_all()
            self._scores.forget_all()
            self._calls.forget()
            self._looking_ahead.forget()
            self.decisions.wake()
        self._publisher.wake()
