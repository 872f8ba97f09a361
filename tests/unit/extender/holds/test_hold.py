"""What becomes of one promise: what is seen of its pod, and what Longhorn does meanwhile."""

from collections.abc import Iterable
from itertools import product

import msgspec
import pytest

from extender.holds.hold import (
    TRANSITIONS,
    End,
    Hold,
    Sighting,
    Signal,
    State,
    advance,
    charged,
    is_confirmed,
)
from longhorn import NodeName, Replica, VolumeName
from tests.builders import hold, local, pending, pod, replica

HERE = NodeName("node-1")
ELSEWHERE = NodeName("node-2")
STRANGER = NodeName("node-9")
"""A node that was not accepted."""

SEEN: dict[Signal, Sighting] = {
    Signal.GONE: Sighting(exists=False),
    Signal.BOUND: Sighting(node=HERE),
    Signal.SELECTED: Sighting(selected=HERE),
    Signal.NOMINATED: Sighting(nominated=HERE),
    Signal.REFUSED: Sighting(refused=True),
    Signal.NOTHING: Sighting(),
}
EVERY_SIGHTING = [
    Sighting(exists=exists, node=node, selected=selected, nominated=nominated, refused=refused)
    for exists, refused in product((True, False), repeat=2)
    for node in (NodeName(""), HERE)
    for selected in (NodeName(""), ELSEWHERE)
    for nominated in (NodeName(""), STRANGER)
]
"""Each thing seen or not; where a node is named, another for each way of naming it."""
NAMING = [Signal.BOUND, Signal.SELECTED, Signal.NOMINATED]


def told_by(sighting: Sighting) -> str:
    """Return what a sighting says, for the name of a test."""
    says = {
        "gone": not sighting.exists,
        "bound": sighting.node,
        "selected": sighting.selected,
        "nominated": sighting.nominated,
        "refused": sighting.refused,
    }
    return "-".join(word for word, is_said in says.items() if is_said) or "nothing"


def naming(signal: Signal, node: str) -> Sighting:
    """Build a sighting that names *node* in one way."""
    name = NodeName(node)
    match signal:
        case Signal.BOUND:
            return Sighting(node=name)
        case Signal.SELECTED:
            return Sighting(selected=name)
        case _:
            return Sighting(nominated=name)


def seen(before: Hold, *sightings: Sighting, now: float = 1.0) -> Hold:
    """Return what sightings, a second apart, make of a hold that none of them ends."""
    for seconds, sighting in enumerate(sightings):
        after = advance(before, sighting, now + seconds)
        assert isinstance(after, Hold), after
        before = after
    return before


def ended(before: Hold, sighting: Sighting) -> End:
    """Return how a sighting ends a hold."""
    after = advance(before, sighting, 1.0)
    assert isinstance(after, End), after
    return after


def placed(signal: Signal = Signal.NOMINATED, node: str = "node-1") -> Hold:
    """Build a hold for which *signal* named the node."""
    return seen(hold(), naming(signal, node), now=0.5)


def by_volume(replicas: Iterable[Replica]) -> dict[VolumeName, list[Replica]]:
    """Sort replicas by their volume."""
    sorted_: dict[VolumeName, list[Replica]] = {}
    for each in replicas:
        sorted_.setdefault(each.volume, []).append(each)
    return sorted_


def charges(of: Hold, *replicas: Replica, node: NodeName = HERE) -> list[str]:
    """Return the names of the volumes for which a hold takes room on *node*."""
    return [str(each.name) for each in charged(of, node, by_volume(replicas))]


def confirms(of: Hold, *replicas: Replica) -> bool:
    """Say whether *replicas*, all there are now, confirm a hold."""
    return is_confirmed(of, by_volume(replicas))


def test_offer_counts_on_each_accepted_node() -> None:
    offered = hold(volumes=["a", "b"], nodes=["node-2", "node-1"], now=7.0)

    assert offered == Hold(
        pod=pod(name="pod"),
        volumes=(local("a"), local("b")),
        placed_before=frozenset(),
        existing=frozenset(),
        state=State.OFFERED,
        nodes=frozenset({HERE, ELSEWHERE}),
        answered_at=7.0,
        named_by=None,
        bound_at=None,
    )


def test_only_candidate_is_chosen_by_nobody_and_at_once() -> None:
    chosen = hold(nodes=["node-1"], only_candidate=True)

    assert (chosen.state, chosen.node, chosen.named_by) == (State.PLACED, HERE, None)


