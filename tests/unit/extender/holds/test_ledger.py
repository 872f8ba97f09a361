"""What the ledger says of each observation, and how long holds stand.

What follows from any order of observations is checked in `test_ledger_stateful.py`.
"""

import math

import msgspec
import pytest

from extender.holds.deadlines import (
    ATTACHING_SECONDS,
    GIVEN_UP_SECONDS,
    PROVISIONING_SECONDS,
    Timeouts,
    deadline,
)
from extender.holds.hold import (
    Advanced,
    End,
    Ended,
    Hold,
    Mode,
    Outcome,
    Sighting,
    State,
    advance,
)
from extender.holds.ledger import Ledger
from extender.kubernetes import Claim, ClaimKey, PodStatus
from extender.view import ClusterView
from longhorn import NodeName
from tests.builders import claim, hold, pending, pod, replica, view_of, volume

HERE = NodeName("node-1")
ELSEWHERE = NodeName("node-2")
TIMEOUTS = Timeouts(choosing_seconds=5.0, placing_seconds=7.0)
ATTACHING = msgspec.structs.replace(TIMEOUTS, attaching_seconds=ATTACHING_SECONDS)
NONE = view_of()
PLACED = view_of(replica())
"""A replica of the one volume, on node-1."""
NO_CHANGE = Outcome()


def ledger_of(*holds: Hold) -> Ledger:
    """Build a ledger of holds of different pods."""
    ledger = Ledger()
    for each in holds:
        assert ledger.put(each) == NO_CHANGE, "two holds of one pod"
    return ledger


def follow(before: Hold, sighting: Sighting, now: float = 1.0) -> Hold:
    """Return what a sighting makes of a hold that it does not end."""
    after = advance(before, sighting, now)
    assert isinstance(after, Hold), after
    return after


def over(before: Hold, why: End, at: float) -> Outcome:
    """Build the outcome that one hold has ended."""
    return Outcome(ended=(Ended(hold=before, why=why, at=at),))


def on(ledger: Ledger, node: str, *, but: str | None = None) -> set[str]:
    """Return the names of the pods whose holds count on *node*, each found once."""
    names = [each.pod.name for each in ledger.on_node(NodeName(node), but=but)]
    assert len(names) == len({*names})
    return {*names}


OPEN = hold(now=100.0)
ONLY = hold(nodes=["node-1"], only_candidate=True, now=100.0)
NOMINATED = follow(OPEN, Sighting(nominated=HERE), 101.0)
SELECTED = follow(OPEN, Sighting(selected=HERE), 101.0)
BOUND = follow(OPEN, Sighting(node=HERE), 104.0)
BOUND_AFTER_SELECTION = follow(SELECTED, Sighting(node=HERE), 300.0)


@pytest.mark.parametrize(
    ("of", "until", "why"),
    [
        pytest.param(OPEN, 105.0, End.NOT_CHOSEN, id="open"),
        pytest.param(ONLY, 105.0, End.NOT_BOUND, id="only-candidate"),
        pytest.param(NOMINATED, 700.0, End.NOT_BOUND, id="nominated"),
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
            100.0 + PROVISIONING_SECONDS,
            End.NOT_BOUND,
            id="node-taken-off-the-claim",
        ),
        pytest.param(
            follow(OPEN, Sighting(refused=True), 101.0),
            101.0 + GIVEN_UP_SECONDS,
            End.UNSCHEDULED,
            id="refused",
        ),
        pytest.param(
            follow(OPEN, Sighting(refused=True), 104.5), 105.0, End.NOT_CHOSEN, id="refused-late"
        ),
        pytest.param(
            follow(SELECTED, Sighting(), 200.0),
            200.0 + GIVEN_UP_SECONDS,
            End.UNSCHEDULED,
            id="selection-taken-back",
        ),
        pytest.param(
            follow(hold(now=0.0), Sighting(node=HERE), 0.0), 7.0, End.NOT_PLACED, id="at-time-zero"
        ),
    ],
)
def test_hold_stands_until_just_before_its_deadline(of, until, why):
    ledger = ledger_of(of)

    assert deadline(of, TIMEOUTS) == (until, why)
    assert ledger.next_deadline(TIMEOUTS) == until
    assert ledger.settle(NONE, TIMEOUTS, math.nextafter(until, 0.0)) == NO_CHANGE
    assert ledger.settle(NONE, TIMEOUTS, until) == over(of, why, until)
    assert ledger.next_deadline(TIMEOUTS) is None


