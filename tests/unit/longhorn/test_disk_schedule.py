"""What one pass makes of a DiskSchedule, in numbered scenarios and a few cases more.

What the API server does (16, 33, 39, 41, 42: conflicts, finalizers, what is immutable) is asked of
a real one in tests/contract; any order and any history are in test_disk_schedule_stateful.
"""

import re
from typing import Any

import pytest
from msgspec import structs

from longhorn import (
    Closed,
    DiskId,
    DiskSchedule,
    Happened,
    LetGo,
    Node,
    NodeName,
    NodeUnknown,
    Refusal,
    Replica,
    ReplicaName,
    granted_bytes,
    granted_limit_bytes,
    refused_owners,
    unowned,
)
from tests.builders import GIB, node, replica
from tests.unit.longhorn.schedules import (
    DISK,
    decision,
    held,
    outcome,
    owner,
    schedule,
    status,
    the_disk,
    there,
)

BYTE = 1 / GIB


def disk_at(**fields: object) -> Node:
    """Build the node whose disk has these fields."""
    return node("node-1", the_disk(**fields))


CLOSED_DISK = disk_at(allow_scheduling=False)
UNREADY = disk_at(maximum_bytes=0, available_bytes=0)
LOWER = disk_at(reserved_bytes=50 * GIB)
"""Its limit is 70 GiB."""
SHUT, LOW, TWICE, NONE = {"at": CLOSED_DISK}, {"at": LOWER}, {"percent": 200}, {"percent": 0}
IN_ORDER, TURNED = {"order": "ab"}, {"order": "ba"}


def asking(before: DiskSchedule, **spec: float) -> DiskSchedule:
    """Let requesters change what they ask for; 0 takes a requirement back."""
    asked = dict(before.replicas) | {ReplicaName(n): int(size * GIB) for n, size in spec.items()}
    return structs.replace(before, replicas={name: size for name, size in asked.items() if size})


def test_scenario_01_a_new_object_becomes_ready():
    made = decision(schedule(ready=None))

    assert made.after == schedule(ready=True)
    assert (made.changes_spec, made.changes_status) == (False, True)


SCENARIOS: list[tuple[str, str, str, str, str, dict[str, Any]]] = [
    ("02-what-fits", "a:30 b:30", "", "a:S30 b:S30", "granted granted", {}),
    ("03-the-limit-is-inclusive", "a:60 i:40", "", "a:S60 i:S40", "granted granted", {}),
    ("04-a-byte-too-much", f"a:{100 + BYTE}", "", "a:R0", "refused", {}),
    ("05-one-of-two", "a:60 b:60", "", "a:S60 b:R0", "granted refused", IN_ORDER),
    ("05-the-other", "a:60 b:60", "", "a:R0 b:S60", "refused granted", TURNED),
    ("06-it-stops-none", "h:9 a:92 b:1", "h:S9", "a:R0 b:S1 h:S9", "refused granted", IN_ORDER),
    ("06-nor-before", "h:9 a:92 b:1", "h:S9", "a:R0 b:S1 h:S9", "refused granted", TURNED),
    ("07-growth-by-the-difference", "a:50 b:40", "a:S30 b:S40", "a:S50 b:S40", "grown", {}),
    ("08-refused-growth-keeps", "a:70 b:40", "a:S30 b:S40", "a:R30 b:S40", "refused", {}),
    ("09-less-growth-may-fit", "a:60 b:40", "a:R30 b:S40", "a:S60 b:S40", "grown", {}),
    ("10-cancelled-growth", "a:30 b:40", "a:R30 b:S40", "a:S30 b:S40", "cancelled", {}),
    ("11-less-is-given-back", "a:10 b:40", "a:S30 b:S40", "a:S10 b:S40", "shrunk", {}),
    ("12-another-gets-it", "a:20 b:60", "a:S60", "a:S20 b:S60", "shrunk granted", IN_ORDER),
    ("12-in-any-order", "a:20 b:60", "a:S60", "a:S20 b:S60", "shrunk granted", TURNED),
    ("13-a-removed-one-makes-room", "b:60", "a:S60 b:R0", "b:S60", "released granted", {}),
    ("14-a-refused-one-is-withdrawn", "a:60", "a:S60 b:R0", "a:S60", "released", {}),
    (
        "17-closed-gives-back",
        "a:30 b:5 c:1",
        "a:S30 c:S2 z:S7",
        "a:S30 c:S1",
        "released shrunk",
        SHUT,
    ),
    ("18-open-decides-what-waited", "a:30 b:5", "a:S30", "a:S30 b:S5", "granted", {}),
    ("20-a-lower-limit-revokes-nothing", "a:90 c:5", "a:S90", "a:S90 c:R0", "refused", LOW),
    ("21-room-again", "a:60 c:5", "a:S60 b:S30 c:R0", "a:S60 c:S5", "released granted", LOW),
    ("30-over-provisioning", f"a:200 c:{BYTE}", "a:S200", "a:S200 c:R0", "refused", TWICE),
    ("31-at-no-percent", f"a:{BYTE}", "", "a:R0", "refused", NONE),
    ("35-nobody-asked-for-it", "a:60", "a:S60 ghost:S20", "a:S60", "released", {}),
    ("37-nothing-is-no-requirement", "a:0 b:1", "a:S3", "b:S1", "released granted", {}),
    ("37-nor-is-less", "a:-5 b:1", "a:S3", "b:S1", "released granted", {}),
    ("a-negative-entry", "a:5 b:98", "a:R-50", "a:R0 b:S98", "granted refused", TURNED),
]
"""What is asked for and held, what is held then, and what happened; `S30` and `R0` are entries."""


