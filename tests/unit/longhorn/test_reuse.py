"""Which failed replicas Longhorn rebuilds in place, and when it makes a new one."""

from datetime import timedelta
from typing import Any

import msgspec
import pytest

from longhorn import (
    ALL_RUNS,
    Engines,
    NodeName,
    Replica,
    Settings,
    Volume,
    is_potentially_reusable,
    needs_new_replica,
    node_disks,
    reusable,
)
from tests.builders import conditions
from tests.unit.longhorn.objects import NOW, disk, failed, image, node, replica, volume

DEGRADED = {"robustness": "degraded", "lastDegradedAt": "2026-08-20T11:50:00Z"}
PRESSED = [
    {"type": "Ready", "status": "True"},
    {"type": "Schedulable", "status": "False", "reason": "DiskPressure"},
]


def reused(
    *replicas: Replica,
    nodes: Any = None,
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


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        pytest.param(failed("a1"), True, id="failed"),
        pytest.param(failed("a1", rebuildRetryCount=4), True, id="tried-four-times"),
        pytest.param(failed("a1", rebuildRetryCount=5), False, id="tried-five-times"),
        pytest.param(failed("a1", evictionRequested=True), False, id="evicted"),
        pytest.param(failed("a1", nodeID=""), False, id="without-node"),
        pytest.param(failed("a1", diskID=""), False, id="without-disk"),
        pytest.param(replica("a1"), False, id="healthy"),
    ],
)
def test_potentially_reusable(given, *, expected):
    assert is_potentially_reusable(given) is expected
    assert bool(reused(given)) is expected


@pytest.mark.parametrize(
    ("on", "expected"),
    [
        pytest.param(disk(scheduled=100), True, id="full-by-promises"),
        pytest.param(
            disk(available=26, status={"conditions": PRESSED}), True, id="pressed-but-not-full"
        ),
        pytest.param(disk(available=25, status={"conditions": PRESSED}), False, id="full"),
        pytest.param(
            disk(status={"conditions": conditions(Ready="True", Schedulable="False")}),
            False,
            id="not-schedulable",
        ),
        pytest.param(
            disk(status={"conditions": conditions(Ready="False", Schedulable="True")}),
            False,
            id="not-ready",
        ),
        pytest.param(disk(spec={"allowScheduling": False}), False, id="scheduling-disabled"),
        pytest.param(disk(spec={"evictionRequested": True}), False, id="evicted"),
        pytest.param(disk(spec={"tags": ["hdd"]}), True, id="tags-not-asked-for"),
    ],
)
def test_the_disk_must_be_usable(on, *, expected):
    assert bool(reused(failed("a1"), nodes=[node("a", on)])) is expected


def test_selectors_apply():
    tagged = [node("a", disk(spec={"tags": ["ssd"]}), spec={"tags": ["fast"]})]

    for spec, expected in (
        ({"diskSelector": ["ssd"], "nodeSelector": ["fast"]}, True),
        ({"diskSelector": ["hdd"]}, False),
        ({"nodeSelector": ["slow"]}, False),
        ({"backingImage": "image"}, False),
    ):
        assert bool(reused(failed("a1"), nodes=tagged, of=volume(**spec))) is expected
    of_image = volume(backingImage="image")
    for selector, expected in ((["ssd"], True), (["hdd"], False)):
        found = reused(
            failed("a1"), nodes=tagged, of=of_image, backing_image=image(diskSelector=selector)
        )
        assert bool(found) is expected


def test_the_node_must_be_usable():
    cordoned = node(status={"conditions": conditions(Ready="True", Schedulable="False")})

    assert reused(failed("a1"), nodes=[cordoned]) == []
    assert reused(failed("a1"), engines=Engines(runs_v1=False)) == []
    assert reused(failed("b1")) == []


def test_hard_node_affinity_narrows():
    both = failed("a1", name="on-a"), failed("b1", name="on-b")

    found = reused(*both, nodes=[node("a"), node("b")], hard_node_affinity="b")

    assert found == ["on-b"]


def test_last_failed_comes_first():
    earlier = failed("a1", name="earlier", failedAt="2026-08-20T10:00:00Z")
    later = failed("b1", name="later", failedAt="2026-08-20T12:30:00+02:00")
    unreadable = failed("c1", name="unreadable", failedAt="long ago")
    nodes = [node("a"), node("b"), node("c")]

    assert reused(earlier, unreadable, later, nodes=nodes) == ["later", "earlier", "unreadable"]