def test_provisioning_has_as_long_as_kube_scheduler_waits_for_it():
    assert PROVISIONING_SECONDS == 600.0


@pytest.mark.parametrize("of", [OPEN, ONLY, SELECTED], ids=["open", "only", "selected"])
def test_time_for_choosing_of_none_keeps_no_answer(of):
    none = Timeouts(choosing_seconds=0.0, placing_seconds=7.0)

    [ended] = ledger_of(of).settle(NONE, none, 100.0).ended

    assert ended.why is (End.NOT_CHOSEN if of is OPEN else End.NOT_BOUND)


def test_time_for_placing_of_none_keeps_no_bound_pod():
    none = Timeouts(choosing_seconds=5.0, placing_seconds=0.0)
    ledger = ledger_of(OPEN)

    assert ledger.settle(NONE, none, 104.0) == NO_CHANGE
    ledger.see("uid-pod", Sighting(node=HERE), 104.0)
    assert ledger.settle(NONE, none, 104.0) == over(BOUND, End.NOT_PLACED, 104.0)


def attached(to: str | None) -> ClusterView:
    """Build a cluster with the volume, to be attached there."""
    return view_of(volume("vol", node=to))


@pytest.mark.parametrize(
    "view", [NONE, attached(None), attached("node-2")], ids=["unknown", "detached", "leaving"]
)
def test_bound_pod_is_held_for_until_its_volume_is_to_be_attached(view):
    """Longhorn looks for a place no earlier, and attaching takes a minute in a crowd."""
    ledger = ledger_of(BOUND)

    assert ledger.settle(view, ATTACHING, math.nextafter(704.0, 0.0)) == NO_CHANGE
    assert ledger.settle(view, ATTACHING, 704.0) == over(BOUND, End.NOT_PLACED, 704.0)


def test_time_for_placing_begins_when_the_volume_is_to_be_attached():
    ledger = ledger_of(BOUND)
    ledger.settle(attached(None), ATTACHING, 105.0)

    assert ledger.settle(attached("node-1"), ATTACHING, 300.0) == NO_CHANGE
    assert ledger.next_deadline(ATTACHING) == 307.0
    assert ledger.settle(attached("node-1"), ATTACHING, math.nextafter(307.0, 0.0)) == NO_CHANGE
    [ended] = ledger.settle(attached(None), ATTACHING, 307.0).ended
    assert (ended.hold.attaching_at, ended.why) == (300.0, End.NOT_PLACED)


def test_time_for_placing_begins_with_the_binding_if_attached_already():
    ledger = ledger_of(OPEN)
    ledger.settle(attached("node-1"), ATTACHING, 101.0)
    ledger.see("uid-pod", Sighting(node=HERE), 104.0)

    ledger.settle(attached("node-1"), ATTACHING, 104.0)

    assert ledger.next_deadline(ATTACHING) == 111.0


def test_time_for_placing_of_none_waits_for_no_attaching():
    none = msgspec.structs.replace(ATTACHING, placing_seconds=0.0)

    assert ledger_of(BOUND).settle(NONE, none, 104.0) == over(BOUND, End.NOT_PLACED, 104.0)


@pytest.mark.parametrize("now", [104.0, 111.0, 500.0], ids=["in-time", "at-deadline", "late"])
def test_placed_replicas_confirm_even_after_the_deadline(now):
    assert ledger_of(BOUND).settle(PLACED, TIMEOUTS, now) == over(BOUND, End.CONFIRMED, now)


