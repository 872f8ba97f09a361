"""The election against everything that can happen to a process, a request or the lease.

What is guaranteed, and what is not, stands at the top of `tests.unit.leader.world`.
"""

from collections.abc import Callable, Sequence
from random import Random
from typing import TypeVar

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule

from tests.unit.leader.process import Durations, Trait
from tests.unit.leader.world import World

T = TypeVar("T")

DURATIONS = [
    Durations(),
    Durations(lease_seconds=20, deadline_seconds=10.0, retry_seconds=2.0),
    Durations(lease_seconds=3, deadline_seconds=2.5, retry_seconds=0.5),
]
OFFSETS_SECONDS = [0.0, 7.3, 1e6]
RATES = [0.98, 1.0, 1.02]
LEASE_SECONDS = [None, 1, 8, 20]
PAUSES_SECONDS = [0.1, 0.5, 1.0, 3.0, 5.0, 8.0, 30.0]
LATENCIES_SECONDS = [0.0, 0.05, 0.4]
WALL_JUMPS_SECONDS = [-3600.0, -1.0, 0.3, 86400.0]

places = st.integers(0, 11)


def chosen(among: Sequence[T], place: int) -> T:
    return among[place % len(among)]


def traits(offsets: Sequence[float], rates: Sequence[float], *, sharing: bool) -> list[Trait]:
    """Return as many candidates as there are offsets; the first two may share their identity."""
    identities = ["a", "a" if sharing else "b", "c", "d"]
    return [
        Trait(identity=identity, offset_seconds=offset, rate=rate)
        for identity, offset, rate in zip(identities, offsets, rates, strict=False)
    ]


class ElectionMachine(RuleBasedStateMachine):
    """Each rule moves one candidate, one request, the lease or the time."""

    world: World

    @initialize(
        durations=st.sampled_from(DURATIONS),
        offsets=st.lists(st.sampled_from(OFFSETS_SECONDS), min_size=2, max_size=4),
        rates=st.lists(st.sampled_from(RATES), min_size=4, max_size=4),
        sharing=st.booleans(),
    )
    def start(
        self, durations: Durations, offsets: list[float], rates: list[float], *, sharing: bool
    ) -> None:
        self.world = World(traits(offsets, rates, sharing=sharing), durations)

    @precondition(lambda self: self.world.idle)
    @rule(place=places)
    def a_step_begins(self, place: int) -> None:
        self.world.begin(chosen(self.world.idle, place))

    @precondition(lambda self: self.world.live)
    @rule(place=places)
    def a_step_is_finished(self, place: int) -> None:
        candidate = chosen(self.world.live, place)
        if candidate.coroutine is None:
            self.world.begin(candidate)
        self.world.finish(candidate)

    @precondition(lambda self: self.world.unapplied)
    @rule(place=places)
    def a_request_takes_effect(self, place: int) -> None:
        self.world.apply(chosen(self.world.unapplied, place))

    @precondition(lambda self: self.world.waiting)
    @rule(place=places)
    def an_answer_arrives(self, place: int) -> None:
        self.world.answer(chosen(self.world.waiting, place))

    @precondition(lambda self: self.world.waiting)
    @rule(place=places)
    def an_answer_is_lost(self, place: int) -> None:
        self.world.lose_answer(chosen(self.world.waiting, place))

    @precondition(lambda self: self.world.abandoned)
    @rule(place=places)
    def a_request_is_lost(self, place: int) -> None:
        self.world.drop(chosen(self.world.abandoned, place))

    @rule(seconds=st.sampled_from(PAUSES_SECONDS))
    def nobody_does_anything(self, seconds: float) -> None:
        self.world.pass_time(seconds)

    @rule(
        stopped=st.sets(places, max_size=2),
        seconds=st.sampled_from(PAUSES_SECONDS),
        latency=st.sampled_from(LATENCIES_SECONDS),
    )
    def all_goes_well(self, stopped: set[int], seconds: float, latency: float) -> None:
        candidates = self.world.candidates
        working = [one for place, one in enumerate(candidates) if place not in stopped]
        self.world.run(working, seconds, latency)

    @precondition(lambda self: self.world.live)
    @rule(place=places, moves=st.integers(1, 5), seconds=st.sampled_from(PAUSES_SECONDS))
    def a_candidate_is_stopped_in_a_step(self, place: int, moves: int, seconds: float) -> None:
        self.world.stop(chosen(self.world.live, place), moves, seconds)

    @precondition(lambda self: self.world.live)
    @rule(place=places)
    def a_candidate_gives_the_lease_back(self, place: int) -> None:
        self.world.release(chosen(self.world.live, place))

    @precondition(lambda self: self.world.live)
    @rule(place=places)
    def a_candidate_becomes_able_or_unable_to_lead(self, place: int) -> None:
        candidate = chosen(self.world.live, place)
        candidate.may_lead = not candidate.may_lead

    @precondition(lambda self: self.world.live)
    @rule(place=places, is_renamed=st.booleans())
    def a_candidate_is_restarted(self, place: int, *, is_renamed: bool) -> None:
        candidate = chosen(self.world.live, place)
        identity = candidate.trait.identity
        self.world.replace(candidate, f"{identity}'" if is_renamed else identity)

    @precondition(lambda self: len(self.world.live) > 1)
    @rule(place=places)
    def a_candidate_is_gone_for_good(self, place: int) -> None:
        self.world.retire(chosen(self.world.live, place))

    @precondition(lambda self: self.world.live)
    @rule(place=places, seconds=st.sampled_from(WALL_JUMPS_SECONDS))
    def a_wall_clock_jumps(self, place: int, seconds: float) -> None:
        chosen(self.world.live, place).wall_offset_seconds += seconds

    @precondition(lambda self: self.world.lease)
    @rule()
    def somebody_annotates_the_lease(self) -> None:
        self.world.annotate()

    @precondition(lambda self: self.world.lease)
    @rule(duration=st.sampled_from(LEASE_SECONDS))
    def somebody_names_a_stranger(self, duration: int | None) -> None:
        self.world.name_stranger(duration)

    @precondition(lambda self: self.world.lease)
    @rule(duration=st.sampled_from(LEASE_SECONDS))
    def somebody_changes_the_duration(self, duration: int | None) -> None:
        self.world.change_duration(duration)

    @precondition(lambda self: self.world.lease)
    @rule(place=places)
    def somebody_renews_in_a_candidates_name(self, place: int) -> None:
        self.world.impersonate(chosen(self.world.candidates, place))

    @precondition(lambda self: self.world.lease)
    @rule()
    def somebody_empties_the_lease(self) -> None:
        self.world.empty()

    @precondition(lambda self: self.world.lease)
    @rule()
    def somebody_deletes_the_lease(self) -> None:
        self.world.delete()

    @rule()
    def the_faults_end(self) -> None:
        self.world.settle()
        self.world.check_recovery()
        if len(self.world.live) > 1:
            self.world.check_hand_over()


