"""The step `scale`."""

from typing import Any

import pytest
from msgspec import structs

from extender.kubernetes import Claim, PersistentVolume
from longhorn import Volume
from planner.errors import PlanError
from planner.picture import Kind, StepReport
from planner.plan import Plan
from planner.records import Wishes
from planner.steps.scaling import Scale, WorkloadName
from planner.workloads import DEPLOYMENT, STATEFUL_SET, NewClaim, Workload
from tests.builders import GIB, storage_class
from tests.unit.planner.clusters import nodes_of, pod_with
from tests.unit.planner.plans import plan_of, running, scheduled_gib, texts, told

OF_SET: dict[str, Any] = {"owner": (STATEFUL_SET, "db")}
HASH = "5f"
OF_DEPLOYMENT: dict[str, Any] = {
    "owner": ("ReplicaSet", f"web-{HASH}"),
    "labels": {"pod-template-hash": HASH},
}
CLASS = storage_class(numberOfReplicas="1")
DATA = NewClaim(
    namespace="default", name="data", requested_bytes=10 * GIB, storage_class=CLASS.name
)


def db(**fields: Any) -> Workload:
    return Workload(
        **{
            "kind": STATEFUL_SET,
            "namespace": "default",
            "name": "db",
            "claim_templates": (DATA,),
            "ordered": True,
            **fields,
        }
    )


WEB = Workload(kind=DEPLOYMENT, namespace="default", name="web", wishes=Wishes(labels={"a": "b"}))


def db_pod(number: int, on: str) -> list[Any]:
    """Build a pod of the StatefulSet with its volume beside it."""
    name = f"data-db-{number}"
    *others, _ = running(name, on)
    return [*others, pod_with(name, name=f"db-{number}", on=on, **OF_SET)]


def web_pod(name: str, on: str | None = None, **wishes: Any) -> Any:
    return pod_with(
        name=f"web-{HASH}-{name}", on=on, **OF_DEPLOYMENT, **{"phase": "Running", **wishes}
    )


def with_workloads(*workloads: Workload, records: Any = ()) -> Plan:
    plan = plan_of(*nodes_of("abc"), CLASS, *records)
    plan.cluster.workloads += workloads
    return plan


def scale(plan: Plan, replicas: int, name: str = "db", kind: str | None = None) -> StepReport:
    wanted = WorkloadName(namespace="default", name=name, kind=kind)
    return plan.take(Scale(workload=wanted, replicas=replicas))


def gone(report: StepReport) -> list[str]:
    return [each.object for each in report.events if each.kind is Kind.CHANGED]


def test_more_pods_come_with_claims_of_their_own():
    plan = with_workloads(db(), records=[*db_pod(0, "node-1"), *db_pod(1, "node-2")])

    report = scale(plan, 4)

    assert report.title == "scale default/db to 4"
    assert [each.object for each in report.events] == ["default/db-2", "default/db-3"]
    assert {each.kind for each in report.events} == {Kind.PLACED}
    assert {"default/data-db-2", "default/data-db-3"} <= {*plan.cluster.all(Claim)}


def test_a_claim_that_is_there_is_used_again():
    *left, _ = db_pod(1, "node-2")
    plan = with_workloads(db(), records=[*db_pod(0, "node-1"), *left])
    volumes = {*plan.cluster.all(Volume)}

    report = scale(plan, 2)

    assert [each.object for each in report.events] == ["default/db-1"]
    assert {*plan.cluster.all(Volume)} == volumes


def test_the_highest_ordinals_go_and_their_claims_stay():
    pods = [each for number, on in enumerate("123") for each in db_pod(number, f"node-{on}")]
    plan = with_workloads(db(), records=pods)

    report = scale(plan, 1)

    assert gone(report) == ["default/db-2", "default/db-1"]
    assert texts(report, Kind.CHANGED)[0] == ("is deleted from node-3; default/data-db-2 stays")
    assert "default/data-db-2" in plan.cluster.all(Claim)
    assert {*plan.cluster.pods} == {"default/db-0"}
    detached = plan.cluster.all(Volume)["data-db-2"]
    assert (detached.node, detached.attached_to) == (None, None)


def test_pods_of_ten_and_more_are_ordered_by_number():
    pods = [each for number in range(11) for each in db_pod(number, "node-1")]
    plan = with_workloads(db(), records=pods)

    assert gone(scale(plan, 9)) == ["default/db-10", "default/db-9"]


def test_a_pod_without_an_ordinal_is_left_alone():
    plan = with_workloads(db(), records=[pod_with(name="odd", on="node-1", **OF_SET)])

    assert scale(plan, 0).events == ()


def test_ordinals_may_begin_elsewhere():
    pods = [each for number in (4, 5) for each in db_pod(number, "node-1")]
    plan = with_workloads(db(first=5), records=pods)

    report = scale(plan, 2)

    assert gone(report) == ["default/db-4"]
    assert told(report, Kind.PLACED)[0].startswith("placed default/db-6")


def test_the_policy_may_have_claims_deleted_and_their_room_is_free():
    plan = with_workloads(
        db(deletes_claims=True), records=[*db_pod(0, "node-1"), *db_pod(1, "node-2")]
    )

    report = scale(plan, 1)

    assert texts(report, Kind.CHANGED) == [
        "is deleted from node-2; default/data-db-1 is deleted with its volume"
    ]
    assert "default/data-db-1" not in plan.cluster.all(Claim)
    assert scheduled_gib(plan, "node-2") == [0]


