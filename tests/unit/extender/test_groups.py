"""Members of a PodGroup: asked about one by one, while no node of theirs shows."""

from collections.abc import Iterable, Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from extender import Answer, Balance, ClusterView, Extender, Mode
from extender.holds import Asked, End, Sighting, State, Timeouts
from extender.kubernetes import GroupKey
from extender.verdicts.rejections import MemberElsewhere
from extender.verdicts.shortages import InsufficientStorage, RoomHeld
from longhorn import Locality, NodeName, Volume
from tests.builders import (
    GENEROUS,
    GIB,
    bound,
    disk,
    node,
    pod,
    replica,
    view_of,
    volume,
)

GROUP = GroupKey("default/gang")
OTHER = GroupKey("elsewhere/gang")
TIMEOUTS = Timeouts(choosing_seconds=5.0, placing_seconds=5.0)


class Attempts:
    """kube-scheduler's attempts at groups on a cluster; each member has one volume of its name.

    Attributes:
        extender: Answers and holds.
        view: Some nodes, and the volumes.
    """

    def __init__(
        self,
        volumes: Sequence[Volume],
        disks: Iterable[int] = (100, 100, 100, 100),
        *,
        mode: Mode = Mode.CAPACITY,
        balance: Balance = Balance.SPREAD,
    ) -> None:
        self.extender = Extender(GENEROUS, mode, balance)
        nodes = [
            node(f"node-{number}", disk(maximum_bytes=gib * GIB))
            for number, gib in enumerate(disks, start=1)
        ]
        self.view: ClusterView = view_of(*nodes, *bound(*volumes))

    def ask(
        self,
        name: str,
        *nodes: str,
        now: float = 0.0,
        group: GroupKey | None = GROUP,
    ) -> Answer:
        """Ask about a member, and hold what is answered."""
        candidates = [NodeName(each) for each in nodes or sorted(self.view.spaces)]
        answer = self.extender.filter(pod(name, name=name), candidates, self.view)
        if group is not None:
            answer = self.extender.for_member(answer)
        self.extender.hold(
            answer,
            Asked(group=group),
            timeouts=TIMEOUTS,
            now=now,
        )
        return answer

    def ask_all(self, names: Iterable[str], now: float = 0.0) -> list[str | None]:
        """Ask about one after another; return the node of each, None if it got none."""
        return [next(iter(self.ask(name, now=now).accepted), None) for name in names]

    def settle(self, now: float) -> dict[str, End]:
        """Return which holds are over by now, and how they ended."""
        outcome = self.extender.ledger.settle(self.view, TIMEOUTS, now)
        return {each.hold.pod.name: each.why for each in outcome.ended}


def of_gib(**sizes: int) -> list[Volume]:
    return [volume(name, size_bytes=gib * GIB) for name, gib in sizes.items()]


FOUR = ("m1", "m2", "m3", "m4")
FIVE = (*FOUR, "m5")
ALIKE = of_gib(**dict.fromkeys(FIVE, 60))


def test_members_that_fit_exactly_get_a_node_each():
    attempts = Attempts(ALIKE)

    found = attempts.ask_all(FOUR)

    assert sorted(map(str, found)) == ["node-1", "node-2", "node-3", "node-4"]


def test_without_a_group_the_first_would_be_in_the_way_of_the_second_everywhere():
    attempts = Attempts(ALIKE)
    assert len(attempts.ask("m1", group=None).accepted) == 4

    assert attempts.ask("m2", group=None).is_open


def test_one_member_too_many_gets_no_node_and_need_not_wait():
    attempts = Attempts(ALIKE)
    attempts.ask_all(FOUR)

    last = attempts.ask("m5")

    assert last.accepted == []
    assert {*last.rejected.values()} == {RoomHeld(by_open=False)}
    assert not last.is_open


def test_a_member_is_held_for_on_its_node_alone():
    attempts = Attempts(ALIKE)

    answer = attempts.ask("m1")
    hold = attempts.extender.ledger.get("uid-m1")

    assert hold is not None
    assert (hold.state, hold.group, hold.named_by) == (State.CHOSEN, GROUP, None)
    assert [*hold.nodes] == answer.accepted
    assert [*answer.rejected.values()] == [MemberElsewhere()] * 3


