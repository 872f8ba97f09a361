"""All promises together: one for each pod, found by node, none longer than its time."""

import math

import msgspec
import pytest

from extender.holds.hold import End, Hold, ReplicasByVolume, Sighting, Signal, State, advance
from extender.holds.ledger import (
    GIVEN_UP_SECONDS,
    PROVISIONING_SECONDS,
    Ended,
    Ledger,
    Timeouts,
    deadline,
)
from longhorn import NodeName
from tests.builders import hold, pending, replica

HERE = NodeName("node-1")
ELSEWHERE = NodeName("node-2")
TIMEOUTS = Timeouts(choosing_seconds=5.0, placing_seconds=7.0)
NONE: ReplicasByVolume = {}
PLACED: ReplicasByVolume = {replica().volume: [replica()]}
"""A replica of the one volume, on node-1."""


class Probe(str):
    """A name that counts how often it is looked up or compared."""

    looks = 0

    def __hash__(self) -> int:
        self.looks += 1
        return super().__hash__()

    def __eq__(self, other: object) -> bool:
        self.looks += 1
        return super().__eq__(other)

    def __ne__(self, other: object) -> bool:
        self.looks += 1
        return super().__ne__(other)


def ledger_of(*holds: Hold) -> Ledger:
    """Build a ledger of holds of different pods."""
    ledger = Ledger()
    for each in holds:
        assert ledger.put(each) is None, "two holds of one pod"
    return ledger


def follow(before: Hold, sighting: Sighting, now: float = 1.0) -> Hold:
    """Return what a sighting makes of a hold that it does not end."""
    after = advance(before, sighting, now)
    assert isinstance(after, Hold), after
    return after


def on(ledger: Ledger, node: str, *, but: str = "") -> set[str]:
    """Return the names of the pods whose holds count on *node*, each found once."""
    names = [each.pod.name for each in ledger.on_node(NodeName(node), but=but)]
    assert len(names) == len({*names})
    return {*names}


def agree(ledger: Ledger, *holds: Hold) -> None:
    """Check that the ledger holds exactly these, and that nothing else is left in its indices."""
    assert len(ledger) == len(holds)
    assert {each.pod.uid: each for each in ledger} == {each.pod.uid: each for each in holds}
    assert all(ledger.get(each.pod.uid) == each for each in holds)
    assert vars(ledger) == vars(ledger_of(*holds))


OFFERED = hold(now=100.0)
ONLY = hold(nodes=["node-1"], only_candidate=True, now=100.0)
NOMINATED = follow(OFFERED, Sighting(nominated=HERE), 101.0)
SELECTED = follow(OFFERED, Sighting(selected=HERE), 101.0)
BOUND = follow(OFFERED, Sighting(node=HERE), 104.0)
BOUND_AFTER_SELECTION = follow(SELECTED, Sighting(node=HERE), 300.0)

deadlines = pytest.mark.parametrize(
    ("of", "until", "why"),
    [
        pytest.param(OFFERED, 105.0, End.NOT_CHOSEN, id="offered"),
        pytest.param(ONLY, 105.0, End.NOT_BOUND, id="only-candidate"),
        pytest.param(NOMINATED, 105.0, End.NOT_BOUND, id="nominated"),
        pytest.param(SELECTED, 700.0, End.NOT_BOUND, id="selected"),
        pytest.param(BOUND, 111.0, End.NOT_PLACED, id="bound"),
        pytest.param(BOUND_AFTER_SELECTION, 307.0, End.NOT_PLACED, id="bound-after-selection"),
        pytest.param(
            follow(BOUND, Sighting(selected=HERE), 105.0),
            111.0,
            End.NOT_PLACED,
            id="claim-named-after-binding",
        ),
        pytest.param(
            follow(SELECTED, Sighting(nominated=ELSEWHERE)),
            105.0,
            End.NOT_BOUND,
            id="node-taken-off-the-claim",
        ),
    ],
)


@deadlines
def test_deadline(of: Hold, until: float, why: End) -> None:
    assert deadline(of, TIMEOUTS) == (until, why)


