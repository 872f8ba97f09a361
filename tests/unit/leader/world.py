"""Instances that want one lease, moved one request at a time, and what the lease must guarantee.

Everything is decided by whoever calls: when a request reaches the lease (maybe long after its
client gave up), whether its answer arrives, and when an instance goes on; one that is not called
while time passes is a process that is stopped. Each has a clock with an offset and a rate of its
own, and a wall clock that jumps.

The guarantee. At no time do two instances lead, unless somebody who is no instance has

- emptied the holder, or left a record that runs out before a leader stops acting by itself, or
- deleted the lease, and the second leader had not seen that very lease held by another one: it had
  seen none, or a free one, or one that it held itself, or its request was under way by then.

Nothing in the lease told the second leader of the first in these cases. Even then the first rests
on a write from before, and stops at its next renewal, which is refused, or at its renew deadline.
Merely annotating the lease, or naming a stranger in it, excuses nothing.
"""

from collections.abc import Callable, Coroutine, Sequence
from datetime import UTC, datetime, timedelta
from random import Random
from typing import Any

import msgspec
from msgspec.structs import replace

from leader import Collection, Conflict, Election, Leadership, LeaseSettings, Stored
from tests.unit.leader.leases import NAME
from tests.unit.leader.store import (
    UNANSWERED,
    Answer,
    Object,
    Objects,
    Request,
    SuspendedStore,
    Verb,
)

_START = datetime(2026, 3, 1, tzinfo=UTC)
_LONGEST_STEP_SECONDS = 0.25
_INSTANT_SECONDS = 1e-6


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
        self.leadership = Leadership()
        self.election = Election(
            SuspendedStore(),
            replace(settings, identity=trait.identity),
            leadership=self.leadership,
            clock=self._clock,
            wall_clock=self._wall_clock,
            random=Random(number),
            may_lead=lambda: self.may_lead,
            on_change=self.reported.append,
        )

    @property
    def is_leading(self) -> bool:
        return self.leadership.is_held(self._clock())

    def _clock(self) -> float:
        return self.trait.offset_seconds + self.trait.rate * self._now()

    def _wall_clock(self) -> datetime:
        """Return a time that no other read of any instance returns, as microseconds ensure."""
        self._wall_reads += 1
        seconds = round(self._now() + self.wall_offset_seconds, 2)
        distinct = (self._wall_reads * 97 + self.number) % 10_000
        return _START + timedelta(seconds=seconds, microseconds=distinct)


