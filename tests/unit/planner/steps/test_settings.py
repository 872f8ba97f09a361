"""The step `set`."""

import pytest

from planner.plan import Plan
from planner.steps.settings import ChangeSetting
from tests.builders import GIB, disk, node, replica, setting, volume
from tests.unit.planner.clusters import kubernetes_node, nodes_of
from tests.unit.planner.plans import (
    copies_of,
    error_of,
    place,
    plan_of,
    running,
    told,
    volume_of,
    warned,
)


def change(plan: Plan, name: str, value: str) -> list[str]:
    return told(plan.take(ChangeSetting(name=name, value=value)))


def test_more_over_provisioning_gives_room():
    plan = plan_of(*nodes_of("a", size_bytes=15 * GIB))
    place(plan, 2)

    assert change(plan, "storage-over-provisioning-percentage", "200") == [
        "placed default/new-1 node-1"
    ]


def test_a_disk_that_was_too_full_takes_replicas_again():
    full = disk("node-1-disk", scheduled_bytes=120 * GIB, schedulable=False)
    plan = plan_of(kubernetes_node("node-1"), node("node-1", full))
    place(plan, 1)

    assert change(plan, "storage-over-provisioning-percentage", "200") == [
        "placed default/new-0 node-1"
    ]


def test_less_over_provisioning_leaves_disks_beyond_their_limit():
    plan = plan_of(*nodes_of("a"), *running("db-0", "node-1", size_bytes=80 * GIB))

    report = plan.take(ChangeSetting(name="storage-over-provisioning-percentage", value="50"))

    assert warned(report) == ["disk_over_limit Disk node-1-disk of node node-1"]
    assert copies_of(plan, "db-0") == ["node-1"]


def test_a_smaller_minimum_gives_room():
    low = disk("node-1-disk", available_bytes=20 * GIB, schedulable=False)
    plan = plan_of(kubernetes_node("node-1"), node("node-1", low))
    place(plan, 1)

    assert change(plan, "storage-minimal-available-percentage", "10") == [
        "placed default/new-0 node-1"
    ]


@pytest.mark.parametrize(
    ("name", "zones"),
    [("replica-zone-soft-anti-affinity", "aa"), ("replica-soft-anti-affinity", "a")],
)
def test_softer_anti_affinity_lets_replicas_together(name, zones):
    plan = plan_of(*nodes_of(zones), setting("replica-zone-soft-anti-affinity", "false"))
    place(plan, 1, copies=2)
    made = volume_of(plan, "data-new-0")
    assert len(copies_of(plan, made)) == 1

    change(plan, "replica-zone-soft-anti-affinity", "true")
    change(plan, name, "true")

    assert len(copies_of(plan, made)) == 2


def test_harder_anti_affinity_moves_nothing():
    plan = plan_of(*nodes_of("aa"), *running("db-0", "node-1", "node-1", "node-2"))

    assert change(plan, "replica-zone-soft-anti-affinity", "false") == []
    assert copies_of(plan, "db-0") == ["node-1", "node-2"]


def test_selectors_may_be_asked_for():
    tagged = node("node-1", disk("node-1-disk", tags=("ssd",)))
    plan = plan_of(
        kubernetes_node("node-1"), tagged, setting("allow-empty-disk-selector-volume", "false")
    )
    place(plan, 1)

    assert change(plan, "allow-empty-disk-selector-volume", "true") == [
        "placed default/new-0 node-1"
    ]


def test_defaults_count_for_volumes_that_are_made_later():
    plan = plan_of(*nodes_of("abc"))
    change(plan, "default-replica-count", '{"v1":"2","v2":"3"}')

    place(plan, 1, copies=0)

    assert len(copies_of(plan, volume_of(plan, "data-new-0"))) == 2


def test_without_rebuilds_lost_replicas_are_not_replaced():
    lacking = volume("old", replicas=2, node="node-1", attached_to="node-1", degraded=True)
    plan = plan_of(
        *nodes_of("ab"),
        setting("concurrent-replica-rebuild-per-node-limit", "0"),
        lacking,
        replica("old-r", of="old", disk="node-1-disk"),
    )
    assert copies_of(plan, "old") == ["node-1"]

    change(plan, "concurrent-replica-rebuild-per-node-limit", "5")

    assert copies_of(plan, "old") == ["node-1", "node-2"]


@pytest.mark.parametrize(
    ("name", "value", "text"),
    [
        ("storage-over-provisioning-percentage", "much", "give a number from 0 up"),
        ("storage-over-provisioning-percentage", "-5", "give a number from 0 up"),
        ("storage-minimal-available-percentage", "101", "give a number from 0 to 100"),
        ("default-replica-count", "0", "give a number from 1 to 20"),
        ("default-replica-count", '{"v2":"3"}', "give a number from 1 to 20"),
        ("replica-soft-anti-affinity", "yes", "give true or false"),
        ("disable-scheduling-on-cordoned-node", "no", "give true or false"),
        ("node-drain-policy", "never", "give one of block-if-contains-last-replica, "),
        ("replica-auto-balance", "some", "give one of disabled, least-effort, best-effort"),
        ("default-data-locality", "near", "give one of disabled, best-effort, strict-local"),
    ],
)
def test_a_value_that_longhorn_refuses_is_refused(name, value, text):
    plan = plan_of(*nodes_of("a"))

    said = error_of(plan, ChangeSetting(name=name, value=value))

    assert said.startswith(f"Setting {name} cannot be {value!r}; {text}")
    assert name not in plan.cluster.view.setting_values


def test_an_unknown_setting_says_which_may_be_meant():
    text = error_of(
        plan_of(*nodes_of("a")), ChangeSetting(name="replica-soft-antiaffinity", value="true")
    )

    assert "did you mean replica-soft-anti-affinity" in text
