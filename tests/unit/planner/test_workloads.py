"""The pods and claims that a workload makes: names, numbers, claims, labels."""

from typing import Any

import pytest
from msgspec import structs

from extender import PodRef
from extender.kubernetes import Claim, ClaimKey
from planner.records import Pod, Wishes
from planner.workloads import (
    DAEMON_SET,
    DEPLOYMENT,
    JOB,
    POD,
    REPLICA_SET,
    STATEFUL_SET,
    NewClaim,
    Workload,
    claim_of,
    pods_of,
)
from tests.builders import GIB


def template(name: str = "data", **fields: Any) -> NewClaim:
    return NewClaim(namespace="shop", name=name, requested_bytes=GIB, **fields)


def workload(kind: str, **fields: Any) -> Workload:
    return Workload(kind=kind, namespace="shop", name="db", **fields)


def names(made: Workload, replicas: int | None = None, *there: Pod) -> list[str]:
    pods = {each.key: each for each in there}
    return [each.pod.ref.name for each in pods_of(made, replicas, pods)]


def pod(name: str, owner: tuple[str, str] | None = None, **fields: Any) -> Pod:
    namespace, labels = fields.get("namespace", "shop"), fields.get("labels", {})
    ref = PodRef(namespace=namespace, name=name, uid=name, claims=())
    return Pod(ref=ref, wishes=Wishes(owner=owner, labels=labels))


@pytest.mark.parametrize(
    ("made", "replicas", "expected"),
    [
        pytest.param(workload(STATEFUL_SET), None, ["db-0"], id="one"),
        pytest.param(workload(STATEFUL_SET, replicas=2), None, ["db-0", "db-1"], id="as-it-says"),
        pytest.param(workload(STATEFUL_SET, replicas=2), 1, ["db-0"], id="as-asked"),
        pytest.param(
            workload(STATEFUL_SET, first=5, replicas=2), None, ["db-5", "db-6"], id="ordinals"
        ),
        pytest.param(workload(DEPLOYMENT), 2, ["db-0", "db-1"], id="deployment"),
        pytest.param(workload(REPLICA_SET), 1, ["db-0"], id="replica-set"),
        pytest.param(workload(JOB, replicas=3), None, ["db-0", "db-1", "db-2"], id="job"),
        pytest.param(workload(POD), None, ["db"], id="pod"),
        pytest.param(workload(POD), 3, ["db", "db-1", "db-2"], id="copies-of-a-pod"),
        pytest.param(workload(DAEMON_SET), 3, [], id="daemon-set"),
        pytest.param(workload(DEPLOYMENT), 0, [], id="none"),
    ],
)
def test_names(made, replicas, expected):
    assert names(made, replicas) == expected


def test_pods_of_a_stateful_set_that_exist_are_not_made_again():
    there = [pod("db-0", (STATEFUL_SET, "db")), pod("db-1", namespace="other")]

    assert names(workload(STATEFUL_SET), 3, *there) == ["db-1", "db-2"]


def test_pods_of_a_deployment_that_exist_count():
    of_revision = pod("db-5f-x", (REPLICA_SET, "db-5f"), labels={"pod-template-hash": "5f"})
    others = [
        pod("a", (REPLICA_SET, "db-5f")),
        pod("b", (REPLICA_SET, "db-x-5f"), labels={"pod-template-hash": "5f"}),
        pod("c", (DEPLOYMENT, "db"), namespace="other"),
        pod("d"),
    ]

    assert names(workload(DEPLOYMENT), 3, of_revision, *others) == ["db-0", "db-1"]
    assert names(workload(DEPLOYMENT), 1, of_revision, *others) == []


def test_planned_pods_count_when_more_are_planned():
    first = [each.pod for each in pods_of(workload(JOB), 2)]

    assert names(workload(JOB), 3, *first) == ["db-2"]


def test_no_pod_takes_the_name_of_another():
    assert names(workload(DEPLOYMENT), 2, pod("db-0"), pod("db-2")) == ["db-1", "db-3"]


def test_claims_are_named_by_template_and_pod():
    made = workload(
        STATEFUL_SET,
        claim_templates=(template("data", storage_class="local"), template("log")),
        volumes=("shared", template("scratch", read_write_once_pod=True)),
    )

    [planned] = pods_of(made)

    assert planned.pod.ref == PodRef(
        namespace="shop",
        name="db-0",
        uid="shop/db-0",
        claims=tuple(
            ClaimKey(f"shop/{each}") for each in ("data-db-0", "log-db-0", "shared", "db-0-scratch")
        ),
    )
    assert [each.key for each in planned.claims] == [
        "shop/data-db-0",
        "shop/log-db-0",
        "shop/db-0-scratch",
    ]
    assert planned.claims[0] == Claim(
        key=ClaimKey("shop/data-db-0"),
        uid="shop.data-db-0",
        persistent_volume=None,
        storage_class="local",
        requested_bytes=GIB,
        read_write_many=False,
    )
    assert planned.claims[2].read_write_once_pod


def test_a_claim_named_twice_is_one():
    [planned] = pods_of(workload(DEPLOYMENT, volumes=("a", "b", "a")))

    assert planned.pod.ref.claims == ("shop/a", "shop/b")


def test_uids_of_claims_of_similar_names_differ():
    one = claim_of(structs.replace(template(), namespace="a-b"), "c")
    other = claim_of(structs.replace(template(), namespace="a"), "b-c")

    assert (one.uid, other.uid) == ("a-b.c", "a.b-c")


def test_pods_know_their_controller():
    wishes = Wishes(requests={"cpu": 1}, labels={"app": "db"})

    [of_set] = pods_of(workload(STATEFUL_SET, wishes=wishes))
    [of_deployment] = pods_of(workload(DEPLOYMENT, wishes=wishes))
    [alone] = pods_of(workload(POD, wishes=wishes))

    assert of_set.pod.wishes == structs.replace(
        wishes,
        owner=(STATEFUL_SET, "db"),
        labels={
            "app": "db",
            "statefulset.kubernetes.io/pod-name": "db-0",
            "apps.kubernetes.io/pod-index": "0",
        },
    )
    assert of_deployment.pod.wishes == structs.replace(wishes, owner=(DEPLOYMENT, "db"))
    assert alone.pod.wishes == wishes
