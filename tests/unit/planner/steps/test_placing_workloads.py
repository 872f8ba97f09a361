"""The steps `place` and `fill`."""

import pytest
from msgspec import structs

from extender.kubernetes import Claim
from planner.additions import Wanted
from planner.errors import PlanError
from planner.picture import Kind
from planner.policy import SEED_POLICY
from planner.records import CPU
from planner.steps.disks import AddDisk
from planner.steps.nodes import AddNode
from planner.steps.workloads import Fill
from planner.workloads import DEPLOYMENT, JOB, POD, STATEFUL_SET, NewClaim
from tests.builders import GIB, claim, storage_class
from tests.unit.planner.clusters import kubernetes_node, pod_with
from tests.unit.planner.notation import records_of, scheduled_in, step_of, taken
from tests.unit.planner.plans import (
    copies_of,
    immediate,
    node_of,
    place,
    plan_of,
    told,
    volume_of,
    wanted,
    warned,
)


def test_pod_gets_a_node_and_its_volume_a_replica_there():
    plan = plan_of(*records_of("ab"))

    report = place(plan, 1)

    [event] = report.events
    assert (event.kind, event.object) == (Kind.PLACED, "default/new-0")
    [shown] = event.volumes
    [there] = shown.replicas
    assert (shown.name, shown.size_bytes) == ("default/data-new-0", 10 * GIB)
    assert (there.node, there.is_new) == (event.node, True)


@pytest.mark.parametrize("kind", [STATEFUL_SET, DEPLOYMENT, JOB, POD])
def test_each_kind_of_workload_gets_its_pods(kind):
    plan = plan_of(*records_of("abc"))

    report = place(plan, 3 if kind != POD else 1, kind=kind)

    assert {each.kind for each in report.events} == {Kind.PLACED}
    assert len(report.events) == (3 if kind != POD else 1)


ROWS = {
    "ordered-set-ends-with-the-pod-without-node": ("a:25", "place 4",
        "placed new-0 1 | placed new-1 1 | pending new-2 | not_created new-3",
        ".new-0@1 .new-1@1 .new-2@ .new-3@ data-new-0[1] data-new-1[1]"),
    "parallel-set-has-each-pod-tried": ("a:25", "place 4 parallel",
        "placed new-0 1 | placed new-1 1 | pending new-2 | pending new-3",
        ".new-0@1 .new-1@1 .new-2@ .new-3@ data-new-0[1] data-new-1[1]"),
    "ordered-set-goes-on-once-there-is-room": ("a:15", "place 3; add 2 like 1",
        "placed new-1 2", ".new-0@1 .new-1@2 .new-2@ data-new-0[1] data-new-1[2]"),
    "pods-that-exist-are-not-made-again": (
        "ab .new-0@1", "place 2", "placed new-1 2", ".new-0@1 .new-1@2 data-new-1[2]"),
    "replicas-missing-are-warned-of": ("a", "place 1*3",
        "placed new-0 1 | volume_degraded Volume of data-new-0", ".new-0@1 data-new-0[1]"),
}  # fmt: skip
"""Cluster, steps, what the last one told, and what is found then."""


@pytest.mark.parametrize(("cluster", "steps", "told", "left"), ROWS.values(), ids=ROWS)
def test_place(cluster, steps, told, left):
    assert taken(cluster, steps) == (told, left)


def test_pod_that_is_not_created_says_what_it_waits_for():
    plan = plan_of(*records_of("a:25"))

    report = plan.take(step_of("place 4"))

    assert report.events[-1].text == "is created once default/new-2 runs"
    assert plan.report(origin="", policy="", seed=0).pending == 2


def test_reasons_of_a_pending_pod_name_each_node_and_what_is_left():
    """Without disks on node-3, and with too little room on the others."""
    plan = plan_of(*records_of("ab:5"), kubernetes_node("node-3"))

    [event] = place(plan, 1).events

    assert event.text == "0 of 3 nodes"
    assert sorted(name for why in event.reasons for name in why.nodes) == [
        "node-1",
        "node-2",
        "node-3",
    ]
    assert any(
        why.text.endswith("room for a volume of 10 GiB: 5 GiB left on one disk")
        for why in event.reasons
    )


