"""Which failed replicas Longhorn rebuilds in place, and when it makes a new one."""

from collections.abc import Sequence
from datetime import timedelta
from typing import Any

import msgspec
import pytest

from longhorn import (
    ALL_RUNS,
    Engines,
    Node,
    NodeName,
    Replica,
    Settings,
    Volume,
    is_potentially_reusable,
    needs_new_replica,
    node_disks,
    reusable,
)
from tests.unit.longhorn.objects import (
    NOT_READY,
    NOT_SCHEDULABLE,
    NOW,
    degraded,
    disk,
    failed,
    image,
    node,
    nodes,
    replica,
    volume,
)

SINCE = "2026-08-20T11:50:00Z"
WAITING = volume(status=degraded(SINCE))
NODE_SOFT = Settings(soft_anti_affinity=True)
ZONE_HARD = Settings(zone_soft_anti_affinity=False)
V2_APART = Settings(fast_rebuild_v2=False)
PRESSED = [
    {"type": "Ready", "status": "True"},
    {"type": "Schedulable", "status": "False", "reason": "DiskPressure"},
]


def reused(
    *replicas: Replica,
    nodes: Sequence[Node] = (),
    of: Volume | None = None,
    settings: Settings | None = None,
    engines: Engines = ALL_RUNS,
    **how: Any,
) -> list[str]:
    settings = settings or Settings()
    spaces = [
        msgspec.structs.replace(node_disks(each, settings), engines=engines)
        for each in nodes or [node()]
    ]
    found = reusable(replicas, of or volume(), spaces, settings, **how)
    return [each.name for each in found]


POTENTIALLY = {
    "failed": (failed("a1"), True),
    "tried-four-times": (failed("a1", rebuildRetryCount=4), True),
    "tried-five-times": (failed("a1", rebuildRetryCount=5), False),
    "evicted": (failed("a1", evictionRequested=True), False),
    "without-node": (failed("a1", nodeID=""), False),
    "without-disk": (failed("a1", diskID=""), False),
    "healthy": (replica("a1"), False),
}


@pytest.mark.parametrize(("given", "expected"), POTENTIALLY.values(), ids=POTENTIALLY)
def test_replica_is_potentially_reusable(given, *, expected):
    assert is_potentially_reusable(given) is expected
    assert bool(reused(given)) is expected


DISKS = {
    "full-by-promises": (disk(scheduled=100), True),
    "pressed-but-not-full": (disk(available=26, status={"conditions": PRESSED}), True),
    "full": (disk(available=25, status={"conditions": PRESSED}), False),
    "not-schedulable": (disk(status={"conditions": NOT_SCHEDULABLE}), False),
    "not-ready": (disk(status={"conditions": NOT_READY}), False),
    "scheduling-disabled": (disk(spec={"allowScheduling": False}), False),
    "evicted": (disk(spec={"evictionRequested": True}), False),
    "tags-not-asked-for": (disk(spec={"tags": ["hdd"]}), True),
}


@pytest.mark.parametrize(("on", "expected"), DISKS.values(), ids=DISKS)
def test_disk_must_be_usable(on, *, expected):
    assert bool(reused(failed("a1"), nodes=[node("a", on)])) is expected


@pytest.mark.parametrize(
    ("spec", "of_image", "expected"),
    [
        ({"diskSelector": ["ssd"], "nodeSelector": ["fast"]}, None, True),
        ({"diskSelector": ["hdd"]}, None, False),
        ({"nodeSelector": ["slow"]}, None, False),
        ({"backingImage": "image"}, None, False),
        ({"backingImage": "image"}, image(diskSelector=["ssd"]), True),
        ({"backingImage": "image"}, image(diskSelector=["hdd"]), False),
    ],
)
def test_selectors_apply(spec, of_image, *, expected):
    tagged = [node("a", disk(spec={"tags": ["ssd"]}), spec={"tags": ["fast"]})]

    found = reused(failed("a1"), nodes=tagged, of=volume(**spec), backing_image=of_image)

    assert bool(found) is expected


def test_node_must_be_usable():
    cordoned = node(status={"conditions": NOT_SCHEDULABLE})

    assert reused(failed("a1"), nodes=[cordoned]) == []
    assert reused(failed("a1"), engines=Engines(runs_v1=False)) == []
    assert reused(failed("b1")) == []


