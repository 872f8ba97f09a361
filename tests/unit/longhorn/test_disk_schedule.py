"""What one pass makes of a DiskSchedule, in 42 numbered scenarios and a few cases more.

What the API server does in some of them (16, 33, 39, 41, 42: conflicts, finalizers, what is
immutable) is asked of a real one in tests/contract.
"""

from itertools import permutations

import pytest
from msgspec import structs

from longhorn import (
    Closed,
    DiskId,
    DiskSchedule,
    Happened,
    LetGo,
    NodeName,
    NodeUnknown,
    Refusal,
    ReplicaName,
    unowned,
)
from tests.builders import GIB, node, replica
from tests.unit.longhorn.schedules import (
    DISK,
    NODE,
    UUID,
    decision,
    held,
    outcome,
    owner,
    schedule,
    status,
    the_disk,
)

BYTE = 1 / GIB
CLOSED_DISK = node("node-1", the_disk(allow_scheduling=False))


def after_8() -> DiskSchedule:
    return decision(schedule({"a": 70, "b": 40}, {"a": "S30", "b": "S40"})).after


def after_20() -> DiskSchedule:
    before = schedule({"a": 60, "b": 30, "c": 5}, {"a": "S60", "b": "S30"})
    return decision(before, at=node("node-1", the_disk(reserved_bytes=50 * GIB))).after


def asking(before: DiskSchedule, **spec: float) -> DiskSchedule:
    """Let requesters change what they ask for; 0 takes a requirement back."""
    asked = dict(before.replicas) | {ReplicaName(n): int(size * GIB) for n, size in spec.items()}
    return structs.replace(before, replicas={name: size for name, size in asked.items() if size})


def test_scenario_01_a_new_object_becomes_ready() -> None:
    made = decision(schedule(ready=None))

    assert made.after == schedule(ready=True)
    assert (made.changes_spec, made.changes_status) == (False, True)


def test_scenario_02_what_fits_is_granted() -> None:
    made = decision(schedule({"a": 30, "b": 30}))

    assert (status(made), held(made)) == ({"a": "S30", "b": "S30"}, 60)
    assert [change.happened for change in made.changes] == [Happened.GRANTED] * 2


def test_scenario_03_the_limit_is_inclusive() -> None:
    made = decision(schedule({"a": 60, "image": 40}))

    assert (status(made), held(made)) == ({"a": "S60", "image": "S40"}, 100)


def test_scenario_04_a_byte_too_much_is_refused() -> None:
    made = decision(schedule({"a": 100 + BYTE}))

    assert (status(made), held(made)) == ({"a": "R0"}, 0)
    assert made.refused == {owner("a"): Refusal.TOO_LARGE}


@pytest.mark.parametrize("order", list(permutations("ab")))
def test_scenario_05_one_of_two_wins(order: tuple[str, str]) -> None:
    made = decision(schedule({"a": 60, "b": 60}), order=order)

    winner, loser = order
    assert (status(made), held(made)) == ({winner: "S60", loser: "R0"}, 60)
    assert made.refused == {owner(loser): Refusal.FULL}


@pytest.mark.parametrize("order", [("big", "s"), ("s", "big")])
def test_scenario_06_a_refusal_stops_none_after_it(order: tuple[str, ...]) -> None:
    made = decision(schedule({"h": 40, "big": 90, "s": 10}, {"h": "S40"}), order=order)

    assert (status(made), held(made)) == ({"big": "R0", "h": "S40", "s": "S10"}, 50)


def test_scenario_07_growth_is_admitted_by_the_difference() -> None:
    made = decision(schedule({"a": 50, "b": 40}, {"a": "S30", "b": "S40"}))

    assert (status(made), held(made)) == ({"a": "S50", "b": "S40"}, 90)
    assert [change.happened for change in made.changes] == [Happened.GROWN]


def test_scenario_08_refused_growth_keeps_what_is_held() -> None:
    after = after_8()

    assert (status(after), held(after)) == ({"a": "R30", "b": "S40"}, 70)