@deadlines
def test_hold_stands_until_just_before_its_deadline(of: Hold, until: float, why: End) -> None:
    ledger = ledger_of(of)

    assert ledger.settle(NONE, TIMEOUTS, math.nextafter(until, 0.0)) == []
    agree(ledger, of)
    assert ledger.settle(NONE, TIMEOUTS, until) == [Ended(hold=of, why=why, at=until)]
    agree(ledger)


@deadlines
def test_hold_settled_late_ends_when_it_is_settled(of: Hold, until: float, why: End) -> None:
    ledger = ledger_of(of)

    assert ledger.settle(NONE, TIMEOUTS, until + 50.0) == [Ended(hold=of, why=why, at=until + 50.0)]


def test_binding_at_time_zero_counts() -> None:
    bound = follow(hold(now=0.0), Sighting(node=HERE), 0.0)

    assert deadline(bound, TIMEOUTS) == (7.0, End.NOT_PLACED)


def test_provisioning_has_as_long_as_kube_scheduler_waits_for_it() -> None:
    assert PROVISIONING_SECONDS == 600.0


@pytest.mark.parametrize(
    ("of", "why"),
    [
        pytest.param(OFFERED, End.NOT_CHOSEN, id="offered"),
        pytest.param(ONLY, End.NOT_BOUND, id="only-candidate"),
    ],
)
def test_no_time_for_choosing_keeps_no_answer(of: Hold, why: End) -> None:
    none = Timeouts(choosing_seconds=0.0, placing_seconds=7.0)
    ledger = ledger_of(of)

    assert ledger.next_deadline(none) == 100.0
    assert ledger.settle(NONE, none, 100.0) == [Ended(hold=of, why=why, at=100.0)]


def test_no_time_for_placing_keeps_no_bound_pod() -> None:
    none = Timeouts(choosing_seconds=5.0, placing_seconds=0.0)
    ledger = ledger_of(OFFERED)

    assert ledger.settle(NONE, none, 104.0) == []
    ledger.see("uid-pod", Sighting(node=HERE), 104.0)
    assert ledger.settle(NONE, none, 104.0) == [Ended(hold=BOUND, why=End.NOT_PLACED, at=104.0)]


def test_timeouts_may_change_while_holds_stand() -> None:
    ledger = ledger_of(OFFERED)
    longer = Timeouts(choosing_seconds=50.0, placing_seconds=7.0)

    assert ledger.settle(NONE, longer, 149.0) == []
    assert [each.why for each in ledger.settle(NONE, TIMEOUTS, 149.0)] == [End.NOT_CHOSEN]


@pytest.mark.parametrize("now", [104.0, 111.0, 500.0], ids=["in-time", "at-deadline", "late"])
def test_placed_replicas_confirm_even_after_the_deadline(now: float) -> None:
    ledger = ledger_of(BOUND)

    assert ledger.settle(PLACED, TIMEOUTS, now) == [Ended(hold=BOUND, why=End.CONFIRMED, at=now)]
    agree(ledger)


def test_placed_replicas_do_not_confirm_an_offer() -> None:
    ledger = ledger_of(OFFERED)

    assert ledger.settle(PLACED, TIMEOUTS, 101.0) == []
    assert [each.why for each in ledger.settle(PLACED, TIMEOUTS, 105.0)] == [End.NOT_CHOSEN]


def test_replica_that_must_go_to_the_node_confirms_nothing_and_runs_out_of_time() -> None:
    ledger = ledger_of(BOUND)
    waiting: ReplicasByVolume = {pending(of="vol").volume: [pending(of="vol")]}

    assert ledger.settle(waiting, TIMEOUTS, 110.0) == []
    assert [each.why for each in ledger.settle(waiting, TIMEOUTS, 111.0)] == [End.NOT_PLACED]


def test_settle_ends_each_in_its_own_way_and_leaves_the_rest() -> None:
    late = hold("late", now=95.0)
    stuck = follow(hold("stuck", volumes=["other"], now=90.0), Sighting(node=HERE), 93.0)
    done = follow(hold("done", now=90.0), Sighting(nominated=HERE), 91.0)
    open_ = hold("open", now=99.0)
    waiting = follow(hold("waiting", volumes=["third"], now=0.0), Sighting(selected=ELSEWHERE), 1.0)
    ledger = ledger_of(late, stuck, done, open_, waiting)

    ended = ledger.settle(PLACED, TIMEOUTS, 100.0)

    assert {each.hold.pod.name: each for each in ended} == {
        "late": Ended(hold=late, why=End.NOT_CHOSEN, at=100.0),
        "stuck": Ended(hold=stuck, why=End.NOT_PLACED, at=100.0),
        "done": Ended(hold=done, why=End.CONFIRMED, at=100.0),
    }
    assert len(ended) == 3
    agree(ledger, open_, waiting)


