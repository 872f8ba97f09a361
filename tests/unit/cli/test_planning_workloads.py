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


def default_class_record(name: str, created: str = "") -> StorageClass:
    return StorageClass(name=name, provisioner="p", parameters={}, is_default=True, created=created)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "db.yaml"


def wanted(path: Path, *documents: dict[str, Any], namespace: str = "default") -> Wanted:
    path.write_text(yaml.safe_dump_all(documents))
    return read_workloads(path, namespace)


def hooked(hooks: object) -> list[dict[str, Any]]:
    hook = job("hook")
    hook["metadata"]["annotations"] = {"helm.sh/hook": hooks}
    return [hook, workload()]


def job(name: str) -> dict[str, Any]:
    return workload("Job", name) | {"apiVersion": "batch/v1"}


def pod(name: str) -> dict[str, Any]:
    return core_document("Pod", name, spec=TEMPLATE["spec"])


def other(kind: str, api_version: str) -> list[dict[str, Any]]:
    return [workload(), core_document(kind, "x") | {"apiVersion": api_version}]


DEPLOYMENT, HELM_TEST = "Deployment default/db", "as only `helm test` makes it: Job default/hook"
HOOKED, UNKNOWN = f"Job default/hook, {DEPLOYMENT}", f"{DEPLOYMENT} | not planned: pods that "
ROWS: dict[str, tuple[str, list[dict[str, Any]]]] = {
    "all": (f"{DEPLOYMENT}, Job default/j | Service, NewClaim",
        [core_document("Service", "db"), claim_document(), workload(), job("j")]),
    "list": (f"{DEPLOYMENT}, ReplicaSet default/other", [{"apiVersion": "v1", "kind": "List",
        "items": [workload(), workload("ReplicaSet", "other")]}]),
    "hook-of-a-test": (f"{DEPLOYMENT} | left out, {HELM_TEST}", hooked("test")),
    "hook-of-a-test-that-succeeds":
        (f"{DEPLOYMENT} | left out, {HELM_TEST}", hooked("test-success")),
    "hook-of-two-tests":
        (f"{DEPLOYMENT} | left out, {HELM_TEST}", hooked("test-success, test-failure")),
    "hook-before-the-install": (HOOKED, hooked("pre-install")),
    "hook-after-the-install-and-test": (HOOKED, hooked("post-install,test")),
    "hook-a-number": (HOOKED, hooked(5)),
    "owned-by-others-of-the-file": (f"{DEPLOYMENT}, Pod default/a", [workload(),
        owned(workload("ReplicaSet", "db-5f"), "Deployment"),
        owned(pod("db-5f-x"), "ReplicaSet", "db-5f"),
        owned(pod("a"), "StatefulSet", "elsewhere")]),
    "daemon-set": (f"{DEPLOYMENT} | DaemonSet default/agent is not placed: it has a pod on each "
        "node", [workload(), workload("DaemonSet", "agent"), core_document("ConfigMap", "c")]),
    **{f"maker-{kind}": (f"{UNKNOWN}{kind}/x of {version} may make", other(kind, version))
        for kind, version in {
            "CronJob": "batch/v1", "Cluster": "postgresql.cnpg.io/v1",
            "Kafka": "kafka.strimzi.io/v1beta2", "ReplicationController": "v1"}.items()},
    **{f"other-{kind}": (DEPLOYMENT, other(kind, version)) for kind, version in {
        "ServiceMonitor": "monitoring.coreos.com/v1", "Certificate": "cert-manager.io/v1",
        "ConfigMap": "v1", "Role": "rbac.authorization.k8s.io/v1",
        "HorizontalPodAutoscaler": "autoscaling/v2",
        "CustomResourceDefinition": "apiextensions.k8s.io/v1"}.items()},
}  # fmt: skip
"""Which workloads are placed, what else is taken, and what is told; and the objects."""


@pytest.mark.parametrize(("expected", "documents"), ROWS.values(), ids=ROWS)
def test_workloads_of_a_file_are_placed_or_told(path, expected, documents):
    found = wanted(path, *documents)

    names = [type(each).__name__ for each in found.others]
    parts = [", ".join(each.key for each in found.workloads), ", ".join(names)]
    assert " | ".join(each for each in [*parts, *found.notes, *found.unknown] if each) == expected


def test_json_is_read_as_yaml_is(tmp_path):
    path = tmp_path / "db.json"
    path.write_text(json.dumps(ROWS["list"][1][0]))

    assert len(read_workloads(path, "default").workloads) == 2