def test_one_accepted_of_several_candidates_is_not_chosen_yet() -> None:
    assert hold(nodes=["node-1"]).state is State.OFFERED


def test_offer_remembers_the_replicas_that_had_a_disk() -> None:
    before = [
        replica("a", on="node-1"),
        replica("b", on="node-2", failed=True),
        replica("c", on=""),
        pending("d", of="vol"),
    ]

    assert hold(replicas=before).placed_before == {"a", "b"}


@pytest.mark.parametrize(
    ("state", "signal", "expected"),
    [
        pytest.param(State.OFFERED, Signal.GONE, End.POD_GONE, id="offered-gone"),
        pytest.param(State.OFFERED, Signal.BOUND, State.PLACED, id="offered-bound"),
        pytest.param(State.OFFERED, Signal.SELECTED, State.PLACED, id="offered-selected"),
        pytest.param(State.OFFERED, Signal.NOMINATED, State.PLACED, id="offered-nominated"),
        pytest.param(State.OFFERED, Signal.REFUSED, State.OFFERED, id="offered-refused"),
        pytest.param(State.OFFERED, Signal.NOTHING, State.OFFERED, id="offered-nothing"),
        pytest.param(State.PLACED, Signal.GONE, End.POD_GONE, id="placed-gone"),
        pytest.param(State.PLACED, Signal.BOUND, State.PLACED, id="placed-bound"),
        pytest.param(State.PLACED, Signal.SELECTED, State.PLACED, id="placed-selected"),
        pytest.param(State.PLACED, Signal.NOMINATED, State.PLACED, id="placed-nominated"),
        pytest.param(State.PLACED, Signal.REFUSED, State.PLACED, id="placed-refused"),
        pytest.param(State.PLACED, Signal.NOTHING, State.PLACED, id="placed-nothing"),
    ],
)
@pytest.mark.parametrize("named_by", NAMING)
def test_signal_in_state(
    state: State, signal: Signal, expected: State | End, named_by: Signal
) -> None:
    before = hold() if state is State.OFFERED else placed(named_by)

    after = advance(before, SEEN[signal], 1.0)

    assert (after.state if isinstance(after, Hold) else after) is expected
    assert TRANSITIONS[state, signal] is expected


def test_table_tells_of_each_signal_in_each_state_and_of_nothing_else() -> None:
    assert set(TRANSITIONS) == set(product(State, Signal))


def test_each_row_of_the_table_is_reached_and_obeyed() -> None:
    """From the two answers there are, follow every sighting until nothing new comes of it."""
    waiting = [hold(), hold(nodes=["node-1"], only_candidate=True)]
    known = {*waiting}
    rows: set[tuple[State, Signal]] = set()
    while waiting:
        before = waiting.pop()
        for sighting in EVERY_SIGHTING:
            signal, node = sighting.signal
            after = advance(before, sighting, 1.0)
            rows.add((before.state, signal))
            if signal is Signal.NOTHING and before.named_by is None:
                assert after == before
                continue
            if signal in (Signal.REFUSED, Signal.NOTHING):
                assert after == msgspec.structs.replace(before, given_up_at=1.0)
                continue
            expected = TRANSITIONS[before.state, signal]
            if not isinstance(after, Hold):
                assert after is expected
                continue
            assert (after.state, after.named_by, after.node) == (expected, signal, node)
            if after not in known:
                known.add(after)
                waiting.append(after)

    assert rows == set(TRANSITIONS)


@pytest.mark.parametrize("sighting", EVERY_SIGHTING, ids=told_by)
def test_first_signal_in_order_counts_with_its_own_node(sighting: Sighting) -> None:
    told = [
        (not sighting.exists, Signal.GONE, NodeName("")),
        (sighting.node, Signal.BOUND, sighting.node),
        (sighting.selected, Signal.SELECTED, sighting.selected),
        (sighting.nominated, Signal.NOMINATED, sighting.nominated),
        (sighting.refused, Signal.REFUSED, NodeName("")),
        (True, Signal.NOTHING, NodeName("")),
    ]

    assert sighting.signal == next((signal, node) for is_told, signal, node in told if is_told)


def test_signals_stand_in_the_order_of_precedence() -> None:
    assert [*SEEN] == [*Signal]


