"""Holds where disks grant room: a placed replica may be refused yet, and is then placed elsewhere.

The pod's volume has 20 GiB and one replica, which Longhorn puts on the only disk of node-1, of
100 GiB, or on that of node-2.
"""

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from extender import ClusterView, Extender, Ledger
from extender.demand.requests import resolve_for_scheduled
from extender.holds import Asked, End, Timeouts
from extender.holds.evidence import is_confirmed, volumes_still_held
from extender.holds.hold import Hold, Sighting, State
from extender.holds.new_hold import hold_for
from longhorn import DiskSchedule, Due, Locality, Node, NodeName, Replica, VolumeName
from tests.builders import (
    GENEROUS,
    GIB,
    accepted,
    bound,
    disk_schedule,
    hold,
    node,
    pod,
    replica,
    view_of,
    volume,
)

HERE, ELSEWHERE = NodeName("node-1"), NodeName("node-2")
SIZE = 20 * GIB
NAME = "vol-r-1"
ROOMY, FULL = 0, 90 * GIB
"""What another replica holds of the disk."""
FOREVER = Timeouts(choosing_seconds=1e6, placing_seconds=1e6)


def chosen() -> Hold:
    return hold(nodes=["node-1"], only_candidate=True)


def placed(on: str = "node-1", *, failed: bool = False, deleting: bool = False) -> Replica:
    return replica(
        NAME, on=on, size_bytes=SIZE, healthy_once=False, failed=failed, deleting=deleting
    )


def schedule(step: str, other_bytes: int = ROOMY, on: str = "node-1") -> DiskSchedule:
    """Return the DiskSchedule after one step of the replica's request."""
    asks, granted = {"other-r-1": other_bytes}, {"other-r-1": other_bytes}
    if step in ("asked", "granted", "refused"):
        asks[NAME] = SIZE
    if step in ("granted", "releasing"):
        granted[NAME] = SIZE
    refused = {NAME: 0} if step == "refused" else {}
    return disk_schedule(on=on, asks=asks, granted=granted, refused=refused)


def seen(*records: Node | Replica | DiskSchedule) -> ClusterView:
    return view_of(
        node("node-1"),
        node("node-2"),
        *bound(msgspec.structs.replace(volume(size_bytes=SIZE), node=HERE)),
        *records,
    )


def made_of(view: ClusterView) -> Hold:
    """Make the hold of a pod that may go to node-1 alone."""
    request = resolve_for_scheduled(pod("vol"), view)
    return hold_for(
        request,
        frozenset([HERE]),
        view,
        asked=Asked(),
        only_candidate=True,
        now=0.0,
    )


def on_disk(view: ClusterView) -> int:
    """Return what the disk of node-1 counts for the volume."""
    [space] = view.spaces[HERE].disks
    counted = space.disk.listed.get(NAME, 0)
    counted += sum(size for name, size in space.unlisted.items() if name == NAME)
    return counted + space.contested_bytes


def held(hold: Hold, view: ClusterView) -> int:
    """Return what a hold counts on node-1."""
    return SIZE * len([*volumes_still_held(hold, HERE, view.replicas)])


def test_replica_that_is_placed_takes_the_place_of_its_hold():
    before, after = seen(schedule("")), seen(schedule(""), placed())

    kept = [(on_disk(view), held(chosen(), view)) for view in (before, after)]

    assert kept == [(0, SIZE), (SIZE, 0)]


@pytest.mark.parametrize(
    ("step", "is_confirmed_by_it"),
    [("", False), ("asked", False), ("granted", True), ("refused", False), ("releasing", False)],
)
def test_hold_is_confirmed_once_its_replica_is_granted(step, is_confirmed_by_it):
    assert is_confirmed(chosen(), seen(schedule(step), placed())) is is_confirmed_by_it


def test_placed_replica_confirms_without_a_disk_schedule():
    assert is_confirmed(chosen(), seen(placed()))


def test_disk_schedule_that_is_not_ready_confirms_as_if_there_were_none():
    not_ready = msgspec.structs.replace(schedule("asked"), ready=None)

    assert is_confirmed(chosen(), seen(not_ready, placed()))


def test_replica_placed_elsewhere_confirms_once_it_is_granted_there():
    found = [
        is_confirmed(chosen(), seen(schedule(step, on="node-2"), placed("node-2")))
        for step in ("asked", "granted")
    ]

    assert found == [False, True]


def test_refused_replica_is_due_again_and_is_no_replica_of_its_node():
    view = seen(schedule("refused", FULL), placed())

    [shown] = view.replicas[VolumeName("vol")]
    assert (shown.node, shown.disk) == (None, None)
    assert view.due[VolumeName("vol")] == Due(anywhere=1)
    assert accepted(view, "vol") == ["node-2"]


def test_refused_replica_that_would_fit_is_placed_and_counts_once():
    view = seen(schedule("refused"), placed())

    assert VolumeName("vol") not in view.due
    assert (on_disk(view), held(chosen(), view)) == (SIZE, 0)
    assert not is_confirmed(chosen(), view)


