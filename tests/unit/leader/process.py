"""A candidate that is driven by hand, and what is known of it from outside."""

from collections.abc import Callable, Coroutine
from datetime import UTC, datetime, timedelta
from enum import Enum
from random import Random
from typing import Any

import msgspec

from leader import Election
from tests.unit.leader.leases import lease_settings
from tests.unit.leader.store import Answer, Request, SuspendedStore

_START = datetime(2026, 3, 1, tzinfo=UTC)


class Durations(msgspec.Struct, frozen=True, kw_only=True):
    """What all candidates are set to."""

    lease_seconds: int = 8
    deadline_seconds: float = 5.0
    retry_seconds: float = 1.0


class Trait(msgspec.Struct, frozen=True, kw_only=True):
    """What sets a candidate apart."""

    identity: str
    offset_seconds: float = 0.0
    rate: float = 1.0


class Sight(Enum):
    """What a process saw of the lease when it last saw one."""

    NOTHING = "nothing"
    FREE = "free"
    OWN = "own"
    OTHER = "other"


class Term(msgspec.Struct, frozen=True, kw_only=True):
    """A process taking the lease. Moments are numbers of changes of the lease."""

    process: int
    sent: int
    applied: int
    sight: Sight
    seen_uid: str


class Meddling(msgspec.Struct, frozen=True, kw_only=True):
    """Something done to the lease that may leave two leaders for a while."""

    at: int
    deleted_uid: str = ""
    """Empty if the lease was not deleted, but made to look free."""

    def excuses(self, first: int, second: Term) -> bool:
        """Say whether a leader may follow one that rests on change number *first*."""
        if not first < self.at < second.applied:
            return False
        if not self.deleted_uid or second.sent < self.at:
            return True
        return second.sight is not Sight.OTHER or second.seen_uid != self.deleted_uid


class InFlight:
    """A request from being sent until nobody can tell any more whether it happens."""

    def __init__(self, process: "Process", request: Request, *, sent: int) -> None:
        self.process = process
        self.request = request
        self.sent = sent
        self.sight, self.seen_uid = process.sight, process.seen_uid
        self.answer: Answer | None = None
        self.writer: Process | None = None
        self.applied = 0
        self.term: Term | None = None


class Process:
    """One candidate from its start to its end."""

    def __init__(
        self, number: int, trait: Trait, durations: Durations, *, now: Callable[[], float]
    ) -> None:
        self.number = number
        self.trait = trait
        self.may_lead = True
        self.is_retired = False
        self.wall_offset_seconds = 0.0
        self.sight, self.seen_uid = Sight.NOTHING, ""
        self.must_stop = False
        """Whether its last write was refused, or it has seen another one hold the lease."""
        self.rests_on = 0
        self.term: Term | None = None
        self.told: list[bool] = []
        self.waits_for: InFlight | None = None
        self.next_at = now()
        self.coroutine: Coroutine[Any, Any, float | None] | None = None
        self._now = now
        self._wall_reads = 0
        self.election = Election(
            SuspendedStore(),
            lease_settings(
                trait.identity,
                duration=durations.lease_seconds,
                renew_deadline=durations.deadline_seconds,
                retry=durations.retry_seconds,
            ),
            clock=self.clock,
            wall_clock=self._wall_clock,
            random=Random(number),
            may_lead=lambda: self.may_lead,
            on_change=self.told.append,
        )

    @property
    def is_leading(self) -> bool:
        return not self.is_retired and self.election.is_leading(self.clock())

    def clock(self) -> float:
        return self.trait.offset_seconds + self.trait.rate * self._now()

    def _wall_clock(self) -> datetime:
        """Return a time that no other read of any candidate returns, as microseconds ensure."""
        self._wall_reads += 1
        seconds = round(self._now() + self.wall_offset_seconds, 2)
        distinct = (self._wall_reads * 97 + self.number) % 10_000
        return _START + timedelta(seconds=seconds, microseconds=distinct)
