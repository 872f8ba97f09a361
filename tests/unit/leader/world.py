"""Candidates for one lease, moved one request at a time, and what the lease must guarantee.

Everything is decided by whoever calls: when a request reaches the lease (maybe long after its
client gave up), whether its answer arrives, and when a candidate goes on; one that is not called
while time passes is a process that is stopped. Each has a clock with an offset and a rate of its
own, and a wall clock that jumps.

The guarantee. At no time do two candidates lead, unless somebody who is no candidate has

- emptied the holder, or left a record that runs out before a leader stops acting by itself, or
- deleted the lease, and the second leader had not seen that very lease held by another one: it had
  seen none, or a free one, or one that it held itself, or its request was under way by then.

Nothing in the lease told the second leader of the first in these cases. Even then the first rests
on a write from before, and stops at its next renewal, which is refused, or at its renew deadline.
Merely annotating the lease, or naming a stranger in it, excuses nothing.
"""

from collections.abc import Callable, Sequence

import msgspec

from leader import Collection, Conflict, Stored
from tests.unit.leader.leases import NAME
from tests.unit.leader.process import Durations, InFlight, Meddling, Process, Sight, Term, Trait
from tests.unit.leader.store import UNANSWERED, Answer, Object, Objects, Verb

_LONGEST_STEP_SECONDS = 0.25
_INSTANT_SECONDS = 1e-6


