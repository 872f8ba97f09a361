"""What the ledger says of each observation, and how long holds stand.

What follows from any order of observations is checked in `test_ledger_stateful.py`.
"""

import math
from typing import Any

import pytest
from msgspec.structs import replace

from extender.holds.deadlines import (
    ATTACHING_SECONDS,
    GIVEN_UP_SECONDS,
    PROVISIONING_SECONDS,
    Timeouts,
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
ATTACHING = replace(TIMEOUTS, attaching_seconds=ATTACHING_SECONDS)
PLACED = view_of(replica())
"""A replica of the one volume, on node-1."""
NO_CHANGE = Outcome()


def ledger_of(*holds: Hold) -> Ledger:
    """Build a ledger of holds of different pods."""
    ledger = Ledger()
    for each in holds:
        assert ledger.put(each) == NO_CHANGE, "two holds of one pod"
    return ledger


def follow(before: Hold, now: float = 1.0, **seen: Any) -> Hold:
    """Return what a sighting makes of a hold that it does not end."""
    after = advance(before, Sighting(**seen), now)
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


def attached(to: str | None) -> ClusterView:
    """Build a cluster with the volume, to be attached there."""
    return view_of(volume("vol", node=to))


OPEN = hold(now=100.0)
ONLY = hold(nodes=["node-1"], only_candidate=True, now=100.0)
NOMINATED, SELECTED = follow(OPEN, 101.0, nominated=HERE), follow(OPEN, 101.0, selected=HERE)
BOUND = follow(OPEN, 104.0, node=HERE)
NOT_CHOSEN, NOT_BOUND, NOT_PLACED = End.NOT_CHOSEN, End.NOT_BOUND, End.NOT_PLACED
UNCHOSEN, UNPLACED = (
    replace(TIMEOUTS, choosing_seconds=0.0),
    replace(ATTACHING, placing_seconds=0.0),
)
"""Without time for choosing, and for placing, whatever there is for attaching."""
DEADLINES: dict[str, tuple[Hold, Timeouts, float, End]] = {
    # A hold, until when it stands, and why it ends then.
    "open": (OPEN, TIMEOUTS, 105.0, NOT_CHOSEN),
    "only-candidate": (ONLY, TIMEOUTS, 105.0, NOT_BOUND),
    "nominated": (NOMINATED, TIMEOUTS, 700.0, NOT_BOUND),
    "selected": (SELECTED, TIMEOUTS, 700.0, NOT_BOUND),
    "bound": (BOUND, TIMEOUTS, 111.0, NOT_PLACED),
    "bound-after-selection": (follow(SELECTED, 300.0, node=HERE), TIMEOUTS, 307.0, NOT_PLACED),
    "claim-named-after-binding": (
        follow(BOUND, 105.0, selected=HERE), TIMEOUTS, 111.0, NOT_PLACED),
    "node-taken-off-the-claim": (
        follow(SELECTED, nominated=ELSEWHERE), TIMEOUTS, 100.0 + PROVISIONING_SECONDS, NOT_BOUND),
    "refused": (follow(OPEN, 101.0, refused=True), TIMEOUTS,
        101.0 + GIVEN_UP_SECONDS, End.UNSCHEDULED),
    "refused-late": (follow(OPEN, 104.5, refused=True), TIMEOUTS, 105.0, NOT_CHOSEN),
    "selection-taken-back": (
        follow(SELECTED, 200.0), TIMEOUTS, 200.0 + GIVEN_UP_SECONDS, End.UNSCHEDULED),
    "bound-at-time-zero": (follow(hold(now=0.0), 0.0, node=HERE), TIMEOUTS, 7.0, NOT_PLACED),
    "time-for-choosing-none-and-open": (OPEN, UNCHOSEN, 100.0, NOT_CHOSEN),
    "time-for-choosing-none-and-only-candidate": (ONLY, UNCHOSEN, 100.0, NOT_BOUND),
    "time-for-choosing-none-and-selected": (SELECTED, UNCHOSEN, 100.0, NOT_BOUND),
    "time-for-placing-none-and-open": (OPEN, UNPLACED, 105.0, NOT_CHOSEN),
    "time-for-placing-none-and-bound": (BOUND, UNPLACED, 104.0, NOT_PLACED),
    # Longhorn looks for a place no earlier, and attaching takes a minute in a crowd.
    "bound-and-not-to-be-attached-yet": (BOUND, ATTACHING, 704.0, NOT_PLACED),
}  # fmt: skip
VIEWS = {
    "volume-unknown": view_of(),
    "volume-detached": attached(None),
    "volume-leaving-another-node": attached("node-2"),
    "replica-that-must-go-to-the-node": view_of(pending(of="vol")),
}


@pytest.mark.parametrize("view", VIEWS.values(), ids=VIEWS)
@pytest.mark.parametrize("name", DEADLINES)
def test_hold_stands_until_just_before_its_deadline(name, view):
    of, timeouts, until, why = DEADLINES[name]
    ledger = ledger_of(of)

    assert ledger.next_deadline(timeouts) == until
    assert ledger.settle(view, timeouts, math.nextafter(until, 0.0)) == NO_CHANGE
    assert ledger.settle(view, timeouts, until) == over(of, why, until)
    assert ledger.next_deadline(timeouts) is None


def test_provisioning_has_as_long_as_kube_scheduler_waits_for_it():
    assert PROVISIONING_SECONDS == 600.0


def test_time_for_placing_begins_when_the_volume_is_to_be_attached():
    ledger = ledger_of(BOUND)
    ledger.settle(attached(None), ATTACHING, 105.0)

    assert ledger.settle(attached("node-1"), ATTACHING, 300.0) == NO_CHANGE
    assert ledger.next_deadline(ATTACHING) == 307.0
    assert ledger.settle(attached("node-1"), ATTACHING, math.nextafter(307.0, 0.0)) == NO_CHANGE
    [ended] = ledger.settle(attached(None), ATTACHING, 307.0).ended
    assert (ended.hold.attaching_at, ended.why) == (300.0, NOT_PLACED)


def test_time_for_placing_begins_with_the_binding_if_attached_already():
    ledger = ledger_of(OPEN)
    ledger.settle(attached("node-1"), ATTACHING, 101.0)
    ledger.see("uid-pod", Sighting(node=HERE), 104.0)

    ledger.settle(attached("node-1"), ATTACHING, 104.0)

    assert ledger.next_deadline(ATTACHING) == 111.0


@pytest.mark.parametrize("now", [104.0, 111.0, 500.0], ids=["in-time", "at-deadline", "late"])
def test_placed_replicas_confirm_even_after_the_deadline(now):
    assert ledger_of(BOUND).settle(PLACED, TIMEOUTS, now) == over(BOUND, End.CONFIRMED, now)


def test_placed_replicas_do_not_confirm_an_open_hold_but_it_keeps_less():
    outcome = ledger_of(OPEN).settle(PLACED, TIMEOUTS, 101.0)

    assert (outcome.ended, outcome.advanced) == ((), ())
    assert outcome.freed == OPEN.nodes
    assert outcome.concerns_others


def test_settle_ends_each_in_its_own_way_and_leaves_the_rest():
    late = hold("late", now=95.0)
    stuck = follow(hold("stuck", volumes=["other"], now=90.0), 93.0, node=HERE)
    done = follow(hold("done", now=90.0), 91.0, nominated=HERE)
    open_ = hold("open", now=99.0)
    waiting = follow(hold("waiting", volumes=["third"], now=0.0), selected=ELSEWHERE)
    ledger = ledger_of(late, stuck, done, open_, waiting)

    outcome = ledger.settle(PLACED, TIMEOUTS, 100.0)

    assert {*outcome.ended} == {
        Ended(hold=late, why=NOT_CHOSEN, at=100.0),
        Ended(hold=stuck, why=NOT_PLACED, at=100.0),
        Ended(hold=done, why=End.CONFIRMED, at=100.0),
    }
    assert [*ledger] == [open_, waiting]


def test_end_frees_its_nodes_and_says_how_long_the_hold_stood():
    outcome = ledger_of(OPEN).drop("uid-pod", End.POD_GONE, 130.0)

    assert outcome == over(OPEN, End.POD_GONE, 130.0)
    assert outcome.ended[0].seconds == 30.0
    assert outcome.freed == {HERE, ELSEWHERE}
    assert outcome.concerns_others


TO_ONE = hold(nodes=["node-1"])
SEEN: dict[str, tuple[Hold, Sighting, Hold, set[NodeName], bool]] = {
    # A hold and a sighting; the hold then, the nodes that it frees, and whether others may wait
    # for that.
    "choice-frees-the-other-nodes": (
        OPEN, Sighting(nominated=HERE), NOMINATED, {ELSEWHERE}, True),
    "choice-of-the-only-accepted-node-frees-none": (
        TO_ONE, Sighting(nominated=HERE), follow(TO_ONE, 101.0, nominated=HERE), set(), True),
    "hold-that-stays-where-it-is": (
        NOMINATED, Sighting(node=HERE), follow(NOMINATED, 101.0, node=HERE), set(), False),
    "sighting-without-news": (OPEN, Sighting(), OPEN, set(), False),
    "sighting-of-the-same-again": (NOMINATED, Sighting(nominated=HERE), NOMINATED, set(), False),
}  # fmt: skip


@pytest.mark.parametrize("name", SEEN)
def test_sighting_tells_others_what_it_frees(name):
    before, sighting, after, freed, concerns_others = SEEN[name]
    ledger = ledger_of(before)

    outcome = ledger.see("uid-pod", sighting, 101.0)

    moved = (Advanced(before=before, after=after),) if after != before else ()
    assert outcome == Outcome(advanced=moved)
    assert [*ledger] == [after]
    assert outcome.freed == freed
    assert outcome.concerns_others is concerns_others


def test_pod_without_a_hold_changes_nothing():
    ledger = ledger_of(OPEN)

    assert ledger.drop("uid-nobody", End.POD_GONE, 101.0) == NO_CHANGE
    assert ledger.see("uid-nobody", Sighting(node=HERE), 101.0) == NO_CHANGE
    assert ledger.see_pod("uid-nobody", None, {}, 101.0) == NO_CHANGE
    assert ledger.see_claims([ClaimKey("default/other")], {}, 101.0) == NO_CHANGE
    assert [*ledger] == [OPEN]


def test_pods_are_told_apart_by_uid_not_by_name():
    again = replace(OPEN.pod, uid="uid-again")

    ledger = ledger_of(OPEN, replace(OPEN, pod=again))

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


CLAIM = ClaimKey("default/a")
UNBOUND = replace(hold(unbound="a", asked=PodStatus(version=1), now=100.0), pod=pod("a"))
"""The hold of a pod whose claim `a` is not bound."""


def claims_of(text: str) -> dict[ClaimKey, Claim]:
    """Read claims: `a@1` is to be provisioned for node-1, `a@` for none."""
    words = [word.split("@") for word in text.split()]
    found = [
        replace(claim(name), selected_node=NodeName(f"node-{number}") if number else None)
        for name, number in words
    ]
    return {each.key: each for each in found}


def see_pod(ledger: Ledger, claims: str = "", now: float = 101.0, **status: Any) -> Outcome:
    return ledger.see_pod("uid-pod", PodStatus(**status), claims_of(claims), now)


def see_claim(ledger: Ledger, claims: str) -> Outcome:
    return ledger.see_claims([CLAIM], claims_of(claims), 102.0)


def test_pod_is_seen_together_with_its_claims():
    ledger = ledger_of(UNBOUND)

    see_pod(ledger, "a@2", version=2, nominated=HERE)

    assert on(ledger, "node-2") == {"pod"}


def test_claim_is_seen_together_with_its_pod_as_last_heard_of():
    ledger = ledger_of(UNBOUND)
    see_pod(ledger, version=2, nominated=HERE)

    see_claim(ledger, "a@2")
    first = on(ledger, "node-2")
    see_claim(ledger, "a@")

    assert (first, on(ledger, "node-1")) == ({"pod"}, {"pod"})


def test_claim_moves_the_holds_of_all_pods_that_use_it_and_no_others():
    of = {"first": "a", "second": "a", "third": "b"}
    holds = [
        replace(hold(unbound=uses, now=100.0), pod=pod(uses, name=name))
        for name, uses in of.items()
    ]
    ledger = ledger_of(*holds)
    for each in holds:
        ledger.see_pod(each.pod.uid, PodStatus(version=1), {}, 100.0)

    outcome = see_claim(ledger, "a@1 b@1")

    assert [each.after.pod.name for each in outcome.advanced] == ["first", "second"]
    assert ledger.chosen_nodes() == {HERE}
    assert [each.pod.name for each in ledger.open_holds()] == ["third"]


def test_node_named_again_after_it_was_taken_back_counts():
    """kube-scheduler knew at the answer that the claim's old node was taken back."""
    ledger = ledger_of(replace(UNBOUND, unbound=frozenset({(CLAIM, HERE)})))
    see_pod(ledger, "a@1", version=1)

    assert see_claim(ledger, "a@1") == NO_CHANGE
    assert see_claim(ledger, "a@") == NO_CHANGE
    outcome = see_claim(ledger, "a@1")

    assert [each.after.node for each in outcome.advanced] == [HERE]


def test_node_nominated_before_an_answer_is_not_chosen_by_it():
    """After an outage kube-scheduler may ask with a copy from before its own nomination."""
    ledger = ledger_of(UNBOUND)
    see_pod(ledger, version=5, nominated=HERE)

    ledger.put(replace(UNBOUND, asked=PodStatus(version=4)))
    see_claim(ledger, "")
    see_pod(ledger, version=6, nominated=HERE)
    before = on(ledger, "node-1"), on(ledger, "node-2")
    see_pod(ledger, version=7, nominated=ELSEWHERE)

    assert before == ({"pod"}, {"pod"})
    assert (on(ledger, "node-1"), on(ledger, "node-2")) == (set(), {"pod"})


def test_claim_tells_the_node_of_a_pod_until_that_is_looked_up():
    """It may be invented, and name the claim of another one: then its hold ends."""
    ledger = ledger_of(UNBOUND)

    see_claim(ledger, "a@1")

    assert (on(ledger, "node-1"), on(ledger, "node-2")) == ({"pod"}, set())

    ledger.see_pod("uid-pod", None, claims_of("a@1"), 102.0)

    assert len(ledger) == 0


def test_pod_heard_of_twice_counts_in_its_later_version():
    ledger = ledger_of(OPEN)
    see_pod(ledger, now=101.0, version=5, node=HERE)

    assert see_pod(ledger, now=102.0, version=4) == NO_CHANGE
    [found] = ledger
    assert found.bound_at == 101.0


def test_mode_node_takes_only_binding_for_a_choice():
    ledger = Ledger(Mode.NODE)
    ledger.put(OPEN)

    see_pod(ledger, nominated=HERE)
    nominated = ledger.is_choosing()
    see_pod(ledger, node=HERE)

    assert (nominated, ledger.is_choosing()) == (True, False)


def test_holds_on_a_node():
    ledger = ledger_of(
        hold("both"),
        hold("first", nodes=["node-1"]),
        hold("only", nodes=["node-1"], only_candidate=True),
        follow(hold("bound"), node=HERE),
        follow(hold("away", nodes=["node-1"]), node=NodeName("node-9")),
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