def test_settling_again_ends_nothing_twice() -> None:
    ledger = ledger_of(OFFERED, hold("later", now=103.0))

    assert len(ledger.settle(NONE, TIMEOUTS, 105.0)) == 1
    assert ledger.settle(NONE, TIMEOUTS, 105.0) == []
    assert len(ledger) == 1


def test_next_deadline_is_the_earliest_of_any_kind() -> None:
    ledger = ledger_of(
        hold("offered", now=102.0),
        msgspec.structs.replace(SELECTED, pod=hold("selected").pod),
        msgspec.structs.replace(BOUND, pod=hold("bound").pod),
    )

    deadlines = []
    while (until := ledger.next_deadline(TIMEOUTS)) is not None:
        deadlines.append((until, [each.hold.pod.name for each in settle(ledger, until)]))

    assert deadlines == [(107.0, ["offered"]), (111.0, ["bound"]), (700.0, ["selected"])]


def settle(ledger: Ledger, now: float) -> list[Ended]:
    """Settle while Longhorn has no replicas."""
    return ledger.settle(NONE, TIMEOUTS, now)


def test_empty_ledger_has_no_deadline_and_nothing_to_settle() -> None:
    assert Ledger().next_deadline(TIMEOUTS) is None
    assert settle(Ledger(), 1e9) == []


@pytest.mark.parametrize("before", [OFFERED, ONLY, NOMINATED, SELECTED, BOUND])
@pytest.mark.parametrize("only_candidate", [False, True], ids=["offered", "only-candidate"])
def test_answer_replaces_the_earlier_one(before: Hold, *, only_candidate: bool) -> None:
    ledger = ledger_of(before)
    new = hold(nodes=["node-3"], only_candidate=only_candidate, now=200.0)

    assert ledger.put(new) == Ended(hold=before, why=End.REPLACED, at=200.0)
    agree(ledger, new)
    assert (on(ledger, "node-1"), on(ledger, "node-3")) == (set(), {"pod"})


def test_same_answer_again_replaces_itself() -> None:
    ledger = ledger_of(OFFERED)

    assert ledger.put(OFFERED) == Ended(hold=OFFERED, why=End.REPLACED, at=100.0)
    agree(ledger, OFFERED)


def test_pods_are_told_apart_by_uid_not_by_name() -> None:
    again = msgspec.structs.replace(OFFERED.pod, uid="uid-again")
    recreated = msgspec.structs.replace(OFFERED, pod=again)

    agree(ledger_of(OFFERED, recreated), OFFERED, recreated)


@pytest.mark.parametrize("before", [OFFERED, ONLY, NOMINATED, SELECTED, BOUND])
def test_dropped_hold_is_nowhere(before: Hold) -> None:
    other = hold("other", nodes=["node-1"])
    ledger = ledger_of(before, other)

    ended = ledger.drop("uid-pod", End.POD_GONE, 130.0)

    assert ended == Ended(hold=before, why=End.POD_GONE, at=130.0)
    assert ended.seconds == 30.0
    agree(ledger, other)
    assert on(ledger, "node-1") == {"other"}
    assert ledger.get("uid-pod") is None
    assert ledger.drop("uid-pod", End.POD_GONE, 130.0) is None


@pytest.mark.parametrize("only_candidate", [False, True], ids=["offered", "placed"])
@pytest.mark.parametrize("name", ["a", "b", "c"])
def test_one_of_several_on_a_node_is_dropped(name: str, *, only_candidate: bool) -> None:
    holds = [hold(each, nodes=["node-1"], only_candidate=only_candidate) for each in "abc"]
    ledger = ledger_of(*holds)

    ledger.drop(f"uid-{name}", End.POD_GONE, 1.0)

    agree(ledger, *(each for each in holds if each.pod.name != name))
    assert on(ledger, "node-1") == {*"abc"} - {name}


