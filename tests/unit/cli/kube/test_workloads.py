"""Workloads as they stand in JSON become records; what the API server would refuse is named."""

from typing import Any

import pytest

from cli.kube.decoding import read_object
from cli.kube.resources import PLANNED, WRITTEN
from longhorn import Unreadable
from planner.records import Wishes
from planner.workloads import NewClaim, Workload
from tests.builders import GIB, core_document

APPS, BATCH = {"apiVersion": "apps/v1"}, {"apiVersion": "batch/v1"}
CONTAINER = {"resources": {"requests": {"cpu": "1"}}}
TEMPLATE: dict[str, Any] = {
    "metadata": {"labels": {"app": "db"}},
    "spec": {
        "containers": [CONTAINER],
        "volumes": [
            {"name": "shared", "persistentVolumeClaim": {"claimName": "all"}},
            {"name": "conf", "configMap": {"name": "x"}},
        ],
    },
}
CLAIM_SPEC: dict[str, Any] = {
    "accessModes": ["ReadWriteOnce"],
    "resources": {"requests": {"storage": "10Gi"}},
}
WISHES = Wishes(resources=frozenset({"cpu"}), requests={"cpu": 1000}, labels={"app": "db"})


def pod_template(**spec: Any) -> dict[str, Any]:
    return {**TEMPLATE, "spec": {**TEMPLATE["spec"], **spec}}


def claim_template(name: str = "data", **spec: Any) -> dict[str, Any]:
    return {"metadata": {"name": name}, "spec": {**CLAIM_SPEC, **spec}}


def apps_document(kind: str, **spec: Any) -> dict[str, Any]:
    return core_document(kind, "db", spec={"template": TEMPLATE, **spec}) | APPS


def job_document(**spec: Any) -> dict[str, Any]:
    return core_document("Job", "db", spec={"template": TEMPLATE, **spec}) | BATCH


def read_workload(document: dict[str, Any]) -> Workload:
    found = read_object(document, WRITTEN)
    assert isinstance(found, Workload), found
    return found


def refusal(document: dict[str, Any]) -> str:
    found = read_object(document, WRITTEN)
    assert isinstance(found, Unreadable), found
    assert found.name == "default/db"
    return found.why


def test_stateful_set() -> None:
    written = apps_document(
        "StatefulSet",
        replicas=3,
        ordinals={"start": 1},
        volumeClaimTemplates=[claim_template(storageClassName="local")],
    )

    assert read_workload(written) == Workload(
        kind="StatefulSet",
        namespace="default",
        name="db",
        replicas=3,
        wishes=WISHES,
        volumes=("all",),
        claim_templates=(
            NewClaim(
                namespace="default",
                name="data",
                requested_bytes=10 * GIB,
                storage_class="local",
            ),
        ),
        first=1,
        ordered=True,
    )
    assert read_object(written, PLANNED) == read_object(written, WRITTEN)


def test_a_parallel_stateful_set_has_no_order() -> None:
    assert not read_workload(apps_document("StatefulSet", podManagementPolicy="Parallel")).ordered


@pytest.mark.parametrize(
    ("policy", "deletes"),
    [({"whenScaled": "Delete"}, True), ({"whenScaled": "Retain"}, False), ({}, False)],
)
def test_claims_may_go_when_a_stateful_set_is_scaled(
    policy: dict[str, str], *, deletes: bool
) -> None:
    written = apps_document("StatefulSet", persistentVolumeClaimRetentionPolicy=policy)

    assert read_workload(written).deletes_claims == deletes


def test_a_claim_template_comes_in_place_of_the_volume_of_its_name() -> None:
    written = apps_document("StatefulSet", volumeClaimTemplates=[claim_template("shared")])

    assert read_workload(written).volumes == ()


@pytest.mark.parametrize("kind", ["Deployment", "ReplicaSet"])
def test_deployment_and_replica_set(kind: str) -> None:
    owners = [{"kind": "Deployment", "name": "db", "controller": True}]
    written = apps_document(kind, replicas=2)
    written["metadata"]["ownerReferences"] = owners

    assert read_workload(written) == Workload(
        kind=kind,
        namespace="default",
        name="db",
        replicas=2,
        wishes=WISHES,
        volumes=("all",),
        owner=("Deployment", "db"),
    )


def test_one_pod_is_the_default() -> None:
    assert read_workload(apps_document("Deployment")).replicas == 1
    assert read_workload(apps_document("Deployment", replicas=0)).replicas == 0


