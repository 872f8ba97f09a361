"""What becomes of one hold: what is seen of its pod, and what Longhorn does meanwhile.

What follows from many sightings one after another is checked in `test_ledger_stateful.py`.
"""

from collections import defaultdict
from collections.abc import Iterable
from itertools import product

import pytest
from msgspec.structs import replace

from extender.holds.evidence import is_confirmed, volumes_still_held
from extender.holds.hold import End, Hold, Sighting, Signal, State, advance
from longhorn import Locality, NodeName, Replica, VolumeName
from tests.builders import hold, pending, pod, replica, replicas_of, view_of, volume, wanted

HERE = NodeName("node-1")
ELSEWHERE = NodeName("node-2")
STRANGER = NodeName("node-9")
"""A node that was not accepted."""

NAMING = {"node": Signal.BOUND, "selected": Signal.SELECTED, "nominated": Signal.NOMINATED}
"""The fields of a sighting that name a node, and the signal of each."""


def seen(before: Hold, *sightings: Sighting, now: float = 1.0) -> Hold:
    """Return what sightings, a second apart, make of a hold that none of them ends."""
    for seconds, sighting in enumerate(sightings):
        after = advance(before, sighting, now + seconds)
        assert isinstance(after, Hold), after
        before = after
    return before


def charges(of: Hold, replicas: str | Iterable[Replica], node: NodeName = HERE) -> str:
    """Return the names of the volumes for which a hold takes room on *node*, if these are there."""
    by_volume = defaultdict[VolumeName, list[Replica]](list)
    for each in replicas_of(replicas) if isinstance(replicas, str) else replicas:
        by_volume[each.volume].append(each)
    return " ".join(each.name for each in volumes_still_held(of, node, by_volume))


def confirms(of: Hold, replicas: str | Iterable[Replica]) -> bool:
    """Say whether *replicas*, all there are now, confirm a hold."""
    return is_confirmed(
        of, view_of(*(replicas_of(replicas) if isinstance(replicas, str) else replicas))
    )


def made_with(replicas: str, volumes: str = "a") -> Hold:
    """Build a hold whose answer knew of these replicas."""
    return hold(volumes=volumes, replicas=replicas_of(replicas))


def chosen_with(replicas: str, volumes: str = "a", on: NodeName = HERE) -> Hold:
    """Build one whose pod then got a node."""
    return seen(made_with(replicas, volumes), Sighting(node=on))


def test_new_hold_counts_on_each_accepted_node():
    before = [replica("a", on="node-1"), replica("b", on="node-2", failed=True), pending("d")]

    made = hold(volumes=["a", "b"], nodes=["node-2", "node-1"], replicas=before, now=7.0)

    assert replace(made, existing=frozenset()) == Hold(
        pod=pod(name="pod"),
        volumes=(wanted(volume("a")), wanted(volume("b"))),
        placed_before=frozenset(each.name for each in before[:2]),
        existing=frozenset(),
        state=State.OPEN,
        nodes=frozenset({HERE, ELSEWHERE}),
        answered_at=7.0,
    )


def test_candidate_that_is_the_only_one_is_chosen_at_once():
    chosen = hold(nodes=["node-1"], only_candidate=True)

    assert (chosen.state, chosen.node, chosen.named_by) == (State.CHOSEN, HERE, None)


def test_open_hold_has_no_node_yet():
    made = hold(nodes=["node-1"])

    assert made.state is State.OPEN
    with pytest.raises(AssertionError):
        _ = made.node


@pytest.mark.parametrize("exists", [True, False], ids=["exists", "gone"])
@pytest.mark.parametrize("refused", [True, False], ids=["refused", "not-refused"])
def test_signal_that_is_first_in_order_counts_with_its_own_node(exists, refused):
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


BEFORE = {
    "open": hold(),
    "only-candidate": hold(nodes=["node-1"], only_candidate=True),
    "selected": seen(hold(), Sighting(selected=HERE)),
    "refused": seen(hold(), Sighting(refused=True)),
}


@pytest.mark.parametrize("before", BEFORE)
def test_pod_that_is_gone_ends_its_hold(before):
    assert advance(BEFORE[before], Sighting(exists=False), 1.0) is End.POD_GONE


