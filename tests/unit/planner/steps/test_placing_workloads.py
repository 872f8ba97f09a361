"""The steps `place` and `fill`."""

from typing import Any

import pytest
from msgspec import structs

from extender.kubernetes import Claim
from longhorn import Locality
from planner.additions import Wanted
from planner.errors import PlanError
from planner.picture import Kind
from planner.policy import SEED_POLICY
from planner.records import CPU
from planner.steps.disks import AddDisk
from planner.steps.nodes import AddNode
from planner.steps.workloads import Fill
from planner.workloads import DEPLOYMENT, JOB, POD, STATEFUL_SET, NewClaim
from tests.builders import GIB, bound, claim, disk, node, replica, storage_class, volume
from tests.unit.planner.clusters import kubernetes_node, nodes_of, pod_with
from tests.unit.planner.plans import (
    copies_of,
    immediate,
    node_of,
    place,
    plan_of,
    scheduled_gib,
    told,
    volume_of,
    wanted,
    warned,
)


def test_a_pod_gets_a_node_and_its_volume_a_replica_there():
    plan = plan_of(*nodes_of("ab"))

    report = place(plan, 1)

    [event] = report.events
    assert (event.kind, event.object) == (Kind.PLACED, "default/new-0")
    [shown] = event.volumes
    [there] = shown.replicas
    assert (shown.name, shown.size_bytes) == ("default/data-new-0", 10 * GIB)
    assert (there.node, there.is_new) == (event.node, True)


@pytest.mark.parametrize("kind", [STATEFUL_SET, DEPLOYMENT, JOB, POD])
def test_each_kind_of_workload_gets_its_pods(kind):
    plan = plan_of(*nodes_of("abc"))

    report = place(plan, 3 if kind != POD else 1, kind=kind)

    assert {each.kind for each in report.events} == {Kind.PLACED}
    assert len(report.events) == (3 if kind != POD else 1)


def test_where_no_disk_has_room_it_is_said_what_is_left():
    plan = plan_of(*nodes_of("ab", size_bytes=5 * GIB))

    [event] = place(plan, 1).events

    [reason] = event.reasons
    assert reason.text.endswith("room for a volume of 10 GiB: 5 GiB left on one disk")


def test_of_an_ordered_set_nothing_follows_a_pod_without_node():
    plan = plan_of(*nodes_of("ab", size_bytes=15 * GIB))

    report = place(plan, 4)

    assert [each.kind for each in report.events] == [
        Kind.PLACED,
        Kind.PLACED,
        Kind.PENDING,
        Kind.NOT_CREATED,
    ]
    assert report.events[-1].text == "is created once default/new-2 runs"
    assert plan.report(origin="", policy="", seed=0).pending == 2


def test_of_a_parallel_set_each_pod_is_tried():
    plan = plan_of(*nodes_of("ab", size_bytes=15 * GIB))

    report = place(plan, 4, ordered=False)

    assert [each.kind for each in report.events][2:] == [Kind.PENDING, Kind.PENDING]


def test_pods_of_an_ordered_set_follow_once_there_is_room():
    plan = plan_of(*nodes_of("a", size_bytes=15 * GIB))
    place(plan, 3)

    report = plan.take(AddNode(name="new-node", like="node-1"))

    assert told(report) == ["placed default/new-1 new-node"]
    assert node_of(plan, "new-2") is None


def test_claims_of_pods_that_are_not_created_take_no_room():
    plan = plan_of(*nodes_of("a", size_bytes=100 * GIB))

    place(plan, 3, of_class=immediate(numberOfReplicas="1"), size_bytes=60 * GIB)

    assert node_of(plan, "new-1") is None
    assert "default/data-new-1" in plan.cluster.all(Claim)
    assert "default/data-new-2" not in plan.cluster.all(Claim)


def test_a_pod_that_cannot_start_holds_up_its_set_and_is_told_of_once():
    # This policy does not ask whether there is a disk of the tag, and the driver refuses the claim.
    plan = plan_of(*nodes_of("ab"), policy=SEED_POLICY)
    report = place(plan, 3, of_class=storage_class(diskSelector="none-has-it"))

    assert [each.kind for each in report.events] == [
        Kind.PLACED,
        Kind.NOT_CREATED,
        Kind.NOT_CREATED,
    ]
    assert warned(report) == ["pod_stuck Pod default/new-0"]
    assert plan.take(AddNode(name="node-3", like="node-1")).events == ()
    assert node_of(plan, "new-1") is None


def test_a_claim_that_exists_is_used_as_it_is():
    mine = claim("data-new-0", storage_class="local", size_bytes=30 * GIB)
    plan = plan_of(*nodes_of("a"), mine)

    place(plan, 1)

    assert scheduled_gib(plan, "node-1") == [30]


def test_pods_that_exist_are_not_made_again():
    there = pod_with(name="new-0", on="node-1", owner=(STATEFUL_SET, "new"))
    plan = plan_of(*nodes_of("ab"), there)

    report = place(plan, 2)

    assert [each.object for each in report.events] == ["default/new-1"]


def test_a_class_that_does_not_wait_has_volumes_before_its_pods():
    plan = plan_of(*nodes_of("abc"))

    place(plan, 1, of_class=immediate(numberOfReplicas="3"))

    assert copies_of(plan, volume_of(plan, "data-new-0")) == ["node-1", "node-2", "node-3"]


def test_pods_that_wait_already_get_nodes_first():
    waiting = pod_with("data", name="early", labels={"app": "early"})
    plan = plan_of(*nodes_of("a", size_bytes=15 * GIB), storage_class(), claim(), waiting)

    report = place(plan, 1)

    assert told(plan.steps[1]) == ["placed default/early node-1"]
    assert told(report) == ["pending default/new-0"]