def test_placed_replicas_do_not_confirm_an_open_hold_but_it_keeps_less():
    outcome = ledger_of(OPEN).settle(PLACED, TIMEOUTS, 101.0)

    assert (outcome.ended, outcome.advanced) == ((), ())
    assert outcome.freed == OPEN.nodes
    assert outcome.concerns_others


def test_replica_that_must_go_to_the_node_confirms_nothing_and_runs_out_of_time():
    ledger = ledger_of(BOUND)
    waiting = view_of(pending(of="vol"))

    assert ledger.settle(waiting, TIMEOUTS, 110.0) == NO_CHANGE
    assert ledger.settle(waiting, TIMEOUTS, 111.0) == over(BOUND, End.NOT_PLACED, 111.0)


def test_settle_ends_each_in_its_own_way_and_leaves_the_rest():
    late = hold("late", now=95.0)
    stuck = follow(hold("stuck", volumes=["other"], now=90.0), Sighting(node=HERE), 93.0)
    done = follow(hold("done", now=90.0), Sighting(nominated=HERE), 91.0)
    open_ = hold("open", now=99.0)
    waiting = follow(hold("waiting", volumes=["third"], now=0.0), Sighting(selected=ELSEWHERE), 1.0)
    ledger = ledger_of(late, stuck, done, open_, waiting)

    outcome = ledger.settle(PLACED, TIMEOUTS, 100.0)

    assert {*outcome.ended} == {
        Ended(hold=late, why=End.NOT_CHOSEN, at=100.0),
        Ended(hold=stuck, why=End.NOT_PLACED, at=100.0),
        Ended(hold=done, why=End.CONFIRMED, at=100.0),
    }
    assert [*ledger] == [open_, waiting]


def test_end_frees_its_nodes_and_says_how_long_the_hold_stood():
    outcome = ledger_of(OPEN).drop("uid-pod", End.POD_GONE, 130.0)

    assert outcome == over(OPEN, End.POD_GONE, 130.0)
    assert outcome.ended[0].seconds == 30.0
    assert outcome.freed == {HERE, ELSEWHERE}
    assert outcome.concerns_others


def test_choice_frees_the_other_nodes():
    outcome = ledger_of(OPEN).see("uid-pod", Sighting(nominated=HERE), 101.0)

    assert outcome == Outcome(advanced=(Advanced(before=OPEN, after=NOMINATED),))
    assert outcome.freed == {ELSEWHERE}
    assert outcome.concerns_others


def test_choice_of_the_only_accepted_node_frees_nothing_and_concerns_waiting_pods():
    outcome = ledger_of(hold(nodes=["node-1"])).see("uid-pod", Sighting(nominated=HERE), 101.0)

    assert (outcome.freed, outcome.concerns_others) == (frozenset(), True)


def test_hold_that_stays_where_it_is_concerns_no_other_pod():
    outcome = ledger_of(NOMINATED).see("uid-pod", Sighting(node=HERE), 104.0)

    assert len(outcome.advanced) == 1
    assert (outcome.freed, outcome.concerns_others) == (frozenset(), False)


@pytest.mark.parametrize(
    "sighting", [Sighting(), Sighting(nominated=HERE)], ids=["nothing", "the-same-again"]
)
def test_sighting_without_news_changes_nothing(sighting):
    ledger = ledger_of(OPEN)
    ledger.see("uid-pod", sighting, 101.0)

    assert ledger.see("uid-pod", sighting, 500.0) == NO_CHANGE


def test_pod_without_a_hold_changes_nothing():
    ledger = ledger_of(OPEN)

    assert ledger.drop("uid-nobody", End.POD_GONE, 101.0) == NO_CHANGE
    assert ledger.see("uid-nobody", Sighting(node=HERE), 101.0) == NO_CHANGE
    assert ledger.see_pod("uid-nobody", None, {}, 101.0) == NO_CHANGE
    assert ledger.see_claims([ClaimKey("default/other")], {}, 101.0) == NO_CHANGE
    assert [*ledger] == [OPEN]


