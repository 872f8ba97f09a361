"""What becomes of one hold: what is seen of its pod, and what Longhorn does meanwhile.

What follows from many sightings one after another is checked in `test_ledger_stateful.py`.
"""

from collections.abc import Iterable
from itertools import product

import msgspec
import pytest

from extender.holds.evidence import is_confirmed, volumes_still_held
from extender.holds.hold import End, Hold, Sighting, Signal, State, advance
from longhorn import Locality, NodeName, Replica, ReplicaName, VolumeName
from tests.builders import hold, pending, pod, replica, view_of, volume, wanted

HERE = NodeName("node-1")
ELSEWHERE = NodeName("node-2")
STRANGER = NodeName("node-9")
"""A node that was not accepted."""

NAMING = [
    pytest.param(Signal.BOUND, "node", id="bound"),
    pytest.param(Signal.SELECTED, "selected", id="selected"),
    pytest.param(Signal.NOMINATED, "nominated", id="nominated"),
]
"""The ways to name a node, and the field of a sighting for each."""


def seen(before: Hold, *sightings: Sighting, now: float = 1.0) -> Hold:
    """Return what sightings, a second apart, make of a hold that none of them ends."""
    for seconds, sighting in enumerate(sightings):
        after = advance(before, sighting, now + seconds)
        assert isinstance(after, Hold), after
        before = after
    return before


def by_volume(replicas: Iterable[Replica]) -> dict[VolumeName, list[Replica]]:
    """Sort replicas by their volume."""
    sorted_: dict[VolumeName, list[Replica]] = {}
    for each in replicas:
        sorted_.setdefault(each.volume, []).append(each)
    return sorted_


def charges(of: Hold, *replicas: Replica, node: NodeName = HERE) -> list[str]:
    """Return the names of the volumes for which a hold takes room on *node*."""
    return [str(each.name) for each in volumes_still_held(of, node, by_volume(replicas))]


def confirms(of: Hold, *replicas: Replica) -> bool:
    """Say whether *replicas*, all there are now, confirm a hold."""
    named = {each.name if each.volume == "a" else f"{each.name}-b": each for each in replicas}
    return is_confirmed(
        of,
        view_of(*(msgspec.structs.replace(r, name=ReplicaName(name)) for name, r in named.items())),
    )


def test_a_new_hold_counts_on_each_accepted_node() -> None:
    before = [replica("a", on="node-1"), replica("b", on="node-2", failed=True), pending("d")]

    made = hold(volumes=["a", "b"], nodes=["node-2", "node-1"], replicas=before, now=7.0)

    assert msgspec.structs.replace(made, existing=frozenset()) == Hold(
        pod=pod(name="pod"),
        volumes=(wanted(volume("a")), wanted(volume("b"))),
        placed_before=frozenset(each.name for each in before[:2]),
        existing=frozenset(),
        state=State.OPEN,
        nodes=frozenset({HERE, ELSEWHERE}),
        answered_at=7.0,
    )


def test_only_candidate_is_chosen_by_nobody_and_at_once() -> None:
    chosen = hold(nodes=["node-1"], only_candidate=True)

    assert (chosen.state, chosen.node, chosen.named_by) == (State.CHOSEN, HERE, None)


def test_one_accepted_of_several_candidates_is_not_chosen_yet() -> None:
    assert hold(nodes=["node-1"]).state is State.OPEN


@pytest.mark.parametrize("exists", [True, False], ids=["exists", "gone"])
@pytest.mark.parametrize("refused", [True, False], ids=["refused", "not-refused"])
def test_first_signal_in_order_counts_with_its_own_node(*, exists: bool, refused: bool) -> None:
    for node, selected, nominated in product((None, HERE), (None, ELSEWHERE), (None, STRANGER)):
        sighting = Sighting(
            exists=exists, node=node, selected=selected, nominated=nominated, refused=refused
        )
        said = [
            (not exists, Signal.GONE, None),
            (node, Signal.BOUND, node),
            (selected, Signal.SELECTED, selected),
            (nominated, Signal.NOMINATED, nominated),
            (refused, Signal.REFUSED, None),
            (True, Signal.NOTHING, None),
        ]

        assert sighting.signal == next(
            (signal, where) for is_said, signal, where in said if is_said
        )


BEFORE = [
    pytest.param(hold(), id="open"),
    pytest.param(hold(nodes=["node-1"], only_candidate=True), id="only-candidate"),
    pytest.param(seen(hold(), Sighting(selected=HERE)), id="selected"),
    pytest.param(seen(hold(), Sighting(refused=True)), id="refused"),
]


@pytest.mark.parametrize("before", BEFORE)
def test_a_pod_that_is_gone_ends_its_hold(before: Hold) -> None:
    assert advance(before, Sighting(exists=False), 1.0) is End.POD_GONE


