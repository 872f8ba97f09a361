"""What one instance does in the election: read, decide, write over what it read, step down.

Two instances never act at the same time. A leader acts only until the renew deadline, counted from
the *start* of its last successful write, by a clock that also runs while the process is stopped.
Another instance takes the lease only when the lease duration, which is longer, has passed since it
*saw* that write.

There is no fencing: an answer given just before the deadline may reach kube-scheduler just after
it. The difference between the two durations leaves time for that.
"""

import asyncio
from collections.abc import Callable, Mapping
from datetime import datetime
from random import Random

import structlog

from leader.lease import (
    Action,
    LeaseSettings,
    Observed,
    annotated,
    claimed,
    decide,
    is_ours,
    observe,
    released,
)
from leader.store import Absent, Body, Collection, Conflict, Failed, ObjectStore, Stored

log = structlog.get_logger()

_NEVER = float("-inf")
_SHORTEST_LOOK, _LONGEST_LOOK = 0.5, 0.8
"""The shortest and the longest pause before an instance that does not lead reads the lease again,
in retry periods. The longest pause and one request must take less than one period together: then
a killed leader is replaced within the lease duration and one period."""


class Leadership:
    """Until when this instance may act as the leader. The election sets it; all parts ask it."""

    def __init__(self) -> None:
        self.acts_until = _NEVER
        self.term = 0
        """How many times leading has begun or ended, so that what was learned in one term is not
        taken for another's."""

    def is_held(self, now: float) -> bool:
        """Say whether this instance may act at *now*, which must be read for this very decision."""
        return now < self.acts_until