def test_last_hold_of_a_node_leaves_no_trace_of_the_node() -> None:
    ledger = ledger_of(OFFERED)
    for number in range(50):
        ledger.see("uid-pod", Sighting(nominated=NodeName(f"node-{number}")), 101.0)

    ledger.drop("uid-pod", End.POD_GONE, 102.0)

    assert vars(ledger) == vars(Ledger())


@pytest.mark.parametrize(
    ("before", "sighting", "why"),
    [
        pytest.param(OFFERED, Sighting(exists=False), End.POD_GONE, id="gone"),
        pytest.param(BOUND, Sighting(exists=False), End.POD_GONE, id="gone-after-binding"),
    ],
)
def test_sighting_ends_the_hold(before: Hold, sighting: Sighting, why: End) -> None:
    other = hold("other")
    ledger = ledger_of(before, other)

    assert ledger.see("uid-pod", sighting, 103.0) == Ended(hold=before, why=why, at=103.0)
    agree(ledger, other)


@pytest.mark.parametrize(
    ("before", "sighting"),
    [
        pytest.param(OFFERED, Sighting(refused=True), id="offered-refused"),
        pytest.param(ONLY, Sighting(refused=True), id="only-refused"),
        pytest.param(SELECTED, Sighting(refused=True), id="selected-refused"),
        pytest.param(NOMINATED, Sighting(), id="nomination-taken-back"),
        pytest.param(SELECTED, Sighting(), id="selection-taken-back"),
    ],
)
def test_attempt_given_up_ends_the_hold_unless_a_node_is_named_soon(
    before: Hold, sighting: Sighting
) -> None:
    ledger = ledger_of(before)
    ledger.see("uid-pod", sighting, 101.0)
    refused = ledger.get("uid-pod")
    assert refused is not None

    assert ledger.next_deadline(TIMEOUTS) == 101.0 + GIVEN_UP_SECONDS
    assert settle(ledger, 102.9) == []
    assert settle(ledger, 103.0) == [Ended(hold=refused, why=End.UNSCHEDULED, at=103.0)]


@pytest.mark.parametrize("before", [OFFERED, ONLY])
def test_refusal_gives_no_more_time_than_there_is(before: Hold) -> None:
    ledger = ledger_of(before)
    until = ledger.next_deadline(TIMEOUTS)

    ledger.see("uid-pod", Sighting(refused=True), 104.5)

    assert ledger.next_deadline(TIMEOUTS) == until == 105.0


def test_nomination_of_a_pod_with_unbound_claims_gives_time_for_provisioning() -> None:
    """We may hear of the mark on the claims late."""
    before = follow(hold(unbound=["vol"], now=100.0), Sighting(nominated=HERE))

    assert deadline(before, TIMEOUTS) == (100.0 + PROVISIONING_SECONDS, End.NOT_BOUND)


def test_all_end_at_once() -> None:
    ledger = ledger_of(OFFERED, hold("other", nodes=["node-1"], only_candidate=True))

    ended = ledger.drop_all(End.HANDED_OVER, 103.0)

    assert [(each.hold.pod.name, each.why) for each in ended] == [
        ("pod", End.HANDED_OVER),
        ("other", End.HANDED_OVER),
    ]
    agree(ledger)


@pytest.mark.parametrize(
    ("uid", "expected"), [("", True), ("uid-pod", False), ("uid-placed", True), ("uid-x", True)]
)
def test_node_of_another_pod_is_open(uid: str, *, expected: bool) -> None:
    ledger = ledger_of(OFFERED, hold("placed", nodes=["node-1"], only_candidate=True))

    assert ledger.is_choosing(but=uid) is expected


@pytest.mark.parametrize("before", [OFFERED, ONLY, NOMINATED, SELECTED, BOUND])
@pytest.mark.parametrize(
    "sighting",
    [Sighting(nominated=ELSEWHERE), Sighting(selected=ELSEWHERE), Sighting(node=ELSEWHERE)],
    ids=["nominated", "selected", "bound"],
)
def test_sighting_moves_the_hold_to_the_chosen_node(before: Hold, sighting: Sighting) -> None:
    other = hold("other", nodes=["node-1"])
    ledger = ledger_of(before, other)

    assert ledger.see("uid-pod", sighting, 103.0) is None

    agree(ledger, follow(before, sighting, 103.0), other)
    assert (on(ledger, "node-1"), on(ledger, "node-2")) == ({"other"}, {"pod"})


