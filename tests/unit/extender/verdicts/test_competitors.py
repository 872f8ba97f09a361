"""Replicas that Longhorn is about to place on a node take their room there."""

import pytest

from app.kube.resource import AnyRecord
from extender import StepLimits
from extender.verdicts.shortages import InsufficientStorage, PackingUndecided, PendingReplicas
from longhorn import Replica, Volume
from tests.builders import (
    GIB,
    ask,
    bound,
    disk,
    document,
    fits,
    node,
    pending,
    placed,
    read_as_unreadable,
    rejection,
    replica,
    view_of,
    volume,
)

BESIDE = volume(size_bytes=60 * GIB)
"""Does not fit beside another volume of 60 GiB."""


@pytest.mark.parametrize(
    ("other", "replica"),
    [
        pytest.param(volume("other", size_bytes=60 * GIB), pending(), id="best-effort"),
        pytest.param(
            volume("other", size_bytes=40 * GIB, actual_bytes=75 * GIB - 1),
            pending(size_bytes=40 * GIB),
            id="whose-data-need-the-room",
        ),
    ],
)
def test_replica_bound_to_the_node_is_packed_along(other: Volume, replica: Replica) -> None:
    here = volume(size_bytes=60 * GIB, actual_bytes=1)
    view = view_of(node(), *bound(here), other, replica)

    assert rejection(view) == PendingReplicas()


def test_replica_bound_to_the_node_may_use_another_disk() -> None:
    disks = disk("disk-1", maximum_bytes=60 * GIB), disk("disk-2", maximum_bytes=60 * GIB)
    other = volume("other", size_bytes=60 * GIB)
    view = view_of(node("node-1", *disks), *bound(BESIDE), other, pending())

    assert fits(view)
    assert list(placed(view)["node-1"]) == ["vol"]


@pytest.mark.parametrize(
    ("other", "replica"),
    [
        pytest.param(
            volume("other", size_bytes=60 * GIB, deleting=True), pending(), id="its-volume-is-going"
        ),
        pytest.param(
            volume("other", size_bytes=60 * GIB, backing_image="gone"),
            pending(),
            id="its-backing-image-is-gone",
        ),
        pytest.param(volume("other", size_bytes=101 * GIB), pending(), id="too-large-for-any-disk"),
        pytest.param(
            volume("other", size_bytes=60 * GIB, disk_type="block"),
            pending(),
            id="no-disk-of-its-type",
        ),
        pytest.param(
            volume("other", size_bytes=60 * GIB, disk_selector=["ssd"]),
            pending(),
            id="no-disk-of-its-tags",
        ),
        pytest.param(
            volume("other", size_bytes=60 * GIB, node_selector=["storage"]),
            pending(),
            id="the-node-lacks-its-tags",
        ),
        pytest.param(
            volume("other", size_bytes=60 * GIB, topology=[("b", "")]),
            pending(),
            id="the-node-is-outside-its-zone",
        ),
        pytest.param(
            volume("other", size_bytes=60 * GIB), pending(node="node-2"), id="bound-to-another-node"
        ),
        pytest.param(
            volume("other", size_bytes=60 * GIB),
            replica("other-r-1", of="other", on="", pinned_to="node-1", failed=True),
            id="failed-before-its-first-use",
        ),
        pytest.param(
            volume("other", size_bytes=60 * GIB),
            replica("other-r-1", of="other", on=""),
            id="bound-to-no-node",
        ),
    ],
)
def test_replica_that_will_never_be_placed_here_takes_no_room(
    other: Volume | None, replica: Replica
) -> None:
    records = [other] if other else []
    view = view_of(node(zone="a"), *bound(BESIDE), *records, replica)

    assert fits(view)


def test_pending_replica_of_the_pods_own_volume_counts_once() -> None:
    view = view_of(node(), *bound(BESIDE), pending("vol-r-1", of="vol", size_bytes=60 * GIB))

    assert fits(view)


def test_own_shortage_is_named_before_that_of_pending_replicas() -> None:
    too_large = volume(size_bytes=101 * GIB)
    view = view_of(node(), *bound(too_large), volume("other", size_bytes=60 * GIB), pending())

    assert rejection(view) == InsufficientStorage(size_bytes=101 * GIB)


def test_pending_replicas_that_do_not_fit_together_all_count() -> None:
    others = [volume(name, size_bytes=60 * GIB) for name in ("a", "b")]
    replicas = [pending(f"{name}-r-1", of=name, size_bytes=60 * GIB) for name in ("a", "b")]
    view = view_of(node(), *bound(volume()), *others, *replicas)

    assert rejection(view) == PendingReplicas()


def test_pending_replicas_take_no_room_from_a_pod_that_needs_none() -> None:
    held = volume(size_bytes=60 * GIB)
    view = view_of(
        node("node-1", disk(listed={"vol-r-1": 60 * GIB})),
        *bound(held),
        replica(size_bytes=60 * GIB),
        volume("other", size_bytes=40 * GIB),
        pending(size_bytes=40 * GIB),
    )

    assert fits(view)