def test_a_member_gets_the_best_of_its_nodes_and_what_does_not_fit_says_why():
    attempts = Attempts(of_gib(m1=20), disks=[40, 10, 100, 100])

    answer = attempts.ask("m1")

    assert answer.accepted == ["node-3"]
    assert answer.rejected == {
        "node-1": MemberElsewhere(),
        "node-2": InsufficientStorage(size_bytes=20 * GIB),
        "node-4": MemberElsewhere(),
    }


def test_several_members_share_a_node_as_far_as_there_is_room():
    attempts = Attempts(of_gib(**dict.fromkeys(FIVE, 40)), disks=[100, 80])

    found = attempts.ask_all(FIVE)

    assert sorted(map(str, found)) == ["None", "node-1", "node-1", "node-2", "node-2"]


def test_a_member_goes_where_kube_scheduler_lets_it():
    """What is taken of a node besides room on disks shows in the candidates."""
    attempts = Attempts(of_gib(**dict.fromkeys(FIVE, 10)))

    assert attempts.ask("m1", "node-2", "node-3").accepted == ["node-2"]
    assert attempts.ask("m2", "node-3").accepted == ["node-3"]


def test_members_that_are_not_alike_do_not_overfill_a_node():
    attempts = Attempts(of_gib(large=90, small=20, middle=70), disks=[100, 100])

    assert attempts.ask_all(["large", "small", "middle"]) == ["node-1", "node-2", "node-2"]


def test_a_member_that_is_not_of_the_group_is_refused_what_members_take():
    attempts = Attempts(ALIKE)
    attempts.ask_all(FOUR)

    assert attempts.ask("m5", group=None).accepted == []
    assert attempts.ask("m5", group=OTHER).accepted == []


def test_a_member_that_is_asked_about_twice_is_not_in_its_own_way():
    attempts = Attempts(ALIKE)
    attempts.ask_all(FOUR)

    again = attempts.ask("m2", now=1.0)

    assert len(again.accepted) == 1
    assert len(attempts.extender.ledger) == 4


def test_the_next_attempt_finds_all_nodes_again():
    """What was held for the attempt before may still be; each finds at least its own place free."""
    attempts = Attempts(ALIKE)
    attempts.ask_all(FIVE)

    found = attempts.ask_all(FIVE, now=1.0)

    assert sorted(map(str, found)) == ["None", "node-1", "node-2", "node-3", "node-4"]


def test_in_the_next_attempt_there_is_one_more_node():
    attempts = Attempts(ALIKE, disks=[100, 100, 100, 100, 100])
    for name in FOUR:
        attempts.ask(name, "node-1", "node-2", "node-3", "node-4")

    found = attempts.ask_all(["m5", *FOUR], now=1.0)

    assert sorted(map(str, found)) == ["node-1", "node-2", "node-3", "node-4", "node-5"]


def test_a_member_with_data_goes_back_to_any_of_its_nodes():
    """It needs no room there, so nobody needs to know on which of them it is."""
    [first, *_] = ALIKE
    copies = [
        replica(f"m1-r-{number}", of="m1", on=f"node-{number}", size_bytes=60 * GIB)
        for number in (2, 3)
    ]
    attempts = Attempts(ALIKE)
    twice = volume("m1", size_bytes=first.size_bytes, replicas=2)
    nodes = [node(f"node-{number}") for number in range(1, 5)]
    attempts.view = view_of(*nodes, *copies, *bound(twice, *ALIKE[1:]))

    found = [attempts.ask(name).accepted for name in FOUR]

    assert found == [["node-2", "node-3"], ["node-1"], ["node-4"], []]


def test_a_member_whose_volumes_need_nothing_on_its_node_may_go_anywhere():
    attempts = Attempts([volume("m1", locality=Locality.DISABLED)])

    assert len(attempts.ask("m1").accepted) == 4