@pytest.mark.parametrize("signal", NAMING)
@pytest.mark.parametrize("only_candidate", [False, True], ids=["offered", "only-candidate"])
@pytest.mark.parametrize("node", [ELSEWHERE, STRANGER], ids=["accepted", "not-accepted"])
def test_hold_goes_where_the_pod_goes(
    signal: Signal, node: NodeName, *, only_candidate: bool
) -> None:
    before = hold(
        nodes=["node-1"] if only_candidate else ["node-1", "node-2"], only_candidate=only_candidate
    )

    after = seen(before, naming(signal, node))

    assert after == msgspec.structs.replace(
        before,
        state=State.PLACED,
        nodes=frozenset({node}),
        named_by=signal,
        bound_at=1.0 if signal is Signal.BOUND else None,
    )


@pytest.mark.parametrize("first", NAMING)
@pytest.mark.parametrize("then", NAMING)
def test_chosen_node_changes(first: Signal, then: Signal) -> None:
    after = seen(placed(first, "node-1"), naming(then, STRANGER))

    assert (after.state, after.node, after.named_by) == (State.PLACED, STRANGER, then)


@pytest.mark.parametrize("signal", NAMING)
def test_same_sighting_again_changes_nothing(signal: Signal) -> None:
    once = placed(signal)

    assert seen(once, naming(signal, "node-1"), now=100.0) == once


def test_offer_stands_while_nothing_is_seen() -> None:
    assert seen(hold(), Sighting(), Sighting()) == hold()


def test_only_candidate_stands_while_nothing_is_seen() -> None:
    chosen = hold(nodes=["node-1"], only_candidate=True)

    assert seen(chosen, Sighting(), Sighting()) == chosen


@pytest.mark.parametrize("only_candidate", [False, True], ids=["offered", "only-candidate"])
def test_refusal_is_remembered_from_when_it_was_first_seen(*, only_candidate: bool) -> None:
    """It may be an earlier attempt's, which kube-scheduler had not written yet."""
    before = hold(nodes=["node-1"], only_candidate=only_candidate)

    after = seen(before, Sighting(refused=True), Sighting(refused=True), Sighting())

    assert after == msgspec.structs.replace(before, given_up_at=1.0)


@pytest.mark.parametrize("signal", NAMING)
def test_refusal_is_forgotten_when_a_node_is_named(signal: Signal) -> None:
    after = seen(hold(), Sighting(refused=True), naming(signal, "node-1"))

    assert after.given_up_at is None


def test_only_candidate_is_in_doubt_when_its_nomination_is_taken_back() -> None:
    chosen = hold(nodes=["node-1"], only_candidate=True)

    after = seen(chosen, Sighting(nominated=HERE), Sighting())

    assert (after.node, after.given_up_at) == (HERE, 2.0)


@pytest.mark.parametrize("signal", NAMING)
def test_hold_is_in_doubt_since_what_named_the_node_was_taken_back(signal: Signal) -> None:
    after = seen(placed(signal), Sighting(), Sighting())

    assert after == msgspec.structs.replace(placed(signal), given_up_at=1.0)


def test_nomination_taken_back_while_a_claim_names_the_node_ends_nothing() -> None:
    both = seen(hold(), Sighting(nominated=HERE), Sighting(nominated=HERE, selected=HERE))

    after = seen(both, Sighting(selected=HERE))

    assert (after.node, after.named_by) == (HERE, Signal.SELECTED)


def test_failed_binding_leaves_the_claim_with_its_node_and_the_hold_with_it() -> None:
    after = seen(placed(Signal.SELECTED), Sighting(selected=HERE, refused=True))

    assert after == placed(Signal.SELECTED)


def test_node_taken_off_the_claim_leaves_the_nomination() -> None:
    after = seen(placed(Signal.SELECTED), Sighting(nominated=ELSEWHERE))

    assert (after.node, after.named_by) == (ELSEWHERE, Signal.NOMINATED)


@pytest.mark.parametrize("first", [0.0, 5.0])
def test_time_of_binding_is_that_of_its_first_sighting(first: float) -> None:
    bound = Sighting(node=HERE)

    after = seen(hold(), bound, bound, Sighting(node=ELSEWHERE), Sighting(selected=HERE), now=first)

    assert after.bound_at == first


def test_pod_that_is_not_bound_has_no_time_of_binding() -> None:
    after = seen(hold(), Sighting(nominated=HERE), Sighting(selected=HERE))

    assert after.bound_at is None


def test_answer_is_kept_whatever_is_seen() -> None:
    before = hold(volumes=["a", "b"], replicas=[replica("a-r-1", of="a")], now=0.25)

    after = seen(before, *(naming(signal, STRANGER) for signal in NAMING))

    assert [after.pod, after.volumes, after.placed_before, after.answered_at] == [
        before.pod,
        before.volumes,
        before.placed_before,
        before.answered_at,
    ]


