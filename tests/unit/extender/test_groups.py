"""Members of a PodGroup: asked about one by one, while no node of theirs shows."""

from collections.abc import Iterable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from extender import Answer, Balance, Extender, Mode
from extender.holds import Asked, End, Sighting, State, Timeouts
from extender.kubernetes import GroupKey
from extender.verdicts.rejections import MemberElsewhere
from extender.verdicts.shortages import InsufficientStorage, RoomHeld
from longhorn import NodeName
from tests.builders import GENEROUS, GIB, bound, nodes_of, pod, replicas_of, view_of, volumes_of

GROUP = GroupKey("default/gang")
OTHER = GroupKey("elsewhere/gang")
TIMEOUTS = Timeouts(choosing_seconds=5.0, placing_seconds=5.0)
FOUR = ("m1", "m2", "m3", "m4")
FIVE = (*FOUR, "m5")
ALIKE = "m1:60 m2:60 m3:60 m4:60 m5:60"
"""Of which a node of 100 GiB takes one."""


class Attempts:
    """kube-scheduler's attempts at groups on a cluster; each member has one volume of its name.

    Attributes:
        extender: Answers and holds.
        view: Some nodes, and the volumes.
    """

    def __init__(
        self,
        volumes: str = ALIKE,
        nodes: str = "1 2 3 4",
        *,
        replicas: str = "",
        mode: Mode = Mode.CAPACITY,
        balance: Balance = Balance.SPREAD,
    ) -> None:
        self.extender = Extender(GENEROUS, mode, balance)
        self.view = view_of(*nodes_of(nodes), *bound(*volumes_of(volumes)), *replicas_of(replicas))

    def ask(
        self, name: str, *nodes: str, now: float = 0.0, group: GroupKey | None = GROUP
    ) -> Answer:
        """Ask about a member, and hold what is answered."""
        candidates = [NodeName(each) for each in nodes or sorted(self.view.spaces)]
        answer = self.extender.filter(pod(name, name=name), candidates, self.view)
        if group is not None:
            answer = self.extender.for_member(answer)
        self.extender.hold(answer, Asked(group=group), timeouts=TIMEOUTS, now=now)
        return answer

    def ask_all(self, names: Iterable[str], now: float = 0.0) -> list[str]:
        """Ask about one after another; return the node of each, "none" if it got none."""
        return [next(iter(self.ask(name, now=now).accepted), "none") for name in names]

    def settle(self, now: float) -> dict[str, End]:
        """Return which holds are over by now, and how they ended."""
        outcome = self.extender.ledger.settle(self.view, TIMEOUTS, now)
        return {each.hold.pod.name: each.why for each in outcome.ended}


EACH_ONE = ["node-1", "node-2", "node-3", "node-4"]
TENTHS = "m1 m2 m3 m4 m5"
"""Of which a node takes ten."""
SHARED = ["node-1", "node-1", "node-2", "node-2", "none"]
PLACES = {
    # Volumes of members, nodes, the mode, and all nodes that members get of one attempt.
    "members-that-fit-exactly": (ALIKE, "1 2 3 4", Mode.CAPACITY, EACH_ONE),
    "members-share-a-node-as-far-as-there-is-room": (
        "m1:40 m2:40 m3:40 m4:40 m5:40", "1:100 2:80", Mode.CAPACITY, SHARED),
    "member-too-many": (ALIKE, "1 2 3 4", Mode.CAPACITY, [*EACH_ONE, "none"]),
    "mode-node-gives-each-a-node": (TENTHS, "1 2 3 4", Mode.NODE, [*EACH_ONE, "none"]),
}  # fmt: skip