def test_objects_without_namespace_are_in_the_one_that_is_named(path):
    without = workload() | {"metadata": {"name": "db"}}
    elsewhere = workload(name="other") | {"metadata": {"name": "other", "namespace": "else"}}

    found = wanted(path, without, elsewhere, namespace="shop")

    assert [each.namespace for each in found.workloads] == ["shop", "else"]


def test_what_the_cluster_lacks_is_added(path):
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


def test_what_the_cluster_has_counts(path):
    found = wanted(path, claim_document(storageClassName="new"), class_document("new"), workload())
    there = claim(storage_class="old", size_bytes=GIB)
    cluster = cluster_of(there, bare_class("new", parameters={"a": "b"}))

    add_objects(found, cluster)

    assert cluster.get(Claim, "default/data") == there
    assert cluster.all(StorageClass)["new"].parameters == {"a": "b"}


CLAIM_OF_DEFAULT = workload(
    "StatefulSet", volumeClaimTemplates=[{"metadata": {"name": "data"}, "spec": CLAIM_SPEC}]
)
SEVERAL = (
    "the StorageClasses a, b are all the default one, and when they were created is not known; "
    "a counts, Kubernetes takes the newest"
)
DEFAULTS: dict[str, tuple[str, list[str], list[Any], list[StorageClass]]] = {
    # That of the file is the newest.
    "class-of-the-file": ("a", [], [class_document("a", is_default=True), CLAIM_OF_DEFAULT],
        [default_class_record("b", "2026-11-21T03:00:00Z")]),
    "classes-of-unknown-age": ("a", [SEVERAL], [CLAIM_OF_DEFAULT],
        [default_class_record("b"), default_class_record("a")]),
    "class-not-needed": ("", [],
        [claim_document(volumeName="pv", storageClassName=""), workload()], []),
}  # fmt: skip


@pytest.mark.parametrize(("class_", "told", "given", "there"), DEFAULTS.values(), ids=DEFAULTS)
def test_one_of_several_default_classes_counts(path, class_, told, given, there):
    cluster = cluster_of(*there)

    assert add_objects(wanted(path, *given), cluster) == told
    assert default_class(cluster.all(StorageClass).values()) == class_


REFUSED: dict[str, tuple[str, str | list[dict[str, Any]]]] = {
    "empty": (" holds no workload to place (it has no object); give a", ""),
    "comments": (" holds no workload to place", "# nothing\n---\n"),
    "not-yaml": (" is not YAML: ", "a: [b"),
    "text": ("[0] is str, not an object; correct it", "just text"),
    "version-missing": ("[0] has no apiVersion or no kind", "kind: Pod"),
    "kind": (" holds no workload to place (it has ConfigMap); ", [core_document("ConfigMap")]),
    "daemon-set": (" holds no workload to place (it has DaemonSet)", [workload("DaemonSet")]),
    "name-twice": ("[1] is the second workload named default/db; ", [workload(), workload()]),
    "name-of-two-kinds":
        ("[1] is the second workload named default/db", [workload(), workload("StatefulSet")]),
    "claim-twice": ("[2] is the second PersistentVolumeClaim named default/data",
        [claim_document(), workload(), claim_document()]),
    "name-missing": ("[0] is a Deployment without a name; correct it", [workload(name="")]),
    "metadata-missing":
        ("[0] is a Deployment without a name", [workload() | {"metadata": None}]),
    "template-missing": ("[0]: correct Deployment default/db: ", [workload(template=None)]),
    "service": ("[1]: correct Service default/it: Expected `object | null`, got `array`",
        [workload(), core_document("Service", spec={"selector": []})]),
    "kind-unknown": (" holds no workload to place (it has Rollout)",
        [workload("Rollout") | {"apiVersion": "argoproj.io/v1alpha1"}]),
}  # fmt: skip


def test_a_file_that_cannot_be_placed_is_refused_in_one_line(path, golden):
    text = ""
    for name, (why, content) in REFUSED.items():
        path.write_text(content if isinstance(content, str) else yaml.safe_dump_all(content))
        with pytest.raises(InputError) as caught:
            read_workloads(path, "default")
        found = str(caught.value)
        assert found.startswith(f"{path}{why}"), found
        assert "\n" not in found
        text += f"# {name}\n{found.replace(str(path), path.name)}\n"

    golden("plan-refused", text)


def test_a_file_that_is_not_there(path):
    with pytest.raises(InputError, match="cannot be read: No such file"):
        read_workloads(path, "default")