def test_claims_of_pods_that_are_not_created_take_no_room():
    plan = plan_of(*records_of("a"))

    place(plan, 3, of_class=immediate(numberOfReplicas="1"), size_bytes=60 * GIB)

    assert node_of(plan, "new-1") is None
    assert [*plan.cluster.all(Claim)] == ["default/data-new-0", "default/data-new-1"]


def test_pod_that_cannot_start_holds_up_its_set_and_is_told_of_once():
    # This policy does not ask whether there is a disk of the tag, and the driver refuses the claim.
    plan = plan_of(*records_of("ab"), policy=SEED_POLICY)
    report = place(plan, 3, of_class=storage_class(diskSelector="none-has-it"))

    assert [each.kind for each in report.events] == [
        Kind.PLACED,
        Kind.NOT_CREATED,
        Kind.NOT_CREATED,
    ]
    assert warned(report) == ["pod_stuck Pod default/new-0"]
    assert plan.take(AddNode(name="node-3", like="node-1")).events == ()
    assert node_of(plan, "new-1") is None


def test_claim_that_exists_is_used_as_it_is():
    mine = claim("data-new-0", storage_class="local", size_bytes=30 * GIB)
    plan = plan_of(*records_of("a"), mine)

    place(plan, 1)

    assert scheduled_in(plan) == "1:30"


def test_class_that_does_not_wait_has_volumes_before_its_pods():
    plan = plan_of(*records_of("abc"))

    place(plan, 1, of_class=immediate(numberOfReplicas="3"))

    assert copies_of(plan, volume_of(plan, "data-new-0")) == ["node-1", "node-2", "node-3"]


def test_pods_that_wait_already_get_nodes_first():
    waiting = pod_with("data", name="early", labels={"app": "early"})
    plan = plan_of(*records_of("a:15"), storage_class(), claim(), waiting)

    report = place(plan, 1)

    assert told(plan.steps[1]) == ["placed default/early node-1"]
    assert told(report) == ["pending default/new-0"]


def test_pod_that_is_being_deleted_waits_for_no_node():
    plan = plan_of(*records_of("a"), pod_with(name="leaving", deleting=True))

    assert [step.title for step in plan.steps] == ["now"]


def test_replicas_missing_are_shown():
    [event] = place(plan_of(*records_of("ab")), 1, copies=3).events

    assert [each.node is None for each in event.volumes[0].replicas] == [False, False, True]


def test_fill_ends_with_the_pod_that_does_not_fit_and_takes_it_away():
    plan = plan_of(*records_of("ab:25"))

    report = plan.take(Fill(wanted=wanted(1, ordered=False), group=3))

    assert [each.kind for each in report.events] == [Kind.PLACED] * 4 + [Kind.PENDING]
    assert len(plan.cluster.pods) == 4
    assert len(plan.cluster.all(Claim)) == 4
    assert plan.report(origin="", policy="", seed=0).pending == 0


def test_fill_leaves_no_volume_of_a_pod_that_does_not_fit():
    plan = plan_of(*records_of("a"), kubernetes_node("node-1", cores=2))
    now = immediate(numberOfReplicas="1")
    asks = wanted(1, ordered=False, of_class=now, requests={CPU: 1000})

    report = plan.take(Fill(wanted=asks, group=3))

    assert [each.kind for each in report.events] == [Kind.PLACED] * 2 + [Kind.PENDING]
    assert scheduled_in(plan) == "1:20"