def test_pods_are_told_apart_by_uid_not_by_name():
    again = msgspec.structs.replace(OPEN.pod, uid="uid-again")

    ledger = ledger_of(OPEN, msgspec.structs.replace(OPEN, pod=again))

    assert len(ledger) == 2


def test_holds_all_end_at_once_and_the_ledger_is_complete_no_more():
    only = hold("other", nodes=["node-1"], only_candidate=True)
    ledger = ledger_of(OPEN, only)
    ledger.is_complete = True

    outcome = ledger.drop_all(End.HANDED_OVER, 103.0)

    assert [(each.hold, each.why) for each in outcome.ended] == [
        (OPEN, End.HANDED_OVER),
        (only, End.HANDED_OVER),
    ]
    assert (len(ledger), ledger.is_complete) == (0, False)


def waiting_for_claims(*names: str, asked: PodStatus | None = None) -> Hold:
    """Build the hold of a pod whose claims are not bound."""
    made = hold(unbound=names, asked=asked or PodStatus(version=1), now=100.0)
    return msgspec.structs.replace(made, pod=pod(*names))


def claims_of(*found: Claim) -> dict[ClaimKey, Claim]:
    return {each.key: each for each in found}


def selected(name: str, node: NodeName | None) -> Claim:
    return msgspec.structs.replace(claim(name), selected_node=node)


def test_pod_is_seen_together_with_its_claims():
    ledger = ledger_of(waiting_for_claims("a"))

    ledger.see_pod(
        "uid-pod", PodStatus(version=2, nominated=HERE), claims_of(selected("a", ELSEWHERE)), 101.0
    )

    assert on(ledger, "node-2") == {"pod"}


def test_claim_is_seen_together_with_its_pod_as_last_heard_of():
    ledger = ledger_of(waiting_for_claims("a"))
    key = ClaimKey("default/a")
    ledger.see_pod("uid-pod", PodStatus(version=2, nominated=HERE), {}, 101.0)

    ledger.see_claims([key], claims_of(selected("a", ELSEWHERE)), 102.0)
    first = on(ledger, "node-2")
    ledger.see_claims([key], claims_of(selected("a", None)), 103.0)

    assert (first, on(ledger, "node-1")) == ({"pod"}, {"pod"})


def test_claim_moves_the_holds_of_all_pods_that_use_it_and_no_others():
    shared, other = waiting_for_claims("a"), waiting_for_claims("b")
    holds = [
        msgspec.structs.replace(shared, pod=pod("a", name="first")),
        msgspec.structs.replace(shared, pod=pod("a", name="second")),
        msgspec.structs.replace(other, pod=pod("b", name="third")),
    ]
    ledger = ledger_of(*holds)
    for each in holds:
        ledger.see_pod(each.pod.uid, PodStatus(version=1), {}, 100.0)
    claims = claims_of(selected("a", HERE), selected("b", HERE))

    outcome = ledger.see_claims([ClaimKey("default/a")], claims, 101.0)

    assert [each.after.pod.name for each in outcome.advanced] == ["first", "second"]
    assert ledger.chosen_nodes() == {HERE}
    assert [each.pod.name for each in ledger.open_holds()] == ["third"]


def test_node_named_again_after_it_was_taken_back_counts():
    """kube-scheduler knew at the answer that the claim's old node was taken back."""
    stale = msgspec.structs.replace(
        waiting_for_claims("a"), unbound=frozenset({(ClaimKey("default/a"), HERE)})
    )
    ledger, key = ledger_of(stale), ClaimKey("default/a")
    ledger.see_pod("uid-pod", PodStatus(version=1), claims_of(selected("a", HERE)), 100.0)

    assert ledger.see_claims([key], claims_of(selected("a", HERE)), 101.0) == NO_CHANGE
    assert ledger.see_claims([key], claims_of(selected("a", None)), 102.0) == NO_CHANGE
    outcome = ledger.see_claims([key], claims_of(selected("a", HERE)), 103.0)

    assert [each.after.node for each in outcome.advanced] == [HERE]