def test_a_daemon_set_has_no_number() -> None:
    found = read_workload(apps_document("DaemonSet"))

    assert (found.replicas, found.wishes) == (0, WISHES)


@pytest.mark.parametrize(
    ("spec", "replicas"),
    [
        ({}, 1),
        ({"parallelism": 3}, 3),
        ({"completions": 5}, 1),
        ({"parallelism": 3, "completions": 2}, 2),
        ({"parallelism": 2, "completions": 9}, 2),
        ({"parallelism": 3, "suspend": True}, 0),
    ],
)
def test_the_pods_of_a_job_that_run_at_one_time(spec: dict[str, Any], replicas: int) -> None:
    found = read_workload(job_document(**spec))

    assert found.replicas == replicas
    assert found.wishes.labels["job-name"] == "db"


@pytest.mark.parametrize(
    ("spec", "status", "replicas"),
    [
        ({"parallelism": 3, "completions": 5}, {"succeeded": 1}, 3),
        ({"parallelism": 3, "completions": 5}, {"succeeded": 4}, 1),
        ({"parallelism": 3, "completions": 5}, {"succeeded": 6}, 0),
        ({"parallelism": 3}, {"succeeded": 0}, 3),
        ({"parallelism": 3}, {"succeeded": 1}, 0),
        ({"parallelism": 3}, {"conditions": [{"type": "Failed", "status": "True"}]}, 0),
        ({"parallelism": 3}, {"conditions": [{"type": "Complete", "status": "True"}]}, 0),
        ({"parallelism": 3}, {"conditions": [{"type": "Suspended", "status": "True"}]}, 3),
    ],
)
def test_the_pods_that_a_job_has_yet_to_make(
    spec: dict[str, Any], status: dict[str, Any], replicas: int
) -> None:
    assert read_workload(job_document(**spec) | {"status": status}).replicas == replicas


@pytest.mark.parametrize(("is_suspended", "replicas"), [(None, 2), (False, 2), (True, 0)])
def test_a_cron_job_makes_the_pods_of_a_job(is_suspended: object, replicas: int) -> None:
    job = {"spec": {"template": TEMPLATE, "parallelism": 2}}
    spec = {"jobTemplate": job, "suspend": is_suspended}

    found = read_workload(core_document("CronJob", "db", spec=spec) | BATCH)

    assert (found.key, found.replicas, found.volumes) == ("CronJob default/db", replicas, ("all",))


def test_ephemeral_volumes_are_claims_to_be_made() -> None:
    volumes = [
        {"name": "a", "persistentVolumeClaim": {"claimName": "all"}},
        {"name": "b", "ephemeral": {"volumeClaimTemplate": {"spec": CLAIM_SPEC}}},
    ]

    assert read_workload(
        apps_document("Deployment", template=pod_template(volumes=volumes))
    ).volumes == (
        "all",
        NewClaim(namespace="default", name="b", requested_bytes=10 * GIB),
    )


def test_a_bare_pod_is_new_wherever_it_was() -> None:
    written = core_document(
        "Pod",
        "db",
        metadata={"labels": {"app": "db"}, "deletionTimestamp": "2026-11-21T03:00:00Z"},
        spec=TEMPLATE["spec"],
        status={"phase": "Running"},
    )

    assert read_workload(written) == Workload(
        kind="Pod", namespace="default", name="db", wishes=WISHES, volumes=("all",)
    )


def test_a_template_may_name_its_node() -> None:
    found = read_workload(apps_document("Deployment", template=pod_template(nodeName="node-1")))

    assert found.wishes.node_name == "node-1"


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        ({"storageClassName": ""}, {"storage_class": ""}),
        ({"volumeName": "pv"}, {"persistent_volume": "pv"}),
        ({"accessModes": ["ReadWriteMany", "ReadOnlyMany"]}, {"read_write_many": True}),
        ({"accessModes": ["ReadWriteOncePod"]}, {"read_write_once_pod": True}),
    ],
)
def test_new_claim(spec: dict[str, Any], expected: dict[str, Any]) -> None:
    found = read_object(
        core_document("PersistentVolumeClaim", "data", spec={**CLAIM_SPEC, **spec}), WRITTEN
    )

    assert found == NewClaim(namespace="default", name="data", requested_bytes=10 * GIB, **expected)


def storage(quantity: object) -> dict[str, Any]:
    return claim_template(resources={"requests": {"storage": quantity}})


