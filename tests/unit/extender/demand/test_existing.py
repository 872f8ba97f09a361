"""What existing replicas are worth: the states of longhorn.md section 5."""

import pytest

from extender import Basis
from extender.demand.existing import ExistingReplica, Worth, existing_by_node
from extender.verdicts.shortages import InsufficientStorage
from longhorn import Disk, DiskName, Node, NodeName, Replica, need_of
from tests.builders import (
    GIB,
    ask,
    bound,
    disk,
    node,
    pending,
    replica,
    view_of,
    volume,
)

NEED = need_of(volume("vol"), None)
HEALTHY_ELSEWHERE = replica("vol-r-9", on="node-9")


def worth(replicas: list[Replica], *nodes: Node) -> Worth | None:
    """Return what is to be had of a volume on node-1."""
    view = view_of(*(nodes or (node(),)))
    existing = existing_by_node(replicas, NEED, view).get(NodeName("node-1"))
    return existing.worth if existing else None


@pytest.mark.parametrize(
    ("replica", "expected"),
    [
        pytest.param(replica(), Worth.USABLE, id="healthy-and-stopped"),
        pytest.param(replica(started=True), Worth.USABLE, id="healthy-and-running"),
        pytest.param(pending(of="vol"), None, id="unscheduled"),
        pytest.param(replica(healthy_once=False, started=True), Worth.ROOM, id="rebuilding"),
        pytest.param(
            replica(healthy_once=False), Worth.ROOM, id="placed-for-a-rebuild-not-started"
        ),
        pytest.param(replica(failed=True), Worth.ROOM, id="failed-and-reusable"),
        pytest.param(
            replica(failed=True, rebuild_retries=4), Worth.ROOM, id="failed-with-one-retry-left"
        ),
        pytest.param(replica(failed=True, rebuild_retries=5), None, id="failed-for-good"),
        pytest.param(replica(failed=True, evicting=True), None, id="failed-and-evicting"),
        pytest.param(
            replica(failed=True, healthy_once=False), Worth.ROOM, id="failed-while-rebuilding"
        ),
        pytest.param(replica(evicting=True), Worth.EVICTING, id="evicting"),
        pytest.param(replica(deleting=True), None, id="being-deleted"),
        pytest.param(replica(active=False), None, id="inactive-duplicate"),
    ],
)
def test_state_of_a_replica_whose_volume_has_data(replica: Replica, expected: Worth | None) -> None:
    assert worth([replica, HEALTHY_ELSEWHERE]) is expected


@pytest.mark.parametrize(
    ("replica", "expected"),
    [
        pytest.param(replica(healthy_once=False), Worth.USABLE, id="never-started"),
        pytest.param(
            replica(healthy_once=False, started=True), Worth.ROOM, id="starting-for-the-first-time"
        ),
        pytest.param(
            replica(healthy_once=False, evicting=True), Worth.EVICTING, id="empty-and-evicting"
        ),
        pytest.param(replica(healthy_once=False, failed=True), Worth.ROOM, id="failed"),
    ],
)
def test_state_of_the_only_replica_of_a_volume_never_written(
    replica: Replica, expected: Worth | None
) -> None:
    assert worth([replica]) is expected


@pytest.mark.parametrize(
    "node",
    [
        pytest.param(node("node-1", ready=False), id="node-down"),
        pytest.param(node("node-1", disk(ready=False)), id="disk-not-ready"),
        pytest.param(node("node-1", disk("disk-2")), id="disk-is-not-there"),
        pytest.param(node("node-1", disk(uuid="")), id="disk-without-uuid"),
        pytest.param(node("node-2"), id="node-is-not-there"),
    ],
)
def test_replica_that_cannot_be_reached_is_worth_nothing(node: Node) -> None:
    assert worth([replica()], node) is None


@pytest.mark.parametrize(
    "node",
    [
        pytest.param(node(schedulable=False), id="cordoned"),
        pytest.param(node(allow_scheduling=False), id="scheduling-disabled"),
        pytest.param(node(evicting=True), id="node-eviction-requested"),
        pytest.param(node("node-1", disk(schedulable=False)), id="disk-full"),
        pytest.param(node("node-1", disk(allow_scheduling=False)), id="disk-disabled"),
        pytest.param(node("node-1", disk(maximum_bytes=0)), id="disk-without-size"),
    ],
)
def test_healthy_replica_is_usable_where_nothing_new_is_placed(node: Node) -> None:
    assert worth([replica()], node) is Worth.USABLE


@pytest.mark.parametrize(
    "disk",
    [
        pytest.param(disk(allow_scheduling=False), id="scheduling-disabled"),
        pytest.param(disk(allow_scheduling=False, evicting=True), id="evicting"),
    ],
)
def test_failed_replica_is_not_reused_on_a_closed_disk(disk: Disk) -> None:
    assert worth([replica(failed=True)], node("node-1", disk)) is None


def test_best_of_several_replicas_on_a_node_counts() -> None:
    disks = disk("disk-1"), disk("disk-2"), disk("disk-3")
    replicas = [
        replica("vol-r-1", disk="disk-1", failed=True),
        replica("vol-r-2", disk="disk-2"),
        replica("vol-r-3", disk="disk-3", evicting=True),
    ]
    view = view_of(node("node-1", *disks))

    assert existing_by_node(replicas, NEED, view) == {
        "node-1": ExistingReplica(worth=Worth.USABLE, disk=DiskName("disk-2"))
    }
    assert existing_by_node(replicas[::-1], NEED, view) == existing_by_node(replicas, NEED, view)


