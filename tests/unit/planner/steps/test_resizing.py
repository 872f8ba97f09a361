"""The step `resize`: all replicas of a volume grow, or none."""

import pytest

from tests.builders import GIB, claim, disk, node
from tests.unit.planner.notation import found_in, records_of, result_of, scheduled_in, step_of
from tests.unit.planner.plans import error_of, plan_of

ROWS = {
    "all-replicas": (
        "abc db@1[1,2,3]", "resize db 40", "changed db", "db:40@1[1,2,3]", "1:40 2:40 3:40"),
    "one-disk-has-no-room": ("abc:100,100,30 db@1[1,2,3]", "resize db 40",
        "refused db: does not grow: no room for it on 3/3-disk", "db@1[1,2,3]", "1:10 2:10 3:10"),
    "replicas-to-come": ("a replica-zone-soft-anti-affinity=true",
        "place 1*2; resize data-new-0 30", "changed data-new-0", ".new-0@1 data-new-0:30[1]",
        "1:30"),
}  # fmt: skip
"""Cluster, steps, what the last one told, what is found then, and what is scheduled by node."""


@pytest.mark.parametrize(("cluster", "steps", "told", "left", "scheduled"), ROWS.values(), ids=ROWS)
def test_resize(cluster, steps, told, left, scheduled):
    plan = plan_of(*records_of(cluster))

    assert (result_of(plan, steps), found_in(plan)) == (told, left)
    assert scheduled_in(plan) == scheduled


def test_replica_that_its_disk_lists_takes_the_difference():
    listing = node("node-1", disk("node-1-disk", listed={"db-r-node-1": 10 * GIB}))
    plan = plan_of(*records_of("a db@1"), listing)

    plan.take(step_of("resize db 40"))

    assert scheduled_in(plan) == "1:40"


@pytest.mark.parametrize(("version", "grows"), [("v1.10.2", True), ("v1.11.0", False), ("", False)])
def test_since_v1_11_the_disk_must_have_it_available(version, *, grows):
    plan = plan_of(
        *records_of("a storage-over-provisioning-percentage=200 db@1"),
        *records_of(f"a current-longhorn-version={version}"),
        node("node-1", disk("node-1-disk", available_bytes=40 * GIB)),
    )

    assert result_of(plan, "resize db 40").startswith("changed" if grows else "refused")


UNREADABLE = "storage-over-provisioning-percentage=much"
REFUSED = {
    "size-is-the-same": ("a db@1", "resize db 10", "cannot shrink"),
    "size-is-less": ("a db@1", "resize db 5", "cannot shrink"),
    "claim-without-volume": ("a", "resize waits 20", "place its pod first"),
    "claim-unknown": ("a", "resize wait 20", "did you mean default/waits"),
    "setting-unreadable": (f"a {UNREADABLE} db@1", "resize db 20",
        "storage-over-provisioning-percentage cannot be read"),
}  # fmt: skip


@pytest.mark.parametrize(("cluster", "step", "why"), REFUSED.values(), ids=REFUSED)
def test_resize_that_cannot_be_says_why(cluster, step, why):
    plan = plan_of(*records_of(cluster), claim("waits"))

    assert why in error_of(plan, step_of(step))