def test_anti_affinity_to_healthy_replicas_applies():
    """Failed ones do not count, but the healthy one keeps its node and disk."""
    two_disks = [node("a", disk(), disk())]
    lost = failed("a2", name="lost")

    assert reused(replica("a1", name="healthy"), lost, nodes=two_disks) == []
    soft = Settings(soft_anti_affinity=True)
    assert reused(replica("a1", name="healthy"), lost, nodes=two_disks, settings=soft) == ["lost"]


def test_only_nodes_with_a_reusable_replica_are_compared():
    """So that a healthy replica in the zone, on another node, does not make the zone used."""
    nodes = [node("a", status={"zone": "z"}), node("b", status={"zone": "z"})]
    apart = Settings(zone_soft_anti_affinity=False)

    found = reused(replica("b1", name="healthy"), failed("a1"), nodes=nodes, settings=apart)

    assert found == ["vol-r-1"]


def test_two_failed_ones_on_a_node_do_not_hinder_each_other():
    both = failed("a1", name="one"), failed("a1", name="two", failedAt="2026-08-20T11:55:00Z")

    assert reused(*both) == ["two", "one"]


def test_a_fresh_zone_wins_over_a_later_failure():
    nodes = [node(n, status={"zone": z}) for n, z in (("a", "z1"), ("b", "z1"), ("c", "z2"))]
    nodes[0] = node("a", disk(), disk(), status={"zone": "z1"})
    there = replica("a1", name="healthy")
    near = failed("b1", name="near", failedAt="2026-08-20T11:59:00Z")
    mate = failed("a2", name="mate")
    far = failed("c1", name="far", failedAt="2026-08-20T11:00:00Z")

    assert reused(there, near, mate, far, nodes=nodes) == ["far"]


def test_other_volumes_and_inactive_duplicates_are_passed_over():
    assert reused(failed("a1", volumeName="other"), failed("a1", active=False)) == []


def test_the_other_data_engine_needs_fast_rebuild():
    block = [node("a", disk(spec={"diskType": "block"}))]
    of = volume(dataEngine="v2")

    assert reused(failed("a1"), nodes=block, of=of) == ["vol-r-1"]
    assert reused(failed("a1"), nodes=block, of=of, settings=Settings(fast_rebuild_v2=False)) == []
    assert reused(failed("a1"), settings=Settings(fast_rebuild_v2=False)) == ["vol-r-1"]


def test_an_unreadable_setting_stops_reuse():
    assert reused(failed("a1"), settings=Settings(unreadable="x")) == []


@pytest.mark.parametrize(
    ("replicas", "of", "hard_node_affinity", "expected"),
    [
        pytest.param([failed("a1")], volume(status=DEGRADED), None, False, id="waits"),
        pytest.param([failed("a1")], volume(), None, True, id="not-degraded"),
        pytest.param([failed("a1")], volume(status=DEGRADED), NodeName("a"), True, id="pinned"),
        pytest.param([replica("a1")], volume(status=DEGRADED), None, True, id="none-may-come-back"),
        pytest.param(
            [failed("a1", volumeName="other")],
            volume(status=DEGRADED),
            None,
            True,
            id="another-volume-s-may",
        ),
        pytest.param(
            [failed("a1")],
            volume(status=DEGRADED | {"lastDegradedAt": ""}),
            None,
            True,
            id="since-when-is-unknown",
        ),
    ],
)
def test_a_new_replica_is_made_at_once(replicas, of, hard_node_affinity, *, expected):
    before = NOW - timedelta(microseconds=1)

    needs = needs_new_replica(
        replicas, of, Settings(), hard_node_affinity=hard_node_affinity, now=before
    )

    assert needs is expected


def test_a_new_replica_is_made_after_the_wait():
    assert needs_new_replica([failed("a1")], volume(status=DEGRADED), Settings(), now=NOW)


def test_nothing_is_waited_for_where_nothing_is_reused():
    of = volume(status=DEGRADED, dataEngine="v2")
    before = NOW - timedelta(seconds=1)

    for fast, expected in ((True, False), (False, True)):
        settings = Settings(fast_rebuild_v2=fast)
        assert needs_new_replica([failed("a1")], of, settings, now=before) is expected
