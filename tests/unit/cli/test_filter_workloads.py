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
from tests.unit.cli.live import put
from tests.unit.cli.plans import Run, write
from tests.unit.cli.situations import claim, host, pod, replica, scheduled, storage_class, volume
from tests.unit.cli.test_cli_live import lease

Document = dict[str, Any]
Filter = Callable[..., tuple[int, Any]]
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


@pytest.fixture
def of_file(called: Run, tmp_path: Path) -> Filter:
    """Ask about the workloads of a file; return the status and the answer."""

    def asked(*documents: Document, cluster: list[Document] = CLUSTER) -> tuple[int, Any]:
        written = write(tmp_path / "cluster.json", *cluster)
        file = tmp_path / "it.yaml"
        file.write_text("\n---\n# Source: it\n".join(["", *map(json.dumps, documents), ""]))
        status, out, _ = called("filter", str(file), "--cluster-file", written, "-o", "json")
        found = json.loads(out)
        jsonschema.validate(found, schema("filter-workloads"))
        return status, found

    return asked


@pytest.fixture
def of_cluster(called: Run, tmp_path: Path) -> Filter:
    """Ask about a workload of the cluster; return the status and the answer."""

    def asked(name: str, *documents: Document, options: tuple[str, ...] = ()) -> tuple[int, Any]:
        written = write(tmp_path / "cluster.json", *CLUSTER, *documents)
        words = ("filter", name, "--cluster-file", written, "-o", "json", *options)
        status, out, err = called(*words)
        return status, json.loads(out) if out else err

    return asked


def told(found: Any) -> list[tuple[list[str], list[str]]]:
    """Return of each answer the pods, and the nodes that are accepted."""
    return [
        (pods["pods"], pods["explanation"]["accepted"])
        for each in found["workloads"]
        for pods in each["pods"]
    ]


def keys(*names: str) -> list[str]:
    return [f"default/{name}" for name in names]


@pytest.mark.parametrize(
    ("document", "names"),
    [
        pytest.param(stateful_set(), ["db-0", "db-1", "db-2"], id="stateful-set"),
        pytest.param(made("Deployment", replicas=2, template=template()), ["db-0", "db-1"], id="d"),
        pytest.param(made("ReplicaSet", template=template()), ["db-0"], id="replica-set"),
        pytest.param(
            made("Job", parallelism=2, completions=9, template=template()),
            ["db-0", "db-1"],
            id="job",
        ),
        pytest.param(
            made("CronJob", jobTemplate={"spec": {"template": template()}}), ["db-0"], id="cron-job"
        ),
    ],
)
def test_the_pods_that_a_workload_would_have_are_answered_for(
    of_file: Filter, document: Document, names: list[str]
) -> None:
    status, found = of_file(document)

    assert (status, told(found)) == (0, [(keys(*names), ["roomy"])])
    assert [each["placed"] for each in found["workloads"]] == [0]


@pytest.mark.parametrize(("gib", "status"), [(1, 0), (10, 1)])
def test_a_daemon_set_must_fit_on_each_node_that_it_may_go_to(
    of_file: Filter, gib: int, status: int
) -> None:
    cordoned = [host("cordoned", unschedulable=True), node_document("cordoned")]
    others = [host("tainted", taints=[{"key": "a", "effect": "NoSchedule"}])]
    daemons = made("DaemonSet", template=template(gib))

    found_status, found = of_file(
        daemons, cluster=[*CLUSTER, *cordoned, *others, *runner_documents("cordoned")]
    )

    [pods] = found["workloads"][0]["pods"]
    assert (found_status, pods["fits"]) == (status, status == 0)
    assert [*pods["explanation"]["excluded"]] == ["tainted"]