def test_a_pod_that_is_being_deleted_waits_for_no_node():
    plan = plan_of(*nodes_of("a"), pod_with(name="leaving", deleting=True))

    assert [step.title for step in plan.steps] == ["now"]


def test_missing_replicas_are_shown_and_warned_of():
    plan = plan_of(*nodes_of("ab"))

    report = place(plan, 1, copies=3)

    [event] = report.events
    assert [each.node is None for each in event.volumes[0].replicas] == [False, False, True]
    assert warned(report) == ["volume_degraded Volume of default/data-new-0"]


def test_a_full_pod_says_why_and_each_node_is_in_one_reason():
    plan = plan_of(*nodes_of("ab", size_bytes=5 * GIB), kubernetes_node("node-3"))

    [event] = place(plan, 1).events

    assert event.text == "0 of 3 nodes"
    assert sorted(name for why in event.reasons for name in why.nodes) == [
        "node-1",
        "node-2",
        "node-3",
    ]


def test_fill_ends_with_the_pod_that_does_not_fit_and_takes_it_away():
    plan = plan_of(*nodes_of("ab", size_bytes=25 * GIB))

    report = plan.take(Fill(wanted=wanted(1, ordered=False), group=3))

    assert [each.kind for each in report.events] == [Kind.PLACED] * 4 + [Kind.PENDING]
    assert len(plan.cluster.pods) == 4
    assert len(plan.cluster.all(Claim)) == 4
    assert plan.report(origin="", policy="", seed=0).pending == 0


def test_fill_leaves_no_volume_of_a_pod_that_does_not_fit():
    nodes = [kubernetes_node("node-1", cores=2), node("node-1", disk(maximum_bytes=100 * GIB))]
    plan = plan_of(*nodes)
    asks = wanted(
        1,
        ordered=False,
        of_class=immediate(numberOfReplicas="1"),
        requests={CPU: 1000},
    )

    report = plan.take(Fill(wanted=asks, group=3))

    assert [each.kind for each in report.events] == [Kind.PLACED] * 2 + [Kind.PENDING]
    assert scheduled_gib(plan, "node-1") == [20]


def test_fill_makes_the_claims_of_a_pod_when_that_pod_is_tried():
    """Volumes of a class that does not wait would take the room of all local ones."""
    plan = plan_of(*nodes_of("ab"))
    templates = [
        NewClaim(namespace="default", name=name, requested_bytes=25 * GIB, storage_class=name)
        for name in ("local", "now")
    ]
    asks = wanted(
        1, immediate(numberOfReplicas="1"), ordered=False, claim_templates=tuple(templates)
    )

    report = plan.take(Fill(wanted=asks, group=20))

    assert [each.kind for each in report.events] == [Kind.PLACED] * 4 + [Kind.PENDING]
    assert sum(scheduled_gib(plan, "node-1") + scheduled_gib(plan, "node-2")) == 200


def shared(*, many: bool, on: str | None = None) -> list[Any]:
    """Build a volume with a claim, attached to a node if one is given."""
    of = volume("shared", locality=Locality.DISABLED, node=on, attached_to=on, shared=many)
    records = [
        structs.replace(each, read_write_many=many) if isinstance(each, Claim) else each
        for each in bound(of)
    ]
    copy = replica("shared-r", of="shared", on="node-1", disk="node-1-disk", started=True)
    return [*records, copy]


def sharing() -> Wanted:
    """Ask for copies of a pod that all use the claim *shared*."""
    return wanted(1, kind=DEPLOYMENT, volumes=("shared",))


def test_copies_that_share_a_claim_of_one_node_are_counted_while_they_can_run():
    plan = plan_of(*nodes_of("abc"), *shared(many=False))

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


def test_a_pod_that_cannot_start_does_not_count():
    """Its ReadWriteOnce claim is attached to a node that takes no more pods."""
    plan = plan_of(
        *nodes_of("ab"), *shared(many=False, on="node-1"), kubernetes_node("node-1", cordoned=True)
    )

    [event] = plan.take(Fill(wanted=sharing(), group=20)).events

    text = "would get node-2, and not start there: default/shared cannot be attached"
    assert (event.kind, event.text) == (Kind.PENDING, text)
    assert plan.cluster.pods == {}


def test_a_claim_that_many_nodes_share_is_said_to_count_once():
    plan = plan_of(*nodes_of("ab"), *shared(many=True))

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
    plan = plan_of(*nodes_of("a"), storage_class("locals"))

    with pytest.raises(PlanError, match="there is no StorageClass local; did you mean locals"):
        plan.take(Fill(wanted=misspelt, group=1))


def test_fill_stops_after_so_many():
    plan = plan_of(*nodes_of("ab"))

    report = plan.take(Fill(wanted=wanted(1), group=1, most=3))

    assert [each.kind for each in report.events] == [Kind.PLACED] * 3


def test_fill_counts_on_from_the_pods_that_exist():
    plan = plan_of(*nodes_of("ab"))
    place(plan, 2)

    report = plan.take(Fill(wanted=wanted(1), group=1, most=1))

    assert [each.object for each in report.events] == ["default/new-2"]


def test_fill_takes_one_workload():
    two = wanted(1)
    two = type(two)(objects=(*two.workloads, *two.workloads))

    with pytest.raises(PlanError, match="give a file with one of them"):
        plan_of(*nodes_of("a")).take(Fill(wanted=two, group=1))


def test_before_and_after_show_the_nodes_that_changed():
    plan = plan_of(*nodes_of("ab"))

    report = plan.take(AddDisk(node="node-2", disk="more", size_bytes=50 * GIB))

    [after] = report.nodes
    assert [each.name for each in after.disks] == ["node-2-disk", "more"]