class Election:
    """One instance in the election for one lease.

    Args:
        store: The objects of the lease's namespace.
        settings: Which lease, under which identity, and the durations.
        leadership: Set to until when this instance leads.
        clock: Seconds. They must also pass while the process or the machine is suspended.
        wall_clock: UTC, for the times in the lease that people read.
        random: Chooses the pauses between reads, so that instances do not read all at once.
        may_lead: Whether this instance could do the leader's work now. While it cannot, it does
            not try to lead, and gives the lease back if it has it.
        on_change: Called with True when leading begins, and with False when it ends.
        annotate: Gets the annotations of the lease, returns those to add. Called for each write
            that takes or renews the lease; there is no extra write for annotations.
    """

    def __init__(
        self,
        store: ObjectStore,
        settings: LeaseSettings,
        *,
        leadership: Leadership,
        clock: Callable[[], float],
        wall_clock: Callable[[], datetime],
        random: Random,
        may_lead: Callable[[], bool],
        on_change: Callable[[bool], None],
        annotate: Callable[[Mapping[str, str]], Mapping[str, str]] = lambda _: {},
    ) -> None:
        self._store = store
        self._settings = settings
        self._leadership = leadership
        self._clock = clock
        self._wall_clock = wall_clock
        self._random = random
        self._may_lead = may_lead
        self._on_change = on_change
        self._annotate = annotate
        self._observed: Observed | None = None
        self._is_current = False
        """Whether *_observed* includes the result of our last write."""
        self._written: set[str] = set()
        """The renewTimes we wrote that the lease may have now."""
        self._reported_leading = False
        self._trouble = ""

    @property
    def holder(self) -> str:
        """The identity of the holder last seen, empty if there was none."""
        return self._observed.record.holder if self._observed else ""

    async def run(self) -> None:
        """Take part until cancelled. Whoever cancels this must call `release` afterwards."""
        while True:
            pause = await self.step()
            await asyncio.sleep(pause)

    async def step(self) -> float:
        """Do once what is due; return the seconds until the next step."""
        self._report_role()  # the deadline may have passed since the last step
        if not self._may_lead():
            await self.release()
        elif not await self._attempt():
            await self._attempt()  # another one wrote in between: see at once who it was
        self._report_role()
        renewed = self._is_current and self._leadership.is_held(self._clock())
        return self._settings.retry_seconds if renewed else self._seconds_to_look()

    async def release(self) -> None:
        """Stop acting, and give the lease back if it is ours."""
        self._leadership.acts_until = _NEVER
        self._report_role()
        for _ in range(2):  # an earlier write, still under way, may get in between
            if not self._written:
                return
            if not self._is_current:
                await self._look()
            if not self._is_current:
                return
            observed, identity = self._observed, self._settings.identity
            if (
                observed is None
                or not observed.metadata
                or not is_ours(observed, identity=identity, written=self._written)
            ):
                self._written.clear()
                return
            body = released(observed, wall_time=self._wall_clock(), settings=self._settings)
            if isinstance(await self._put(observed, body), Stored):
                self._written.clear()
                log.info("lease.released", identity=self._settings.identity)

    async def _attempt(self) -> bool:
        """Renew the lease, or take it if it is free; return False if another one wrote it first."""
        if not (self._is_current and self._leadership.is_held(self._clock())):
            await self._look()
        if not self._is_current:
            return True
        started = self._clock()
        observed, settings = self._observed, self._settings
        action = decide(observed, identity=settings.identity, written=self._written, now=started)
        if action is Action.WAIT:
            self._leadership.acts_until = _NEVER
            self._written.clear()
            self._log_trouble("", "")
            return True
        claim = claimed(observed, action=action, wall_time=self._wall_clock(), settings=settings)
        body = annotated(claim, self._annotate)
        renew_time = body["spec"]["renewTime"]
        self._written.add(renew_time)
        match await self._put(observed, body):
            case Stored(body=stored):
                self._written = {renew_time}
                self._remember(stored)
                self._leadership.acts_until = started + settings.renew_deadline_seconds
                self._log_trouble("", "")
            case Failed(why=why):
                self._log_trouble("lease.unwritten", why)
            case Conflict() | Absent():
                # Do not act until it is known who wrote the lease.
                self._written.discard(renew_time)
                self._leadership.acts_until = _NEVER
                return False
        return True

    async def _look(self) -> None:
        """Read the lease."""
        answer = await self._store.read(
            Collection.LEASES, self._settings.name, deadline_seconds=self._request_seconds
        )
        if isinstance(answer, Failed):
            self._is_current = False
            self._log_trouble("lease.unreadable", answer.why)
        else:
            self._remember(answer.body if isinstance(answer, Stored) else None)

    async def _put(
        self, observed: Observed | None, body: Body
    ) -> Stored | Absent | Conflict | Failed:
        self._is_current = False  # without an answer, the write may happen or not
        seconds = self._request_seconds
        if observed is None or not observed.metadata:
            return await self._store.create(Collection.LEASES, body, deadline_seconds=seconds)
        return await self._store.replace(Collection.LEASES, body, deadline_seconds=seconds)

    def _remember(self, body: Body | None) -> None:
        self._observed = observe(self._observed, body, now=self._clock(), settings=self._settings)
        self._is_current = True

    @property
    def _request_seconds(self) -> float:
        """How long one request may take. A renewal begins a retry period after the last one, and
        leaves another one for a second attempt; where that is little, each gets half the deadline.

        An API server that is short of processors takes seconds, and asking anew only adds to that.
        """
        deadline = self._settings.renew_deadline_seconds
        return max(deadline / 2, deadline - 2 * self._settings.retry_seconds)

    def _seconds_to_look(self) -> float:
        """Return the seconds until the next read: soon, and not after the lease runs out."""
        retry = self._settings.retry_seconds
        seconds = self._random.uniform(_SHORTEST_LOOK * retry, _LONGEST_LOOK * retry)
        if self._observed is not None:
            left = self._observed.expires_at - self._clock()
            if left > 0:
                seconds = min(seconds, left)
        return seconds

    def _report_role(self) -> None:
        """Log that leading began or ended, and call *on_change*, once for each change."""
        leading = self._leadership.is_held(self._clock())
        if leading == self._reported_leading:
            return
        self._reported_leading = leading
        self._leadership.term += 1
        log.info(
            "lease.acquired" if leading else "lease.lost",
            identity=self._settings.identity,
            holder=self.holder,
        )
        self._on_change(leading)

    def _log_trouble(self, event: str, why: str) -> None:
        """Log trouble once: again only when it changes, or comes back. Empty text ends it."""
        if why and why != self._trouble:
            log.warning(event, lease=self._settings.name, error=why)
        self._trouble = why
