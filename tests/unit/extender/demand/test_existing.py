"""What existing replicas are worth: the states of longhorn.md section 5."""

from typing import Any

import pytest

from extender import Basis
from extender.demand.existing import ExistingReplica, Worth, existing_by_node
from extender.verdicts.shortages import InsufficientStorage
from longhorn import DiskName, Need, Node, NodeName, Replica, need_of
from tests.builders import (
    GIB,
    ask,
    bound,
    disk,
    node,
    nodes_of,
    replica,
    replicas_of,
    view_of,
    volume,
    volumes_of,
)

USABLE, ROOM, EVICTING = Worth.USABLE, Worth.ROOM, Worth.EVICTING
NEED, SSD_NEED = need_of(volume("vol"), None), need_of(volume("vol", disk_selector=["ssd"]), None)
FAILED = replica(failed=True)


def worth(replicas: list[Replica], at: Node, need: Need = NEED) -> Worth | None:
    """Return what is to be had of a volume on node-1."""
    existing = existing_by_node(replicas, need, view_of(at)).get(NodeName("node-1"))
    return existing.worth if existing else None


BESIDE_DATA = {
    # The replica on node-1 of a volume with data on node-9, and what it is worth.
    "healthy-and-stopped": ("vol@1", USABLE),
    "healthy-and-running": ("vol@1/started", USABLE),
    "unscheduled": ("vol>1", None),
    "rebuilding": ("vol@1/new/started", ROOM),
    "placed-for-a-rebuild-not-started": ("vol@1/new", ROOM),
    "failed-and-reusable": ("vol@1/failed", ROOM),
    "failed-and-evicting": ("vol@1/failed/evicting", None),
    "failed-while-rebuilding": ("vol@1/failed/new", ROOM),
    "evicting": ("vol@1/evicting", EVICTING),
    "being-deleted": ("vol@1/deleting", None),
    "inactive-duplicate": ("vol@1/inactive", None),
}
ALONE = {
    # The only replica of a volume that was never written.
    "never-started": ("vol@1/new", USABLE),
    "starting-for-the-first-time": ("vol@1/new/started", ROOM),
    "empty-and-evicting": ("vol@1/new/evicting", EVICTING),
    "empty-and-failed": ("vol@1/new/failed", ROOM),
}
ELSEWHERE = replica("vol-r-9", on="node-9")
LOST = replica("vol-r-2", on="node-2", failed=True, rebuild_retries=5)
REPLICAS: dict[str, tuple[list[Replica], Worth | None]] = {
    **{f"replica-{name}": (replicas_of(f"{of} vol@9"), found)
        for name, (of, found) in BESIDE_DATA.items()},
    "replica-failed-with-one-retry-left": (
        [replica(failed=True, rebuild_retries=4), ELSEWHERE], ROOM),
    "replica-failed-for-good": (
        [replica(failed=True, rebuild_retries=5), ELSEWHERE], None),
    **{f"replica-of-a-volume-without-data-{name}": (replicas_of(of), found)
        for name, (of, found) in ALONE.items()},
    "replica-that-is-empty-of-a-volume-whose-data-are-lost": (
        [replica(healthy_once=False), LOST], ROOM),
}  # fmt: skip


@pytest.mark.parametrize("name", REPLICAS)
def test_worth_of_replicas(name):
    replicas, expected = REPLICAS[name]

    assert worth(replicas, node()) is expected


def with_disk(**how: Any) -> Node:
    return node("node-1", disk(**how))


CLOSED = {"allow_scheduling": False}
PLACES: dict[str, tuple[Replica, Node, Worth | None]] = {
    # A replica that cannot be reached is worth nothing.
    "node-down": (replica(), node(ready=False), None),
    "node-is-not-there": (replica(), node("node-2"), None),
    "disk-not-ready": (replica(), with_disk(ready=False), None),
    "disk-is-not-there": (replica(), with_disk(name="disk-2"), None),
    "disk-without-uuid": (replica(), with_disk(uuid=""), None),
    # A healthy one is usable where nothing new is placed.
    "node-cordoned": (replica(), node(schedulable=False), USABLE),
    "node-closed": (replica(), node(allow_scheduling=False), USABLE),
    "node-evicting": (replica(), node(evicting=True), USABLE),
    "disk-full": (replica(), with_disk(schedulable=False), USABLE),
    "disk-closed": (replica(), with_disk(**CLOSED), USABLE),
    "disk-without-size": (replica(), with_disk(maximum_bytes=0), USABLE),
    # A failed one keeps its room where Longhorn would rebuild it.
    "failed-on-a-closed-disk": (FAILED, with_disk(**CLOSED), None),
    "failed-on-a-closed-and-evicting-disk": (FAILED, with_disk(**CLOSED, evicting=True), None),
    "failed-on-a-disk-as-it-was": (FAILED, with_disk(), ROOM),
    "failed-on-a-disk-with-too-much-scheduled": (FAILED, with_disk(schedulable=False), ROOM),
    "failed-on-a-disk-nearly-full": (
        FAILED, with_disk(schedulable=False, available_bytes=25 * GIB + 1), ROOM),
    "failed-on-a-full-disk": (
        FAILED, with_disk(schedulable=False, available_bytes=25 * GIB), None),
    "failed-on-a-disk-of-other-tags": (FAILED, with_disk(tags=["hdd"]), None),
    "failed-on-a-disk-of-another-type": (FAILED, with_disk(type_="block"), None),
    "failed-on-an-evicting-disk": (FAILED, with_disk(evicting=True), None),
}  # fmt: skip