OFFERED = hold(volumes=["a", "b"])
PLACED = seen(OFFERED, Sighting(nominated=HERE))


@pytest.mark.parametrize(
    ("of", "replicas", "expected"),
    [
        pytest.param(OFFERED, [], ["a", "b"], id="offered-no-replicas"),
        pytest.param(PLACED, [], ["a", "b"], id="placed-no-replicas"),
        pytest.param(OFFERED, [replica(of="b")], ["a"], id="offered-one-here"),
        pytest.param(PLACED, [replica(of="b")], ["a"], id="placed-one-here"),
        pytest.param(PLACED, [replica(of="a")], ["b"], id="placed-the-other-here"),
        pytest.param(PLACED, [replica("r", of="c")], ["a", "b"], id="replica-of-another-volume"),
        pytest.param(PLACED, [replica(of="a", on="")], ["a", "b"], id="unassigned"),
        pytest.param(OFFERED, [replica(of="a", on="")], ["a", "b"], id="offered-unassigned"),
        pytest.param(PLACED, [replica(of="a", on="node-2")], ["b"], id="placed-went-elsewhere"),
        pytest.param(
            OFFERED, [replica(of="a", on="node-2")], ["a", "b"], id="offered-another-node-has-it"
        ),
        pytest.param(PLACED, [pending(of="a")], ["b"], id="must-go-here"),
        pytest.param(OFFERED, [pending(of="a")], ["b"], id="offered-must-go-here"),
        pytest.param(PLACED, [pending(of="a", node="node-2")], ["a", "b"], id="must-go-elsewhere"),
        pytest.param(
            OFFERED, [pending(of="a", node="node-2")], ["a", "b"], id="offered-must-go-elsewhere"
        ),
        pytest.param(
            OFFERED,
            [replica(of="a", on="node-2", pinned_to="node-1")],
            ["a", "b"],
            id="pinned-here-but-placed-elsewhere",
        ),
        pytest.param(
            PLACED,
            [replica("a-1", of="a", on=""), replica("a-2", of="a"), replica("a-3", of="a", on="")],
            ["b"],
            id="one-of-several-here",
        ),
        pytest.param(
            PLACED,
            [replica("a-1", of="a", on=""), pending("a-2", of="a")],
            ["b"],
            id="one-of-several-must-go-here",
        ),
        pytest.param(
            PLACED,
            [replica("a-1", of="a", on="node-3"), pending("a-2", of="a", node="node-3")],
            ["b"],
            id="one-of-several-went-elsewhere",
        ),
        pytest.param(
            PLACED, [replica("a-1", of="a"), pending("b-1", of="b")], [], id="each-in-its-own-way"
        ),
    ],
)
def test_volumes_that_still_take_room_on_the_node(
    of: Hold, replicas: list[Replica], expected: list[str]
) -> None:
    assert charges(of, *replicas) == expected


def test_offer_takes_no_room_on_the_nodes_that_hold_a_replica_already() -> None:
    before = [replica("a-1", of="a", on="node-1"), replica("b-1", of="b", on="node-2")]
    offered = hold(volumes=["a", "b"], replicas=before)

    assert charges(offered, *before, node=HERE) == ["b"]
    assert charges(offered, *before, node=ELSEWHERE) == ["a"]
    assert charges(offered, *before, node=STRANGER) == ["a", "b"]


def test_replica_that_was_elsewhere_at_the_answer_says_nothing() -> None:
    before = [replica("a-1", of="a", on="node-2"), replica("a-2", of="a", on="node-3")]
    chosen = seen(hold(volumes=["a"], replicas=before), Sighting(node=HERE))

    assert charges(chosen, *before) == ["a"]
    assert not confirms(chosen, *before)


def test_replica_that_was_elsewhere_at_the_answer_does_not_hide_one_that_goes_elsewhere() -> None:
    before = replica("a-1", of="a", on="node-2")
    chosen = seen(hold(volumes=["a"], replicas=[before]), Sighting(node=HERE))

    assert charges(chosen, before, replica("a-2", of="a", on="node-3")) == []
    assert confirms(chosen, before, replica("a-2", of="a", on="node-3"))


def test_replica_without_a_disk_at_the_answer_that_is_put_elsewhere_counts_as_new() -> None:
    unassigned = replica("a-1", of="a", on="")
    chosen = seen(hold(volumes=["a"], replicas=[unassigned]), Sighting(node=HERE))

    assert charges(chosen, replica("a-1", of="a", on="node-2")) == []