@pytest.mark.parametrize(("signal", "field"), NAMING)
@pytest.mark.parametrize("before", BEFORE)
@pytest.mark.parametrize("node", [ELSEWHERE, STRANGER], ids=["accepted", "not-accepted"])
def test_hold_goes_where_the_pod_goes(
    before: Hold, signal: Signal, field: str, node: NodeName
) -> None:
    after = seen(before, msgspec.structs.replace(Sighting(), **{field: node}), now=5.0)

    assert after == msgspec.structs.replace(
        before,
        state=State.CHOSEN,
        nodes=frozenset({node}),
        named_by=signal,
        bound_at=5.0 if signal is Signal.BOUND else None,
        given_up_at=None,
    )


@pytest.mark.parametrize("first", [0.0, 5.0])
def test_time_of_binding_is_that_of_its_first_sighting(first: float) -> None:
    bound = Sighting(node=HERE)

    after = seen(hold(), bound, bound, Sighting(node=ELSEWHERE), Sighting(selected=HERE), now=first)

    assert after.bound_at == first


@pytest.mark.parametrize("before", BEFORE[:2])
def test_hold_stands_while_nothing_is_seen(before: Hold) -> None:
    assert seen(before, Sighting(), Sighting()) == before


@pytest.mark.parametrize("before", BEFORE[:3])
def test_refusal_is_remembered_from_when_it_was_first_seen(before: Hold) -> None:
    """It may belong to an earlier attempt, which kube-scheduler had not written yet."""
    after = seen(before, Sighting(refused=True), Sighting(refused=True), Sighting())

    assert after == msgspec.structs.replace(before, given_up_at=1.0)


def test_hold_is_in_doubt_since_what_named_the_node_was_taken_back() -> None:
    after = seen(hold(), Sighting(nominated=HERE), Sighting(), Sighting())

    assert (after.node, after.given_up_at) == (HERE, 2.0)


def test_node_taken_off_the_claim_leaves_the_nomination() -> None:
    after = seen(hold(), Sighting(selected=HERE), Sighting(nominated=ELSEWHERE))

    assert (after.node, after.named_by, after.given_up_at) == (ELSEWHERE, Signal.NOMINATED, None)


OPEN = hold(volumes=["a", "b"])
CHOSEN = seen(OPEN, Sighting(nominated=HERE))


@pytest.mark.parametrize(
    ("of", "replicas", "expected"),
    [
        pytest.param(OPEN, [], ["a", "b"], id="open-no-replicas"),
        pytest.param(CHOSEN, [], ["a", "b"], id="chosen-no-replicas"),
        pytest.param(OPEN, [replica(of="b")], ["a"], id="open-one-here"),
        pytest.param(CHOSEN, [replica(of="b")], ["a"], id="chosen-one-here"),
        pytest.param(CHOSEN, [replica(of="a")], ["b"], id="chosen-the-other-here"),
        pytest.param(CHOSEN, [replica("r", of="c")], ["a", "b"], id="replica-of-another-volume"),
        pytest.param(CHOSEN, [replica(of="a", on="")], ["a", "b"], id="unassigned"),
        pytest.param(OPEN, [replica(of="a", on="")], ["a", "b"], id="open-unassigned"),
        pytest.param(CHOSEN, [replica(of="a", on="node-2")], ["b"], id="chosen-went-elsewhere"),
        pytest.param(
            OPEN, [replica(of="a", on="node-2")], ["a", "b"], id="open-another-node-has-it"
        ),
        pytest.param(CHOSEN, [pending(of="a")], ["b"], id="must-go-here"),
        pytest.param(OPEN, [pending(of="a")], ["b"], id="open-must-go-here"),
        pytest.param(CHOSEN, [pending(of="a", node="node-2")], ["a", "b"], id="must-go-elsewhere"),
        pytest.param(
            OPEN, [pending(of="a", node="node-2")], ["a", "b"], id="open-must-go-elsewhere"
        ),
        pytest.param(
            OPEN,
            [replica(of="a", on="node-2", pinned_to="node-1")],
            ["a", "b"],
            id="pinned-here-but-placed-elsewhere",
        ),
        pytest.param(
            CHOSEN,
            [replica("a-1", of="a", on=""), replica("a-2", of="a"), replica("a-3", of="a", on="")],
            ["b"],
            id="one-of-several-here",
        ),
        pytest.param(
            CHOSEN,
            [replica("a-1", of="a", on=""), pending("a-2", of="a")],
            ["b"],
            id="one-of-several-must-go-here",
        ),
        pytest.param(
            CHOSEN,
            [replica("a-1", of="a", on="node-3"), pending("a-2", of="a", node="node-3")],
            ["b"],
            id="one-of-several-went-elsewhere",
        ),
        pytest.param(
            CHOSEN, [replica("a-1", of="a"), pending("b-1", of="b")], [], id="each-in-its-own-way"
        ),
    ],
)
def test_volumes_that_still_take_room_on_the_node(
    of: Hold, replicas: list[Replica], expected: list[str]
) -> None:
    assert charges(of, *replicas) == expected