@pytest.mark.parametrize(
    ("asked", "before", "after", "happened", "given"),
    [pytest.param(*row, id=name) for name, *row in SCENARIOS],
)
def test_scenario(asked, before, after, happened, given):
    made = decision(schedule(asked, before), **given)

    assert status(made) == after
    assert held(made) == sum(map(int, re.findall(r"-?\d+", after)))
    assert sorted(change.happened for change in made.changes) == sorted(happened.split())
    assert not made.changes_spec


@pytest.mark.parametrize(
    ("asked", "given", "expected"),
    [
        ("a:101", {}, Refusal.TOO_LARGE),
        ("a:60 b:60", {"order": "ba"}, Refusal.FULL),
        ("a:5", {"at": UNREADY}, Refusal.UNUSABLE),
    ],
)
def test_a_refusal_says_why(asked, given, expected):
    assert decision(schedule(asked), **given).refused == {owner("a"): expected}


def test_scenario_34_a_wrong_sum_is_corrected():
    made = decision(schedule("a:60", "a:S60", written_sum=5))

    assert (status(made), held(made), made.changes_status) == ("a:S60", 60, True)


def test_scenario_15_an_owner_that_is_gone_is_purged():
    made = decision(schedule("a:60 b:60", "a:S60 b:R0"), gone="a")

    assert made.after == schedule("b:60", "b:S60")
    assert (made.changes_spec, made.changes_status) == (True, True)
    assert [change.happened for change in made.changes] == [Happened.PURGED, Happened.GRANTED]


def test_scenario_16_without_the_purged_requirement_nothing_is_left_of_it():
    """The requirements were written, the entries were not: the next pass releases."""
    before = schedule("b:60", "a:S60 b:R0")

    assert decision(before).after == schedule("b:60", "b:S60")


def over_committed() -> DiskSchedule:
    before = schedule("a:80 b:70 image:5", ready=None)
    return decision(before, replicas=there("a:80 b:70"), copies={"image": 5 * GIB}).after


def test_scenario_22_what_is_on_the_disk_is_kept_beyond_the_limit():
    after = over_committed()

    assert (status(after), held(after)) == ("a:S80 b:S70 image:S5", 155)
    assert after.ready


