"""`filter` of workloads: of a file, and of the cluster by name.

The rows stand in `golden/workloads/`: the exit status and pods with the nodes that are accepted;
what is in the file, or what is asked, and in which cluster, as `objects_of` reads it; the output.
"""

import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml

from cli.schema import schema
from tests.builders import core_document, node_document, runner_documents, setting_documents
from tests.fakes import FakeApiServer
from tests.unit.cli.live import lease, put
from tests.unit.cli.plans import Run, objects_of, rows_of, write
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
BUILDERS: dict[str, Any] = {
    each.__name__: each
    for each in (claim, cron_job, data_of, made, of_replica_set, owned, pod, stateful_set,
                 written_claim)
} | {"chart": CHART}  # fmt: skip
WORDS = {"TEMPLATE": template(), "OF_1_GIB": template(1)}
WITHOUT_CLASS = [each for each in CLUSTER if each["kind"] != "StorageClass"]
CLUSTERS = {
    "": CLUSTER,
    "limited": LIMITED,
    "without_class": WITHOUT_CLASS,
    "immediate": [*WITHOUT_CLASS, storage_class("Immediate")],
}
ROWS = {topic: rows_of(f"workloads/{topic}") for topic in ("of-file", "of-cluster")}


@pytest.fixture
def ask(called: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Ask about the workloads of a row; return the status and the output."""
    monkeypatch.chdir(tmp_path)

    def asked(topic: str, row: str, *options: str) -> tuple[int, str, str]:
        subject, _, given = ROWS[topic][row][1].partition("  # ")[0].partition(" in ")
        if topic == "of-file":
            objects = map(json.dumps, objects_of(subject, BUILDERS, WORDS))
            Path("it.yaml").write_text("\n---\n# Source: it\n".join(["", *objects, ""]))
            cluster, words = CLUSTERS[given], ["it.yaml"]
        else:
            cluster, words = [*CLUSTER, *objects_of(given, BUILDERS, WORDS)], subject.split()
        file = write(Path("cluster.json"), *cluster)
        return called("filter", *words, "--cluster-file", file, *options)

    return asked


@pytest.mark.parametrize(("topic", "row"), [(topic, row) for topic in ROWS for row in ROWS[topic]])
def test_pods_that_wait_or_would_be_made_are_answered_for(ask, topic, row):
    status, out, _ = ask(topic, row, "-o", "json")

    found = json.loads(out)
    jsonschema.validate(found, schema("filter-workloads"))
    told = [
        f"{' '.join(pods['pods'])} > {' '.join(sorted(pods['explanation']['accepted']))}"
        for each in found["workloads"]
        for pods in each["pods"]
    ]
    answer = ", ".join(told).replace("default/", "").strip() or "none"
    assert f"{status} {answer}" == ROWS[topic][row][0]


@pytest.mark.parametrize("topic", ROWS)
def test_workloads_are_told_in_these_lines(ask, golden, topic):
    told = [
        f"# {row}: {pods}\n{text}\n{ask(topic, row)[1]}"
        for row, (pods, text) in ROWS[topic].items()
    ]

    golden(f"workloads/{topic}", "\n".join(told))


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