TestElection = ElectionMachine.TestCase
TestElection.settings = settings(max_examples=60, stateful_step_count=40, deadline=None)


def walk(random: Random, moves: int) -> World:
    """Make as many moves at random; cheaper than the machine, which finds shorter failures."""
    count = random.randint(2, 4)
    offsets, rates = random.choices(OFFSETS_SECONDS, k=count), random.choices(RATES, k=count)
    world = World(traits(offsets, rates, sharing=random.random() < 0.3), random.choice(DURATIONS))
    for _ in range(moves):
        random.choices(_MOVES, _WEIGHTS)[0](world, random)
    world.settle()
    world.check_recovery()
    if len(world.live) > 1:
        world.check_hand_over()
    return world


def _work(world: World, random: Random) -> None:
    working = random.sample(world.candidates, random.randint(1, len(world.candidates)))
    world.run(working, random.choice(PAUSES_SECONDS), random.choice(LATENCIES_SECONDS))


def _go_on(world: World, random: Random) -> None:
    world.go_on(random.choice(world.live))


def _apply(world: World, random: Random) -> None:
    if world.unapplied:
        world.apply(random.choice(world.unapplied))


def _lose(world: World, random: Random) -> None:
    if world.waiting:
        world.lose_answer(random.choice(world.waiting))
    if len(world.abandoned) > 4:
        world.drop(random.choice(world.abandoned))


def _stop(world: World, random: Random) -> None:
    candidate = random.choice(world.live)
    world.stop(candidate, random.randint(1, 5), random.choice(PAUSES_SECONDS))


def _end(world: World, random: Random) -> None:
    candidate = random.choice(world.live)
    if random.random() < 0.5:
        world.release(candidate)
    elif len(world.live) > 2 and random.random() < 0.2:
        world.retire(candidate)
    else:
        world.replace(candidate, random.choice(["a", "b", "c", "e"]))


def _change(world: World, random: Random) -> None:
    candidate = random.choice(world.live)
    candidate.may_lead = random.random() < 0.8
    candidate.wall_offset_seconds += random.choice(WALL_JUMPS_SECONDS)


def _meddle(world: World, random: Random) -> None:
    meddling: list[Callable[[], None]] = [
        world.annotate,
        world.annotate,
        lambda: world.name_stranger(random.choice(LEASE_SECONDS)),
        lambda: world.change_duration(random.choice(LEASE_SECONDS)),
        lambda: world.impersonate(random.choice(world.candidates)),
        world.empty,
        world.delete,
        world.delete,
    ]
    random.choice(meddling)()


_MOVES: list[Callable[[World, Random], None]] = [
    _go_on,
    _apply,
    _lose,
    lambda world, random: world.pass_time(random.choice(PAUSES_SECONDS)),
    _work,
    _stop,
    _end,
    _change,
    _meddle,
]
_WEIGHTS = [10, 4, 2, 3, 3, 1, 1, 1, 1]


@pytest.mark.parametrize("seed", range(8))
def test_no_random_walk_finds_two_leaders_or_none(seed: int) -> None:
    random = Random(seed)

    for _ in range(25):
        walk(random, moves=80)


def test_two_leaders_are_noticed_when_a_clock_goes_at_half_speed() -> None:
    world = World([Trait(identity="slow", rate=0.5), Trait(identity="b")], Durations())
    slow, other = world.candidates
    world.run([slow, other], 1.0, 0.0)
    assert world.leaders == [slow]

    with pytest.raises(AssertionError, match="two leaders"):
        world.run([other], 9.0, 0.0)


@pytest.mark.parametrize(
    ("meddle", "is_excused"),
    [
        pytest.param(World.empty, True, id="emptied"),
        pytest.param(lambda world: world.name_stranger(1), True, id="a-short-stranger"),
        pytest.param(lambda world: world.name_stranger(8), False, id="a-stranger"),
        pytest.param(World.delete, False, id="deleted"),
        pytest.param(World.annotate, False, id="annotated"),
    ],
)
def test_what_leaves_two_leaders_until_the_first_ones_deadline(
    meddle: Callable[[World], None], *, is_excused: bool
) -> None:
    world = World([Trait(identity="a"), Trait(identity="b")], Durations())
    stopped, other = world.candidates
    world.run([stopped, other], 1.0, 0.0)
    assert world.leaders == [stopped]
    meddle(world)

    world.run([other], 4.0, 0.0)
    assert (world.overlaps > 0) is is_excused
    world.run([other], 5.0 + Durations().lease_seconds, 0.0)
    assert world.leaders == [other]
