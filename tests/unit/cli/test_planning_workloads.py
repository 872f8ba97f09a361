"""Files of what is to be placed: what is taken of them, and what is refused in one line."""

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from app.errors import InputError
from cli.planning.workloads import read_workloads
from extender.kubernetes import Claim, PersistentVolume, StorageClass, default_class
from planner.additions import Wanted, add_objects
from planner.cluster import Cluster
from tests.builders import GENEROUS, GIB, bare_class, claim, core_document

APPS, STORAGE = {"apiVersion": "apps/v1"}, {"apiVersion": "storage.k8s.io/v1"}
TEMPLATE: dict[str, Any] = {"spec": {"containers": [{"name": "c"}]}}
CLAIM_SPEC: dict[str, Any] = {
    "accessModes": ["ReadWriteOnce"],
    "resources": {"requests": {"storage": "10Gi"}},
}


def workload(kind: str = "Deployment", name: str = "db", **spec: Any) -> dict[str, Any]:
    return core_document(kind, name, spec={"template": TEMPLATE, **spec}) | APPS


def stateful_set(*templates: dict[str, Any], **spec: Any) -> dict[str, Any]:
    return workload("StatefulSet", volumeClaimTemplates=list(templates), **spec)


def claim_template(name: str = "data", **spec: Any) -> dict[str, Any]:
    return {"metadata": {"name": name}, "spec": {**CLAIM_SPEC, **spec}}


def claim_document(name: str = "data", **spec: Any) -> dict[str, Any]:
    return core_document("PersistentVolumeClaim", name, spec={**CLAIM_SPEC, **spec})


def class_document(name: str, *, is_default: bool = False) -> dict[str, Any]:
    annotations = {"storageclass.kubernetes.io/is-default-class": str(is_default).lower()}
    return core_document("StorageClass", name, metadata={"annotations": annotations}) | STORAGE


def owned(document: dict[str, Any], kind: str, name: str = "db") -> dict[str, Any]:
    owner = {"kind": kind, "name": name, "controller": True}
    return {**document, "metadata": {**document["metadata"], "ownerReferences": [owner]}}


def cluster_of(*records: Any) -> Cluster:
    cluster = Cluster(GENEROUS)
    for each in records:
        cluster.put(each)
    return cluster


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "db.yaml"


def wanted(path: Path, *documents: dict[str, Any], namespace: str = "default") -> Wanted:
    path.write_text(yaml.safe_dump_all(documents))
    return read_workloads(path, namespace)


def test_all_documents_of_a_file_are_read(path: Path) -> None:
    job = workload("Job", "j") | {"apiVersion": "batch/v1"}

    found = wanted(path, core_document("Service", "db"), claim_document(), workload(), job)

    assert [each.key for each in found.workloads] == ["Deployment default/db", "Job default/j"]
    assert [type(each).__name__ for each in found.others] == ["Service", "NewClaim"]
    assert found.notes == ()


@pytest.mark.parametrize(
    ("hooks", "is_placed"),
    [
        ("test", False),
        ("test-success", False),
        ("test-success, test-failure", False),
        ("pre-install", True),
        ("post-install,test", True),
        (5, True),
    ],
)
def test_what_only_helm_test_makes_is_left_out_and_told(
    path: Path, hooks: object, *, is_placed: bool
) -> None:
    hook = workload("Job", "hook") | {"apiVersion": "batch/v1"}
    hook["metadata"]["annotations"] = {"helm.sh/hook": hooks}

    found = wanted(path, hook, workload())

    told = () if is_placed else ("left out, as only `helm test` makes it: Job default/hook",)
    assert (len(found.workloads), found.notes) == (1 + is_placed, told)


def test_lists_are_taken_apart(tmp_path: Path) -> None:
    path = tmp_path / "db.json"
    items = [workload(), workload("ReplicaSet", "other")]
    path.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": items}))

    assert len(read_workloads(path, "default").workloads) == 2


