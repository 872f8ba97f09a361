"""The step `set`."""

import pytest

from planner.steps.settings import ChangeSetting
from tests.builders import GIB, disk, node
from tests.unit.planner.notation import records_of, result_of, taken
from tests.unit.planner.plans import copies_of, error_of, plan_of, volume_of

OVER, ZONE_SOFT = "storage-over-provisioning-percentage", "replica-zone-soft-anti-affinity"
NODE_SOFT, NO_TAGS = "replica-soft-anti-affinity", "allow-empty-disk-selector-volume"
REBUILDS, LACKING = (
    "concurrent-replica-rebuild-per-node-limit",
    "old*2@1[1]/podless/claimless/degraded",
)
TWO_COPIES = "cordon 2; place 1*2; uncordon 2"
ROWS = {
    "more-over-provisioning-gives-room": ("a:15", f"place 2; set {OVER} 200", "placed new-1 1",
        ".new-0@1 .new-1@1 data-new-0[1] data-new-1[1]"),
    "less-over-provisioning-leaves-disks-beyond-their-limit": ("a db:80@1", f"set {OVER} 50",
        "disk_over_limit Disk 1-disk of node 1", "db:80@1[1]"),
    "zones-are-hard": (f"aa {ZONE_SOFT}=false", TWO_COPIES, "", ".new-0@1 data-new-0[1]"),
    "zones-become-soft": (f"aa {ZONE_SOFT}=false", f"{TWO_COPIES}; set {ZONE_SOFT} true",
        "replica_placed data-new-0 2", ".new-0@1 data-new-0[1,2]"),
    "nodes-become-soft": (f"a {ZONE_SOFT}=false",
        f"place 1*2; set {ZONE_SOFT} true; set {NODE_SOFT} true", "replica_placed data-new-0 1",
        ".new-0@1 data-new-0[1,1]"),
    "rebuilds-are-off": (f"ab {REBUILDS}=0 {LACKING}", "cordon 2; uncordon 2", "", "old[1]"),
    "rebuilds-begin": (
        f"ab {REBUILDS}=0 {LACKING}", f"set {REBUILDS} 5", "replica_placed old 2", "old[1,2]"),
    "zones-become-hard": ("aa db@1[1,2]", f"set {ZONE_SOFT} false", "", "db@1[1,2]"),
}  # fmt: skip
"""Cluster, steps, what the last one told, and what is found then."""


@pytest.mark.parametrize(("cluster", "steps", "told", "left"), ROWS.values(), ids=ROWS)
def test_set(cluster, steps, told, left):
    assert taken(cluster, steps) == (told, left)


CLOSED = {
    "too-full": (disk(scheduled_bytes=120 * GIB, schedulable=False), f"{OVER} 200"),
    "available-too-little": (
        disk(available_bytes=20 * GIB, schedulable=False),
        "storage-minimal-available-percentage 10",
    ),
    "tagged": (disk(tags=("ssd",)), f"{NO_TAGS} true"),
}


@pytest.mark.parametrize(("only", "setting"), CLOSED.values(), ids=CLOSED)
def test_disk_that_took_none_takes_replicas_with_another_setting(only, setting):
    plan = plan_of(*records_of(f"a {NO_TAGS}=false"), node("node-1", only))

    assert result_of(plan, "place 1") == "pending new-0"
    assert result_of(plan, f"set {setting}") == "placed new-0 1"


def test_defaults_count_for_volumes_that_are_made_later():
    plan = plan_of(*records_of("abc"))
    result_of(plan, 'set default-replica-count {"v1":"2","v2":"3"}; place 1*0')

    assert len(copies_of(plan, volume_of(plan, "data-new-0"))) == 2


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
def test_value_that_longhorn_refuses_is_refused(name, value, text):
    plan = plan_of(*records_of("a"))

    said = error_of(plan, ChangeSetting(name=name, value=value))

    assert said.startswith(f"Setting {name} cannot be {value!r}; {text}")
    assert name not in plan.cluster.view.setting_values


def test_unknown_setting_says_which_may_be_meant():
    text = error_of(
        plan_of(*records_of("a")), ChangeSetting(name="replica-soft-antiaffinity", value="true")
    )

    assert "did you mean replica-soft-anti-affinity" in text
