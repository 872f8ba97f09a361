"""An instance that is driven by hand, and what is known of it from outside."""

from collections.abc import Callable, Coroutine
from datetime import UTC, datetime, timedelta
from random import Random
from typing import Any

import msgspec
from msgspec.structs import replace

from leader import Election, LeaseSettings
from tests.unit.leader.store import Answer, Request, SuspendedStore

_START = datetime(2026, 3, 1, tzinfo=UTC)


class Trait(msgspec.Struct, frozen=True, kw_only=True):
    """What sets an instance apart."""

    identity: str
    offset_seconds: float = 0.0
    rate: float = 1.0


class InFlight:
    """A request from being sent until nobody can tell any more whether it happens.

    Moments are numbers of changes of the lease.
    """

    def __init__(self, process: "Process", request: Request, *, sent: int) -> None:
        self.process = process
        self.request = request
        self.sent = sent
        self.warned_of = process.warned_of
        self.answer: Answer | None = None
        self.applied = 0
        """When it changed the lease, if it did."""
        self.term: InFlight | None = None
        """What had made the holder the holder once this was answered; None for a stranger."""


class Process:
    """One instance from its start to its end."""

    def __init__(
        self, number: int, trait: Trait, settings: LeaseSettings, *, now: Callable[[], float]
    ) -> None:
        self.number = number
        self.trait = trait
        self.may_lead = True
        self.wall_offset_seconds = 0.0
        self.warned_of = ""
        """The uid of the lease, if another one held it when this process last saw it."""
        self.must_stop = False
        """Whether its last write was refused, or it has seen another one hold the lease."""
        self.rests_on = 0
        self.term: InFlight | None = None
        self.reported: list[bool] = []
        self.waits_for: InFlight | None = None
        self.next_at = now()
        self.coroutine: Coroutine[Any, Any, float | None] | None = None
        self._now = now
        self._wall_reads = 0
        self.election = Election(
            SuspendedStore(),
            replace(settings, identity=trait.identity),
            clock=self._clock,
            wall_clock=self._wall_clock,
            random=Random(number),
            may_lead=lambda: self.may_lead,
            on_change=self.reported.append,
        )

    @property
    def is_leading(self) -> bool:
        return self.election.is_leading(self._clock())

    def _clock(self) -> float:
        return self.trait.offset_seconds + self.trait.rate * self._now()

    def _wall_clock(self) -> datetime:
        """Return a time that no other read of any instance returns, as microseconds ensure."""
        self._wall_reads += 1
        seconds = round(self._now() + self.wall_offset_seconds, 2)
        distinct = (self._wall_reads * 97 + self.number) % 10_000
        return _START + timedelta(seconds=seconds, microseconds=distinct)