def test_objects_without_namespace_are_in_the_one_that_is_named(path: Path) -> None:
    without = workload() | {"metadata": {"name": "db"}}
    elsewhere = workload(name="other") | {"metadata": {"name": "other", "namespace": "else"}}

    found = wanted(path, without, elsewhere, namespace="shop")

    assert [each.namespace for each in found.workloads] == ["shop", "else"]


def test_what_another_object_of_the_file_makes_is_left_out(path: Path) -> None:
    pod = core_document("Pod", "db-5f-x", spec=TEMPLATE["spec"])
    found = wanted(
        path,
        workload(),
        owned(workload("ReplicaSet", "db-5f"), "Deployment"),
        owned(pod, "ReplicaSet", "db-5f"),
        owned(core_document("Pod", "a", spec=TEMPLATE["spec"]), "StatefulSet", "elsewhere"),
    )

    assert [each.key for each in found.workloads] == ["Deployment default/db", "Pod default/a"]


def test_what_is_not_placed_is_told(path: Path) -> None:
    found = wanted(
        path,
        workload(),
        workload("DaemonSet", "agent"),
        core_document("ConfigMap", "c"),
        core_document("CronJob", "n") | {"apiVersion": "batch/v1"},
    )

    assert found.notes == ("DaemonSet default/agent is not placed: it has a pod on each node",)
    assert found.unknown == ("not planned: pods that CronJob/n of batch/v1 may make",)


@pytest.mark.parametrize(
    ("kind", "api_version", "is_unknown"),
    [
        ("Cluster", "postgresql.cnpg.io/v1", True),
        ("Kafka", "kafka.strimzi.io/v1beta2", True),
        ("ReplicationController", "v1", True),
        ("ServiceMonitor", "monitoring.coreos.com/v1", False),
        ("Certificate", "cert-manager.io/v1", False),
        ("ConfigMap", "v1", False),
        ("Role", "rbac.authorization.k8s.io/v1", False),
        ("HorizontalPodAutoscaler", "autoscaling/v2", False),
        ("CustomResourceDefinition", "apiextensions.k8s.io/v1", False),
    ],
)
def test_what_may_make_pods_is_named(
    path: Path, kind: str, api_version: str, *, is_unknown: bool
) -> None:
    other = core_document(kind, "x") | {"apiVersion": api_version}

    found = wanted(path, workload(), other)

    expected = (f"not planned: pods that {kind}/x of {api_version} may make",)
    assert found.unknown == (expected if is_unknown else ())
    assert found.notes == ()


def test_what_the_cluster_lacks_is_added(path: Path) -> None:
    budget = core_document("PodDisruptionBudget", "db") | {"apiVersion": "policy/v1"}
    affinity: dict[str, Any] = {"nodeAffinity": {"required": {}}}
    found = wanted(
        path,
        class_document("fast"),
        claim_document(storageClassName="fast"),
        core_document("PersistentVolume", "pv", spec=affinity),
        core_document("Service", "db"),
        budget,
        workload(),
    )
    cluster = cluster_of()

    for _ in range(2):  # the second time the cluster has it all
        notes = add_objects(found, cluster)
        assert notes == []

    assert list(cluster.all(StorageClass)) == ["fast"]
    assert list(cluster.all(PersistentVolume)) == ["pv"]
    assert [each.terms for each in cluster.all(PersistentVolume).values()] == [()]
    assert cluster.get(Claim, "default/data") == Claim(
        key=claim().key,
        uid="default.data",
        persistent_volume=None,
        storage_class="fast",
        requested_bytes=10 * GIB,
        read_write_many=False,
    )
    assert [each.key for each in cluster.services] == ["default/db"]
    assert [each.key for each in cluster.budgets] == ["default/db"]


def test_what_the_cluster_has_counts(path: Path) -> None:
    found = wanted(path, claim_document(storageClassName="new"), class_document("new"), workload())
    there = claim(storage_class="old", size_bytes=GIB)
    cluster = cluster_of(there, bare_class("new", parameters={"a": "b"}))

    add_objects(found, cluster)

    assert cluster.get(Claim, "default/data") == there
    assert cluster.all(StorageClass)["new"].parameters == {"a": "b"}