def test_the_output_of_helm_is_read_without_its_tests(of_file: Filter) -> None:
    tests = [
        made("Pod", "check", hook="test", containers=[{"name": "main"}]),
        made("Job", "smoke", hook="test-success", template=template()),
    ]
    migration = made("Job", "migrate", hook="pre-install,pre-upgrade", template=template())
    crd = core_document("CustomResourceDefinition") | {"apiVersion": "apiextensions.k8s.io/v1"}
    operated = made("Kafka", "queue")

    status, found = of_file(migration, crd, operated, stateful_set(1), *tests)

    assert (status, told(found)) == (
        0,
        [(keys("migrate-0"), ["roomy"]), (keys("db-0"), ["roomy"])],
    )
    assert found["notes"] == [
        "left out, as only `helm test` makes it: Pod default/check, Job default/smoke",
        "not judged: pods that Kafka/queue of kafka.strimzi.io/v1 may make",
    ]


def test_each_pod_is_judged_alone(of_file: Filter) -> None:
    status, found = of_file(stateful_set(2, gib=60))

    assert (status, told(found)) == (0, [(keys("db-0", "db-1"), ["roomy"])])
    assert (
        "2 of them can get one (each judged alone; CPU and memory are not looked at); `plan place "
        in (found["answer"])
    )


def test_what_fits_is_a_line_and_what_does_not_is_explained(called: Run, tmp_path: Path) -> None:
    cluster = write(tmp_path / "cluster.json", *CLUSTER)
    file = write(tmp_path / "it.json", stateful_set(gib=500), made("Job", template=template()))

    status, out, _ = called("filter", file, "--cluster-file", cluster)
    shown = " ".join(out.split())

    assert status == 1
    assert shown.startswith(
        "2 workloads: 4 pods have no node; 1 of them can get one (each judged alone"
    )
    assert "Job default/db, db-0: 1 of 2 nodes fit: roomy; 1 without room on one disk" in shown
    assert "StatefulSet default/db, 3 pods alike: db-0, db-1, db-2 pod default/db-0: 0 of" in shown
    assert "-> Add a disk of " in shown


@pytest.mark.parametrize(
    "document",
    [
        made("Job", suspend=True, template=template()),
        made("CronJob", suspend=True, jobTemplate={"spec": {"template": template()}}),
        stateful_set(0),
    ],
    ids=lambda each: each["kind"],
)
def test_a_workload_that_makes_no_pod_waits_for_none(of_file: Filter, document: Document) -> None:
    status, found = of_file(document)

    assert (status, told(found), found["answer"]) == (0, [], "no pod is without a node")


def test_pods_whose_controller_is_in_the_file_are_its_own(of_file: Filter) -> None:
    status, found = of_file(stateful_set(1), owned("db-0", "StatefulSet", namespace="default"))

    assert (status, told(found)) == (0, [(keys("db-0"), ["roomy"])])


def test_several_pods_of_a_file_are_answered_for(of_file: Filter) -> None:
    claims = [
        core_document("PersistentVolumeClaim", name, spec=claim_spec(gib))
        for name, gib in (("a", 10), ("b", 1))
    ]

    status, found = of_file(pod("a"), pod("b"), *claims)

    assert (status, told(found)) == (
        0,
        [(keys("a"), ["roomy"]), (keys("b"), ["roomy", "tight"])],
    )


def test_a_claim_that_cannot_be_judged_is_status_3(of_file: Filter) -> None:
    without_class = [each for each in CLUSTER if each["kind"] != "StorageClass"]

    status, found = of_file(stateful_set(), cluster=without_class)

    assert status == 3
    assert found["answer"].startswith("3 pods have no node; 0 of them can get one")


def test_a_class_that_does_not_wait_refuses_no_pod_that_is_not_made(of_file: Filter) -> None:
    waits_not = [each for each in CLUSTER if each["kind"] != "StorageClass"]

    status, found = of_file(stateful_set(), cluster=[*waits_not, storage_class("Immediate")])

    assert status == 0
    [note] = found["notes"]
    assert note.startswith("StorageClass fast has volumeBindingMode: Immediate: Longhorn places")


def test_injection_is_not_missed_before_a_pod_is_made(of_file: Filter) -> None:
    _, found = of_file(stateful_set())

    [pods] = found["workloads"][0]["pods"]
    assert pods["explanation"]["notes"] == []


