"""One candidate's part in the election: read, decide, write over what was read, step down.

Two replicas never act at one time, because a leader acts only for the renew deadline after the
*start* of its last successful write, by a clock that runs on while the process is stopped, and
nobody else takes the lease before the longer lease duration has passed since it *saw* that write.
What this does not give is fencing: a decision made just before the deadline may reach
kube-scheduler just after it, which is what the difference between the two durations is for.
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
"""How often candidates look, in retry periods. The longest and one period's latency must stay
below one period for a killed leader to be replaced within lease duration + one period."""


class Election:
    """Takes part in the election for one lease.

    Args:
        store: The objects of the lease's namespace.
        settings: Which lease, as whom, and the durations.
        clock: Seconds that also pass while the process or the machine is suspended.
        wall_clock: UTC, for the times that people read in the lease.
        random: Spreads the candidates' looks.
        may_lead: Whether this replica could do the leader's work now. If not, it does not
            compete, and gives the lease back.
        on_change: Told when leading begins (True) and ends (False).
        annotate: Returns what each claim and renewal adds to the annotations found on the lease,
            for others to read. It costs no write of its own.
    """

    def __init__(
        self,
        store: ObjectStore,
        settings: LeaseSettings,
        *,
        clock: Callable[[], float],
        wall_clock: Callable[[], datetime],
        random: Random,
        may_lead: Callable[[], bool],
        on_change: Callable[[bool], None],
        annotate: Callable[[Mapping[str, str]], Mapping[str, str]] = lambda _: {},
    ) -> None:
        self._store = store
        self._settings = settings
        self._clock = clock
        self._wall_clock = wall_clock
        self._random = random
        self._may_lead = may_lead
        self._on_change = on_change
        self._annotate = annotate
        self._observed: Observed | None = None
        self._is_current = False
        """Whether *_observed* is what the cluster has, as far as our own writes go."""
        self._written: set[str] = set()
        """renewTimes of ours that the lease may have."""
        self._acts_until = _NEVER
        self._told_leading = False
        self._trouble = ""

    def is_leading(self, now: float) -> bool:
        """Say whether this replica may act at *now*, which must be read for this very decision."""
        return now < self._acts_until

    @property
    def holder(self) -> str:
        """The holder last seen, empty if there is none."""
        return self._observed.record.holder if self._observed else ""

    async def run(self) -> None:
        """Take part until cancelled; whoever cancels this calls `release` afterwards."""
        while True:
            pause = await self.step()
            await asyncio.sleep(pause)

    async def step(self) -> float:
        """Do what is due once; return the seconds until the next step."""
        self._tell()  # our time may have run out since the last step
        if not self._may_lead():
            await self.release()
        elif not await self._attempt():
            await self._attempt()  # somebody else wrote in between: see who, at once
        self._tell()
        leading = self.is_leading(self._clock())
        return self._settings.retry_seconds if leading else self._look_after()

    async def release(self) -> None:
        """Stop acting, and give the lease back if it is ours."""
        self._acts_until = _NEVER
        self._tell()
        for _ in range(2):  # a write that was under way may come between
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
        """Renew, or take the lease if it is free; return False if somebody else wrote it."""
        if not (self._is_current and self.is_leading(self._clock())):
            await self._look()
        if not self._is_current:
            return True
        started = self._clock()
        observed, settings = self._observed, self._settings
        action = decide(observed, identity=settings.identity, written=self._written, now=started)
        if action is Action.WAIT:
            self._acts_until = _NEVER
            self._written.clear()
            self._say("", "")
            return True
        claim = claimed(observed, action=action, wall_time=self._wall_clock(), settings=settings)
        body = annotated(claim, self._annotate)
        renew_time = body["spec"]["renewTime"]
        self._written.add(renew_time)
        match await self._put(observed, body):
            case Stored(body=stored):
                self._written = {renew_time}
                self._take_in(stored)
                self._acts_until = started + settings.renew_deadline_seconds
                self._say("", "")
            case Failed(why=why):
                self._say("lease.unwritten", why)
            case Conflict() | Absent():
                # Until we know who wrote it, nothing may rest on the lease.
                self._written.discard(renew_time)
                self._acts_until = _NEVER
                return False
        return True

    async def _look(self) -> None:
        """Read the lease."""
        answer = await self._store.read(
            Collection.LEASES, self._settings.name, deadline_seconds=self._request_seconds
        )
        if isinstance(answer, Failed):
            self._is_current = False
            self._say("lease.unreadable", answer.why)
        else:
            self._take_in(answer.body if isinstance(answer, Stored) else None)

    async def _put(
        self, observed: Observed | None, body: Body
    ) -> Stored | Absent | Conflict | Failed:
        self._is_current = False  # until there is an answer, if there ever is one
        seconds = self._request_seconds
        if observed is None or not observed.metadata:
            return await self._store.create(Collection.LEASES, body, deadline_seconds=seconds)
        return await self._store.replace(Collection.LEASES, body, deadline_seconds=seconds)

    def _take_in(self, body: Body | None) -> None:
        self._observed = observe(self._observed, body, now=self._clock(), settings=self._settings)
        self._is_current = True

    @property
    def _request_seconds(self) -> float:
        """Two requests fit into the renew deadline."""
        return self._settings.renew_deadline_seconds / 2

    def _look_after(self) -> float:
        """Seconds until the next look: soon, and not after the holder's time has run out."""
        retry = self._settings.retry_seconds
        seconds = self._random.uniform(_SHORTEST_LOOK * retry, _LONGEST_LOOK * retry)
        if self._observed is not None:
            left = self._observed.expires_at - self._clock()
            if left > 0:
                seconds = min(seconds, left)
        return seconds

    def _tell(self) -> None:
        """Report a change of the role, if there was one."""
        leading = self.is_leading(self._clock())
        if leading == self._told_leading:
            return
        self._told_leading = leading
        log.info(
            "lease.acquired" if leading else "lease.lost",
            identity=self._settings.identity,
            holder=self.holder,
        )
        self._on_change(leading)

    def _say(self, event: str, why: str) -> None:
        """Log trouble once, until it changes or ends."""
        if why and why != self._trouble:
            log.warning(event, lease=self._settings.name, error=why)
        self._trouble = why
