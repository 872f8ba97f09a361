"""One instance of the service on a live cluster: its parts, and its life from start to end.

It is built from a connection, clocks and randomness alone, so that several can run on one loop
and on virtual time. Each part is built after those that it needs; who is told of changes
subscribes at the end.
"""

import asyncio
from collections.abc import AsyncIterator, Coroutine, Sequence

from app.config import NAME
from app.instance.calls import Calls
from app.instance.cluster import LiveCluster
from app.instance.debug import DebugState, RoleState, debug_state
from app.instance.leading import Leading
from app.instance.live_settings import NOBODY_LEADS
from app.instance.picture import Sources, draw, of_instance
from app.instance.standing import Standing
from app.kube.mirror import Change
from app.process.health import MetricsText, Pulse
from app.process.life import Serve
from app.process.member import Electing, Member
from app.process.surroundings import Surroundings
from app.serving.decisions import Decisions
from app.serving.http import Apps, create_apps
from app.serving.metrics import Metrics
from app.serving.mutating import Mutating
from app.serving.wire import ExtenderRequest, Verb
from app.settings import Settings
from extender import Extender, Mode
from leader import Publisher, PublisherSettings
from longhorn import DiskSchedule, Replica, Volume

_LAST_CHOICES_SECONDS = 1.0
"""Most that kube-scheduler may take to show what it chose of the last answers."""
_EXPIRY_SECONDS = 0.5
"""A hold whose time is over ends within so long."""


class Instance:
    """One running instance of the service.

    Args:
        around: What it finds around it; `run` closes the connection.
        settings: Of the process.
        port: The port that requests arrive at.
        metrics: Its metrics.
        version: Of the service.
        beside: The thread that keeps the lease; None: the loop that does all else.

    Attributes:
        cluster: What is known of the cluster.
        standing: What it may do now.
        holds: What it holds for pods.
        decisions: What answers kube-scheduler.
        pulse: How it is, for those that ask on another thread.
        text: The text of its metrics.
        apps: What is served over HTTP.
    """

    def __init__(
        self,
        around: Surroundings,
        settings: Settings,
        *,
        port: int,
        metrics: Metrics,
        version: str,
        beside: Electing | None = None,
    ) -> None:
        self._around, self._settings, self._metrics = around, settings, metrics
        self.cluster = LiveCluster(around, settings, metrics)
        calls = self._calls = Calls(around.wall_clock)
        member = Member(around, self.cluster, settings, NAME, metrics, calls.annotations, beside)
        extender = Extender(settings.step_limits, settings.reservation_mode, settings.balance)
        self._member, self._extender = member, extender
        self.standing = Standing(self.cluster, extender.ledger, member)
        self._publisher = Publisher(
            member.store,
            PublisherSettings(service=NAME, pod=settings.pod_name, port=port),
            is_leading=self.standing.has_taken_over,
        )
        self._leading = Leading(around, extender, self.cluster, self.standing, settings, metrics)
        self.holds = self._leading.holds
        self.decisions = self._new_decisions()
        self.pulse = Pulse(self.unready, self._idle, around.clock)
        self.text = MetricsText(metrics.registry, around.clock)
        self.apps = self._new_apps(version)
        member.needs += [self._is_enabled, self._is_addressed]
        member.listeners.append(self._role_changed)
        self._leading.on_taken_over.append(self._publisher.wake)
        self.cluster.listeners.append(self._cluster_changed)
        self.holds.listeners.append(lambda _: self.decisions.wake())

    async def run(self, stop: asyncio.Event, serve: Serve) -> None:
        """Work until told to stop, and then hand over to another instance (`Member.run`)."""
        await self._member.run(
            stop,
            serve,
            self._loops,
            stop_working=self._stop_answering,
            hand_over=(self._publisher.withdraw,),
        )

    def unready(self) -> str | None:
        """Return why this instance could not take over now, None if it could."""
        return self._member.unready(
            ()
            if self._is_addressed()
            else [f"the addresses of pod {self._settings.pod_name} are not known"]
        )

    def _idle(self) -> str | None:
        """Return why no instance leads: a person wants it so; None if one may."""
        return None if self._is_enabled() else NOBODY_LEADS

    def _new_decisions(self) -> Decisions:
        return Decisions(
            self._extender,
            current_view=lambda: self.cluster.view,
            unavailable=self.standing.unavailable,
            on_answer=self._leading.note_answer,
            on_scores=self._leading.scores.remember,
            wait_seconds=self._wait_seconds,
            on_request=self._called,
            clock=self._around.clock,
            wall_clock=self._around.wall_clock,
            metrics=self._metrics,
        )

    def _new_apps(self, version: str) -> Apps:
        settings = self._settings
        return create_apps(
            decisions=self.decisions,
            mutating=self._new_mutating(),
            unready=self.unready,
            state=self._debug_state if settings.debug else None,
            picture=self._picture if settings.debug else None,
            metrics=self._metrics,
            text=self.text.latest,
            settings=settings,
            version=version,
            idle=self._idle,
        )

    def _new_mutating(self) -> Mutating | None:
        if self._settings.webhook_port is None:
            return None
        return Mutating(
            current_view=lambda: self.cluster.view,
            not_injecting=self.standing.not_injecting,
            scheduler=self._settings.webhook_scheduler_name,
            metrics=self._metrics,
        )

    def _loops(self) -> list[Coroutine[None, None, None]]:
        """Return what must run for as long as the instance does; none of them ends by itself."""
        return [*self.cluster.loops(), self._publisher.run(), *self._leading.loops()]

    async def _stop_answering(self) -> None:
        """Answer no more, and let the last answers become visible to the next leader."""
        self.decisions.wake()
        await self.holds.all_chosen(within_seconds=_LAST_CHOICES_SECONDS)

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
            idle=self._idle() or "",
            identity=self._member.identity,
            holder=self._member.holder,
        )

    def _picture(self) -> AsyncIterator[str]:
        sources = Sources(
            current_view=lambda: self.cluster.view,
            ledger=self.holds.ledger,
            waiting=self._leading.waking.pods,
        )
        caption = of_instance(self._role(), self._around.wall_clock())
        return draw(sources, caption, now=self._around.clock())

    def _debug_state(self) -> DebugState:
        return debug_state(
            self._role(),
            self.cluster,
            self._extender,
            self._leading.waking.pods,
            self._leading.scores,
            self._around.clock(),
            self._around.wall_clock(),
        )

    def _is_enabled(self) -> bool:
        return self.cluster.live_settings.enabled

    def _is_addressed(self) -> bool:
        return self._publisher.knows_address

    def _cluster_changed(self, changes: Sequence[Change]) -> None:
        self._leading.note_changes(changes)
        shown_by = Replica | Volume | DiskSchedule
        if any(c.old is None or isinstance(c.new, shown_by) for c in changes):
            self.decisions.wake()

    def _called(self, verb: Verb, request: ExtenderRequest) -> None:
        if self.standing.is_leading():  # the lease shows the leader's calls
            self._calls.note(verb, request)
            if verb is Verb.FILTER:
                self._leading.unasked.note([request.pod.uid])

    def _role_changed(self, is_leading: bool) -> None:  # noqa: FBT001 (as the election tells it)
        if is_leading:
            self._leading.begin()
        else:
            self._leading.end()
            self._calls.forget()
            self.decisions.wake()
        self._publisher.wake()