@pytest.mark.parametrize(
    ("replicas", "failed", "elsewhere", "expected"),
    [
        pytest.param(3, False, 2, ["a"], id="one-is-still-to-come"),
        pytest.param(3, False, 3, [], id="all-went-elsewhere"),
        pytest.param(3, True, 3, ["a"], id="one-is-to-be-made-anew"),
        pytest.param(1, True, 1, [], id="the-only-one-went-elsewhere"),
    ],
)
def test_a_volume_takes_no_room_once_all_of_it_went_elsewhere(
    replicas: int, elsewhere: int, expected: list[str], *, failed: bool
) -> None:
    of_several = (wanted(volume("a", replicas=replicas)),)
    chosen = msgspec.structs.replace(seen(hold(), Sighting(node=HERE)), volumes=of_several)
    placed = [
        replica(f"a-{n}", of="a", on=f"node-{n + 2}", failed=failed and n == 0)
        for n in range(elsewhere)
    ]

    assert charges(chosen, *placed) == expected


def test_open_hold_takes_no_room_on_the_nodes_that_hold_a_replica_already() -> None:
    before = [replica("a-1", of="a", on="node-1"), replica("b-1", of="b", on="node-2")]
    made = hold(volumes=["a", "b"], replicas=before)

    assert charges(made, *before, node=HERE) == ["b"]
    assert charges(made, *before, node=ELSEWHERE) == ["a"]
    assert charges(made, *before, node=STRANGER) == ["a", "b"]


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
        pytest.param(CHOSEN, [], False, id="no-replicas"),
        pytest.param(CHOSEN, [replica(of="a")], False, id="one-volume-of-two"),
        pytest.param(CHOSEN, [replica(of="b")], False, id="the-other-volume-of-two"),
        pytest.param(CHOSEN, [replica(of="a"), replica(of="b")], True, id="both-here"),
        pytest.param(
            CHOSEN, [replica(of="a"), replica(of="b", on="node-2")], True, id="one-elsewhere"
        ),
        pytest.param(CHOSEN, [replica(of="a"), replica(of="b", on="")], False, id="unassigned"),
        pytest.param(CHOSEN, [replica(of="a"), pending(of="b")], False, id="must-go-here"),
        pytest.param(OPEN, [replica(of="a"), replica(of="b")], False, id="node-not-chosen"),
    ],
)
def test_hold_is_confirmed_when_each_volume_is_placed(
    of: Hold, replicas: list[Replica], *, expected: bool
) -> None:
    assert confirms(of, *replicas) is expected


def test_replicas_that_are_not_placed_confirm_nothing_before_their_volume_is_known() -> None:
    disabled = wanted(volume("a", locality=Locality.DISABLED))
    chosen = msgspec.structs.replace(CHOSEN, volumes=(), remote=(disabled,))

    assert not confirms(chosen, replica(of="a", on=""))
    assert confirms(chosen, replica(of="a"))


def test_replicas_that_are_here_already_confirm_the_choice_of_the_node() -> None:
    before = [replica("a-1", of="a"), replica("b-1", of="b")]
    made = hold(volumes=["a", "b"], replicas=before)

    assert confirms(seen(made, Sighting(nominated=HERE)), *before)
    assert not confirms(seen(made, Sighting(nominated=ELSEWHERE)), *before)


def test_replica_on_the_node_chosen_first_has_gone_elsewhere_after_the_change() -> None:
    moved = seen(hold(volumes=["a"]), Sighting(nominated=HERE), Sighting(node=ELSEWHERE))

    assert confirms(moved, replica("a-1", of="a", on="node-1"))


def test_open_hold_has_no_node_yet() -> None:
    with pytest.raises(AssertionError):
        _ = hold(nodes=["node-1"]).node


@pytest.mark.parametrize(
    "useless",
    [
        pytest.param(replica(failed=True, rebuild_retries=5), id="failed-for-good"),
        pytest.param(replica(deleting=True), id="deleting"),
        pytest.param(replica(active=False), id="inactive"),
    ],
)
def test_room_is_held_beside_a_replica_that_was_of_no_use(useless: Replica) -> None:
    assert charges(hold(nodes=["node-1"], replicas=[useless]), useless) == ["vol"]


@pytest.mark.parametrize(
    "change",
    [pytest.param({"deleting": True}, id="deleting"), pytest.param({"failed": True}, id="failed")],
)
def test_a_replica_that_will_not_be_placed_leaves_the_charge(change: dict[str, bool]) -> None:
    coming = msgspec.structs.replace(pending(of="vol"), **change)

    assert charges(hold(nodes=["node-1"]), coming) == ["vol"]


def test_a_replica_that_is_gone_since_leaves_the_charge() -> None:
    assert charges(hold(nodes=["node-1"], replicas=[replica()])) == ["vol"]