def default_class_record(name: str, created: str = "") -> StorageClass:
    return StorageClass(name=name, provisioner="p", parameters={}, is_default=True, created=created)


def test_of_several_default_classes_that_of_the_file_is_the_newest(path: Path) -> None:
    found = wanted(path, class_document("a", is_default=True), stateful_set(claim_template()))
    cluster = cluster_of(default_class_record("b", "2026-11-21T03:00:00Z"))

    assert add_objects(found, cluster) == []
    assert default_class(cluster.all(StorageClass).values()) == "a"


def test_several_default_classes_of_unknown_age_are_told(path: Path) -> None:
    found = wanted(path, stateful_set(claim_template()))

    [note] = add_objects(found, cluster_of(default_class_record("b"), default_class_record("a")))

    assert note == (
        "the StorageClasses a, b are all the default one, and when they were created is not "
        "known; a counts, Kubernetes takes the newest"
    )


def test_a_claim_for_one_volume_needs_no_class(path: Path) -> None:
    found = wanted(path, claim_document(volumeName="pv", storageClassName=""), workload())

    assert add_objects(found, cluster_of()) == []


def refusal(path: Path, content: str) -> str:
    path.write_text(content)
    with pytest.raises(InputError) as caught:
        read_workloads(path, "default")
    text = str(caught.value)
    assert text.startswith(str(path))
    assert "\n" not in text
    return text.removeprefix(str(path))


@pytest.mark.parametrize(
    ("content", "why"),
    [
        pytest.param("", " holds no workload to place (it has no object); give a", id="empty"),
        pytest.param("# nothing\n---\n", " holds no workload to place", id="only-comments"),
        pytest.param("a: [b", " is not YAML: ", id="not-yaml"),
        pytest.param("just text", "[0] is str, not an object; correct it", id="text"),
        pytest.param("kind: Pod", "[0] has no apiVersion or no kind", id="no-version"),
    ],
)
def test_a_file_that_is_no_workload(path: Path, content: str, why: str) -> None:
    assert refusal(path, content).startswith(why)


@pytest.mark.parametrize(
    ("documents", "why"),
    [
        pytest.param(
            [core_document("ConfigMap")],
            " holds no workload to place (it has ConfigMap); give a StatefulSet, Deployment, "
            "ReplicaSet, Job or Pod",
            id="other-kind",
        ),
        pytest.param(
            [workload("DaemonSet")],
            " holds no workload to place (it has DaemonSet)",
            id="daemon-set-alone",
        ),
        pytest.param(
            [workload(), workload()],
            "[1] is the second workload named default/db; rename or remove one",
            id="one-name",
        ),
        pytest.param(
            [workload(), workload("StatefulSet")],
            "[1] is the second workload named default/db",
            id="one-name-of-two-kinds",
        ),
        pytest.param(
            [claim_document(), workload(), claim_document()],
            "[2] is the second PersistentVolumeClaim named default/data",
            id="claim-twice",
        ),
        pytest.param(
            [workload(name="")], "[0] is a Deployment without a name; correct it", id="no-name"
        ),
        pytest.param(
            [workload() | {"metadata": None}],
            "[0] is a Deployment without a name",
            id="no-metadata",
        ),
        pytest.param(
            [workload(template=None)],
            "[0]: correct Deployment default/db: it has no spec.template; say there what its pods "
            "are",
            id="no-template",
        ),
        pytest.param(
            [workload(), core_document("Service", spec={"selector": []})],
            "[1]: correct Service default/it: Expected `object | null`, got `array`",
            id="service",
        ),
        pytest.param(
            [workload("Rollout") | {"apiVersion": "argoproj.io/v1alpha1"}],
            " holds no workload to place (it has Rollout)",
            id="unknown-kind",
        ),
    ],
)
def test_objects_that_cannot_be_placed(
    path: Path, documents: list[dict[str, Any]], why: str
) -> None:
    assert refusal(path, yaml.safe_dump_all(documents)).startswith(why)


def test_a_file_that_is_not_there(path: Path) -> None:
    with pytest.raises(InputError, match="cannot be read: No such file"):
        read_workloads(path, "default")