def test_node_nominated_before_an_answer_is_not_chosen_by_it():
    """After an outage kube-scheduler may ask with a copy from before its own nomination."""
    ledger = ledger_of(waiting_for_claims("a"))
    ledger.see_pod("uid-pod", PodStatus(version=5, nominated=HERE), {}, 101.0)

    ledger.put(msgspec.structs.replace(waiting_for_claims("a"), asked=PodStatus(version=4)))
    ledger.see_claims([ClaimKey("default/a")], {}, 102.0)
    ledger.see_pod("uid-pod", PodStatus(version=6, nominated=HERE), {}, 103.0)
    before = on(ledger, "node-1"), on(ledger, "node-2")
    ledger.see_pod("uid-pod", PodStatus(version=7, nominated=ELSEWHERE), {}, 104.0)

    assert before == ({"pod"}, {"pod"})
    assert (on(ledger, "node-1"), on(ledger, "node-2")) == (set(), {"pod"})


def test_mode_node_takes_only_binding_for_a_choice():
    ledger = Ledger(Mode.NODE)
    ledger.put(OPEN)

    ledger.see_pod("uid-pod", PodStatus(nominated=HERE), {}, 101.0)
    nominated = ledger.is_choosing()
    ledger.see_pod("uid-pod", PodStatus(node=HERE), {}, 102.0)

    assert (nominated, ledger.is_choosing()) == (True, False)


def test_holds_on_a_node():
    ledger = ledger_of(
        hold("both"),
        hold("first", nodes=["node-1"]),
        hold("only", nodes=["node-1"], only_candidate=True),
        follow(hold("bound"), Sighting(node=HERE)),
        follow(hold("away", nodes=["node-1"]), Sighting(node=NodeName("node-9"))),
    )

    assert on(ledger, "node-1") == {"both", "first", "only", "bound"}
    assert on(ledger, "node-1", but="uid-only") == {"both", "first", "bound"}
    assert on(ledger, "node-1", but="uid-both") == {"first", "only", "bound"}
    assert on(ledger, "node-9") == {"away"}
    assert on(ledger, "node-3") == set()
    assert ledger.chosen_nodes(but="uid-away") == {HERE}
    assert [ledger.count(state) for state in State] == [2, 3]


def test_holds_are_listed_in_the_order_of_their_answers_whatever_changes_meanwhile():
    ledger = ledger_of(*(hold(name, now=now) for now, name in enumerate("abc")))
    ledger.put(hold("a", now=3.0))
    ledger.see("uid-b", Sighting(nominated=HERE), 4.0)

    listed = []
    for each in ledger:
        listed.append(each.pod.name)
        ledger.drop("uid-c", End.POD_GONE, 5.0)

    assert listed == ["b", "c", "a"]


def test_claim_tells_the_node_of_a_pod_until_that_is_looked_up():
    """It may be invented, and name the claim of another one: then its hold ends."""
    ledger = ledger_of(waiting_for_claims("a"))
    uid, claims = "uid-pod", claims_of(selected("a", HERE))

    ledger.see_claims([ClaimKey("default/a")], claims, 101.0)

    assert on(ledger, "node-1") == {"pod"}
    assert on(ledger, "node-2") == set()

    ledger.see_pod(uid, None, claims, 102.0)

    assert len(ledger) == 0


def test_pod_heard_of_twice_counts_in_its_later_version():
    ledger = ledger_of(OPEN)
    ledger.see_pod(OPEN.pod.uid, PodStatus(version=5, node=HERE), {}, 101.0)

    assert ledger.see_pod(OPEN.pod.uid, PodStatus(version=4), {}, 102.0) == NO_CHANGE
    [found] = ledger
    assert found.bound_at == 101.0
