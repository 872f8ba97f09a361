"""What is asked of disks next, by what they hold: single decisions."""

from collections.abc import Collection
from typing import Any

import msgspec
import pytest

from tests.actors.api import Object
from tests.actors.longhorn import backing_image, disk_uuid, longhorn_node
from tests.actors.longhorn.images import (
    AddCopy,
    AskForCopy,
    CopyStep,
    DropCopy,
    MakeCopy,
    RemoveCopy,
    next_copy,
)
from tests.actors.longhorn.lifecycle import Become, RunReplica, next_steps
from tests.actors.longhorn.records import Replica, Volume
from tests.actors.longhorn.requesting import (
    AskForRoom,
    Expand,
    HoldBack,
    RequestStep,
    Withdraw,
    next_requests,
)
from tests.actors.longhorn.schedules import (
    Asker,
    Room,
    by_schedules,
    changed_names,
    disk_schedule,
    left_over,
    missing,
    room_of,
    with_request,
    without_refused,
)

NEW = Room()
PENDING = Room(asked_bytes=10)
GRANTED = Room(asked_bytes=10, held_bytes=10)
REFUSED = Room(asked_bytes=10, is_refused=True)
GROWING = Room(asked_bytes=30, held_bytes=10)
GROWN = Room(asked_bytes=30, held_bytes=30)
NOT_GROWN = Room(asked_bytes=30, held_bytes=10, is_refused=True)
NO_SCHEDULE = Room(has_schedule=False)

VOLUME = Volume(
    name="data",
    wanted_replicas=2,
    locality="disabled",
    wished_node="",
    is_for_pods=True,
    state="detached",
    current_node="",
    robustness="unknown",
    scheduled="True",
    size_bytes=10,
)
LARGER = msgspec.structs.replace(VOLUME, size_bytes=30)


def replica(name: str, room: Room | None, *, disk: str = "disk", **facts: Any) -> Replica:
    """Build a replica of 10 bytes on a disk, without data."""
    unused = {"hard_node": "", "is_evicting": False, "is_leaving": False}
    found = {"is_healthy": False, "is_running": False, "size_bytes": 10, **unused, **facts}
    return Replica(name=name, node="node-1" if disk else "", disk=disk, room=room, **found)


def steps(
    volume: Volume, *replicas: Replica, placed: Collection[str] = (), held_back: int = 0
) -> list[RequestStep]:
    return [*next_requests(volume, replicas, placed, held_back)]


@pytest.mark.parametrize(
    ("room", "expected"),
    [
        pytest.param(NEW, [AskForRoom("a", 10)], id="nothing-asked-yet"),
        pytest.param(PENDING, [], id="not-decided-yet"),
        pytest.param(GRANTED, [], id="granted"),
        pytest.param(REFUSED, [Withdraw("a")], id="refused"),
        pytest.param(NO_SCHEDULE, [Withdraw("a")], id="the-disk-has-gone"),
        pytest.param(GROWN, [AskForRoom("a", 10)], id="a-growth-that-was-taken-back"),
        pytest.param(None, [], id="no-disk-schedules"),
    ],
)
def test_a_new_replica_asks_and_leaves_a_disk_that_refuses(
    room: Room | None, expected: list[RequestStep]
) -> None:
    assert steps(VOLUME, replica("a", room)) == expected


def test_a_replica_asks_only_in_the_pass_after_it_was_placed() -> None:
    assert steps(VOLUME, replica("a", NEW), placed={"a"}) == []


def test_a_replica_without_a_disk_asks_for_nothing() -> None:
    assert steps(VOLUME, replica("a", None, disk="")) == []


@pytest.mark.parametrize("fact", ["has_data", "is_running", "shall_run"])
@pytest.mark.parametrize("room", [REFUSED, NO_SCHEDULE])
def test_what_has_data_or_runs_stays_on_its_disk(fact: str, room: Room) -> None:
    there = msgspec.structs.replace(replica("a", room), **{fact: True})

    assert steps(VOLUME, there) == []