@pytest.mark.parametrize("name", PLACES)
def test_worth_of_a_replica_where_it_is(name):
    of, at, expected = PLACES[name]
    need = SSD_NEED if at.disks[0].tags else NEED

    assert worth([of], at, need) is expected


def test_replica_that_is_the_best_on_a_node_counts():
    replicas = [
        replica("vol-r-1", disk="disk-1", failed=True),
        replica("vol-r-2", disk="disk-2"),
        replica("vol-r-3", disk="disk-3", evicting=True),
    ]
    view = view_of(*nodes_of("1:100,100,100"))
    expected = {"node-1": ExistingReplica(worth=USABLE, disk=DiskName("disk-2"))}

    assert existing_by_node(replicas, NEED, view) == expected
    assert existing_by_node(replicas[::-1], NEED, view) == expected


def test_disk_of_the_same_uuid_on_another_node_is_another_disk():
    disks = [disk(name, uuid="uuid-disk-1") for name in ("a", "b")]
    view = view_of(*(node(f"node-{n}", each) for n, each in enumerate(disks, 1)))

    assert existing_by_node(replicas_of("vol@2"), NEED, view) == {
        "node-2": ExistingReplica(worth=USABLE, disk=DiskName("b"))
    }


WITH_DATA = node("node-3"), replica("vol-r-9", on="node-3")
FULL = node("node-1", disk(listed={"vol-r-1": 100 * GIB}))


@pytest.mark.parametrize("flags", ["failed", "new/started"])
def test_replica_that_has_its_room_needs_no_more_of_it(flags):
    own = *bound(*volumes_of("vol:100")), *replicas_of(f"vol:100@1/{flags}")

    result = ask(view_of(FULL, node("node-2"), *WITH_DATA, *own), candidates=["node-1", "node-2"])

    assert (result.basis, result.accepted) == (Basis.PLACEMENT, ["node-1", "node-2"])


def test_room_of_a_replica_is_no_use_to_another_volume():
    own = *bound(*volumes_of("vol:100 new")), *replicas_of("vol:100@1/failed")

    found = ask(view_of(FULL, *WITH_DATA, *own), "vol", "new", candidates=["node-1"]).rejected

    assert found == {"node-1": InsufficientStorage(size_bytes=10 * GIB)}


def test_replica_that_only_has_room_does_not_keep_the_pod_from_other_nodes():
    view = view_of(*nodes_of("1 2"), *WITH_DATA, *bound(volume()), FAILED)

    assert ask(view, candidates=["node-1", "node-2"]).accepted == ["node-1", "node-2"]


@pytest.mark.parametrize(
    ("shared", "is_used_again"),
    [
        pytest.param(replica("source-r-1", of="source"), True, id="source-beside-it"),
        pytest.param(replica("source-r-1", of="source", failed=True), False, id="source-failed"),
        pytest.param(replica("source-r-1", of="source", healthy_once=False), False, id="no-data"),
        pytest.param(replica("source-r-1", of="source", disk="disk-2"), False, id="other-disk"),
        pytest.param(replica("source-r-2", of="source"), False, id="source-gone"),
    ],
)
def test_linked_clone_has_a_failed_replica_back_beside_what_it_shares_with(shared, is_used_again):
    failed = replica("clone-r-1", of="clone", failed=True, source="source-r-1")
    healthy = replica("clone-r-2", of="clone", on="node-2")
    disks = [disk(name, scheduled_bytes=90 * GIB) for name in ("disk-1", "disk-2")]
    clone = bound(volume("clone", size_bytes=90 * GIB, linked_to="source"))
    view = view_of(node("node-1", *disks), node("node-2"), shared, failed, healthy, *clone)

    answer = ask(view, "clone", candidates=["node-1"])

    assert bool(answer.accepted) is is_used_again