@pytest.mark.parametrize("field", NAMING)
@pytest.mark.parametrize("before", BEFORE)
@pytest.mark.parametrize("node", [ELSEWHERE, STRANGER], ids=["accepted", "not-accepted"])
def test_hold_goes_where_the_pod_goes(before, field, node):
    after = seen(BEFORE[before], replace(Sighting(), **{field: node}), now=5.0)

    assert after == replace(
        BEFORE[before],
        state=State.CHOSEN,
        nodes=frozenset({node}),
        named_by=NAMING[field],
        bound_at=5.0 if field == "node" else None,
        given_up_at=None,
    )


@pytest.mark.parametrize("first", [0.0, 5.0])
def test_time_of_binding_is_that_of_its_first_sighting(first):
    bound = Sighting(node=HERE)

    after = seen(hold(), bound, bound, Sighting(node=ELSEWHERE), Sighting(selected=HERE), now=first)

    assert after.bound_at == first


@pytest.mark.parametrize("before", ["open", "only-candidate"])
def test_hold_stands_while_nothing_is_seen(before):
    assert seen(BEFORE[before], Sighting(), Sighting()) == BEFORE[before]


@pytest.mark.parametrize("before", ["open", "only-candidate", "selected"])
def test_refusal_is_remembered_from_when_it_was_first_seen(before):
    """It may belong to an earlier attempt, which kube-scheduler had not written yet."""
    after = seen(BEFORE[before], Sighting(refused=True), Sighting(refused=True), Sighting())

    assert after == replace(BEFORE[before], given_up_at=1.0)


def test_hold_is_in_doubt_since_the_nomination_was_taken_back():
    after = seen(hold(), Sighting(nominated=HERE), Sighting(), Sighting())

    assert (after.node, after.given_up_at) == (HERE, 2.0)


def test_node_taken_off_the_claim_leaves_the_nomination():
    after = seen(hold(), Sighting(selected=HERE), Sighting(nominated=ELSEWHERE))

    assert (after.node, after.named_by, after.given_up_at) == (ELSEWHERE, Signal.NOMINATED, None)


OPEN = made_with("", "ab")
CHOSEN = seen(OPEN, Sighting(nominated=HERE))
MOVED = seen(hold(volumes=["a"]), Sighting(nominated=HERE), Sighting(node=ELSEWHERE))
ELSEWHERE_PINNED = [replica(of="a", on="node-2", pinned_to="node-1")]
RETRIED = replica(failed=True, rebuild_retries=5)
"""Failed for good."""


def at_one_node(before: list[Replica]) -> Hold:
    return hold(nodes=["node-1"], replicas=before)


FAILED = replica("a-1", of="a", failed=True, healthy_once=False)
CHARGES: dict[str, tuple[Hold, str | list[Replica], str]] = {
    # A hold, all replicas there are, and the volumes for which it takes room on node-1.
    "open-without-replicas": (OPEN, "", "a b"),
    "chosen-without-replicas": (CHOSEN, "", "a b"),
    "open-one-here": (OPEN, "b@1", "a"),
    "chosen-one-here": (CHOSEN, "b@1", "a"),
    "chosen-the-other-here": (CHOSEN, "a@1", "b"),
    "replica-of-another-volume": (CHOSEN, "c@1", "a b"),
    "chosen-unassigned": (CHOSEN, "a@", "a b"),
    "open-unassigned": (OPEN, "a@", "a b"),
    "chosen-went-elsewhere": (CHOSEN, "a@2", "b"),
    "open-another-node-has-it": (OPEN, "a@2", "a b"),
    "chosen-must-go-here": (CHOSEN, "a>1", "b"),
    "open-must-go-here": (OPEN, "a>1", "b"),
    "chosen-must-go-elsewhere": (CHOSEN, "a>2", "a b"),
    "open-must-go-elsewhere": (OPEN, "a>2", "a b"),
    "open-pinned-here-but-placed-elsewhere": (OPEN, ELSEWHERE_PINNED, "a b"),
    "chosen-several-one-here": (CHOSEN, "a@ a@1 a@", "b"),
    "chosen-several-one-must-go-here": (CHOSEN, "a@ a>1", "b"),
    "chosen-several-one-went-elsewhere": (CHOSEN, "a@3 a>3", "b"),
    "volumes-each-in-its-own-way": (CHOSEN, "a@1 b>1", ""),
    "replicas-elsewhere-at-the-answer-say-nothing": (chosen_with("a@2 a@3"), "a@2 a@3", "a"),
    "replica-elsewhere-at-the-answer-hides-no-new-one": (chosen_with("a@2"), "a@2 a@3", ""),
    "replica-unassigned-at-the-answer-counts-as-new": (chosen_with("a@"), "a@2", ""),
    "volumes-are-told-apart-by-replicas-of-before": (chosen_with("a@2", "ab"), "a@2 b@2", "a"),
    # Longhorn keeps a replica's bytes in storageScheduled whatever becomes of it.
    "replica-here-counts-itself-when-failed": (chosen_with(""), [FAILED], ""),
    "replica-here-counts-itself-when-deleted": (
        chosen_with(""), [replace(FAILED, deleting=True)], ""),
    "replica-here-is-gone": (chosen_with(""), "", "a"),
    "replica-of-no-use-failed-for-good": (at_one_node([RETRIED]), [RETRIED], "vol"),
    "replica-of-no-use-deleting": (
        at_one_node(replicas_of("vol@1/deleting")), "vol@1/deleting", "vol"),
    "replica-of-no-use-inactive": (
        at_one_node(replicas_of("vol@1/inactive")), "vol@1/inactive", "vol"),
    "replica-that-will-not-be-placed-deleting": (at_one_node([]), "vol>1/deleting", "vol"),
    "replica-that-will-not-be-placed-failed": (at_one_node([]), "vol>1/failed", "vol"),
    "replica-that-is-gone-since": (at_one_node(replicas_of("vol@1")), "", "vol"),
}  # fmt: skip