@pytest.mark.parametrize(
    ("rooms", "expected"),
    [
        pytest.param(
            (GRANTED, GRANTED), [AskForRoom("a", 30), AskForRoom("b", 30)], id="asks-all-disks"
        ),
        pytest.param((GROWN, GRANTED), [AskForRoom("b", 30)], id="asks-those-not-asked-yet"),
        pytest.param((GROWN, GROWING), [], id="waits-for-all"),
        pytest.param((GROWN, GROWN), [Expand(30)], id="grows-when-all-hold-it"),
        pytest.param((GROWN, NOT_GROWN), [HoldBack(30, ("b",))], id="one-refuses"),
        pytest.param((NOT_GROWN, GRANTED), [HoldBack(30, ("a",))], id="one-refuses-early"),
        pytest.param((GRANTED, PENDING), [], id="a-new-one-comes-first"),
        pytest.param((None, None), [Expand(30)], id="no-disk-schedules"),
    ],
)
def test_a_volume_grows_as_a_whole(
    rooms: tuple[Room | None, Room | None], expected: list[RequestStep]
) -> None:
    replicas = [replica(name, room) for name, room in zip("ab", rooms, strict=True)]

    assert steps(LARGER, *replicas) == expected


@pytest.mark.parametrize(
    ("rooms", "expected"),
    [
        ((GROWN, NOT_GROWN), [AskForRoom("a", 10), AskForRoom("b", 10)]),
        ((GRANTED, NOT_GROWN), [AskForRoom("b", 10)]),
        ((GRANTED, GRANTED), []),
    ],
)
def test_while_growth_is_held_back_every_disk_is_asked_for_the_old_size(
    rooms: tuple[Room, Room], expected: list[RequestStep]
) -> None:
    replicas = [replica(name, room) for name, room in zip("ab", rooms, strict=True)]

    assert steps(LARGER, *replicas, held_back=30) == expected


def test_another_size_than_the_one_held_back_is_tried() -> None:
    assert steps(LARGER, replica("a", GRANTED), held_back=50) == [AskForRoom("a", 30)]


def test_a_growth_that_is_no_longer_wished_for_is_taken_back() -> None:
    asked = steps(VOLUME, replica("a", GROWN), replica("b", NOT_GROWN))

    assert asked == [AskForRoom("a", 10), AskForRoom("b", 10)]


@pytest.mark.parametrize(
    ("room", "runs"),
    [(NEW, False), (PENDING, False), (GRANTED, True), (GROWING, True), (None, True)],
)
def test_only_what_has_room_is_started(room: Room | None, *, runs: bool) -> None:
    volume = msgspec.structs.replace(VOLUME, wished_node="node-1", wanted_replicas=1)

    found = next_steps(volume, [replica("a", room)], ())

    assert (RunReplica("a") in found) == runs
    assert (Become("attaching") in found) == runs


@pytest.mark.parametrize(("has_data", "attaches"), [(False, False), (True, True)])
def test_a_new_volume_waits_for_every_disk_to_decide(*, has_data: bool, attaches: bool) -> None:
    volume = msgspec.structs.replace(VOLUME, wished_node="node-1", state="attaching")
    running = replica("a", GRANTED, shall_run=True, is_running=True, has_data=has_data)

    found = next_steps(volume, [running, replica("b", PENDING, disk="other")], ())

    assert (Become("attached") in found) == attaches


@pytest.mark.parametrize(
    ("assigned", "made", "room", "expected"),
    [
        pytest.param([], [], None, AddCopy(), id="one-is-missing"),
        pytest.param(["a"], [], NEW, AskForCopy("a"), id="nothing-asked-yet"),
        pytest.param(["a"], [], PENDING, None, id="not-decided-yet"),
        pytest.param(["a"], [], GRANTED, MakeCopy("a"), id="granted"),
        pytest.param(["a"], [], REFUSED, DropCopy("a"), id="refused"),
        pytest.param(["a"], [], NO_SCHEDULE, DropCopy("a"), id="the-disk-has-gone"),
        pytest.param(["a"], ["a"], GRANTED, None, id="made"),
        pytest.param(["a"], ["a"], NEW, AskForCopy("a"), id="made-before-anybody-asked"),
        pytest.param(["a"], ["a"], REFUSED, None, id="made-and-refused"),
        pytest.param([], ["a"], GRANTED, RemoveCopy("a"), id="no-longer-assigned"),
    ],
)
def test_a_copy_asks_is_made_and_goes(
    assigned: list[str], made: list[str], room: Room | None, expected: CopyStep | None
) -> None:
    assert next_copy(image(assigned, made), {"a": room} if room else {}) == expected