def test_scenario_23_beyond_the_limit_nothing_grows():
    first = decision(asking(over_committed(), c=1))
    second = decision(asking(first.after, a=79))

    assert status(first) == "a:S80 b:S70 c:R0 image:S5"
    assert status(second) == "a:S79 b:S70 c:R0 image:S5"
    assert held(second) == 154


def test_scenario_25_requirements_are_written_for_what_is_on_the_disk():
    made = decision(schedule(ready=None), replicas=there("a:80 b:70"))

    assert made.after == schedule("a:80 b:70", "a:S80 b:S70")
    assert (made.changes_spec, made.changes_status) == (True, True)
    assert [change.happened for change in made.changes] == [Happened.KEPT] * 2


def test_scenario_26_a_disk_that_is_not_ready_refuses():
    made = decision(schedule("a:30 b:5", "a:S30"), at=UNREADY)
    recovered = decision(made.after)

    assert (status(made), held(made)) == ("a:S30 b:R0", 30)
    assert status(recovered) == "a:S30 b:S5"


CLOSED: dict[str, tuple[str, str, dict[str, Any], str, Closed]] = {
    "19-refusal-stands-while-the-node-is-closed": (
        "x:5", "x:R0", {"at": node("node-1", DISK, allow_scheduling=False)}, "x:R0", Closed.NODE),
    "27-releases-work-on-an-unknown-disk": (
        "b:5", "a:S30", {"at": disk_at(name="disk-2", id=DiskId("uuid-disk-2"))}, "",
        Closed.NO_DISK),
    "29-nothing-is-decided-without-percentage": ("a:5", "", {"percent": None}, "", Closed.SETTING),
    # The API server refuses to change name and node: so they may be trusted, and compared.
    "41-disk-of-another-name-is-not-this-one": (
        "a:5", "", {"at": disk_at(name="disk-2")}, "", Closed.NO_DISK),
    # The figures of the new disk say nothing of the old one, which only gives back.
    "42-disk-that-replaces-it-is-not-this-one": (
        "a:5 b:10", "b:S20 c:S1", {"at": disk_at(id=DiskId("uuid-new"))}, "b:S10", Closed.NO_DISK),
}  # fmt: skip


@pytest.mark.parametrize(
    ("asked", "before", "given", "after", "closed"), CLOSED.values(), ids=CLOSED
)
def test_closed_disk_grants_and_refuses_nothing(asked, before, given, after, closed):
    made = decision(schedule(asked, before), **given)

    assert (made.after, made.closed, made.refused) == (schedule(asked, after), closed, {})
    assert made.changes_status == (before != after)
    assert (made.limit_bytes is None) == (closed is not Closed.NODE)


def test_scenario_28_without_its_node_nothing_is_written():
    assert outcome(schedule("", "a:S30"), at=None) == NodeUnknown(NodeName("node-1"))


def test_scenario_33_an_object_being_deleted_is_let_go():
    assert outcome(schedule("a:60", "a:S60", deleting=True)) == LetGo()
    assert outcome(schedule(deleting=True), at=None) == LetGo()


def test_scenario_36_a_replica_and_an_image_may_have_one_name():
    before = structs.replace(schedule("image:40"), replicas={"image": 40 * GIB})

    after = decision(before).after

    assert list(after.held_replicas) == list(after.held_images) == ["image"]
    assert held(after) == 80


@pytest.mark.parametrize(
    "spec", ["a:60 b:60 image:10", "a:101 b:0", ""], ids=["full", "too-large", "empty"]
)
def test_scenario_38_a_pass_over_its_own_result_changes_nothing(spec):
    settled = decision(schedule(spec, ready=None)).after

    again = decision(settled)

    assert (again.after, again.changes) == (settled, ())
    assert not again.changes_spec
    assert not again.changes_status


def test_scenario_40_the_limit_is_worked_out_as_longhorn_does():
    large = disk_at(maximum_bytes=709688309550471, reserved_bytes=0)
    before = structs.replace(schedule(), replicas={"a": 1788414540067187})

    made = decision(before, at=large, percent=252)

    assert made.limit_bytes == 1788414540067187
    assert made.after.scheduled_bytes == 1788414540067187