class World:
    """The instances, the lease and the time."""

    def __init__(self, traits: Sequence[Trait], settings: LeaseSettings) -> None:
        self.now = 0.0
        self._settings = settings
        self._objects = Objects()
        self._processes_started = 0
        self._changes = 0
        self._term: InFlight | None = None
        """The write that made the holder the holder; None if that was no instance's."""
        self._meddling: list[tuple[int, str]] = []
        """Changes that may leave two leaders for a while, with the uid of a lease deleted."""
        self._in_flight: list[InFlight] = []
        self.instances = [self._start(trait) for trait in traits]

    @property
    def lease(self) -> Object | None:
        return self._objects.get(Collection.LEASES, NAME)

    @property
    def leaders(self) -> list[Process]:
        return [instance for instance in self.instances if instance.is_leading]

    @property
    def waiting(self) -> list[Process]:
        return [instance for instance in self.instances if instance.waits_for is not None]

    @property
    def unapplied(self) -> list[InFlight]:
        return [sent for sent in self._in_flight if sent.answer is None]

    @property
    def abandoned(self) -> list[InFlight]:
        """Requests that may still be applied though nobody waits for them."""
        return [sent for sent in self.unapplied if sent.process.waits_for is not sent]

    def release(self, instance: Process) -> None:
        """Let an instance give the lease back, cancelling what it is doing."""
        self._cancel(instance)
        instance.coroutine = instance.election.release()
        self._resume(instance, None)

    def replace(self, instance: Process, identity: str) -> None:
        """Kill an instance; another process starts in its stead."""
        self._cancel(instance)
        trait = replace(instance.trait, identity=identity)
        self.instances[self.instances.index(instance)] = self._start(trait)
        self._check()

    def go_on(self, instance: Process) -> None:
        """Do whatever comes next for an instance, if all goes well."""
        sent = instance.waits_for
        if sent is None:
            instance.coroutine = instance.election.step()
            self._resume(instance, None)
        elif sent.answer is None:
            self.apply(sent)
        else:
            self.answer(instance)

    def finish(self, instance: Process) -> None:
        """Let an instance end its step, with every request answered at once."""
        while instance.coroutine is not None:
            self.go_on(instance)

    def apply(self, sent: InFlight) -> None:
        """Let a request take effect."""
        before = self.lease
        sent.answer = self._objects.apply(sent.request)
        if sent.request.verb is not Verb.READ and isinstance(sent.answer, Stored):
            self._changes += 1
            sent.applied = self._changes
            is_renewal = self._check_write(sent, before)
            if not sent.request.body["spec"]["holderIdentity"]:
                self._term = None
            elif not is_renewal:
                self._term = sent
        sent.term = self._term
        self._check()

    def answer(self, instance: Process) -> None:
        """Deliver the answer that an instance waits for."""
        sent = instance.waits_for
        assert sent is not None
        if sent.answer is None:
            self.apply(sent)
        assert sent.answer is not None
        self._see(instance, sent)
        self._in_flight.remove(sent)
        self._resume(instance, sent.answer)

    def lose_answer(self, instance: Process) -> None:
        """Let an instance give up its request, which may still take effect."""
        assert instance.waits_for is not None
        if instance.waits_for.answer is not None:
            self._in_flight.remove(instance.waits_for)
        self._resume(instance, UNANSWERED)

    def drop(self, sent: InFlight) -> None:
        """Let a request that nobody waits for be lost."""
        self._in_flight.remove(sent)

    def edit(self, **spec: Any) -> None:
        """Change the lease as somebody who is no instance; without arguments, annotate it only."""
        body = self.lease
        assert body is not None
        self._changes += 1
        body["spec"] |= spec
        body["metadata"]["annotations"] = {"note": str(self._changes)}
        self._objects.put(Collection.LEASES, body)
        if "holderIdentity" in spec:
            self._term = None
        # Others take over before the leader stops by itself, if the record says so.
        seconds = body["spec"]["leaseDurationSeconds"]
        is_short = seconds is not None and seconds <= self._settings.renew_deadline_seconds
        if spec and (is_short or not spec.get("holderIdentity", "unchanged")):
            self._meddling.append((self._changes, ""))
        self._check()

    def delete(self) -> None:
        """Delete the lease as somebody who is no instance."""
        body = self.lease
        assert body is not None
        self._changes += 1
        self._term = None
        self._objects.remove(Collection.LEASES, NAME)
        self._meddling.append((self._changes, body["metadata"]["uid"]))
        self._check()

    def pass_time(self, seconds: float) -> None:
        """Let time pass while nobody does anything."""
        end = self.now + seconds
        while self.now < end:
            led = self.leaders
            self.now = min(end, self.now + _LONGEST_STEP_SECONDS)
            assert all(leader in led for leader in self.leaders), "nobody begins to lead by waiting"
            self._check()

    def run(self, instances: Sequence[Process], seconds: float, latency_seconds: float) -> None:
        """Let some instances work as they should; the others are stopped."""
        end = self.now + seconds
        while instances:
            instance = min(instances, key=lambda one: one.next_at)
            if instance.next_at > end:
                break
            self.pass_time(max(0.0, instance.next_at - self.now))
            self.go_on(instance)
            if instance.coroutine is not None:
                instance.next_at = self.now + latency_seconds / 2
        self.pass_time(end - self.now)

    def settle(self) -> None:
        """End all faults: requests under way are answered or lost, and everybody may lead."""
        for sent in self.abandoned:
            self.drop(sent)
        for instance in self.instances:
            instance.may_lead = True
            self.finish(instance)

    def check_recovery(self) -> None:
        """Check that somebody leads within lease duration + retry period, and goes on leading.

        All faults must have ended. A stranger's lease may be longer than ours.
        """
        ours, slowest = self._settings.duration_seconds, min(i.trait.rate for i in self.instances)
        found = self.lease["spec"]["leaseDurationSeconds"] if self.lease else None
        bound = (max(found or 0, ours) + self._settings.retry_seconds) / slowest
        self.run(self.instances, bound + 2 * _INSTANT_SECONDS, 0.0)
        assert len(self.leaders) == 1, "nobody leads"
        leaders = self.leaders

        for _ in range(4):
            self.run(self.instances, ours / 2, 0.0)
            assert self.leaders == leaders, "the lead does not last"

    def check_hand_over(self) -> None:
        """Check that the next instance leads within a retry period of a release."""
        [leader] = self.leaders
        self.release(leader)
        self.finish(leader)
        assert not self.leaders
        others = [one for one in self.instances if one is not leader]

        self.run(others, self._settings.retry_seconds / min(o.trait.rate for o in others), 0.0)

        assert len(self.leaders) == 1, "nobody has followed"
        leader.next_at = self.now

    def _start(self, trait: Trait) -> Process:
        self._processes_started += 1
        return Process(self._processes_started, trait, self._settings, now=lambda: self.now)

    def _cancel(self, instance: Process) -> None:
        if instance.coroutine is not None:
            instance.coroutine.close()
        sent, instance.coroutine, instance.waits_for = instance.waits_for, None, None
        if sent is not None and sent.answer is not None:
            self._in_flight.remove(sent)

    def _resume(self, instance: Process, answer: Answer | None) -> None:
        assert instance.coroutine is not None
        instance.waits_for = None
        try:
            request = instance.coroutine.send(answer)
        except StopIteration as stop:
            pause = 0.0 if stop.value is None else stop.value
            assert 0 <= pause <= self._settings.retry_seconds
            instance.coroutine = None
            instance.next_at = self.now + max(pause / instance.trait.rate, _INSTANT_SECONDS)
        else:
            instance.waits_for = InFlight(instance, request, sent=self._changes)
            self._in_flight.append(instance.waits_for)
        turns = [True, False] * len(instance.reported)
        assert instance.reported == turns[: len(instance.reported)], "reports no change of the role"
        self._check()

    def _see(self, instance: Process, sent: InFlight) -> None:
        """Note what an answer tells an instance."""
        if not isinstance(sent.answer, Stored):
            instance.must_stop |= isinstance(sent.answer, Conflict)
            instance.must_stop |= sent.request.verb is Verb.REPLACE
            return
        body, instance.warned_of = sent.answer.body, ""
        if not body["spec"]["holderIdentity"]:
            return
        if sent.applied:
            instance.must_stop, instance.rests_on, instance.term = False, sent.applied, sent.term
        elif sent.term is None or sent.term.process is not instance:
            instance.must_stop, instance.warned_of = True, body["metadata"]["uid"]

    def _check(self) -> None:
        """Check that nobody leads beside another without excuse, or against better knowledge."""
        leaders = sorted(self.leaders, key=lambda one: one.rests_on)
        assert not any(one.must_stop for one in leaders), "acts although it knows better"
        for index, first in enumerate(leaders):
            for second in leaders[index + 1 :]:
                assert self._may_follow(first.rests_on, second.term), (
                    f"two leaders at {self.now}: {first.trait} and {second.trait}"
                )

    def _may_follow(self, first: int, second: InFlight | None) -> bool:
        """Say whether somebody excuses a leader beside one that rests on change number *first*."""
        assert second is not None
        return any(
            first < at < second.applied
            and (not deleted_uid or second.sent < at or second.warned_of != deleted_uid)
            for at, deleted_uid in self._meddling
        )

    def _check_write(self, sent: InFlight, before: Object | None) -> bool:
        """Check what an instance has written over *before*; return whether it goes on holding."""
        after = self.lease
        assert after is not None
        new, identity = after["spec"], sent.process.trait.identity
        if before is None:
            assert new["holderIdentity"] == identity
            return False
        assert "resourceVersion" in sent.request.body["metadata"], "overwrites what it did not read"
        assert _noted(before) == _noted(after), "loses what others noted"
        old = before["spec"]
        is_own = self._term is not None and self._term.process is sent.process
        is_renewal: bool = new["acquireTime"] == old["acquireTime"]
        if not new["holderIdentity"]:
            assert is_own, "gives back what it does not hold"
            assert new["leaseTransitions"] == old["leaseTransitions"]
            return False
        assert new["holderIdentity"] == identity
        assert is_own or not is_renewal, "renews what somebody else wrote"
        assert new["leaseTransitions"] == old["leaseTransitions"] + (0 if is_renewal else 1)
        return is_renewal


def _noted(body: Object) -> Object:
    return {key: kept for key, kept in body["metadata"].items() if key != "resourceVersion"}