def test_scenario_09_less_growth_may_fit() -> None:
    made = decision(asking(after_8(), a=60))

    assert (status(made), held(made)) == ({"a": "S60", "b": "S40"}, 100)


def test_scenario_10_cancelled_growth_is_scheduled_again() -> None:
    made = decision(asking(after_8(), a=30))

    assert (status(made), held(made)) == ({"a": "S30", "b": "S40"}, 70)
    assert [change.happened for change in made.changes] == [Happened.CANCELLED]


def test_scenario_11_less_is_given_back() -> None:
    made = decision(schedule({"a": 10, "b": 40}, {"a": "S30", "b": "S40"}))

    assert (status(made), held(made)) == ({"a": "S10", "b": "S40"}, 50)
    assert [change.happened for change in made.changes] == [Happened.SHRUNK]


@pytest.mark.parametrize("order", ["ab", "ba"])
def test_scenario_12_what_one_gives_back_another_gets_at_once(order: str) -> None:
    made = decision(schedule({"a": 20, "b": 60}, {"a": "S60"}), order=order)

    assert (status(made), held(made)) == ({"a": "S20", "b": "S60"}, 80)


def test_scenario_13_a_removed_one_makes_room_in_the_same_pass() -> None:
    made = decision(schedule({"b": 60}, {"a": "S60", "b": "R0"}))

    assert (status(made), held(made)) == ({"b": "S60"}, 60)
    assert [change.happened for change in made.changes] == [Happened.RELEASED, Happened.GRANTED]


def test_scenario_14_a_refused_one_is_withdrawn() -> None:
    made = decision(schedule({"a": 60}, {"a": "S60", "b": "R0"}))

    assert (status(made), held(made)) == ({"a": "S60"}, 60)


def test_scenario_15_an_owner_that_is_gone_is_purged() -> None:
    made = decision(schedule({"a": 60, "b": 60}, {"a": "S60", "b": "R0"}), gone="a")

    assert made.after == schedule({"b": 60}, {"b": "S60"})
    assert (made.changes_spec, made.changes_status) == (True, True)
    assert [change.happened for change in made.changes] == [Happened.PURGED, Happened.GRANTED]


def test_scenario_16_a_fresh_pass_after_a_conflict_purges_as_well() -> None:
    """The requirements conflict, so nothing of the pass is written: it is made again."""
    before = schedule({"a": 60, "b": 60}, {"a": "S60", "b": "R0"})
    decision(before, gone="a")
    changed_meanwhile = asking(before, c=5)

    made = decision(changed_meanwhile, gone="a")

    assert made.after == schedule({"b": 60, "c": 5}, {"b": "S60", "c": "S5"})


def test_scenario_16_without_the_purged_requirement_nothing_is_left_of_it() -> None:
    """The requirements were written, the entries were not: the next pass releases."""
    before = schedule({"b": 60}, {"a": "S60", "b": "R0"})

    assert decision(before).after == schedule({"b": 60}, {"b": "S60"})


def scheduling_disabled() -> DiskSchedule:
    before = schedule({"a": 30, "b": 5, "c": 10}, {"a": "S30", "c": "S20", "z": "S7"})
    made = decision(before, at=CLOSED_DISK)
    assert made.closed is Closed.DISK
    return made.after


def test_scenario_17_a_closed_disk_only_gives_back() -> None:
    after = scheduling_disabled()

    assert (status(after), held(after)) == ({"a": "S30", "c": "S10"}, 40)


def test_scenario_18_an_open_disk_decides_what_waited() -> None:
    made = decision(scheduling_disabled())

    assert (status(made), held(made)) == ({"a": "S30", "b": "S5", "c": "S10"}, 45)


def test_scenario_19_a_refusal_stands_while_the_node_is_closed() -> None:
    closed = node("node-1", DISK, allow_scheduling=False)

    made = decision(schedule({"x": 5}, {"x": "R0"}), at=closed)

    assert (made.after, made.closed, made.refused) == (made.before, Closed.NODE, {})
    assert not made.changes_status