def test_hard_node_affinity_narrows():
    both = failed("a1", name="on-a"), failed("b1", name="on-b")

    assert reused(*both, nodes=nodes("a b"), hard_node_affinity="b") == ["on-b"]


def lost(on: str, failed_at: str = "10:00:00Z", **spec: Any) -> Replica:
    """Build a replica named after its disk that failed at a time of the day."""
    return failed(on, name=on, failedAt=f"2026-08-20T{failed_at}", **spec)


def healthy(on: str) -> Replica:
    return replica(on, name="healthy")


IN_ORDER: dict[str, tuple[list[Replica], str, Settings, str]] = {
    # The replicas, the nodes, the settings, and what is reused, the first first.
    "last-failed-first": (
        [lost("a1"), failed("c1", name="c1", failedAt="long ago"), lost("b1", "12:30:00+02:00")],
        "a b c", Settings(), "b1 a1 c1"),
    "beside-a-healthy-one": ([healthy("a1"), lost("a2")], "a:100,100", Settings(), ""),
    "beside-a-healthy-one-if-soft": ([healthy("a1"), lost("a2")], "a:100,100", NODE_SOFT, "a2"),
    "two-on-a-node-do-not-hinder-each-other": (
        [lost("a1"), failed("a1", name="later", failedAt="2026-08-20T11:55:00Z")],
        "a", Settings(), "later a1"),
    # Only nodes with a reusable replica are compared: a healthy one elsewhere uses no zone.
    "in-the-zone-of-a-healthy-one": ([healthy("b1"), lost("a1")], "a@z b@z", ZONE_HARD, "a1"),
    "fresh-zone-wins-over-a-later-failure": (
        [healthy("a1"), lost("b1", "11:59:00Z"), lost("a2", "11:50:00Z"), lost("c1")],
        "a:100,100@y b@y c@z", Settings(), "c1"),
    "of-another-volume": ([lost("a1", volumeName="other")], "a", Settings(), ""),
    "inactive-duplicate": ([lost("a1", active=False)], "a", Settings(), ""),
    "unreadable-setting": ([lost("a1")], "a", Settings(unreadable="x"), ""),
}  # fmt: skip


@pytest.mark.parametrize(("there", "on", "settings", "expected"), IN_ORDER.values(), ids=IN_ORDER)
def test_failed_replicas_are_reused_in_order(there, on, settings, expected):
    assert reused(*there, nodes=nodes(on), settings=settings) == expected.split()


def test_other_data_engine_needs_fast_rebuild():
    block, of = [node("a", disk(spec={"diskType": "block"}))], volume(dataEngine="v2")

    assert reused(failed("a1"), nodes=block, of=of) == ["vol-r-1"]
    assert reused(failed("a1"), nodes=block, of=of, settings=V2_APART) == []
    assert reused(failed("a1"), settings=V2_APART) == ["vol-r-1"]


NEEDED: dict[str, tuple[Replica, Volume, NodeName | None, bool]] = {
    "waits": (failed("a1"), WAITING, None, False),
    "not-degraded": (failed("a1"), volume(), None, True),
    "pinned": (failed("a1"), WAITING, NodeName("a"), True),
    "none-may-come-back": (replica("a1"), WAITING, None, True),
    "another-volume-s-may": (failed("a1", volumeName="other"), WAITING, None, True),
    "since-when-is-unknown": (failed("a1"), volume(status=degraded("")), None, True),
}


@pytest.mark.parametrize(
    ("there", "of", "hard_node_affinity", "expected"), NEEDED.values(), ids=NEEDED
)
def test_new_replica_is_made_at_once(there, of, hard_node_affinity, *, expected):
    before = NOW - timedelta(microseconds=1)

    needs = needs_new_replica(
        [there], of, Settings(), hard_node_affinity=hard_node_affinity, now=before
    )

    assert needs is expected


def test_new_replica_is_made_after_the_wait():
    assert needs_new_replica([failed("a1")], WAITING, Settings(), now=NOW)


@pytest.mark.parametrize(("settings", "expected"), [(Settings(), False), (V2_APART, True)])
def test_new_replica_does_not_wait_where_none_is_reused(settings, expected):
    of = volume(status=degraded(SINCE), dataEngine="v2")
    before = NOW - timedelta(seconds=1)

    assert needs_new_replica([failed("a1")], of, settings, now=before) is expected