def set_of(*templates: dict[str, Any]) -> dict[str, Any]:
    return apps_document("StatefulSet", volumeClaimTemplates=list(templates))


def deployment_of(**spec: Any) -> dict[str, Any]:
    return apps_document("Deployment", template=pod_template(**spec))


@pytest.mark.parametrize(
    ("written", "why"),
    [
        pytest.param(core_document("Deployment", "db") | APPS, "no spec.template", id="no-spec"),
        pytest.param(apps_document("Deployment", template=None), "no spec.template", id="no-tmpl"),
        pytest.param(deployment_of(containers=[]), "name at least one container", id="empty"),
        pytest.param(
            core_document("Pod", "db"), "spec.containers is empty; name at least one", id="pod"
        ),
        pytest.param(
            apps_document("Deployment", replicas=-1), "spec.replicas is -1; use 0", id="negative"
        ),
        pytest.param(
            apps_document("Deployment", replicas=10**9),
            "spec.replicas is 1000000000; plans place 150000 pods at most",
            id="absurd",
        ),
        pytest.param(
            apps_document("Deployment", replicas="three"), "$.spec.replicas", id="not-a-number"
        ),
        pytest.param(job_document(parallelism=-2), "spec.parallelism is -2", id="parallelism"),
        pytest.param(job_document(completions=-2), "spec.completions is -2", id="completions"),
        pytest.param(
            apps_document("StatefulSet", ordinals={"start": -1}), "ordinals.start is -1", id="start"
        ),
        pytest.param(
            apps_document("StatefulSet", podManagementPolicy="Random"),
            "'Random'; use OrderedReady or Parallel",
            id="policy",
        ),
        pytest.param(
            apps_document(
                "StatefulSet", persistentVolumeClaimRetentionPolicy={"whenScaled": "Keep"}
            ),
            "whenScaled is 'Keep'; use Retain or Delete",
            id="retention",
        ),
        pytest.param(
            set_of({"spec": CLAIM_SPEC}), "$.spec.volumeClaimTemplates[0]", id="no-metadata"
        ),
        pytest.param(
            set_of(claim_template("")), "$.spec.volumeClaimTemplates[0].metadata.name", id="no-name"
        ),
        pytest.param(
            set_of(claim_template(), claim_template()), "have one name; rename one", id="twice"
        ),
        pytest.param(set_of(storage(0)), "asks for 0; ask for more than 0", id="size-0"),
        pytest.param(set_of(storage("-5Gi")), "asks for -5Gi; ask for more", id="size-negative"),
        pytest.param(
            set_of(storage("9Ei")), "9Ei; ask for more than 0 and less than 8Ei", id="9Ei"
        ),
        pytest.param(set_of(storage("big")), "'big' is not a quantity", id="size-unreadable"),
        pytest.param(
            set_of(claim_template(resources=None)),
            "claim template 0 has no resources.requests.storage; say how much",
            id="no-size",
        ),
        pytest.param(
            set_of(claim_template(accessModes=[])),
            "claim template 0 has accessModes []; use ReadWriteOnce, ",
            id="no-mode",
        ),
        pytest.param(
            set_of(claim_template(accessModes=["RWO"])), "accessModes ['RWO']", id="unknown-mode"
        ),
        pytest.param(
            set_of(claim_template(accessModes=["ReadWriteOncePod", "ReadWriteMany"])),
            "the last one alone",
            id="modes-that-exclude-each-other",
        ),
        pytest.param(
            deployment_of(volumes=[{"name": "v", "persistentVolumeClaim": {}}]),
            "volume v names no claim; give its claimName",
            id="no-claim-name",
        ),
        pytest.param(
            deployment_of(volumes=[{"name": "v", "ephemeral": {}}]),
            "ephemeral volume v needs a name and a volumeClaimTemplate",
            id="no-template-of-a-claim",
        ),
        pytest.param(
            deployment_of(containers=[{"resources": {"requests": {"cpu": "x"}}}]),
            "cpu: 'x' is not a quantity",
            id="cpu",
        ),
        pytest.param(
            apps_document("Deployment") | {"apiVersion": "apps/v1beta1"},
            "apiVersion apps/v1beta1 is not supported, only apps/v1",
            id="version",
        ),
    ],
)
def test_what_the_api_server_would_refuse(written: dict[str, Any], why: str) -> None:
    assert why in refusal(written)