@pytest.mark.parametrize("step", ["", "asked"])
def test_replica_that_a_full_disk_has_yet_to_decide_on_counts_there_and_is_due_elsewhere(step):
    view = seen(schedule(step, FULL), placed())

    assert view.due[VolumeName("vol")] == Due(anywhere=1)
    assert (on_disk(view), held(chosen(), view)) == (SIZE, SIZE)
    assert accepted(view, "vol") == ["node-2"]


@pytest.mark.parametrize("step", ["", "asked", "refused"])
def test_strict_local_volume_stays_where_its_object_says_until_that_is_withdrawn(step):
    strict = volume(size_bytes=SIZE, locality=Locality.STRICT_LOCAL)
    records = (node("node-1"), node("node-2"), *bound(strict), schedule(step, FULL))

    found = [accepted(view_of(*records, placed(on)), "vol") for on in ("node-1", "")]

    assert found == [[], ["node-2"]]


def test_refused_replica_that_is_bound_to_its_node_is_pending_there():
    bound_to_it = msgspec.structs.replace(placed(), hard_node_affinity=HERE)

    view = seen(schedule("refused", FULL), bound_to_it)

    assert [each.name for each in view.spaces[HERE].pending] == [NAME]


def test_refused_replica_with_data_stays_where_it_is():
    """As after an upgrade of a Longhorn whose disk was over-committed already."""
    with_data = msgspec.structs.replace(placed(), healthy_once=True)

    view = seen(schedule("refused", FULL), with_data)

    assert view.replicas[VolumeName("vol")] == (with_data,)


@pytest.mark.parametrize("step", ["", "asked", "refused"])
def test_hold_of_a_new_leader_is_not_confirmed_by_what_may_be_refused_yet(step):
    view = seen(schedule(step), placed())

    made = made_of(view)

    assert not is_confirmed(made, view)
    assert held(made, view) == 0
    assert held(made, seen(schedule("refused", FULL), placed())) == SIZE


@pytest.mark.parametrize("other_bytes", [ROOMY, FULL])
@pytest.mark.parametrize(
    ("on", "is_held"), [("node-1", False), ("node-2", True), ("node-3", False)]
)
def test_replica_that_asks_elsewhere_at_the_answer_gives_no_room_here_until_it_moves(
    on, other_bytes, is_held
):
    """A pod comes to another node than its replica, which is granted only then: one more follows
    it. The replica itself comes here only if its disk refuses it."""
    made = made_of(seen(schedule("asked", other_bytes, on="node-2"), placed("node-2")))

    view = seen(node("node-3"), schedule("granted", on=on), placed(on))

    assert held(made, view) == (SIZE if is_held else 0)
    assert is_confirmed(made, view) is not is_held


def test_hold_is_confirmed_by_what_a_full_disk_there_had_yet_to_decide_at_the_answer():
    made = made_of(seen(schedule("asked", FULL), placed()))

    assert is_confirmed(made, seen(schedule("granted"), placed()))


@pytest.mark.parametrize(
    ("there", "step", "is_held"),
    [
        pytest.param(placed(), "", True, id="just-placed"),
        pytest.param(placed(), "asked", True, id="asked"),
        pytest.param(placed(), "granted", False, id="granted"),
        pytest.param(replica(NAME, on="node-1", size_bytes=SIZE), "asked", False, id="with-data"),
    ],
)
def test_pod_that_comes_back_to_its_replica_is_held_for_if_that_may_be_refused(
    there, step, is_held
):
    extender, view = Extender(GENEROUS), seen(schedule(step), there)
    answer = extender.filter(pod("vol"), [HERE, ELSEWHERE], view)

    extender.hold(answer, Asked(), timeouts=FOREVER, now=0.0)

    refused = seen(schedule("refused", FULL), placed())
    assert answer.accepted == [HERE]
    assert [held(each, refused) for each in extender.ledger] == [SIZE] * is_held


STEPS = st.sampled_from(["", "asked", "granted", "refused", "releasing"])
REPLICAS = st.sampled_from(
    [None, placed(), placed(failed=True), placed(failed=True, deleting=True), placed("")]
)
"""Also as Longhorn makes them: a refused one may be marked failed, deleted, and made anew."""


@given(st.lists(st.tuples(REPLICAS, STEPS, st.sampled_from([ROOMY, FULL])), max_size=12))
def test_room_is_kept_once_until_it_is_granted(history):
    """In whatever order replica and request are seen: never less than once, and no more than once
    unless the request is seen and the replica it is for is not, or the disk is full and has yet to
    decide: then it may have to be placed again."""
    ledger = Ledger()
    ledger.put(chosen())
    ledger.see("uid-pod", Sighting(node=HERE), 0.0)
    for there, step, other_bytes in history:
        view = seen(schedule(step, other_bytes), *filter(None, [there]))
        is_here = there is not None and there.disk is not None
        has_entry = step not in ("", "refused") or (step == "refused" and other_bytes == ROOMY)

        outcome = ledger.settle(view, FOREVER, 1.0)

        if outcome.ended:
            [ended] = outcome.ended
            assert (ended.why, step, is_here) == (End.CONFIRMED, "granted", True)
            return
        [kept] = ledger
        assert kept.state is State.CHOSEN
        total = on_disk(view) + held(kept, view)
        is_undecided = is_here and step in ("", "asked") and other_bytes == FULL
        assert total == SIZE + SIZE * (is_undecided or (has_entry and not is_here))