def data_of(name: str, node: str) -> list[Document]:
    """Build the claim of a pod, and its volume with a replica on a node."""
    key = f"data-{name}"
    csi = {"driver": "driver.longhorn.io", "volumeHandle": f"vol-{key}"}
    return [
        core_document("PersistentVolumeClaim", key, spec={"volumeName": f"pv-{key}"}),
        core_document("PersistentVolume", f"pv-{key}", spec={"csi": csi}),
        volume(key, dataLocality="strict-local"),
        replica(key, on=node),
    ]


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("sts/db", ()),
        ("statefulset/default/db", ("-n", "shop")),
        ("StatefulSets.apps/db", ("-n", "default")),
    ],
)
def test_of_the_cluster_those_pods_are_told_that_have_no_node(
    of_cluster: Filter, name: str, options: tuple[str, ...]
) -> None:
    pods = [
        owned("db-0", "StatefulSet", node="roomy"),
        owned("db-1", "StatefulSet"),
        owned("db-2", "StatefulSet", owner="other"),
    ]
    claims = [claim("data-db-1"), *data_of("db-3", "tight")]

    status, found = of_cluster(name, stateful_set(6), *pods, *claims, options=options)

    assert (status, told(found)) == (
        0,
        [
            (keys("db-1"), ["roomy"]),
            (keys("db-3"), ["tight"]),
            (keys("db-4", "db-5"), ["roomy"]),
        ],
    )
    [workload] = found["workloads"]
    assert (workload["workload"], workload["placed"]) == ("StatefulSet default/db", 1)


def test_pods_of_a_deployment_are_found_by_its_replica_set(of_cluster: Filter) -> None:
    labels = {"pod-template-hash": "7f"}
    pods = [
        owned("db-7f-a", "ReplicaSet", "db-7f", node="roomy", labels=labels),
        owned("db-7f-b", "ReplicaSet", "db-7f", node="roomy", labels=labels),
    ]
    deployment = made("Deployment", replicas=2, template=template())

    status, found = of_cluster("deploy/db", deployment, *pods)

    assert (status, found["answer"]) == (0, "no pod is without a node")
    assert [each["placed"] for each in found["workloads"]] == [2]


def test_a_pod_of_a_daemon_set_that_waits_for_its_node_is_told(of_cluster: Filter) -> None:
    pods = [owned("db-a", "DaemonSet", node="roomy"), owned("db-b", "DaemonSet")]
    daemons = made("DaemonSet", template=template())

    status, found = of_cluster("ds/db", daemons, *pods, claim("data-db-b", gib=1))

    assert (status, told(found)) == (0, [(keys("db-b"), ["roomy", "tight"])])


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
def test_a_workload_that_is_not_there_is_an_error(of_cluster: Filter, name: str, text: str) -> None:
    status, error = of_cluster(name, stateful_set(), made("DaemonSet"))

    assert status == 2
    assert text in error.replace("\n", " ")


@pytest.fixture
def live(server: FakeApiServer) -> FakeApiServer:
    """The server with a StatefulSet, and a leader that answers."""
    put(server, [*CLUSTER, stateful_set()])
    server.put(lease())
    return server


def test_a_live_cluster_is_read_for_that_kind_alone(
    live: FakeApiServer, config: str, called: Run
) -> None:
    others = {"deployments", "replicasets", "daemonsets", "jobs"}
    live.authorize = lambda call: call.resource not in others

    status, out, err = called("filter", "sts/db", "--kubeconfig", config, "-o", "yaml")

    assert (status, told(yaml.safe_load(out))) == (0, [(keys("db-0", "db-1", "db-2"), ["roomy"])])
    assert err == ""


@pytest.mark.parametrize("kind", ["statefulsets", "pods"])
def test_who_may_not_read_a_workload_or_pods_is_told_which_right_is_missing(
    live: FakeApiServer, config: str, called: Run, kind: str
) -> None:
    live.authorize = lambda call: call.resource != kind

    status, _, err = called("filter", "sts/db", "--kubeconfig", config)

    assert status == 2
    assert err.startswith(f"error: {kind}")
    assert "cannot be listed: 403" in err