@pytest.mark.parametrize("name", CHARGES)
def test_volumes_that_still_take_room_on_the_node(name):
    of, replicas, expected = CHARGES[name]

    assert charges(of, replicas) == expected


@pytest.mark.parametrize(
    ("replicas", "placed", "expected"),
    [
        pytest.param(3, "a@2 a@3", "a", id="replica-still-to-come"),
        pytest.param(3, "a@2 a@3 a@4", "", id="replicas-all-elsewhere"),
        pytest.param(3, "a@2/failed a@3 a@4", "a", id="replica-to-be-made-anew"),
        pytest.param(1, "a@2/failed", "", id="replica-that-was-the-only-one"),
    ],
)
def test_volume_takes_no_room_once_all_of_it_went_elsewhere(replicas, placed, expected):
    of_several = (wanted(volume("a", replicas=replicas)),)
    chosen = replace(seen(hold(), Sighting(node=HERE)), volumes=of_several)

    assert charges(chosen, placed) == expected


def test_open_hold_takes_no_room_on_the_nodes_that_hold_a_replica_already():
    made = made_with("a@1 b@2", "ab")

    assert [charges(made, "a@1 b@2", node) for node in (HERE, ELSEWHERE, STRANGER)] == [
        "b",
        "a",
        "a b",
    ]


BY_PLACED = {
    "replicas-none": (CHOSEN, "", False),
    "volume-of-two-placed": (CHOSEN, "a@1", False),
    "volume-of-two-placed-the-other": (CHOSEN, "b@1", False),
    "volumes-both-here": (CHOSEN, "a@1 b@1", True),
    "volume-elsewhere": (CHOSEN, "a@1 b@2", True),
    "volume-unassigned": (CHOSEN, "a@1 b@", False),
    "volume-that-must-go-here": (CHOSEN, "a@1 b>1", False),
    "node-not-chosen": (OPEN, "a@1 b@1", False),
    "replicas-elsewhere-at-the-answer": (chosen_with("a@2 a@3"), "a@2 a@3", False),
    "replica-that-goes-elsewhere-since": (chosen_with("a@2"), "a@2 a@3", True),
    "replicas-here-before": (chosen_with("a@1 b@1", "ab"), "a@1 b@1", True),
    "replicas-on-the-other-node-before": (
        chosen_with("a@1 b@1", "ab", ELSEWHERE), "a@1 b@1", False),
    "replica-on-the-node-chosen-first": (MOVED, "a@1", True),
}  # fmt: skip


@pytest.mark.parametrize("name", BY_PLACED)
def test_hold_is_confirmed_when_each_volume_is_placed(name):
    of, replicas, expected = BY_PLACED[name]

    assert confirms(of, replicas) is expected


def test_replicas_that_are_not_placed_confirm_nothing_before_their_volume_is_known():
    disabled = wanted(volume("a", locality=Locality.DISABLED))
    chosen = replace(CHOSEN, volumes=(), remote=(disabled,))

    assert [confirms(chosen, replicas) for replicas in ("a@", "a@1")] == [False, True]