def test_change_of_the_signal_alone_is_kept() -> None:
    """Claims that are being provisioned have longer than a nomination."""
    ledger = ledger_of(NOMINATED)

    ledger.see("uid-pod", Sighting(selected=HERE), 102.0)

    assert ledger.next_deadline(TIMEOUTS) == 700.0


@pytest.mark.parametrize("signal", [Signal.NOMINATED, Signal.SELECTED, Signal.BOUND])
def test_sighting_repeated_changes_nothing(signal: Signal) -> None:
    sighting = {
        Signal.NOMINATED: Sighting(nominated=HERE),
        Signal.SELECTED: Sighting(selected=HERE),
        Signal.BOUND: Sighting(node=HERE),
    }[signal]
    ledger = ledger_of(OFFERED)
    ledger.see("uid-pod", sighting, 101.0)
    once = ledger.get("uid-pod")
    until = ledger.next_deadline(TIMEOUTS)

    for now in (102.0, 102.0, 500.0):
        assert ledger.see("uid-pod", sighting, now) is None

    assert once is not None
    assert ledger.get("uid-pod") == once
    agree(ledger, once)
    assert ledger.next_deadline(TIMEOUTS) == until


@pytest.mark.parametrize("before", [OFFERED, ONLY])
def test_sighting_of_nothing_changes_nothing(before: Hold) -> None:
    ledger = ledger_of(before)

    assert ledger.see("uid-pod", Sighting(), 101.0) is None
    agree(ledger, before)


def test_unknown_pod_changes_nothing() -> None:
    ledger = ledger_of(OFFERED)

    assert ledger.get("uid-nobody") is None
    assert ledger.drop("uid-nobody", End.POD_GONE, 101.0) is None
    for sighting in (Sighting(exists=False), Sighting(node=HERE), Sighting(refused=True)):
        assert ledger.see("uid-nobody", sighting, 101.0) is None
    agree(ledger, OFFERED)


def test_pod_seen_after_its_hold_ended_gets_none() -> None:
    ledger = ledger_of(OFFERED)
    settle(ledger, 105.0)

    assert ledger.see("uid-pod", Sighting(node=HERE), 105.5) is None
    agree(ledger)


def test_holds_on_a_node() -> None:
    ledger = ledger_of(
        hold("both"),
        hold("first", nodes=["node-1"]),
        hold("only", nodes=["node-1"], only_candidate=True),
        follow(hold("bound"), Sighting(node=HERE)),
        follow(hold("moved"), Sighting(node=ELSEWHERE)),
        follow(hold("away", nodes=["node-1"]), Sighting(node=NodeName("node-9"))),
    )

    assert on(ledger, "node-1") == {"both", "first", "only", "bound"}
    assert on(ledger, "node-2") == {"both", "moved"}
    assert on(ledger, "node-9") == {"away"}
    assert on(ledger, "node-3") == set()
    assert on(ledger, "") == set()


@pytest.mark.parametrize("name", ["both", "bound"])
def test_pods_own_hold_does_not_count_against_it(name: str) -> None:
    ledger = ledger_of(hold("both"), follow(hold("bound"), Sighting(node=HERE)), hold("third"))

    assert on(ledger, "node-1", but=f"uid-{name}") == {"both", "bound", "third"} - {name}
    assert on(ledger, "node-1", but="uid-nobody") == {"both", "bound", "third"}
    assert on(ledger, "node-1", but=name) == {"both", "bound", "third"}


def test_asking_about_unknown_nodes_leaves_no_trace() -> None:
    ledger = ledger_of(OFFERED)

    assert [ledger.on_node(NodeName(f"node-{number}")) for number in range(3, 50)] == [[]] * 47

    agree(ledger, OFFERED)


def test_list_of_holds_on_a_node_is_the_callers_own() -> None:
    ledger = ledger_of(OFFERED, msgspec.structs.replace(BOUND, pod=hold("bound").pod))

    ledger.on_node(HERE).clear()

    assert on(ledger, "node-1") == {"pod", "bound"}