def test_the_same_uuid_on_another_node_is_another_disk() -> None:
    clones = (
        node("node-1", disk("a", uuid="uuid-disk-1")),
        node("node-2", disk("b", uuid="uuid-disk-1")),
    )
    view = view_of(*clones)

    assert existing_by_node([replica(on="node-2")], NEED, view) == {
        "node-2": ExistingReplica(worth=Worth.USABLE, disk=DiskName("b"))
    }


def test_no_data_are_left_when_the_volume_was_written_and_the_empty_replica_is_here() -> None:
    lost = replica("vol-r-2", on="node-2", failed=True, rebuild_retries=5)

    assert worth([replica(healthy_once=False), lost]) is Worth.ROOM


@pytest.mark.parametrize(
    "own",
    [
        pytest.param(replica(failed=True, size_bytes=100 * GIB), id="failed-and-reusable"),
        pytest.param(
            replica(healthy_once=False, started=True, size_bytes=100 * GIB), id="rebuilding"
        ),
    ],
)
def test_replica_that_has_its_room_needs_no_more_of_it(own: Replica) -> None:
    full = node("node-1", disk(listed={own.name: 100 * GIB}))
    with_data = node("node-3"), replica("vol-r-9", on="node-3")
    view = view_of(full, node("node-2"), *with_data, *bound(volume(size_bytes=100 * GIB)), own)

    result = ask(view, candidates=["node-1", "node-2"])

    assert (result.basis, result.accepted) == (Basis.PLACEMENT, ["node-1", "node-2"])


def test_room_of_a_replica_is_of_no_use_to_another_volume() -> None:
    taken = replica(of="vol", failed=True, size_bytes=100 * GIB)
    full = node("node-1", disk(listed={taken.name: 100 * GIB}))
    with_data = node("node-3"), replica("vol-r-9", on="node-3")
    own = bound(volume(size_bytes=100 * GIB), volume("new"))
    view = view_of(full, *with_data, *own, taken)

    found = ask(view, "vol", "new", candidates=["node-1"]).rejected
    assert found == {"node-1": InsufficientStorage(size_bytes=10 * GIB)}


def test_replica_that_only_has_room_does_not_keep_the_pod_from_other_nodes() -> None:
    nodes = [node(f"node-{number}") for number in (1, 2, 3)]
    with_data = replica("vol-r-9", on="node-3")
    view = view_of(*nodes, *bound(volume()), with_data, replica(failed=True))

    assert ask(view, candidates=["node-1", "node-2"]).accepted == ["node-1", "node-2"]


@pytest.mark.parametrize(
    ("found", "expected"),
    [
        pytest.param(disk(), Worth.ROOM, id="as-it-was"),
        pytest.param(disk(schedulable=False), Worth.ROOM, id="too-much-scheduled"),
        pytest.param(
            disk(schedulable=False, available_bytes=25 * GIB + 1), Worth.ROOM, id="nearly-full"
        ),
        pytest.param(disk(schedulable=False, available_bytes=25 * GIB), None, id="full"),
        pytest.param(disk(tags=["hdd"]), None, id="tags-changed"),
        pytest.param(disk(type_="block"), None, id="type-changed"),
        pytest.param(disk(evicting=True), None, id="evicting"),
    ],
)
def test_failed_replica_keeps_its_room_where_longhorn_would_rebuild_it(
    found: Disk, expected: Worth | None
) -> None:
    need = need_of(volume("vol", disk_selector=["ssd"] if found.tags else []), None)
    view = view_of(node("node-1", found))

    existing = existing_by_node([replica(failed=True)], need, view).get(NodeName("node-1"))

    assert (existing.worth if existing else None) is expected


@pytest.mark.parametrize(
    ("shared", "is_used_again"),
    [
        pytest.param(replica("source-r-1", of="source"), True, id="beside-what-it-shares-with"),
        pytest.param(replica("source-r-1", of="source", failed=True), False, id="failed"),
        pytest.param(replica("source-r-1", of="source", healthy_once=False), False, id="no-data"),
        pytest.param(replica("source-r-1", of="source", disk="disk-2"), False, id="other-disk"),
        pytest.param(replica("source-r-2", of="source"), False, id="gone"),
    ],
)
def test_a_failed_replica_of_a_linked_clone_comes_back_beside_what_it_shares_with(
    shared: Replica, *, is_used_again: bool
) -> None:
    clone = volume("clone", size_bytes=90 * GIB, linked_to="source")
    replicas = [
        shared,
        replica("clone-r-1", of="clone", failed=True, source="source-r-1"),
        replica("clone-r-2", of="clone", on="node-2"),
    ]
    scheduled = disk(scheduled_bytes=90 * GIB), disk("disk-2", scheduled_bytes=90 * GIB)
    nodes = node("node-1", *scheduled), node("node-2")
    view = view_of(*nodes, *replicas, *bound(clone))
    answer = ask(view, "clone", candidates=["node-1"])

    assert bool(answer.accepted) is is_used_again