class World:
    """The candidates, the lease and the time."""

    def __init__(self, traits: Sequence[Trait], durations: Durations) -> None:
        self.now = 0.0
        self.durations = durations
        self._objects = Objects()
        self._processes_started = 0
        self._changes = 0
        self._writer: Process | None = None
        self._term: Term | None = None
        self._meddling: list[Meddling] = []
        self.in_flight: list[InFlight] = []
        self.candidates = [self._start(trait) for trait in traits]
        self.overlaps = 0
        """How often two leaders were seen and excused."""

    @property
    def lease(self) -> Object | None:
        return self._objects.get(Collection.LEASES, NAME)

    @property
    def leaders(self) -> list[Process]:
        return [candidate for candidate in self.candidates if candidate.is_leading]

    @property
    def live(self) -> list[Process]:
        return [candidate for candidate in self.candidates if not candidate.is_retired]

    @property
    def idle(self) -> list[Process]:
        return [candidate for candidate in self.live if candidate.coroutine is None]

    @property
    def waiting(self) -> list[Process]:
        return [candidate for candidate in self.live if candidate.waits_for is not None]

    @property
    def unapplied(self) -> list[InFlight]:
        return [sent for sent in self.in_flight if sent.answer is None]

    @property
    def abandoned(self) -> list[InFlight]:
        """Requests that may still be applied though nobody waits for them."""
        return [sent for sent in self.unapplied if sent.process.waits_for is not sent]

    def begin(self, candidate: Process) -> None:
        """Let a candidate that waits for nothing take its next step."""
        assert candidate.coroutine is None
        candidate.coroutine = candidate.election.step()
        self._resume(candidate, None)

    def release(self, candidate: Process) -> None:
        """Let a candidate give the lease back, cancelling what it is doing."""
        self._cancel(candidate)
        candidate.coroutine = candidate.election.release()
        self._resume(candidate, None)

    def replace(self, candidate: Process, identity: str) -> None:
        """Kill a candidate; another process starts in its stead."""
        self._cancel(candidate)
        trait = msgspec.structs.replace(candidate.trait, identity=identity)
        self.candidates[self.candidates.index(candidate)] = self._start(trait)
        self.check()

    def retire(self, candidate: Process) -> None:
        """Kill a candidate for good."""
        self._cancel(candidate)
        candidate.is_retired = True
        self.check()

    def go_on(self, candidate: Process) -> None:
        """Do whatever comes next for a candidate, if all goes well."""
        sent = candidate.waits_for
        if sent is None:
            self.begin(candidate)
        elif sent.answer is None:
            self.apply(sent)
        else:
            self.answer(candidate)

    def finish(self, candidate: Process) -> None:
        """Let a candidate end its step, with every request answered at once."""
        while candidate.coroutine is not None:
            self.go_on(candidate)

    def apply(self, sent: InFlight) -> None:
        """Let a request take effect."""
        before = self.lease
        answer = self._objects.apply(sent.request)
        sent.answer = answer
        if sent.request.verb is not Verb.READ and isinstance(answer, Stored):
            self._changes += 1
            is_renewal = self._check_write(sent, before)
            if not self._holder():
                self._writer, self._term = None, None
            elif not is_renewal:
                self._writer = sent.process
                self._term = Term(
                    process=sent.process.number,
                    sent=sent.sent,
                    applied=self._changes,
                    sight=sent.sight,
                    seen_uid=sent.seen_uid,
                )
            sent.applied, sent.term = self._changes, self._term
        sent.writer = self._writer
        self.check()

    def answer(self, candidate: Process) -> None:
        """Deliver the answer that a candidate waits for."""
        sent = candidate.waits_for
        assert sent is not None
        if sent.answer is None:
            self.apply(sent)
        assert sent.answer is not None
        self._see(candidate, sent)
        self.in_flight.remove(sent)
        self._resume(candidate, sent.answer)

    def lose_answer(self, candidate: Process) -> None:
        """Let a candidate give up its request, which may still take effect."""
        assert candidate.waits_for is not None
        if candidate.waits_for.answer is not None:
            self.in_flight.remove(candidate.waits_for)
        self._resume(candidate, UNANSWERED)

    def drop(self, sent: InFlight) -> None:
        """Let a request that nobody waits for be lost."""
        self.in_flight.remove(sent)

    def annotate(self) -> None:
        """Change what has nothing to do with leadership."""

        def change(body: Object) -> None:
            notes = body["metadata"].setdefault("annotations", {})
            notes["note"] = str(self._changes)

        self._edit(change)

    def name_stranger(self, duration: int | None) -> None:
        """Make the lease somebody's who is no candidate."""

        def change(body: Object) -> None:
            body["spec"] |= {"holderIdentity": "stranger", "leaseDurationSeconds": duration}

        self._writer, self._term = None, None
        self._edit(change)
        self._note_if_short(duration)

    def change_duration(self, duration: int | None) -> None:
        """Leave the holder, for as long as is said."""

        def change(body: Object) -> None:
            body["spec"]["leaseDurationSeconds"] = duration

        self._edit(change)
        self._note_if_short(duration)

    def impersonate(self, candidate: Process) -> None:
        """Renew the lease in a candidate's name."""

        def change(body: Object) -> None:
            body["spec"]["holderIdentity"] = candidate.trait.identity
            body["spec"]["renewTime"] = f"2020-01-01T00:00:00.{self._changes % 10**6:06}Z"

        self._writer, self._term = None, None
        self._edit(change)
        self._note_if_short(self._duration())

    def empty(self) -> None:
        """Leave the lease without a holder."""

        def change(body: Object) -> None:
            body["spec"]["holderIdentity"] = ""

        self._writer, self._term = None, None
        self._edit(change)
        self._meddling.append(Meddling(at=self._changes))

    def delete(self) -> None:
        """Delete the lease."""
        body = self.lease
        if body is None:
            return
        self._changes += 1
        self._writer, self._term = None, None
        self._objects.remove(Collection.LEASES, NAME)
        self._meddling.append(Meddling(at=self._changes, deleted_uid=body["metadata"]["uid"]))
        self.check()

    def pass_time(self, seconds: float) -> None:
        """Let time pass while nobody does anything."""
        end = self.now + seconds
        while self.now < end:
            led = self.leaders
            self.now = min(end, self.now + _LONGEST_STEP_SECONDS)
            assert all(leader in led for leader in self.leaders), "nobody begins to lead by waiting"
            self.check()

    def run(self, candidates: Sequence[Process], seconds: float, latency_seconds: float) -> None:
        """Let some candidates work as they should; the others are stopped."""
        end = self.now + seconds
        live = [candidate for candidate in candidates if not candidate.is_retired]
        while live:
            candidate = min(live, key=lambda one: one.next_at)
            if candidate.next_at > end:
                break
            self.pass_time(max(0.0, candidate.next_at - self.now))
            self.go_on(candidate)
            if candidate.coroutine is not None:
                candidate.next_at = self.now + latency_seconds / 2
        self.pass_time(end - self.now)

    def stop(self, candidate: Process, moves: int, seconds: float) -> None:
        """Stop a candidate in the middle of a step, while the others work, and let it end that."""
        for _ in range(moves):
            self.go_on(candidate)
        self.run([one for one in self.candidates if one is not candidate], seconds, 0.0)
        if candidate.coroutine is not None:
            self.finish(candidate)

    def settle(self) -> None:
        """End all faults: requests under way are answered or lost, and everybody may lead."""
        for sent in self.abandoned:
            self.drop(sent)
        for candidate in self.candidates:
            candidate.may_lead = True
            self.finish(candidate)

    def check(self) -> None:
        """Check that nobody leads beside another without excuse, or against better knowledge."""
        leaders = sorted(self.leaders, key=lambda one: one.rests_on)
        assert not any(one.must_stop for one in leaders), "acts although it knows better"
        for index, first in enumerate(leaders):
            for second in leaders[index + 1 :]:
                assert second.term is not None
                assert any(
                    meddling.excuses(first.rests_on, second.term) for meddling in self._meddling
                ), f"two leaders at {self.now}: {first.trait} and {second.trait}"
                self.overlaps += 1

    def check_recovery(self) -> None:
        """Check that somebody leads within lease duration + retry period, and goes on leading.

        All faults must have ended. A stranger's lease may be longer than ours.
        """
        durations, slowest = self.durations, min(one.trait.rate for one in self.candidates)
        lease_seconds = max(self._duration() or 0, durations.lease_seconds)
        bound = (lease_seconds + durations.retry_seconds) / slowest
        self.run(self.candidates, bound + 2 * _INSTANT_SECONDS, 0.0)
        assert len(self.leaders) == 1, "nobody leads"
        leaders = self.leaders

        for _ in range(4):
            self.run(self.candidates, durations.lease_seconds / 2, 0.0)
            assert self.leaders == leaders, "the lead does not last"

    def check_hand_over(self) -> None:
        """Check that the next candidate leads within a retry period of a release."""
        [leader] = self.leaders
        self.release(leader)
        self.finish(leader)
        assert not self.leaders
        others = [one for one in self.candidates if one is not leader and not one.is_retired]

        self.run(others, self.durations.retry_seconds / min(o.trait.rate for o in others), 0.0)

        assert len(self.leaders) == 1, "nobody has followed"
        leader.next_at = self.now

    def _start(self, trait: Trait) -> Process:
        self._processes_started += 1
        return Process(self._processes_started, trait, self.durations, now=lambda: self.now)

    def _cancel(self, candidate: Process) -> None:
        if candidate.coroutine is not None:
            candidate.coroutine.close()
        sent, candidate.coroutine, candidate.waits_for = candidate.waits_for, None, None
        if sent is not None and sent.answer is not None:
            self.in_flight.remove(sent)

    def _resume(self, candidate: Process, answer: Answer | None) -> None:
        assert candidate.coroutine is not None
        candidate.waits_for = None
        try:
            request = candidate.coroutine.send(answer)
        except StopIteration as stop:
            pause = 0.0 if stop.value is None else stop.value
            assert 0 <= pause <= self.durations.retry_seconds
            candidate.coroutine = None
            candidate.next_at = self.now + max(pause / candidate.trait.rate, _INSTANT_SECONDS)
        else:
            candidate.waits_for = InFlight(candidate, request, sent=self._changes)
            self.in_flight.append(candidate.waits_for)
        turns = [True, False] * len(candidate.told)
        assert candidate.told == turns[: len(candidate.told)], "told of changes that were none"
        self.check()

    def _see(self, candidate: Process, sent: InFlight) -> None:
        """Note what an answer tells a candidate."""
        if not isinstance(sent.answer, Stored):
            candidate.must_stop |= isinstance(sent.answer, Conflict)
            candidate.must_stop |= sent.request.verb is Verb.REPLACE
            return
        body = sent.answer.body
        candidate.seen_uid = body["metadata"]["uid"]
        if not body["spec"]["holderIdentity"]:
            candidate.sight = Sight.FREE
        elif sent.applied:
            candidate.sight, candidate.must_stop = Sight.OWN, False
            candidate.rests_on, candidate.term = sent.applied, sent.term
        elif sent.writer is candidate:
            candidate.sight = Sight.OWN
        else:
            candidate.sight, candidate.must_stop = Sight.OTHER, True

    def _holder(self) -> str:
        body = self.lease
        return body["spec"]["holderIdentity"] if body else ""

    def _duration(self) -> int | None:
        body = self.lease
        duration: int | None = body["spec"]["leaseDurationSeconds"] if body else None
        return duration

    def _edit(self, change: Callable[[Object], None]) -> None:
        if self.lease is None:
            return
        self._changes += 1
        self._objects.edit(Collection.LEASES, NAME, change)
        self.check()

    def _note_if_short(self, duration: int | None) -> None:
        """Others take over before the leader stops by itself, if the record says so."""
        if duration is not None and duration <= self.durations.deadline_seconds:
            self._meddling.append(Meddling(at=self._changes))

    def _check_write(self, sent: InFlight, before: Object | None) -> bool:
        """Check what a candidate has written over *before*; return whether it goes on holding."""
        after = self.lease
        assert after is not None
        if before is None:
            assert after["spec"]["holderIdentity"] == sent.process.trait.identity
            return False
        assert "resourceVersion" in sent.request.body["metadata"], "overwrites what it did not read"
        assert _noted(before) == _noted(after), "loses what others noted"
        old, new = before["spec"], after["spec"]
        is_own = self._writer is sent.process
        is_renewal: bool = new["acquireTime"] == old["acquireTime"]
        if not new["holderIdentity"]:
            assert is_own, "gives back what it does not hold"
            assert new["leaseTransitions"] == old["leaseTransitions"]
            return False
        assert new["holderIdentity"] == sent.process.trait.identity
        assert is_own or not is_renewal, "renews what somebody else wrote"
        assert new["leaseTransitions"] == old["leaseTransitions"] + (0 if is_renewal else 1)
        return is_renewal


def _noted(body: Object) -> Object:
    return {key: kept for key, kept in body["metadata"].items() if key != "resourceVersion"}