def test_scenario_20_a_lower_limit_revokes_nothing() -> None:
    after = after_20()

    assert (status(after), held(after)) == ({"a": "S60", "b": "S30", "c": "R0"}, 90)


def test_scenario_21_below_the_lower_limit_there_is_room_again() -> None:
    lower = node("node-1", the_disk(reserved_bytes=50 * GIB))

    made = decision(asking(after_20(), b=0), at=lower)

    assert (status(made), held(made)) == ({"a": "S60", "c": "S5"}, 65)


def over_committed() -> DiskSchedule:
    before = schedule({"a": 80, "b": 70, "image": 5}, ready=None)
    on_disk = [replica(name, size_bytes=size * GIB) for name, size in {"a": 80, "b": 70}.items()]
    return decision(before, replicas=on_disk, copies={"image": 5 * GIB}).after


def test_scenario_22_what_is_on_the_disk_is_kept_beyond_the_limit() -> None:
    after = over_committed()

    assert (status(after), held(after)) == ({"a": "S80", "b": "S70", "image": "S5"}, 155)
    assert after.ready


def test_scenario_23_beyond_the_limit_nothing_grows() -> None:
    first = decision(asking(over_committed(), c=1))
    second = decision(asking(first.after, a=79))

    assert status(first) == {"a": "S80", "b": "S70", "c": "R0", "image": "S5"}
    assert status(second) == {"a": "S79", "b": "S70", "c": "R0", "image": "S5"}
    assert held(second) == 154


def test_scenario_24_a_closed_disk_keeps_what_is_on_it() -> None:
    on_disk = [replica("a", size_bytes=80 * GIB), replica("b", size_bytes=70 * GIB)]

    made = decision(schedule({"a": 80, "b": 70}, ready=None), at=CLOSED_DISK, replicas=on_disk)

    assert (status(made), held(made)) == ({"a": "S80", "b": "S70"}, 150)


def test_scenario_25_requirements_are_written_for_what_is_on_the_disk() -> None:
    on_disk = [replica("a", size_bytes=80 * GIB), replica("b", size_bytes=70 * GIB)]

    made = decision(schedule(ready=None), replicas=on_disk)

    assert made.after == schedule({"a": 80, "b": 70}, {"a": "S80", "b": "S70"})
    assert (made.changes_spec, made.changes_status) == (True, True)
    assert [change.happened for change in made.changes] == [Happened.KEPT] * 2


def test_scenario_26_a_disk_that_is_not_ready_refuses() -> None:
    not_ready = node("node-1", the_disk(maximum_bytes=0, available_bytes=0))
    before = schedule({"a": 30, "b": 5}, {"a": "S30"})

    made = decision(before, at=not_ready)
    recovered = decision(made.after)

    assert (status(made), held(made)) == ({"a": "S30", "b": "R0"}, 30)
    assert made.refused == {owner("b"): Refusal.UNUSABLE}
    assert status(recovered) == {"a": "S30", "b": "S5"}


def test_scenario_27_on_an_unknown_disk_releases_still_work() -> None:
    elsewhere = node("node-1", the_disk(name="disk-2", id=DiskId("uuid-disk-2")))

    made = decision(schedule({"b": 5}, {"a": "S30"}), at=elsewhere)

    assert (status(made), held(made), made.closed) == ({}, 0, Closed.NO_DISK)


def test_scenario_28_without_its_node_nothing_is_written() -> None:
    assert outcome(schedule({}, {"a": "S30"}), at=None) == NodeUnknown(NodeName("node-1"))


def test_scenario_29_without_a_percentage_nothing_is_decided() -> None:
    made = decision(schedule({"a": 5}), percent=None)

    assert (status(made), made.closed, made.after.ready) == ({}, Closed.SETTING, True)