def test_in_mode_node_each_member_gets_a_node_of_its_own():
    attempts = Attempts(of_gib(**dict.fromkeys(FIVE, 10)), mode=Mode.NODE)

    found = attempts.ask_all(FIVE)

    assert sorted(map(str, found)) == ["None", "node-1", "node-2", "node-3", "node-4"]


def test_the_time_of_all_members_runs_from_the_last_answer():
    attempts = Attempts(ALIKE)
    for now, name in enumerate(FOUR):
        attempts.ask(name, now=2.0 * now)

    assert attempts.settle(10.9) == {}
    assert attempts.settle(11.0) == dict.fromkeys(FOUR, End.NOT_BOUND)


def test_a_member_that_got_no_node_keeps_nobody_waiting():
    attempts = Attempts(ALIKE)
    attempts.ask_all(FOUR)
    attempts.ask("m5", now=4.0)

    assert attempts.settle(5.0) == dict.fromkeys(FOUR, End.NOT_BOUND)


@pytest.mark.parametrize("group", [OTHER, None], ids=["same-name-elsewhere", "no-group"])
def test_other_pods_keep_a_group_no_longer(group):
    attempts = Attempts(ALIKE)
    attempts.ask("m1")
    attempts.ask("m2", now=4.0, group=group)

    assert attempts.settle(5.0) == {"m1": End.NOT_BOUND}


def test_a_refusal_of_the_attempt_before_does_not_end_this_one():
    """It may be seen late: kube-scheduler does not wait for its own writes."""
    attempts = Attempts(ALIKE)
    attempts.ask("m1")
    attempts.extender.ledger.see("uid-m1", Sighting(refused=True), 1.0)
    attempts.ask("m2", now=2.5)

    assert attempts.settle(3.0) == {}
    assert attempts.settle(4.5) == {"m1": End.UNSCHEDULED}


def test_a_group_that_was_refused_is_held_for_two_seconds():
    attempts = Attempts(ALIKE)
    attempts.ask_all(FOUR)
    for name in FOUR:
        attempts.extender.ledger.see(f"uid-{name}", Sighting(refused=True), 0.5)

    assert attempts.settle(2.5) == dict.fromkeys(FOUR, End.UNSCHEDULED)


def test_a_member_that_is_bound_has_its_own_time():
    attempts = Attempts(ALIKE)
    attempts.ask("m1")
    attempts.extender.ledger.see("uid-m1", Sighting(node=NodeName("node-1")), 1.0)
    attempts.ask("m2", now=4.0)

    assert attempts.settle(6.0) == {"m1": End.NOT_PLACED}


sizes = st.integers(min_value=1, max_value=10)
attempts_at = st.tuples(
    st.lists(sizes, min_size=1, max_size=7),
    st.lists(st.integers(min_value=1, max_value=12), min_size=1, max_size=5),
    st.lists(st.integers(min_value=0, max_value=6), max_size=14),
    st.sampled_from(Balance),
)


@given(attempts_at)
def test_whatever_is_asked_in_which_order_no_node_is_overfilled(case):
    """In whatever attempts members are asked about, some of them again."""
    members, disks, asked, balance = case
    volumes = of_gib(**{f"m{number}": gib for number, gib in enumerate(members)})
    attempts = Attempts(volumes, disks, balance=balance)
    for number in asked:
        attempts.ask(f"m{number % len(members)}")

    for number, gib in enumerate(disks, start=1):
        held = attempts.extender.ledger.on_node(NodeName(f"node-{number}"))
        taken = sum(each.volume.size_bytes for hold in held for each in hold.volumes)
        assert taken <= gib * GIB


@given(sizes, st.lists(st.integers(1, 12), min_size=1, max_size=5), st.integers(1, 8))
def test_of_members_that_are_alike_as_many_get_a_node_as_there_is_room_for(size, disks, count):
    """Also in the next attempt, beside what is still held for the one before."""
    names = [f"m{number}" for number in range(count)]
    attempts = Attempts(of_gib(**dict.fromkeys(names, size)), disks)
    places = sum(gib // size for gib in disks)

    for now in (0.0, 1.0):
        found = attempts.ask_all(names, now=now)
        assert len([*filter(None, found)]) == min(count, places)