def test_two_volumes_are_told_apart_by_their_own_replicas_of_before() -> None:
    before = replica("a-1", of="a", on="node-2")
    chosen = seen(hold(volumes=["a", "b"], replicas=[before]), Sighting(node=HERE))

    assert charges(chosen, before, replica("b-1", of="b", on="node-2")) == ["a"]


def test_replica_put_on_the_node_counts_itself_until_it_is_gone() -> None:
    """Longhorn keeps a replica's bytes in storageScheduled whatever becomes of it."""
    failed = replica("a-1", of="a", failed=True, healthy_once=False)
    chosen = seen(hold(volumes=["a"]), Sighting(node=HERE))

    assert charges(chosen, failed) == []
    assert charges(chosen, msgspec.structs.replace(failed, deleting=True)) == []
    assert charges(chosen) == ["a"]


@pytest.mark.parametrize(
    ("of", "replicas", "expected"),
    [
        pytest.param(PLACED, [], False, id="no-replicas"),
        pytest.param(PLACED, [replica(of="a")], False, id="one-volume-of-two"),
        pytest.param(PLACED, [replica(of="b")], False, id="the-other-volume-of-two"),
        pytest.param(PLACED, [replica(of="a"), replica(of="b")], True, id="both-here"),
        pytest.param(
            PLACED, [replica(of="a"), replica(of="b", on="node-2")], True, id="one-elsewhere"
        ),
        pytest.param(PLACED, [replica(of="a"), replica(of="b", on="")], False, id="unassigned"),
        pytest.param(PLACED, [replica(of="a"), pending(of="b")], False, id="must-go-here"),
        pytest.param(OFFERED, [replica(of="a"), replica(of="b")], False, id="node-not-chosen"),
    ],
)
def test_hold_is_confirmed_when_each_volume_is_placed(
    of: Hold, replicas: list[Replica], *, expected: bool
) -> None:
    assert confirms(of, *replicas) is expected


def test_replicas_that_are_here_already_confirm_the_choice_of_the_node() -> None:
    before = [replica("a-1", of="a"), replica("b-1", of="b")]
    offered = hold(volumes=["a", "b"], replicas=before)

    assert confirms(seen(offered, Sighting(nominated=HERE)), *before)
    assert not confirms(seen(offered, Sighting(nominated=ELSEWHERE)), *before)


def test_replica_on_the_node_chosen_first_has_gone_elsewhere_after_the_change() -> None:
    moved = seen(hold(volumes=["a"]), Sighting(nominated=HERE), Sighting(node=ELSEWHERE))

    assert confirms(moved, replica("a-1", of="a", on="node-1"))


@pytest.mark.parametrize("node", ["node-1", "node-2"])
def test_confirmed_hold_takes_no_room(node: str) -> None:
    replicas = [replica(of="a", on=node), replica(of="b", on=node)]

    assert confirms(PLACED, *replicas)
    assert charges(PLACED, *replicas) == []


def test_offered_hold_has_no_node_yet() -> None:
    with pytest.raises(AssertionError):
        _ = hold(nodes=["node-1"]).node


@pytest.mark.parametrize(
    "worthless",
    [
        pytest.param(replica(failed=True, rebuild_retries=5), id="failed-for-good"),
        pytest.param(replica(deleting=True), id="deleting"),
        pytest.param(replica(active=False), id="inactive"),
    ],
)
def test_a_replica_that_was_worth_nothing_takes_care_of_nothing(worthless: Replica) -> None:
    """Room was promised for another one beside it."""
    made = hold(nodes=["node-1"], replicas=[worthless])
    of_volume = {VolumeName("vol"): [worthless]}

    assert [each.name for each in charged(made, NodeName("node-1"), of_volume)] == ["vol"]


@pytest.mark.parametrize(
    "change",
    [pytest.param({"deleting": True}, id="deleting"), pytest.param({"failed": True}, id="failed")],
)
def test_a_replica_that_will_not_be_placed_leaves_the_charge(change: dict[str, bool]) -> None:
    coming = msgspec.structs.replace(pending(of="vol"), **change)
    made = hold(nodes=["node-1"])

    charges = charged(made, NodeName("node-1"), {VolumeName("vol"): [coming]})

    assert [each.name for each in charges] == ["vol"]


def test_a_replica_that_is_gone_since_takes_care_of_nothing() -> None:
    made = hold(nodes=["node-1"], replicas=[replica()])

    charges = charged(made, NodeName("node-1"), {VolumeName("vol"): []})

    assert [each.name for each in charges] == ["vol"]