def test_scenario_30_over_provisioning_raises_the_limit() -> None:
    before = schedule({"a": 150, "b": 50, "c": BYTE}, {"a": "S150", "b": "S50"})

    made = decision(before, percent=200)

    assert (status(made), held(made)) == ({"a": "S150", "b": "S50", "c": "R0"}, 200)
    assert made.limit_bytes == 200 * GIB


def test_scenario_31_at_no_percent_nothing_fits() -> None:
    assert status(decision(schedule({"a": BYTE}), percent=0)) == {"a": "R0"}


def test_scenario_32_a_node_that_is_not_known_here_is_left_alone() -> None:
    """One leader decides for all nodes, so the only foreign one is one that it does not know."""
    foreign = structs.replace(schedule({"a": 5}), node=NodeName("node-2"))

    assert outcome(foreign, at=None) == NodeUnknown(NodeName("node-2"))


def test_scenario_33_an_object_being_deleted_is_let_go() -> None:
    assert outcome(schedule({"a": 60}, {"a": "S60"}, deleting=True)) == LetGo()
    assert outcome(schedule(deleting=True), at=None) == LetGo()


def test_scenario_34_a_wrong_sum_is_corrected() -> None:
    made = decision(schedule({"a": 60}, {"a": "S60"}, written_sum=5))

    assert (status(made), held(made), made.changes_status) == ({"a": "S60"}, 60, True)


def test_scenario_35_an_entry_that_nobody_asked_for_is_removed() -> None:
    made = decision(schedule({"a": 60}, {"a": "S60", "ghost": "S20"}))

    assert (status(made), held(made)) == ({"a": "S60"}, 60)


def test_scenario_36_a_replica_and_an_image_may_have_one_name() -> None:
    before = structs.replace(schedule({"image": 40}), replicas={"image": 40 * GIB})

    after = decision(before).after

    assert list(after.held_replicas) == list(after.held_images) == ["image"]
    assert held(after) == 80


@pytest.mark.parametrize("size", [0, -5])
def test_scenario_37_nothing_or_less_is_no_requirement(size: int) -> None:
    made = decision(schedule({"a": size, "b": 1}, {"a": "S3"}))

    assert (status(made), held(made)) == ({"b": "S1"}, 1)
    assert not made.changes_spec


@pytest.mark.parametrize(
    "spec",
    [
        pytest.param({"a": 60, "b": 60, "image": 10}, id="full"),
        pytest.param({"a": 101, "b": 0}, id="too-large"),
        pytest.param({}, id="empty"),
    ],
)
def test_scenario_38_a_pass_over_its_own_result_changes_nothing(spec: dict[str, float]) -> None:
    settled = decision(schedule(spec, ready=None)).after

    again = decision(settled)

    assert (again.after, again.changes) == (settled, ())
    assert not again.changes_spec
    assert not again.changes_status


def test_scenario_39_a_pass_that_is_made_again_counts_each_once() -> None:
    """What the first pass found could not be written: the requirement had changed."""
    before = schedule({"a": 60, "b": 60}, {"a": "S60", "b": "R0"})
    decision(before)

    made = decision(asking(before, b=40))

    assert (status(made), held(made)) == ({"a": "S60", "b": "S40"}, 100)


def test_scenario_40_the_limit_is_worked_out_as_longhorn_does() -> None:
    large = node("node-1", the_disk(maximum_bytes=709688309550471, reserved_bytes=0))
    before = structs.replace(schedule(), replicas={"a": 1788414540067187})

    made = decision(before, at=large, percent=252)

    assert made.limit_bytes == 1788414540067187
    assert made.after.scheduled_bytes == 1788414540067187


def test_scenario_41_a_disk_of_another_name_is_not_this_disk() -> None:
    """The API server refuses to change name and node: so they may be trusted, and compared."""
    renamed = node("node-1", the_disk(name="disk-2"))

    assert decision(schedule({"a": 5}), at=renamed).closed is Closed.NO_DISK


