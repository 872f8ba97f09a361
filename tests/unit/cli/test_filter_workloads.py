"""`filter` of workloads: of a file, and of the cluster by name."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml

from cli.schema import schema
from tests.builders import core_document, node_document, runner_documents, setting_documents
from tests.fakes import FakeApiServer
from tests.unit.cli.live import lease, put
from tests.unit.cli.plans import Golden, Run, write
from tests.unit.cli.situations import (
    bound_claim,
    claim,
    host,
    pod,
    replica,
    scheduled,
    storage_class,
    volume,
)

Document = dict[str, Any]
Ask = Callable[[str, list[Document], str], tuple[int, str]]
GROUPS = {"Job": "batch/v1", "CronJob": "batch/v1", "Pod": "v1", "Kafka": "kafka.strimzi.io/v1"}


def claim_spec(gib: int) -> Document:
    requests = {"requests": {"storage": f"{gib}Gi"}}
    return {"accessModes": ["ReadWriteOnce"], "storageClassName": "fast", "resources": requests}


def template(gib: int = 10) -> Document:
    """Build a template of pods with a volume of their own each."""
    own = {"volumeClaimTemplate": {"spec": claim_spec(gib)}}
    spec = {"containers": [{"name": "main"}], "volumes": [{"name": "own", "ephemeral": own}]}
    return {"metadata": {"labels": {"app": "db"}}, "spec": spec}


def made(kind: str, name: str = "db", hook: str = "", **spec: Any) -> Document:
    metadata = {"annotations": {"helm.sh/hook": hook}} if hook else {}
    found = core_document(kind, name, metadata=metadata, spec=spec)
    return found | {"apiVersion": GROUPS.get(kind, "apps/v1")}


def stateful_set(replicas: int = 3, gib: int = 10) -> Document:
    claims = [{"metadata": {"name": "data"}, "spec": claim_spec(gib)}]
    pods = {"spec": {"containers": [{"name": "main"}]}}
    return made("StatefulSet", replicas=replicas, template=pods, volumeClaimTemplates=claims)


def owned(name: str, kind: str, owner: str = "db", node: str = "", **metadata: Any) -> Document:
    """Build a pod that a controller has made."""
    by = [{"kind": kind, "name": owner, "controller": True}]
    spec = {"nodeName": node} if node else {}
    found = pod(name, claims=[f"data-{name}"], spec=spec)
    return {**found, "metadata": {**found["metadata"], "ownerReferences": by, **metadata}}


CLUSTER = [
    host("roomy"),
    host("tight"),
    node_document("roomy"),
    node_document("tight", disk_status=scheduled(95)),
    *runner_documents("roomy", "tight"),
    *setting_documents(),
    storage_class(),
]


def data_of(name: str, node: str) -> list[Document]:
    """Build the claim of a pod, and its volume with a replica on a node."""
    key = f"data-{name}"
    return [*bound_claim(key), volume(key, dataLocality="strict-local"), replica(key, on=node)]


def with_class(*classes: Document) -> list[Document]:
    return [*(each for each in CLUSTER if each["kind"] != "StorageClass"), *classes]


def of_replica_set(name: str) -> Document:
    labels = {"pod-template-hash": "7f"}
    return owned(f"db-7f-{name}", "ReplicaSet", "db-7f", node="roomy", labels=labels)


def written_claim(name: str, gib: int) -> Document:
    return core_document("PersistentVolumeClaim", name, spec=claim_spec(gib))


def cron_job(**spec: Any) -> Document:
    return made("CronJob", jobTemplate={"spec": {"template": template()}}, **spec)


LIMITED = [
    *CLUSTER,
    *(host("cordoned", unschedulable=True), node_document("cordoned")),
    *(host("tainted", taints=[{"key": "a", "effect": "NoSchedule"}]),
        *runner_documents("cordoned")),
]  # fmt: skip
CHART = [
    made("Job", "migrate", hook="pre-install,pre-upgrade", template=template()),
    core_document("CustomResourceDefinition") | {"apiVersion": "apiextensions.k8s.io/v1"},
    *(made("Kafka", "queue"), stateful_set(1)),
    made("Pod", "check", hook="test", containers=[{"name": "main"}]),
    made("Job", "smoke", hook="test-success", template=template()),
]
THREE = "db-0 db-1 db-2 > roomy"
OF_FILE: dict[str, tuple[int, str, list[Document], list[Document]]] = {
    "stateful-set": (0, THREE, [stateful_set()], CLUSTER),
    "deployment": (0, "db-0 db-1 > roomy", [made("Deployment", replicas=2, template=template())],
        CLUSTER),
    "replica-set": (0, "db-0 > roomy", [made("ReplicaSet", template=template())], CLUSTER),
    "job": (0, "db-0 db-1 > roomy",
        [made("Job", parallelism=2, completions=9, template=template())], CLUSTER),
    "cron-job": (0, "db-0 > roomy", [cron_job()], CLUSTER),
    # It must fit on each node that it may go to.
    "daemon-set": (0, "db-0 > cordoned roomy tight", [made("DaemonSet", template=template(1))],
        LIMITED),
    "daemon-set-too-large": (1, "db-0 > cordoned roomy",
        [made("DaemonSet", template=template(10))], LIMITED),
    "chart": (0, "migrate-0 > roomy, db-0 > roomy", CHART, CLUSTER),
    "pods-that-fit-alone": (0, "db-0 db-1 > roomy", [stateful_set(2, gib=60)], CLUSTER),
    "pods-that-do-not-fit": (1, "db-0 db-1 db-2 > , db-0 > roomy",
        [stateful_set(gib=500), made("Job", template=template())], CLUSTER),
    "job-suspended": (0, "", [made("Job", suspend=True, template=template())], CLUSTER),
    "cron-job-suspended": (0, "", [cron_job(suspend=True)], CLUSTER),
    "stateful-set-of-none": (0, "", [stateful_set(0)], CLUSTER),
    "pod-of-a-controller-of-the-file": (0, "db-0 > roomy",
        [stateful_set(1), owned("db-0", "StatefulSet", namespace="default")], CLUSTER),
    "pods": (0, "a > roomy, b > roomy tight",
        [pod("a"), pod("b"), written_claim("a", 10), written_claim("b", 1)], CLUSTER),
    "class-missing": (3, "db-0 db-1 db-2 > ", [stateful_set()], with_class()),
    # No pod is refused for it before it is made.
    "class-immediate": (0, THREE, [stateful_set()], with_class(storage_class("Immediate"))),
}  # fmt: skip
OF_CLUSTER: dict[str, tuple[int, str, list[Document], str]] = {
    **{f"stateful-set-by-{name}": (0, "db-1 > roomy, db-3 > tight, db-4 db-5 > roomy", [
        *(stateful_set(6), owned("db-0", "StatefulSet", node="roomy")),
        *(owned("db-1", "StatefulSet"), owned("db-2", "StatefulSet", owner="other")),
        *(claim("data-db-1"), *data_of("db-3", "tight"))], question)
        for name, question in {"short-name": "sts/db", "name": "statefulset/default/db -n shop",
                               "group": "StatefulSets.apps/db -n default"}.items()},
    "deployment-placed": (0, "", [made("Deployment", replicas=2, template=template()),
        of_replica_set("a"), of_replica_set("b")], "deploy/db"),
    "daemon-set-waiting": (0, "db-b > roomy tight", [made("DaemonSet", template=template()),
        owned("db-a", "DaemonSet", node="roomy"), owned("db-b", "DaemonSet"),
        claim("data-db-b", gib=1)], "ds/db"),
}  # fmt: skip
"""The exit status, pods and the nodes that are accepted, what there is, and the question."""


@pytest.fixture
def ask(called: Run, golden: Golden, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Ask:
    """Ask about workloads; return the status and the pods with their nodes."""
    monkeypatch.chdir(tmp_path)

    def asked(name: str, cluster: list[Document], words: str) -> tuple[int, str]:
        file = write(Path("cluster.json"), *cluster)
        command = ("filter", *words.split(), "--cluster-file", file)
        _, table, _ = called(*command)
        status, out, _ = called(*command, "-o", "json")
        found = json.loads(out)
        jsonschema.validate(found, schema("filter-workloads"))
        golden(f"workloads/{name}", table)
        told = [
            f"{' '.join(pods['pods'])} > {' '.join(sorted(pods['explanation']['accepted']))}"
            for each in found["workloads"]
            for pods in each["pods"]
        ]
        return status, ", ".join(told).replace("default/", "")

    return asked


@pytest.mark.parametrize("name", OF_FILE)
def test_the_pods_that_workloads_of_a_file_would_have_are_answered_for(ask, name):
    status, pods, documents, cluster = OF_FILE[name]
    text = "\n---\n# Source: it\n".join(["", *map(json.dumps, documents), ""])
    Path("it.yaml").write_text(text)

    assert ask(name, cluster, "it.yaml") == (status, pods)


@pytest.mark.parametrize("name", OF_CLUSTER)
def test_pods_of_the_cluster_without_a_node_are_told(ask, name):
    status, pods, documents, question = OF_CLUSTER[name]

    assert ask(name, [*CLUSTER, *documents], question) == (status, pods)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("sts/bd", "no StatefulSet of the cluster is named default/bd; give KIND/NAMESPACE/NAME"),
        ("sts/bd", "; is default/db meant?"),
        ("deploy/db", "no Deployment is known, so none named default/db; give a file with it, or"),
        ("job/db", "what `kubectl get jobs.batch --all-namespaces -o json` prints"),
        ("ds/db", "DaemonSet default/db cannot be read: it has no spec.template"),
    ],
)
def test_a_workload_that_is_not_there_is_an_error(called, tmp_path, name, text):
    file = write(tmp_path / "cluster.json", *CLUSTER, stateful_set(), made("DaemonSet"))

    status, _, error = called("filter", name, "--cluster-file", file, "-o", "json")

    assert (status, text in error.replace("\n", " ")) == (2, True)


@pytest.fixture
def live(server: FakeApiServer) -> FakeApiServer:
    """The server with a StatefulSet, and a leader that answers."""
    put(server, [*CLUSTER, stateful_set()])
    server.put(lease())
    return server


def test_a_live_cluster_is_read_for_that_kind_alone(live, config, called):
    others = {"deployments", "replicasets", "daemonsets", "jobs"}
    live.authorize = lambda call: call.resource not in others

    status, out, err = called("filter", "sts/db", "--kubeconfig", config, "-o", "yaml")

    [pods] = yaml.safe_load(out)["workloads"][0]["pods"]
    assert (status, len(pods["pods"]), pods["explanation"]["accepted"]) == (0, 3, ["roomy"])
    assert err == ""


@pytest.mark.parametrize("kind", ["statefulsets", "pods"])
def test_who_may_not_read_a_workload_or_pods_is_told_which_right_is_missing(
    live, config, called, kind
):
    live.authorize = lambda call: call.resource != kind

    status, _, err = called("filter", "sts/db", "--kubeconfig", config)

    assert status == 2
    assert err.startswith(f"error: {kind}")
    assert "cannot be listed: 403" in err