def test_without_disk_schedules_a_copy_is_made_as_soon_as_it_is_assigned() -> None:
    assert next_copy(image(["a"], []), None) == MakeCopy("a")


def image(assigned: list[str], made: list[str]) -> Object:
    obj = backing_image("image", 10)
    obj["spec"]["diskFileSpecMap"] = {disk: {} for disk in assigned}
    obj["status"]["diskFileStatusMap"] = {disk: {"state": "ready"} for disk in made}
    return obj


def node() -> Object:
    found = longhorn_node("node-1", {"disk-1": 100, "disk-2": 100})
    return {**found, "metadata": {**found["metadata"], "uid": "uid"}}


def schedule(disk: str = "disk-1", **status: Any) -> Object:
    return {**disk_schedule(node(), disk), "status": status}


def test_requests_are_put_and_taken_out_and_others_stay() -> None:
    asked = with_request(schedule(), Asker.REPLICA, "a", 5)
    assert asked is not None
    both = with_request(asked, Asker.IMAGE, "a", 7)
    assert both is not None
    left = with_request(both, Asker.REPLICA, "a", 0)
    assert left is not None

    assert (both["spec"]["replicas"], both["spec"]["backingImages"]) == ({"a": 5}, {"a": 7})
    assert (left["spec"]["replicas"], left["spec"]["backingImages"]) == ({}, {"a": 7})
    assert with_request(both, Asker.REPLICA, "a", 5) is None
    assert with_request(left, Asker.REPLICA, "a", 0) is None


def test_a_request_is_not_taken_back_once_it_is_granted() -> None:
    asked = with_request(schedule(), Asker.REPLICA, "a", 5)
    assert asked is not None
    refused = {**asked, "status": {"replicas": {"a": {"state": "rejected", "scheduledSize": 0}}}}
    entry = {"state": "scheduled", "scheduledSize": 5}
    granted = {**asked, "status": {"replicas": {"a": entry}, "storageScheduled": 5}}

    assert room_of(refused, Asker.REPLICA, "a") == Room(asked_bytes=5, is_refused=True)
    assert without_refused(refused, Asker.REPLICA, "a") == {
        **refused,
        "spec": schedule()["spec"],
    }
    assert without_refused(granted, Asker.REPLICA, "a") is None
    assert room_of(None, Asker.REPLICA, "a") == NO_SCHEDULE


def test_a_disk_counts_what_is_held_and_one_without_an_object_is_left_out() -> None:
    here = disk_uuid("node-1", "disk-1")

    counted = by_schedules(node(), {here: schedule(storageScheduled=40)})

    [(name, status)] = counted["status"]["diskStatus"].items()
    assert (name, status["storageScheduled"]) == ("disk-1", 40)


def test_a_change_of_a_request_or_an_entry_names_who_asked() -> None:
    before = with_request(schedule(), Asker.REPLICA, "a", 5)
    assert before is not None
    after = {**before, "status": {"replicas": {"a": {"state": "scheduled", "scheduledSize": 5}}}}

    assert changed_names(None, before, Asker.REPLICA) == ["a"]
    assert changed_names(before, after, Asker.REPLICA) == ["a"]
    assert changed_names(after, after, Asker.REPLICA) == []
    assert changed_names(before, after, Asker.IMAGE) == []


def test_each_disk_has_one_object_and_one_of_a_replaced_disk_is_left_over() -> None:
    one, two = schedule("disk-1"), schedule("disk-2")
    replaced = {**one, "metadata": {**one["metadata"], "name": "old"}}
    of_another = {**replaced, "metadata": {**replaced["metadata"], "labels": {}}}

    assert [each["spec"]["name"] for each in missing(node(), {one["metadata"]["name"]})] == [
        "disk-2"
    ]
    assert [*left_over(node(), [one, two, replaced, of_another])] == [replaced]
