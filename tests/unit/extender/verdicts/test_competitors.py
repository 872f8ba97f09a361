"""Replicas that Longhorn is about to place on a node take their room there."""

from typing import Any

import pytest

from app.kube.resource import AnyRecord
from extender import Rejection, StepLimits
from extender.verdicts.shortages import InsufficientStorage, PackingUndecided, PendingReplicas
from longhorn import Unreadable, Volume
from tests.builders import (
    GIB,
    ask,
    bound,
    disk,
    document,
    fits,
    node,
    nodes_of,
    placed,
    read_as_unreadable,
    replica,
    replicas_of,
    view_of,
    volume,
    volumes_of,
)

BESIDE = volume(size_bytes=60 * GIB)
"""Does not fit beside another volume of 60 GiB."""
PENDING, SIXTY, TAKEN = "other>1", "other:60>1", PendingReplicas()
"""Replicas of 10 and 60 GiB: what is known of the volume counts more."""
ZONE_A = nodes_of("1@a")


def other(gib: int = 60, **more: Any) -> Volume:
    return volume("other", size_bytes=gib * GIB, **more)


def unreadable(kind: str, name: str, **spec: object) -> Unreadable:
    return read_as_unreadable(document(kind, name, spec=spec))


RAW = [node("node-1", disk("fs"), disk("raw", type_="block", filesystem=""))]
HDD = volumes_of("one:60 two:60", disk_selector=["hdd"])
SSD = disk("ssd", tags=["ssd"]), disk("hdd", tags=["hdd"], maximum_bytes=60 * GIB)
THREE_DISKS = (
    disk("ssd", tags=["ssd"], maximum_bytes=10 * GIB),
    disk("both", tags=["ssd", "hdd"], maximum_bytes=60 * GIB),
    disk("hdd", tags=["hdd"], maximum_bytes=60 * GIB),
)
CONFLICTING = "a:60>1 b:60>1"
"""Two replicas of which only one fits on a disk."""
BOTH = volumes_of("a:60 b:60")
FAILED = replica("other-r-1", of="other", on="", pinned_to="node-1", failed=True)
Records = list[AnyRecord | Unreadable]
ROWS: dict[str, tuple[Records, Volume, str, Rejection | None]] = {
    # Nodes and volumes, the pod's own volume, replicas, and why node-1 is rejected, if it is.
    "pending-best-effort": ([*ZONE_A, other()], BESIDE, PENDING, TAKEN),
    "pending-whose-data-need-the-room": (
        [node(), other(40, actual_bytes=75 * GIB - 1)],
        volume(size_bytes=60 * GIB, actual_bytes=1), "other:40>1", TAKEN),
    "pending-with-another-disk-to-go-to": ([*nodes_of("1:60,60"), other()], BESIDE, PENDING, None),
    "volume-being-deleted": ([*ZONE_A, other(deleting=True)], BESIDE, PENDING, None),
    "backing-image-gone": ([*ZONE_A, other(backing_image="gone")], BESIDE, PENDING, None),
    "volume-too-large-for-any-disk": ([*ZONE_A, other(101)], BESIDE, PENDING, None),
    "disk-of-its-type-missing": ([*ZONE_A, other(disk_type="block")], BESIDE, PENDING, None),
    "disk-of-its-tags-missing": ([*ZONE_A, other(disk_selector=["ssd"])], BESIDE, PENDING, None),
    "node-without-its-tags": ([*ZONE_A, other(node_selector=["storage"])], BESIDE, PENDING, None),
    "node-outside-its-zone": ([*ZONE_A, other(topology=[("b", "")])], BESIDE, PENDING, None),
    "pending-on-another-node": ([*ZONE_A, other()], BESIDE, "other>2", None),
    "replica-failed-before-its-first-use": ([*ZONE_A, other(), FAILED], BESIDE, "", None),
    "replica-of-no-node": ([*ZONE_A, other()], BESIDE, "other@", None),
    "pending-of-the-own-volume-counts-once": ([node()], BESIDE, "vol:60>1", None),
    "shortage-of-the-own-volume-is-named-first": ([node(), other()],
        volume(size_bytes=101 * GIB), PENDING, InsufficientStorage(size_bytes=101 * GIB)),
    "pending-that-do-not-fit-together-all-count": ([node(), *BOTH], volume(), CONFLICTING, TAKEN),
    "volume-that-needs-no-room": (
        [node("node-1", disk(listed={"vol-r-1": 60 * GIB})), other(40)], BESIDE,
        "vol:60@1 other:40>1", None),
    "volume-unreadable-counts-with-the-size-of-its-replica": (
        [node(), unreadable("Volume", "other", size="?")], BESIDE, SIXTY, TAKEN),
    "replica-beside-an-unreadable-one-counts": (
        [node(), other(), unreadable(
            "Replica", "other-r-2", volumeName="other", nodeID="node-2", volumeSize="?")],
        BESIDE, SIXTY, TAKEN),
    "volume-with-data-elsewhere-needs-no-room-here": (
        [*nodes_of("1 2"), *BOTH], volume(), f"vol@1/failed vol@2 {CONFLICTING}", None),
    "pending-cannot-use-the-block-disk": (
        [*RAW, *BOTH], volume(disk_type="block"), CONFLICTING, None),
    "pending-compete-through-others-too": ([node("node-1", *THREE_DISKS), *HDD],
        volume(size_bytes=20 * GIB, disk_selector=["ssd"]), "one:60>1 two:60>1", TAKEN),
    "pending-compete-for-no-disk-of-another-node": (
        [node("node-1", *SSD), node("node-2", disk("both", tags=["ssd", "hdd"])), *HDD],
        volume(disk_selector=["ssd"]), "one:60>1 two:60>1", None),
    "volume-not-heard-of-yet": ([node()], BESIDE, SIXTY, TAKEN),
    "backing-image-unreadable": ([node(), other(backing_image="img"),
        unreadable("BackingImage", "img", nodeSelector=5)], BESIDE, SIXTY, TAKEN),
}  # fmt: skip


@pytest.mark.parametrize("name", ROWS)
def test_replicas_that_are_pending_take_room(name):
    records, own, replicas, expected = ROWS[name]
    view = view_of(*records, *bound(own), *replicas_of(replicas))

    assert ask(view, candidates=["node-1"]).rejected == ({"node-1": expected} if expected else {})


def test_disk_is_said_of_the_own_volume_alone():
    view = view_of(*nodes_of("1:60,60"), *bound(BESIDE), other(), *replicas_of(PENDING))

    assert list(placed(view)["node-1"]) == ["vol"]


def test_packing_that_is_undecided_beside_a_pending_replica_names_no_other():
    """The pod would fit alone; only a search finds that it fits beside the replica, too."""
    own = volumes_of("v0:5 v1:4 v2:4 v3:3 v4:2")
    view = view_of(*nodes_of("1:10,10"), *bound(*own), other(2), *replicas_of("other:2>1"))
    claims = [each.name for each in own]

    result = ask(view, *claims, limits=StepLimits(per_node=0, per_request=0))

    assert fits(view, *claims)
    assert result.rejected == {"node-1": PackingUndecided()}