@pytest.mark.parametrize(("volumes", "nodes", "mode", "expected"), PLACES.values(), ids=PLACES)
def test_members_of_one_attempt_and_of_the_next_get_these_nodes(volumes, nodes, mode, expected):
    """What was held for the attempt before may still be; each finds at least its own place free."""
    attempts = Attempts(volumes, nodes, mode=mode)
    names = FIVE[: len(expected)]

    assert sorted(attempts.ask_all(names)) == expected
    assert sorted(attempts.ask_all(names, now=1.0)) == expected


def test_without_a_group_the_first_would_be_in_the_way_of_the_second_everywhere():
    attempts = Attempts()
    assert len(attempts.ask("m1", group=None).accepted) == 4

    assert attempts.ask("m2", group=None).is_open


def test_one_member_too_many_gets_no_node_and_need_not_wait():
    attempts = Attempts()
    attempts.ask_all(FOUR)

    last = attempts.ask("m5")

    assert last.accepted == []
    assert {*last.rejected.values()} == {RoomHeld(by_open=False)}
    assert not last.is_open


def test_a_member_is_held_for_on_its_node_alone():
    attempts = Attempts()

    answer = attempts.ask("m1")
    hold = attempts.extender.ledger.get("uid-m1")

    assert hold is not None
    assert (hold.state, hold.group, hold.named_by) == (State.CHOSEN, GROUP, None)
    assert [*hold.nodes] == answer.accepted
    assert [*answer.rejected.values()] == [MemberElsewhere()] * 3


def test_a_member_gets_the_best_of_its_nodes_and_what_does_not_fit_says_why():
    answer = Attempts("m1:20", "1:40 2:10 3:100 4:100").ask("m1")

    assert answer.accepted == ["node-3"]
    assert answer.rejected == {
        "node-1": MemberElsewhere(),
        "node-2": InsufficientStorage(size_bytes=20 * GIB),
        "node-4": MemberElsewhere(),
    }


def test_a_member_goes_where_kube_scheduler_lets_it():
    """What is taken of a node besides room on disks shows in the candidates."""
    attempts = Attempts(TENTHS)

    assert attempts.ask("m1", "node-2", "node-3").accepted == ["node-2"]
    assert attempts.ask("m2", "node-3").accepted == ["node-3"]


def test_members_that_are_not_alike_do_not_overfill_a_node():
    attempts = Attempts("large:90 small:20 middle:70", "1 2")

    assert attempts.ask_all(["large", "small", "middle"]) == ["node-1", "node-2", "node-2"]


def test_a_member_that_is_not_of_the_group_is_refused_what_members_take():
    attempts = Attempts()
    attempts.ask_all(FOUR)

    assert attempts.ask("m5", group=None).accepted == []
    assert attempts.ask("m5", group=OTHER).accepted == []


def test_a_member_that_is_asked_about_twice_is_not_in_its_own_way():
    attempts = Attempts()
    attempts.ask_all(FOUR)

    again = attempts.ask("m2", now=1.0)

    assert len(again.accepted) == 1
    assert len(attempts.extender.ledger) == 4


def test_in_the_next_attempt_there_is_one_more_node():
    attempts = Attempts(nodes="1 2 3 4 5")
    for name in FOUR:
        attempts.ask(name, *EACH_ONE)

    found = attempts.ask_all(["m5", *FOUR], now=1.0)

    assert sorted(found) == [*EACH_ONE, "node-5"]


def test_a_member_with_data_goes_back_to_any_of_its_nodes():
    """It needs no room there, so nobody needs to know on which of them it is."""
    attempts = Attempts("m1:60*2 m2:60 m3:60 m4:60", replicas="m1:60@2 m1:60@3")

    found = [attempts.ask(name).accepted for name in FOUR]

    assert found == [["node-2", "node-3"], ["node-1"], ["node-4"], []]


def test_a_member_whose_volumes_need_nothing_on_its_node_may_go_anywhere():
    assert len(Attempts("m1~").ask("m1").accepted) == 4