def test_replica_of_a_volume_that_cannot_be_read_counts_with_its_own_size() -> None:
    unreadable = read_as_unreadable(document("Volume", "other", spec={"size": "?"}))
    view = view_of(node(), *bound(BESIDE), unreadable, pending(size_bytes=60 * GIB))

    assert rejection(view) == PendingReplicas()


def test_replica_counts_although_another_of_its_volume_cannot_be_read() -> None:
    spec = {"volumeName": "other", "nodeID": "node-2", "volumeSize": "?"}
    unreadable = read_as_unreadable(document("Replica", "other-r-2", spec=spec))
    other = volume("other", size_bytes=60 * GIB)
    view = view_of(node(), *bound(BESIDE), other, unreadable, pending(size_bytes=60 * GIB))

    assert rejection(view) == PendingReplicas()


CONFLICTING: list[AnyRecord] = [
    record
    for name in ("a", "b")
    for record in (
        volume(name, size_bytes=60 * GIB),
        pending(f"{name}-r-1", of=name, size_bytes=60 * GIB),
    )
]
"""Two replicas of which only one fits on a disk."""


def test_pending_replicas_cost_nothing_where_the_pod_needs_no_new_room() -> None:
    with_data = node("node-2"), replica("vol-r-2", on="node-2")
    view = view_of(node(), *with_data, *bound(volume()), replica(failed=True), *CONFLICTING)

    assert ask(view, candidates=["node-1"]).accepted


def test_pending_replicas_do_not_compete_for_disks_they_cannot_use() -> None:
    disks = disk("fs"), disk("raw", type_="block", filesystem="")
    view = view_of(node("node-1", *disks), *bound(volume(disk_type="block")), *CONFLICTING)

    assert fits(view)


def test_pending_replicas_compete_through_others_too() -> None:
    disks = (
        disk("ssd", tags=["ssd"], maximum_bytes=10 * GIB),
        disk("both", tags=["ssd", "hdd"], maximum_bytes=60 * GIB),
        disk("hdd", tags=["hdd"], maximum_bytes=60 * GIB),
    )
    others: list[AnyRecord] = [
        volume("any", size_bytes=60 * GIB, disk_selector=["hdd"]),
        pending("any-r-1", of="any", size_bytes=60 * GIB),
        volume("hdd", size_bytes=60 * GIB, disk_selector=["hdd"]),
        pending("hdd-r-1", of="hdd", size_bytes=60 * GIB),
    ]
    own = volume(size_bytes=20 * GIB, disk_selector=["ssd"])

    assert rejection(view_of(node("node-1", *disks), *bound(own), *others)) == PendingReplicas()


def test_pending_replicas_do_not_compete_over_a_disk_of_another_node() -> None:
    disks = disk("ssd", tags=["ssd"]), disk("hdd", tags=["hdd"], maximum_bytes=60 * GIB)
    elsewhere = node("node-2", disk("both", tags=["ssd", "hdd"]))
    others: list[AnyRecord] = []
    for name in ("one", "two"):
        others.append(volume(name, size_bytes=60 * GIB, disk_selector=["hdd"]))
        others.append(pending(f"{name}-r-1", of=name, size_bytes=60 * GIB))
    own = volume(disk_selector=["ssd"])

    assert fits(view_of(node("node-1", *disks), elsewhere, *bound(own), *others))


def test_nobody_is_named_when_the_packing_beside_a_pending_replica_is_undecided() -> None:
    """The pod would fit alone; only a search finds that it fits beside the replica, too."""
    disks = disk("disk-1", maximum_bytes=10 * GIB), disk("disk-2", maximum_bytes=10 * GIB)
    own = [volume(f"v{n}", size_bytes=size * GIB) for n, size in enumerate((5, 4, 4, 3, 2))]
    other = volume("other", size_bytes=2 * GIB)
    view = view_of(node("node-1", *disks), *bound(*own), other, pending(size_bytes=2 * GIB))
    claims = [each.name for each in own]

    result = ask(view, *claims, limits=StepLimits(per_node=0, per_request=0))

    assert fits(view, *claims)
    assert result.rejected == {"node-1": PackingUndecided()}


def test_replica_whose_volume_is_not_heard_of_yet_counts() -> None:
    view = view_of(node(), *bound(BESIDE), pending(size_bytes=60 * GIB))

    assert rejection(view) == PendingReplicas()


def test_replica_whose_backing_image_cannot_be_read_counts() -> None:
    broken = read_as_unreadable(document("BackingImage", "img", spec={"nodeSelector": 5}))
    other = volume("other", size_bytes=60 * GIB, backing_image="img")
    view = view_of(node(), *bound(BESIDE), other, broken, pending(size_bytes=60 * GIB))

    assert rejection(view) == PendingReplicas()