ELSEWHERE = [
    replica("a", on="node-2", disk="disk-1"),
    replica("b", disk="disk-2"),
    replica("c", deleting=True),
    replica("d", on=""),
    replica("e", size_bytes=0),
]
NEW = {"healthy_once": False}
AT_FIRST: dict[str, tuple[str, list[Replica], dict[str, Any], str, str]] = {
    # What is asked for, the replicas there, what else; and what is asked for and held then.
    "24-closed-disk-keeps-what-is-there": (
        "a:80 b:70", there("a:80 b:70"), SHUT, "a:80 b:70", "a:S80 b:S70"),
    "growth-is-not-kept-but-admitted": (
        "a:85 b:20", there("a:80 b:30"), {}, "a:85 b:20", "a:R80 b:S20"),
    "requirement-of-nothing-hides-nothing": ("a:0", there("a:80"), {}, "a:80", "a:S80"),
    "without-data-is-admitted-as-usual": (
        "", [*there("a:60"), *there("b:50", **NEW)], {}, "a:60 b:50", "a:S60 b:R0"),
    "failed-has-data": ("", there("a:150", failed=True, **NEW), {}, "a:150", "a:S150"),
    "rebuilt-has-data": ("", there("a:150", started=True, **NEW), {}, "a:150", "a:S150"),
    "elsewhere-or-being-deleted-is-not-there": ("", ELSEWHERE, {}, "", ""),
}  # fmt: skip


@pytest.mark.parametrize(
    ("asked", "on_disk", "given", "required", "entries"), AT_FIRST.values(), ids=AT_FIRST
)
def test_disk_keeps_what_is_there_at_first(asked, on_disk, given, required, entries):
    made = decision(schedule(asked, ready=None), replicas=on_disk, **given)

    assert made.after == schedule(required, entries)


def test_an_owner_that_is_gone_is_purged_though_the_disk_is_unknown():
    made = decision(schedule("a:5"), at=disk_at(name="x"), gone="a")

    assert (made.after, made.closed) == (schedule(), Closed.NO_DISK)


def test_owners_that_are_not_known_to_live_are_named():
    asked = schedule("a:1 b:1 image:1 image-2:1")

    assert unowned(asked, {ReplicaName("a")}, {"image-2"}) == {owner("b"), owner("image")}


def test_what_a_disk_holds_is_the_sum_of_its_entries():
    made = schedule("a:60 i:40", "a:R30 i:S40", written_sum=5)

    assert granted_bytes(made) == 70 * GIB


REFUSED = {
    "granted": ("a:60", "a:S60", ""),
    "not-decided": ("a:60", "", ""),
    "growth-not-decided": ("a:60", "a:S30", ""),
    "growth-refused": ("a:60", "a:R30", "a"),
    "refused": ("a:60 i:1", "a:R0 i:R0", "ai"),
    "asks-for-it-no-longer": ("a:30", "a:R30", ""),
    "to-be-released": ("", "a:R30", ""),
}
"""What is asked for, the entries, and the names that are refused."""


@pytest.mark.parametrize(("asked", "entries", "refused"), REFUSED.values(), ids=REFUSED)
def test_refused_owners_ask_for_more_than_they_hold(asked, entries, refused):
    assert refused_owners(schedule(asked, entries)) == {owner(name) for name in refused}


@pytest.mark.parametrize(
    ("disk", "percent", "limit"),
    [
        pytest.param(the_disk(), 100, 100 * GIB, id="as-decided"),
        pytest.param(the_disk(), None, None, id="no-percentage"),
        pytest.param(the_disk(id=DiskId("other")), 100, None, id="another-disk-of-its-name"),
    ],
)
def test_the_limit_is_that_of_the_disk_itself(disk, percent, limit):
    assert granted_limit_bytes(schedule(), node("node-1", disk), percent) == limit