ALL = " ".join(FOUR)
REFUSED, BOUND = Sighting(refused=True), Sighting(node=NodeName("node-1"))
ENDS = {
    # At which seconds members are asked about, for which group, or what is seen of them then; and
    # which holds are over at some seconds later, and why.
    "time-of-all-members-runs-from-the-last-answer": (
        [(0, "m1", GROUP), (2, "m2", GROUP), (4, "m3", GROUP), (6, "m4", GROUP)],
        {10.9: "", 11.0: ALL},
        End.NOT_BOUND,
    ),
    "member-that-got-no-node-keeps-nobody-waiting": (
        [(0, ALL, GROUP), (4, "m5", GROUP)], {5: ALL}, End.NOT_BOUND),
    "pod-of-a-group-of-that-name-elsewhere-keeps-nobody-waiting": (
        [(0, "m1", GROUP), (4, "m2", OTHER)], {5: "m1"}, End.NOT_BOUND),
    "pod-without-group-keeps-nobody-waiting": (
        [(0, "m1", GROUP), (4, "m2", None)], {5: "m1"}, End.NOT_BOUND),
    # It may be seen late: kube-scheduler does not wait for its own writes.
    "refusal-of-the-attempt-before-does-not-end-this-one": (
        [(0, "m1", GROUP), (1, "m1", REFUSED), (2.5, "m2", GROUP)],
        {3.0: "", 4.5: "m1"},
        End.UNSCHEDULED,
    ),
    "group-that-was-refused-is-held-for-two-seconds": (
        [(0, ALL, GROUP), (0.5, ALL, REFUSED)], {2.5: ALL}, End.UNSCHEDULED),
    "member-that-is-bound-has-its-own-time": (
        [(0, "m1", GROUP), (1, "m1", BOUND), (4, "m2", GROUP)], {6: "m1"}, End.NOT_PLACED),
}  # fmt: skip


@pytest.mark.parametrize(("events", "over", "why"), ENDS.values(), ids=ENDS)
def test_holds_of_members_end(events, over, why):
    attempts = Attempts()

    for now, names, what in events:
        for name in names.split():
            if isinstance(what, Sighting):
                attempts.extender.ledger.see(f"uid-{name}", what, now)
            else:
                attempts.ask(name, now=now, group=what)

    for now, names in over.items():
        assert attempts.settle(now) == dict.fromkeys(names.split(), why)


sizes = st.integers(min_value=1, max_value=10)
disks = st.lists(st.integers(min_value=1, max_value=12), min_size=1, max_size=5)
asked_about = st.lists(st.integers(min_value=0, max_value=6), max_size=14)


def numbered(sizes: Iterable[int], prefix: str = "") -> str:
    return " ".join(f"{prefix}{number}:{gib}" for number, gib in enumerate(sizes, start=1))


@given(st.lists(sizes, min_size=1, max_size=7), disks, asked_about, st.sampled_from(Balance))
def test_whatever_is_asked_in_which_order_no_node_is_overfilled(members, disks, asked, balance):
    """In whatever attempts members are asked about, some of them again."""
    attempts = Attempts(numbered(members, "m"), numbered(disks), balance=balance)
    for number in asked:
        attempts.ask(f"m{1 + number % len(members)}")

    for number, gib in enumerate(disks, start=1):
        held = attempts.extender.ledger.on_node(NodeName(f"node-{number}"))
        taken = sum(each.volume.size_bytes for hold in held for each in hold.volumes)
        assert taken <= gib * GIB


@given(sizes, disks, st.integers(1, 8))
def test_of_members_that_are_alike_as_many_get_a_node_as_there_is_room_for(size, disks, count):
    """Also in the next attempt, beside what is still held for the one before."""
    attempts = Attempts(numbered([size] * count, "m"), numbered(disks))
    places = sum(gib // size for gib in disks)

    for now in (0.0, 1.0):
        found = attempts.ask_all((f"m{1 + number}" for number in range(count)), now)
        assert len(found) - found.count("none") == min(count, places)