def test_scenario_42_a_disk_that_was_replaced_is_not_this_disk() -> None:
    """The figures of the new disk say nothing of the old one, which only gives back."""
    replaced = node("node-1", the_disk(id=DiskId("uuid-new")))

    made = decision(schedule({"a": 5, "b": 10}, {"b": "S20", "c": "S1"}), at=replaced)

    assert (status(made), made.closed, made.limit_bytes) == ({"b": "S10"}, Closed.NO_DISK, None)


def test_what_has_no_data_yet_is_admitted_as_usual_at_first() -> None:
    on_disk = [
        replica("a", size_bytes=60 * GIB),
        replica("b", size_bytes=50 * GIB, healthy_once=False),
    ]

    made = decision(schedule(ready=None), replicas=on_disk)

    assert made.after == schedule({"a": 60, "b": 50}, {"a": "S60", "b": "R0"})


@pytest.mark.parametrize("has", [{"failed": True}, {"started": True}], ids=["failed", "rebuilt"])
def test_what_failed_or_is_rebuilt_has_data(has: dict[str, bool]) -> None:
    untouched = replica("a", size_bytes=150 * GIB, healthy_once=False)
    on_disk = [structs.replace(untouched, **has)]

    assert status(decision(schedule(ready=None), replicas=on_disk)) == {"a": "S150"}


def test_what_is_elsewhere_or_being_deleted_is_not_on_the_disk() -> None:
    others = [
        replica("a", on="node-2", disk="disk-1"),
        replica("b", disk="disk-2"),
        replica("c", deleting=True),
        replica("d", on=""),
        replica("e", size_bytes=0),
    ]

    assert decision(schedule(ready=None), replicas=others).after == schedule()


def test_growth_that_is_asked_at_first_is_not_kept_but_admitted() -> None:
    on_disk = [replica("a", size_bytes=80 * GIB), replica("b", size_bytes=30 * GIB)]
    before = schedule({"a": 85, "b": 20}, ready=None)

    made = decision(before, replicas=on_disk)

    assert (status(made), held(made)) == ({"a": "R80", "b": "S20"}, 100)


def test_a_requirement_of_nothing_does_not_hide_what_is_on_the_disk() -> None:
    on_disk = [replica("a", size_bytes=80 * GIB)]

    made = decision(schedule({"a": 0}, ready=None), replicas=on_disk)

    assert made.after == schedule({"a": 80}, {"a": "S80"})


def test_a_negative_entry_makes_no_room() -> None:
    before = schedule({"a": 5, "b": 98}, {"a": "R-50"})

    made = decision(before, order="ba")

    assert (status(made), held(made)) == ({"a": "R0", "b": "S98"}, 98)


def test_an_owner_that_is_gone_is_purged_though_the_disk_is_unknown() -> None:
    made = decision(schedule({"a": 5}), at=node("node-1", the_disk(name="x")), gone="a")

    assert (made.after, made.closed) == (schedule(), Closed.NO_DISK)


@pytest.mark.parametrize("order", list(permutations("abc")))
def test_every_order_is_legal(order: tuple[str, ...]) -> None:
    """Of 60, 40 and 30 the first that fit are granted, and none that would have fitted is not."""
    sizes = {"a": 60, "b": 40, "c": 30}

    made = decision(schedule(sizes), order=order)

    left = 100 - held(made)
    refused = [sizes[name] for name, each in status(made).items() if each == "R0"]
    assert all(size > left for size in refused)
    assert status(made)[order[0]] == f"S{sizes[order[0]]}"


def test_owners_that_are_not_known_to_live_are_named() -> None:
    asked = schedule({"a": 1, "b": 1, "image": 1, "image-2": 1})

    assert unowned(asked, {ReplicaName("a")}, {"image-2"}) == {owner("b"), owner("image")}


def test_the_disk_of_the_scenarios_is_that_of_the_object() -> None:
    assert (NODE.disks, DISK.id) == ((DISK,), UUID)