def test_a_volume_that_is_retained_stays_without_its_claim():
    plan = with_workloads(db(deletes_claims=True), records=db_pod(0, "node-1"))
    [bound] = plan.cluster.all(PersistentVolume).values()
    plan.cluster.put(structs.replace(bound, retained=True))

    report = scale(plan, 0)

    assert "its volume stays (reclaimPolicy Retain)" in texts(report, Kind.CHANGED)[0]
    assert not plan.cluster.all(Claim)
    assert {*plan.cluster.all(Volume)} == {"data-db-0"}


def test_a_volume_of_a_class_that_retains_stays_too():
    plan = with_workloads(db(deletes_claims=True))
    plan.cluster.put(structs.replace(CLASS, retains=True))
    scale(plan, 1)

    report = scale(plan, 0)

    assert "reclaimPolicy Retain" in texts(report, Kind.CHANGED)[0]


def test_claims_of_ephemeral_volumes_go_with_their_pod():
    plan = with_workloads(structs.replace(WEB, volumes=(DATA,)))
    scale(plan, 1, "web")

    report = scale(plan, 0, "web")

    assert texts(report, Kind.CHANGED)[0].endswith(
        "; default/web-0-data is deleted with its volume"
    )
    assert not plan.cluster.all(Volume)


def test_what_waits_gets_the_room():
    taken: dict[str, Any] = {"requests": {"cpu": 8000}}
    pods = [
        pod_with(name=f"db-{each}", on=f"node-{each + 1}", **OF_SET, **taken) for each in range(3)
    ]
    plan = with_workloads(db(), records=[*pods, pod_with(name="waits", owner=None, **taken)])
    assert plan.cluster.pods["default/waits"].node is None

    report = scale(plan, 2)

    assert told(report, Kind.PLACED) == ["placed default/waits node-3"]


def test_an_ordered_set_makes_no_pod_while_an_earlier_one_waits():
    waiting = pod_with(name="db-0", requests={"cpu": 100_000}, **OF_SET)
    plan = with_workloads(db(), records=[waiting])

    report = scale(plan, 3)

    assert told(report) == ["refused StatefulSet default/db"]
    assert texts(report) == ["gets no more pods until default/db-0 runs"]


@pytest.mark.parametrize("ordered", [True, False])
def test_an_ordered_set_removes_no_pod_while_one_that_stays_waits(*, ordered):
    waits = pod_with(name="db-0", requests={"cpu": 100_000}, **OF_SET)
    pods = [pod_with(name=f"db-{each}", on="node-1", **OF_SET) for each in (1, 2)]
    plan = with_workloads(db(ordered=ordered), records=[waits, *pods])

    report = scale(plan, 2)

    left = {"default/db-0", "default/db-1"} | ({"default/db-2"} if ordered else set())
    assert {*plan.cluster.pods} == left
    refusal = "removes no pod until default/db-0 runs, as it orders its pods"
    assert texts(report) == ([refusal] if ordered else [])


def test_of_a_deployment_those_go_first_that_do_least():
    pods = [
        web_pod("a", "node-1"),
        web_pod("b", "node-2"),
        web_pod("c", "node-2"),
        web_pod("d", "node-3", phase="Pending"),
        web_pod("e", requests={"cpu": 100_000}),
    ]
    plan = with_workloads(WEB, records=pods)

    report = scale(plan, 1, "web")

    assert [name[-1] for name in gone(report)] == ["e", "d", "c", "b"]
    [note] = plan.notes
    assert note.startswith("which pods of Deployment default/web go: ")


def test_a_deployment_that_goes_altogether_needs_no_choice():
    plan = with_workloads(WEB, records=[web_pod("a", "node-1")])

    assert len(gone(scale(plan, 0, "web"))) == 1
    assert plan.notes == []


def test_a_deployment_gets_what_it_lacks():
    plan = with_workloads(WEB, records=[web_pod("a", "node-1"), pod_with(name="other", owner=None)])

    assert len(told(scale(plan, 3, "web"), Kind.PLACED)) == 2


def test_pods_that_are_being_deleted_go_by_themselves():
    plan = with_workloads(
        WEB, records=[web_pod("a", "node-1"), web_pod("b", "node-1", deleting=True)]
    )

    assert gone(scale(plan, 0, "web")) == [f"default/web-{HASH}-a"]


def test_as_many_as_there_are_changes_nothing():
    plan = with_workloads(db(), records=db_pod(0, "node-1"))

    assert scale(plan, 1).events == ()


@pytest.mark.parametrize(
    ("workloads", "name", "kind", "why"),
    [
        (
            [],
            "db",
            None,
            "there is no StatefulSet or Deployment default/db: none is known at all; ",
        ),
        ([db()], "bd", None, "there is no StatefulSet or Deployment default/bd; did you mean "),
        ([db(namespace="shop")], "db", None, "default/db; did you mean shop/db?"),
        ([db()], "db", DEPLOYMENT, "there is no Deployment default/db; there are none"),
        (
            [db(), structs.replace(WEB, name="db")],
            "db",
            None,
            "there are StatefulSet default/db, Deployment default/db; name the kind as well",
        ),
    ],
)
def test_what_cannot_be_found(workloads, name, kind, why):
    plan = with_workloads(*workloads)

    with pytest.raises(PlanError) as caught:
        scale(plan, 1, name, kind)

    assert why in str(caught.value)


def test_the_kind_decides_between_two_of_one_name():
    plan = with_workloads(db(), structs.replace(WEB, name="db"))

    assert told(scale(plan, 1, "db", DEPLOYMENT))[0].startswith("placed default/db-0")
    assert not plan.cluster.all(Claim)