def test_answers_are_listed_oldest_first() -> None:
    ledger = ledger_of(*(hold(name, now=now) for now, name in enumerate("abc")))

    ledger.put(hold("a", now=3.0))

    assert [each.pod.name for each in ledger] == ["b", "c", "a"]


def test_ledger_may_change_while_it_is_listed() -> None:
    ledger = ledger_of(*(hold(name) for name in "abcd"))

    listed = []
    for each in ledger:
        listed.append(each.pod.name)
        ledger.drop(each.pod.uid, End.POD_GONE, 1.0)
        ledger.put(hold(f"new-{each.pod.name}"))
        ledger.see("uid-d", Sighting(node=HERE), 1.0)

    assert listed == [*"abcd"]
    assert {each.pod.name for each in ledger} == {"new-a", "new-b", "new-c", "new-d"}


def test_listing_shows_the_holds_of_its_start() -> None:
    ledger = ledger_of(hold("a"), hold("b"))

    listed = iter(ledger)
    ledger.drop("uid-b", End.POD_GONE, 1.0)

    assert [each.pod.name for each in listed] == ["a", "b"]


COUNT = 3000


def test_thousands_placed_elsewhere_cost_a_node_nothing() -> None:
    ledger = ledger_of(
        *(hold(f"p{n}", nodes=[f"n{n}"], only_candidate=True) for n in range(COUNT)),
        hold("one", nodes=["n7"]),
    )
    probe = Probe("n7")

    assert [each.pod.name for each in ledger.on_node(NodeName(probe))] == ["p7", "one"]
    assert probe.looks < 10


def test_thousands_offered_cost_a_node_a_look_each() -> None:
    ledger = ledger_of(*(hold(f"p{n}", nodes=[f"n{n}", f"m{n}"]) for n in range(COUNT)))
    probe = Probe("n7")

    assert [each.pod.name for each in ledger.on_node(NodeName(probe))] == ["p7"]
    assert probe.looks < COUNT + 10


@pytest.mark.parametrize("state", State)
def test_thousands_of_pods_cost_one_pod_nothing(state: State) -> None:
    is_placed = state is State.PLACED
    ledger = ledger_of(
        *(hold(f"p{n}", nodes=["node-1"], only_candidate=is_placed) for n in range(COUNT))
    )
    uid = Probe("uid-p7")

    ledger.see(uid, Sighting(node=ELSEWHERE), 1.0)
    ledger.see(uid, Sighting(node=ELSEWHERE), 2.0)
    ended = ledger.drop(uid, End.POD_GONE, 3.0)

    assert ended is not None
    assert ended.hold.pod.name == "p7"
    assert (len(ledger), len(ledger.on_node(HERE))) == (COUNT - 1, COUNT - 1)
    assert uid.looks < 100


def test_thousands_end_at_once_and_leave_nothing() -> None:
    ledger = ledger_of(*(hold(f"p{n}", nodes=[f"n{n % 10}"]) for n in range(COUNT)))
    for n in range(0, COUNT, 3):
        ledger.see(f"uid-p{n}", Sighting(node=NodeName(f"n{n % 7}")), 1.0)

    ended = settle(ledger, 8.0)

    assert len(ended) == COUNT
    assert sum(each.why is End.NOT_PLACED for each in ended) == COUNT // 3
    assert vars(ledger) == vars(Ledger())


def test_holds_stay_in_the_order_of_their_answers() -> None:
    ledger = Ledger()
    for number, name in enumerate("abc"):
        ledger.put(hold(name, now=float(number)))

    ledger.see("uid-a", Sighting(nominated=NodeName("node-1")), 3.0)

    assert [each.pod.name for each in ledger] == ["a", "b", "c"]


def test_without_a_timeout_no_promise_waits_for_a_claim() -> None:
    ledger, none = Ledger(), Timeouts(choosing_seconds=0, placing_seconds=0)
    ledger.put(hold(now=0.0))
    ledger.see("uid-pod", Sighting(selected=NodeName("node-1")), 0.0)

    [ended] = ledger.settle({}, none, 0.0)

    assert ended.why is End.NOT_BOUND