def test_fill_makes_the_claims_of_a_pod_when_that_pod_is_tried():
    """Volumes of a class that does not wait would take the room of all local ones."""
    plan = plan_of(*records_of("ab"))
    templates = [
        NewClaim(namespace="default", name=name, requested_bytes=25 * GIB, storage_class=name)
        for name in ("local", "now")
    ]
    asks = wanted(
        1, immediate(numberOfReplicas="1"), ordered=False, claim_templates=tuple(templates)
    )

    report = plan.take(Fill(wanted=asks, group=20))

    assert [each.kind for each in report.events] == [Kind.PLACED] * 4 + [Kind.PENDING]
    assert scheduled_in(plan) == "1:100 2:100"


def sharing() -> Wanted:
    """Ask for copies of a pod that all use the claim *shared*."""
    return wanted(1, kind=DEPLOYMENT, volumes=("shared",))


def test_copies_that_share_a_claim_of_one_node_are_counted_while_they_can_run():
    plan = plan_of(*records_of("abc shared[1]~"))

    report = plan.take(Fill(wanted=sharing(), group=20))

    *placed, last = report.events
    assert len({each.node for each in placed}) == 1
    assert last.kind is Kind.PENDING
    assert last.text.endswith("and not start there: default/shared cannot be attached")
    assert warned(report) == []
    assert plan.notes == [
        "all pods of Deployment default/new share claim default/shared: only those on one node "
        "can run"
    ]


def test_pod_that_cannot_start_does_not_count():
    """Its ReadWriteOnce claim is attached to a node that takes no more pods."""
    plan = plan_of(*records_of("ab shared@1[1]~/podless"), kubernetes_node("node-1", cordoned=True))

    [event] = plan.take(Fill(wanted=sharing(), group=20)).events

    text = "would get node-2, and not start there: default/shared cannot be attached"
    assert (event.kind, event.text) == (Kind.PENDING, text)
    assert plan.cluster.pods == {}


def test_claim_that_many_nodes_share_is_said_to_count_once():
    plan = plan_of(*records_of("ab shared[1]~/shared"))
    [shared] = plan.cluster.all(Claim).values()
    plan.cluster.put(structs.replace(shared, read_write_many=True))

    report = plan.take(Fill(wanted=sharing(), group=20, most=50))

    assert len(told(report, Kind.PLACED)) == 50
    assert [each.partition(": ")[2] for each in plan.notes] == [
        "its size counts once, however many there are"
    ]


def test_fill_without_nodes_is_a_mistake():
    with pytest.raises(PlanError, match="there is no node, so no pod fits"):
        plan_of().take(Fill(wanted=wanted(1), group=1))


def test_fill_of_a_class_that_is_not_there_is_a_mistake():
    asks = wanted(1)
    misspelt = type(asks)(objects=tuple(asks.workloads))
    plan = plan_of(*records_of("a"), storage_class("locals"))

    with pytest.raises(PlanError, match="there is no StorageClass local; did you mean locals"):
        plan.take(Fill(wanted=misspelt, group=1))


def test_fill_stops_after_so_many():
    plan = plan_of(*records_of("ab"))

    report = plan.take(Fill(wanted=wanted(1), group=1, most=3))

    assert [each.kind for each in report.events] == [Kind.PLACED] * 3


def test_fill_counts_on_from_the_pods_that_exist():
    plan = plan_of(*records_of("ab"))
    place(plan, 2)

    report = plan.take(Fill(wanted=wanted(1), group=1, most=1))

    assert [each.object for each in report.events] == ["default/new-2"]


def test_fill_takes_one_workload():
    two = wanted(1)
    two = type(two)(objects=(*two.workloads, *two.workloads))

    with pytest.raises(PlanError, match="give a file with one of them"):
        plan_of(*records_of("a")).take(Fill(wanted=two, group=1))


def test_before_and_after_show_the_nodes_that_changed():
    plan = plan_of(*records_of("ab"))

    report = plan.take(AddDisk(node="node-2", disk="more", size_bytes=50 * GIB))

    [after] = report.nodes
    assert [each.name for each in after.disks] == ["node-2-disk", "more"]
