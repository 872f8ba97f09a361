"""The election against everything that can happen to a process, a request or the lease.

What is guaranteed, and what is not, stands at the top of `tests.unit.leader.world`.
"""

from collections.abc import Sequence
from typing import Any, TypeVar

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule

from leader import LeaseSettings
from tests.effort import examples
from tests.unit.leader.leases import lease_settings
from tests.unit.leader.world import Trait, World

T = TypeVar("T")

SETTINGS = [
    lease_settings(),
    lease_settings(duration=20, renew_deadline=10.0, retry=2.0),
    lease_settings(duration=3, renew_deadline=2.5, retry=0.5),
]
OFFSETS_SECONDS = [0.0, 7.3, 1e6]
RATES = [0.98, 1.0, 1.02]
WALL_JUMPS_SECONDS = [-3600.0, -1.0, 0.3, 86400.0]

places = st.integers(0, 11)
pauses_seconds = st.sampled_from([0.1, 0.5, 1.0, 3.0, 5.0, 8.0, 30.0])
short_and_long = st.sampled_from([None, 1, 8, 20])
edits: st.SearchStrategy[dict[str, Any]] = st.one_of(
    st.just({}),  # annotates it
    st.just({"holderIdentity": ""}),
    st.fixed_dictionaries({"leaseDurationSeconds": short_and_long}),
    st.fixed_dictionaries(
        {"holderIdentity": st.just("stranger"), "leaseDurationSeconds": short_and_long}
    ),
)


def chosen(among: Sequence[T], place: int) -> T:
    return among[place % len(among)]


class ElectionMachine(RuleBasedStateMachine):
    """Each rule moves one instance, one request, the lease or the time."""

    world: World

    @initialize(
        settings_=st.sampled_from(SETTINGS),
        offsets=st.lists(st.sampled_from(OFFSETS_SECONDS), min_size=2, max_size=4),
        rates=st.lists(st.sampled_from(RATES), min_size=4, max_size=4),
        sharing=st.booleans(),
    )
    def start(
        self, settings_: LeaseSettings, offsets: list[float], rates: list[float], *, sharing: bool
    ) -> None:
        """Start as many instances as there are offsets; two may share their identity."""
        identities = ["a", "a" if sharing else "b", "c", "d"]
        traits = [
            Trait(identity=identity, offset_seconds=offset, rate=rate)
            for identity, offset, rate in zip(identities, offsets, rates, strict=False)
        ]
        self.world = World(traits, settings_)

    @rule(place=places)
    def an_instance_goes_on(self, place: int) -> None:
        self.world.go_on(chosen(self.world.instances, place))

    @rule(place=places)
    def a_step_is_finished(self, place: int) -> None:
        instance = chosen(self.world.instances, place)
        self.world.go_on(instance)
        self.world.finish(instance)

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

    @rule(seconds=pauses_seconds)
    def nobody_does_anything(self, seconds: float) -> None:
        self.world.pass_time(seconds)

    @rule(
        stopped=st.sets(places, max_size=2),
        seconds=pauses_seconds,
        latency=st.sampled_from([0.0, 0.05, 0.4]),
    )
    def all_goes_well(self, stopped: set[int], seconds: float, latency: float) -> None:
        instances = self.world.instances
        working = [one for place, one in enumerate(instances) if place not in stopped]
        self.world.run(working, seconds, latency)

    @rule(place=places, moves=st.integers(1, 5), seconds=pauses_seconds)
    def an_instance_is_stopped_in_a_step(self, place: int, moves: int, seconds: float) -> None:
        """Let the others work in the meantime."""
        instance = chosen(self.world.instances, place)
        for _ in range(moves):
            self.world.go_on(instance)
        others = [one for one in self.world.instances if one is not instance]
        self.world.run(others, seconds, 0.0)
        self.world.finish(instance)

    @rule(place=places)
    def an_instance_gives_the_lease_back(self, place: int) -> None:
        self.world.release(chosen(self.world.instances, place))

    @rule(place=places)
    def an_instance_becomes_able_or_unable_to_lead(self, place: int) -> None:
        instance = chosen(self.world.instances, place)
        instance.may_lead = not instance.may_lead

    @rule(place=places, is_renamed=st.booleans())
    def an_instance_is_restarted(self, place: int, *, is_renamed: bool) -> None:
        instance = chosen(self.world.instances, place)
        identity = instance.trait.identity
        self.world.replace(instance, f"{identity}'" if is_renamed else identity)

    @rule(place=places, seconds=st.sampled_from(WALL_JUMPS_SECONDS))
    def a_wall_clock_jumps(self, place: int, seconds: float) -> None:
        chosen(self.world.instances, place).wall_offset_seconds += seconds

    @precondition(lambda self: self.world.lease)
    @rule(spec=edits)
    def somebody_edits_the_lease(self, spec: dict[str, Any]) -> None:
        self.world.edit(**spec)

    @precondition(lambda self: self.world.lease)
    @rule(place=places, microsecond=st.integers(0, 999_999))
    def somebody_renews_in_an_instances_name(self, place: int, microsecond: int) -> None:
        identity = chosen(self.world.instances, place).trait.identity
        renewed = f"2020-01-01T00:00:00.{microsecond:06}Z"
        self.world.edit(holderIdentity=identity, renewTime=renewed)

    @precondition(lambda self: self.world.lease)
    @rule()
    def somebody_deletes_the_lease(self) -> None:
        self.world.delete()

    @rule()
    def the_faults_end(self) -> None:
        self.world.settle()
        self.world.check_recovery()
        self.world.check_hand_over()


TestElection = ElectionMachine.TestCase
TestElection.settings = settings(max_examples=examples(60), stateful_step_count=40, deadline=None)
