"""One member of an election: whether it leads, whether it may, and its life from start to end."""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Iterable, Mapping, Sequence
from typing import NamedTuple, Protocol
from uuid import UUID

from app.config import ProcessSettings
from app.kube.connection import Connection
from app.kube.following import Gap
from app.kube.store import NamespaceStore
from app.metrics import ProcessMetrics
from app.process.beside import Beside
from app.process.life import Serve, live
from app.process.surroundings import Surroundings
from leader import Election, Leadership, LeaseSettings

_NONE = -1


class Electing(NamedTuple):
    """Where the lease is kept, if not on the loop that does all else."""

    thread: Beside
    connection: Connection
    """To the API server; it belongs to the thread."""


class Knowledge(Protocol):
    """What is known of the cluster."""

    @property
    def is_current(self) -> bool:
        """Whether nothing is known to be missed at this moment."""

    def gaps(self, now: float) -> list[Gap]:
        """Return what is not known well enough to decide on."""


class Member:
    """One instance among those of which one leads.

    Args:
        around: What it finds around it; `run` closes the connection.
        knowledge: What is known of the cluster; without it no instance leads.
        settings: Of the process.
        name: Of the Lease.
        metrics: Shows whether it leads.
        annotate: What is noted on the Lease (`Election`).
        beside: The thread that keeps the lease; None: the loop that does all else.

    Attributes:
        identity: Under which it takes the Lease.
        store: The objects of the namespace of the Lease.
        leadership: Until when it leads.
        is_stopping: Whether the process is about to end.
        needs: What else must be so for it to lead.
        listeners: Called with True when leading begins, and with False when it ends.
    """

    def __init__(
        self,
        around: Surroundings,
        knowledge: Knowledge,
        settings: ProcessSettings,
        name: str,
        metrics: ProcessMetrics,
        annotate: Callable[[Mapping[str, str]], Mapping[str, str]] = lambda _: {},
        beside: Electing | None = None,
    ) -> None:
        self._connection, self._clock = around.connection, around.clock
        self._beside = beside
        self._loop: asyncio.AbstractEventLoop | None = None
        self._told_term = _NONE
        """The term of leading that this loop has been told of."""
        self._knowledge, self._metrics = knowledge, metrics
        uuid = UUID(int=around.random.getrandbits(128), version=4)
        self.identity = f"{settings.pod_name}_{uuid}"
        self.store = NamespaceStore(around.connection, settings.namespace)
        self.leadership = Leadership()
        self.is_stopping = False
        self.needs: list[Callable[[], bool]] = []
        self.listeners: list[Callable[[bool], None]] = []
        self._election = Election(
            self.store if beside is None else NamespaceStore(beside.connection, settings.namespace),
            _lease_settings(settings, name, self.identity),
            leadership=self.leadership,
            clock=around.clock,
            wall_clock=around.wall_clock,
            random=around.random,
            may_lead=self._may_lead,
            on_change=self._elected,
            annotate=annotate,
        )
        metrics.heartbeat.labels(settings.node_name).set_function(self.is_leading)

    @property
    def holder(self) -> str:
        """The identity of the leader last seen, empty if there was none."""
        return self._election.holder

    def is_leading(self) -> bool:
        """Whether it may act as the leader: it is, and has been told so."""
        leadership = self.leadership
        return self._told_term == leadership.term and leadership.is_held(self._clock())

    def is_informed(self) -> bool:
        """Whether the cluster is known well enough to decide."""
        return not self._knowledge.gaps(self._clock())

    def unready(self, others: Iterable[str] = ()) -> str | None:
        """Return why it could not take over now, these *others* among the reasons; else None."""
        if self.is_stopping:
            return "shutting down"
        gaps = self._knowledge.gaps(self._clock())
        return "; ".join([*map(str, gaps), *others]) or None

    async def run(
        self,
        stop: asyncio.Event,
        serve: Serve,
        loops: Callable[[], Sequence[Coroutine[None, None, None]]],
        *,
        stop_working: Callable[[], Awaitable[None]] | None = None,
        hand_over: Sequence[Callable[[], Awaitable[object]]] = (),
    ) -> None:
        """Work until told to stop, and then hand over to another instance.

        If a part fails, the others end, too, and the lease is given back all the same. The
        connection to the API server is closed in the end.

        Args:
            stop: Set when the process shall end.
            serve: Serves requests until the event that it is given is set, and then until those
                under way are answered.
            loops: Returns what must run for as long as the instance does; none of it ends by
                itself.
            stop_working: Awaited while the loops still run.
            hand_over: What is given back after the lease.

        Raises:
            ExceptionGroup: What a part failed with.
        """

        async def stop_all() -> None:
            self.is_stopping = True
            if stop_working is not None:
                await stop_working()

        self._loop = asyncio.get_running_loop()
        try:
            await live(
                stop,
                serve,
                lambda: [*loops(), self._elect(self._election.run())],
                stop_working=stop_all,
                hand_over=(self._release, *hand_over),
            )
        finally:
            await self._connection.close()

    async def _release(self) -> None:
        await self._elect(self._election.release())

    async def _elect(self, work: Coroutine[None, None, None]) -> None:
        """Do what the election does, where it is at home."""
        await (work if self._beside is None else self._beside.thread.run(work))

    def _may_lead(self) -> bool:
        """Whether to compete, or to go on leading.

        A leader that no longer knows the cluster leaves it to one that does. To begin, an instance
        must also follow everything at this moment: what it missed may be new.
        """
        can_lead = self.is_informed() and all(need() for need in self.needs)
        return can_lead and (self.leadership.is_held(self._clock()) or self._knowledge.is_current)

    def _elected(self, is_leading: bool) -> None:  # noqa: FBT001 (as the election tells it)
        """Have the parts told, on their own loop."""
        if self._beside is None or self._loop is None:
            self._role_changed(is_leading, self.leadership.term)
        else:
            term = self.leadership.term
            self._loop.call_soon_threadsafe(self._role_changed, is_leading, term)

    def _role_changed(self, is_leading: bool, term: int) -> None:  # noqa: FBT001 (the same)
        self._told_term = term if is_leading else _NONE
        role = "leader" if is_leading else "standby"
        self._metrics.leader_transitions_total.labels(role).inc()
        for listener in self.listeners:
            listener(is_leading)


def _lease_settings(settings: ProcessSettings, name: str, identity: str) -> LeaseSettings:
    return LeaseSettings(
        name=name,
        namespace=settings.namespace,
        identity=identity,
        duration_seconds=settings.lease_duration_seconds,
        renew_deadline_seconds=settings.renew_deadline_seconds,
        retry_seconds=settings.retry_period_seconds,
    )
