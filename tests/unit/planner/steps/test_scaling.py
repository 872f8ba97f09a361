"""The step `scale`."""

from typing import Any

import pytest
from msgspec import structs

from extender.kubernetes import Claim, PersistentVolume
from longhorn import Volume
from planner.errors import PlanError
from planner.picture import Kind
from planner.plan import Plan
from planner.records import Wishes
from planner.steps.scaling import Scale, WorkloadName
from planner.workloads import DEPLOYMENT, STATEFUL_SET, NewClaim, Workload
from tests.builders import GIB, storage_class
from tests.unit.planner.clusters import pod_with
from tests.unit.planner.notation import found_in, records_of, result_of, scheduled_in, step_of
from tests.unit.planner.plans import plan_of, texts

CLASS = storage_class(numberOfReplicas="1")
DATA = NewClaim(
    namespace="default", name="data", requested_bytes=10 * GIB, storage_class=CLASS.name
)
DB = Workload(
    kind=STATEFUL_SET, namespace="default", name="db", claim_templates=(DATA,), ordered=True
)
DELETING, PARALLEL = (
    structs.replace(DB, deletes_claims=True),
    structs.replace(DB, ordered=False),
)
WEB = Workload(kind=DEPLOYMENT, namespace="default", name="web", wishes=Wishes(labels={"a": "b"}))


def of_set(text: str) -> str:
    """Write pods of the StatefulSet, with their volumes beside them: `0@1` is db-0 on node-1."""
    pods = (word.split("@") for word in text.split())
    return " ".join(f"data-db-{n}@{on}/podless .db-{n}@{on}+data-db-{n}" for n, on in pods)


def web_pod(name: str, on: str | None = None, **wishes: Any) -> Any:
    owned: dict[str, Any] = {"owner": ("ReplicaSet", "web-5f")}
    labels, running = {"pod-template-hash": "5f"}, {"phase": "Running", **wishes}
    return pod_with(name=f"web-5f-{name}", on=on, labels=labels, **owned, **running)


def plan_with(*workloads: Workload, cluster: str = "abc", records: Any = ()) -> Plan:
    plan = plan_of(*records_of(cluster), CLASS, *records)
    plan.cluster.workloads += workloads
    return plan


def changed(plan: Plan, step: str) -> list[str]:
    """Return what is told of the pods that go."""
    return texts(plan.take(step_of(step)), Kind.CHANGED)


ROWS = {
    "more-pods-come-with-claims-of-their-own": (DB, f"a {of_set('0@1 1@1')}", "scale db 4",
        "placed db-2 1 | placed db-3 1",
        ".db-0@1 .db-1@1 .db-2@1 .db-3@1 data-db-0[1] data-db-1[1] data-db-2[1] data-db-3[1]"),
    "claim-that-is-there-is-used-again": (DB, f"a {of_set('0@1')} data-db-1:20[1]",
        "scale db 2", "placed db-1 1", ".db-0@1 .db-1@1 data-db-0[1] data-db-1:20[1]"),
    "highest-ordinals-go-and-their-claims-stay": (DB, f"abc {of_set('0@1 1@2 2@3')}",
        "scale db 1", "changed db-2 | changed db-1",
        ".db-0@1 data-db-0[1] data-db-1[2] data-db-2[3]"),
    "ordinals-are-numbers": (DB, "a .db-0@1 .db-1@1 .db-2@1 .db-9@1 .db-10@1", "scale db 3",
        "changed db-10 | changed db-9", ".db-0@1 .db-1@1 .db-2@1"),
    "pod-without-an-ordinal-is-left-alone": (DB, "a .odd@1", "scale db 0", "", ".odd@1"),
    "ordinals-may-begin-elsewhere": (structs.replace(DB, first=5), f"a {of_set('4@1 5@1')}",
        "scale db 2", "changed db-4 | placed db-6 1",
        ".db-5@1 .db-6@1 data-db-4[1] data-db-5[1] data-db-6[1]"),
    "policy-may-have-claims-deleted": (DELETING, f"ab {of_set('0@1 1@2')}", "scale db 1",
        "changed db-1", ".db-0@1 data-db-0[1]"),
    "as-many-as-there-are": (DB, f"a {of_set('0@1')}", "scale db 1", "", ".db-0@1 data-db-0[1]"),
    "ordered-set-makes-none-while-an-earlier-one-waits": (DB, "a .db-0/huge", "scale db 3",
        "refused StatefulSet db: gets no more pods until db-0 runs", ".db-0@"),
    "ordered-set-removes-none-while-one-that-stays-waits": (DB,
        "a .db-0/huge .db-1@1 .db-2@1", "scale db 2", "refused StatefulSet db: removes no pod "
        "until db-0 runs, as it orders its pods", ".db-0@ .db-1@1 .db-2@1"),
    "parallel-set-removes-pods-while-one-waits": (PARALLEL,
        "a .db-0/huge .db-1@1 .db-2@1", "scale db 2", "changed db-2", ".db-0@ .db-1@1"),
}  # fmt: skip
"""Workload, cluster, step, what it told, and what is found then."""


@pytest.mark.parametrize(("workload", "cluster", "step", "told", "left"), ROWS.values(), ids=ROWS)
def test_scale(workload, cluster, step, told, left):
    plan = plan_with(workload, cluster=cluster)

    assert (result_of(plan, step), found_in(plan)) == (told, left)


