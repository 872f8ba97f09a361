"""The step `resize`: all replicas of a volume grow, or none."""

import pytest

from longhorn import VolumeName
from planner.plan import Plan
from planner.steps.volumes import Resize
from tests.builders import GIB, claim, disk, node, setting
from tests.unit.planner.clusters import kubernetes_node, nodes_of
from tests.unit.planner.plans import (
    error_of,
    place,
    plan_of,
    running,
    scheduled_gib,
    texts,
    told,
)

THREE = ("node-1", "node-2", "node-3")


def resize(gib: int, name: str = "db-0") -> Resize:
    return Resize(claim=f"default/{name}", size_bytes=gib * GIB)


def size_gib(plan: Plan) -> int:
    return plan.cluster.view.volumes[VolumeName("db-0")].size_bytes // GIB


def test_all_replicas_grow_and_take_more_room():
    plan = plan_of(*nodes_of("abc"), *running("db-0", "node-1", *THREE))

    report = plan.take(resize(40))

    assert told(report) == ["changed default/db-0"]
    assert [scheduled_gib(plan, name) for name in THREE] == [[40], [40], [40]]
    assert size_gib(plan) == 40


def test_a_replica_that_its_disk_lists_takes_the_difference():
    listed = {"db-0-r-node-1": 10 * GIB}
    plan = plan_of(
        kubernetes_node("node-1"),
        node("node-1", disk("node-1-disk", listed=listed)),
        *running("db-0", "node-1"),
    )

    plan.take(resize(40))

    assert scheduled_gib(plan, "node-1") == [40]


def test_without_room_on_one_disk_none_grows_and_the_disk_is_named():
    plan = plan_of(
        *nodes_of("ab"),
        kubernetes_node("node-3"),
        node("node-3", disk("node-3-disk", maximum_bytes=30 * GIB)),
        *running("db-0", "node-1", *THREE),
    )

    report = plan.take(resize(40))

    assert texts(report) == ["does not grow: no room for it on node-3/node-3-disk"]
    assert size_gib(plan) == 10
    assert scheduled_gib(plan, "node-1") == [10]


@pytest.mark.parametrize(("version", "grows"), [("v1.10.2", True), ("v1.11.0", False), ("", False)])
def test_since_v1_11_the_disk_must_have_it_available(version, *, grows):
    plan = plan_of(
        kubernetes_node("node-1"),
        node("node-1", disk("node-1-disk", available_bytes=40 * GIB)),
        setting("storage-over-provisioning-percentage", "200"),
        setting("current-longhorn-version", version),
        *running("db-0", "node-1"),
    )

    assert (texts(plan.take(resize(40))) == []) is grows


def test_replicas_to_come_have_the_new_size():
    plan = plan_of(*nodes_of("a"), setting("replica-zone-soft-anti-affinity", "true"))
    place(plan, 1, copies=2)
    plan.take(resize(30, "data-new-0"))

    assert scheduled_gib(plan, "node-1") == [30]


@pytest.mark.parametrize("gib", [10, 5])
def test_volumes_do_not_shrink(gib):
    plan = plan_of(*nodes_of("a"), *running("db-0", "node-1"))

    assert "cannot shrink" in error_of(plan, resize(gib))


def test_a_claim_without_volume_cannot_be_resized():
    plan = plan_of(*nodes_of("a"), claim("db-0"))

    assert "place its pod first" in error_of(plan, resize(20))


def test_an_unknown_claim_says_which_may_be_meant():
    plan = plan_of(*nodes_of("a"), claim("db-0"))

    assert "did you mean default/db-0" in error_of(plan, resize(20, "db-1"))


def test_with_a_setting_that_cannot_be_read_nothing_is_expanded():
    broken = setting("storage-over-provisioning-percentage", "much")
    plan = plan_of(*nodes_of("a"), broken, *running("db-0", "node-1"))

    assert "storage-over-provisioning-percentage cannot be read" in error_of(plan, resize(20))