def test_claims_and_volumes_of_pods_that_go_stay_detached():
    plan = plan_with(DB, cluster=f"abc {of_set('0@1 1@2 2@3')}")

    assert changed(plan, "scale db 1")[0] == "is deleted from node-3; default/data-db-2 stays"
    assert plan.steps[-1].title == "scale default/db to 1"
    detached = plan.cluster.all(Volume)["data-db-2"]
    assert (detached.node, detached.attached_to) == (None, None)
    assert "default/data-db-2" in plan.cluster.all(Claim)


def test_room_of_claims_that_are_deleted_is_free():
    plan = plan_with(DELETING, cluster=f"ab {of_set('0@1 1@2')}")

    assert changed(plan, "scale db 1") == [
        "is deleted from node-2; default/data-db-1 is deleted with its volume"
    ]
    assert "default/data-db-1" not in plan.cluster.all(Claim)
    assert scheduled_in(plan) == "1:10 2:0"


def test_volume_that_is_retained_stays_without_its_claim():
    plan = plan_with(DELETING, cluster=f"a {of_set('0@1')}")
    [bound] = plan.cluster.all(PersistentVolume).values()
    plan.cluster.put(structs.replace(bound, retained=True))

    assert "its volume stays (reclaimPolicy Retain)" in changed(plan, "scale db 0")[0]
    assert not plan.cluster.all(Claim)
    assert {*plan.cluster.all(Volume)} == {"data-db-0"}


def test_volume_of_a_class_that_retains_stays_too():
    plan = plan_with(DELETING)
    plan.cluster.put(structs.replace(CLASS, retains=True))
    plan.take(step_of("scale db 1"))

    assert "reclaimPolicy Retain" in changed(plan, "scale db 0")[0]


def test_claims_of_ephemeral_volumes_go_with_their_pod():
    plan = plan_with(structs.replace(WEB, volumes=(DATA,)))
    plan.take(step_of("scale web 1"))

    [told] = changed(plan, "scale web 0")

    assert told.endswith("; default/web-0-data is deleted with its volume")
    assert not plan.cluster.all(Volume)


def test_pod_that_waits_gets_the_room():
    pods = [
        pod_with(name=f"db-{each}", on=f"node-{each + 1}", requests={"cpu": 8000})
        for each in range(3)
    ]
    waits = pod_with(name="waits", owner=None, requests={"cpu": 8000})
    plan = plan_with(DB, records=[*pods, waits])

    assert result_of(plan, "scale db 2") == "changed db-2 | placed waits 3"


def test_pods_of_a_deployment_go_first_that_do_least():
    pods = [
        web_pod("a", "node-1"),
        web_pod("b", "node-2"),
        web_pod("c", "node-2"),
        web_pod("d", "node-3", phase="Pending"),
        web_pod("e", requests={"cpu": 100_000}),
    ]
    plan = plan_with(WEB, records=pods)

    told = result_of(plan, "scale web 1")

    assert told == " | ".join(f"changed web-5f-{each}" for each in "edcb")
    [note] = plan.notes
    assert note.startswith("which pods of Deployment default/web go: ")


WEBS = {
    "goes-altogether": ([web_pod("a", "node-1")], "scale web 0", "changed web-5f-a"),
    "pods-that-are-being-deleted-go-by-themselves": (
        [web_pod("a", "node-1"), web_pod("b", "node-1", deleting=True)], "scale web 0",
        "changed web-5f-a"),
    "gets-what-it-lacks": ([web_pod("a", "node-1"), pod_with(name="other", owner=None)],
        "scale web 3", "placed web-0 1 | placed web-1 1"),
}  # fmt: skip


@pytest.mark.parametrize(("pods", "step", "told"), WEBS.values(), ids=WEBS)
def test_deployment_needs_no_choice(pods, step, told):
    plan = plan_with(WEB, cluster="a", records=pods)

    assert result_of(plan, step) == told
    assert plan.notes == []


OTHER_DB = structs.replace(WEB, name="db")
UNKNOWN = {
    "none-at-all": (
        [], "db", None, "there is no StatefulSet or Deployment default/db: none is known at all; "),
    "name": ([DB], "bd", None, "there is no StatefulSet or Deployment default/bd; did you mean "),
    "namespace": (
        [structs.replace(DB, namespace="shop")], "db", None, "default/db; did you mean shop/db?"),
    "kind": ([DB], "db", DEPLOYMENT, "there is no Deployment default/db; there are none"),
    "two-of-one-name": ([DB, OTHER_DB], "db", None,
        "there are StatefulSet default/db, Deployment default/db; name the kind as well"),
}  # fmt: skip


@pytest.mark.parametrize(("workloads", "name", "kind", "why"), UNKNOWN.values(), ids=UNKNOWN)
def test_workload_that_cannot_be_found(workloads, name, kind, why):
    wanted = WorkloadName(namespace="default", name=name, kind=kind)

    with pytest.raises(PlanError) as caught:
        plan_with(*workloads).take(Scale(workload=wanted, replicas=1))

    assert why in str(caught.value)


def test_kind_decides_between_two_of_one_name():
    plan = plan_with(DB, OTHER_DB, cluster="a")
    plan.take(
        Scale(workload=WorkloadName(namespace="default", name="db", kind=DEPLOYMENT), replicas=1)
    )

    assert found_in(plan) == ".db-0@1"
