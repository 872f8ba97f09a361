"""The commands on a live cluster: a real client, and real HTTP to the API server in memory."""

import json
from pathlib import Path

import pytest

from app.config import NAME, OWN_NAMESPACE, RESOURCE
from tests.builders import (
    GIB,
    core_document,
    document,
    node_document,
    runner_documents,
    setting_documents,
)
from tests.fakes import DISK_SCHEDULES, Answer, FakeApiServer, Fault, Object
from tests.fakes.installed import config_map, service
from tests.unit.cli.live import kubeconfig, put
from tests.unit.cli.plans import write
from tests.unit.cli.situations import bound_claim, pod

WEB = pod(asks=False)
DOCUMENTS = [
    node_document("roomy"),
    node_document("tight", disk_status={"storageMaximum": GIB, "storageAvailable": GIB}),
    core_document("Node", "roomy"),
    core_document("Node", "tight"),
    *runner_documents("roomy", "tight"),
    WEB,
    *bound_claim(),
    document("Volume", "vol-web", spec={"size": str(10 * GIB), "dataLocality": "best-effort"}),
    *setting_documents(),
]
FILTER = ("filter", "--pod", "default/web")


@pytest.fixture
def full(server: FakeApiServer) -> FakeApiServer:
    """The server with these objects, and a leader that answers."""
    put(server, DOCUMENTS)
    server.put(lease())
    return server


def lease(**spec: object) -> Object:
    """Build the Lease of the leader."""
    return {
        "apiVersion": "coordination.k8s.io/v1",
        "kind": "Lease",
        "metadata": {"name": NAME, "namespace": OWN_NAMESPACE},
        "spec": {
            "holderIdentity": "extender-0",
            "renewTime": "2999-01-01T00:00:00.000000Z",
            **spec,
        },
    }


@pytest.mark.usefixtures("full")
def test_live_cluster_is_answered_as_its_objects_in_a_file(config, tmp_path, called):
    file = write(tmp_path / "cluster.json", *DOCUMENTS)

    live = called(*FILTER, "-o", "json", "--kubeconfig", config)

    assert live == called(*FILTER, "-o", "json", "--cluster-file", file)
    assert live[0] == 0
    assert json.loads(live[1])["accepted"] == ["roomy"]


@pytest.mark.parametrize(
    ("options", "namespace"),
    [
        ((), "shop"),
        (("--context", "away"), "default"),
        (("--namespace", "attic"), "attic"),
        (("--context", "away", "-n", "attic"), "attic"),
    ],
)
def test_the_namespace_of_the_context_counts_as_for_kubectl(config, called, options, namespace):
    contexts = "context: {cluster: k, user: u"
    text = Path(config).read_text().replace(f"{contexts}}}", f"{contexts}, namespace: shop}}")
    text = text.replace("contexts: [", f"contexts: [{{name: away, {contexts}}}}}, ")
    Path(config).write_text(text)

    status, _, err = called("filter", "gone", "--kubeconfig", config, *options)

    assert status == 2
    assert f"in the namespace of --namespace, which is {namespace}" in err


@pytest.mark.parametrize("words", [("scale", "gone", "1"), ("resize", "gone", "10Gi")])
def test_it_counts_for_plans_too(config, called, words):
    text = Path(config).read_text().replace("user: u}}", "user: u, namespace: shop}}")
    Path(config).write_text(text)

    assert "shop/gone" in called("plan", *words, "--kubeconfig", config)[2]
    assert "attic/gone" in called("plan", *words, "--kubeconfig", config, "-n", "attic")[2]


@pytest.mark.usefixtures("full")
def test_a_pod_is_found_in_the_namespace_of_the_context(config, called, monkeypatch):
    monkeypatch.setenv("KUBECONFIG", config)
    monkeypatch.delenv("KUBERNETES_SERVICE_HOST", raising=False)

    assert called("filter", "pod/web")[0] == 0


@pytest.mark.parametrize(("name", "status"), [("roomy", 0), ("tight", 1)])
def test_holds_that_only_the_leader_knows_are_told_of_if_they_could_change_the_answer(
    full, config, called, name, status
):
    containers = [{"resources": {"limits": {RESOURCE: "1"}}}]
    put(full, [pod("other", spec={"containers": containers})])

    found, out, _ = called(*FILTER, "--nodes", name, "--kubeconfig", config)

    assert found == status
    assert ("room that the leader may hold for default/other is not" in out) is (status == 0)


def asking(**spec: object) -> Object:
    """Build the pod with the resource."""
    return pod(spec={"schedulerName": "longhorn-scheduler", **spec})


def in_deployment(name: str, namespace: str = OWN_NAMESPACE) -> Object:
    metadata = {"name": name, "namespace": namespace}
    return {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": metadata}


def ready(name: str, app: str) -> Object:
    metadata = {"name": name, "namespace": OWN_NAMESPACE, "labels": {"app": app}}
    conditions = [{"type": "Ready", "status": "True"}]
    spec = {"nodeName": "roomy"}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": metadata,
        "spec": spec,
        "status": {"conditions": conditions},
    }


RUNNING = [in_deployment("longhorn-scheduler"), ready("s-0", "longhorn-scheduler")]


NONE_LEADS = "no instance of the extender leads; 1 of 2 nodes would fit"
NONE_RUNS = "the pod's scheduler does not run; 1 of 2 nodes would fit"
MISSING: dict[str, tuple[list[Object], str, str]] = {
    "nothing": (RUNNING, "1 of 2 nodes fit: roomy", ""),
    "leader-by-a-setting": ([*RUNNING, config_map(scheduler_extender_enabled="false")], NONE_LEADS,
        "scheduler-extender-enabled is false in the ConfigMap longhorn-scheduler-extender"),
    "leader": ([*RUNNING, lease(holderIdentity="")], NONE_LEADS,
        "nobody holds Lease longhorn-scheduler-extender in longhorn-scheduler"),
    "leader-since-long": ([*RUNNING, lease(renewTime="2020-01-01T00:00:00.000000Z")], NONE_LEADS,
        "was last renewed at 2020-01-01 00:00:00 UTC"),
    "scheduler": ([], NONE_RUNS, "there is no Deployment longhorn-scheduler in longhorn-scheduler"),
    "scheduler-ready": (RUNNING[:1], NONE_RUNS,
        "no pod of Deployment longhorn-scheduler in longhorn-scheduler is ready"),
}  # fmt: skip


@pytest.mark.parametrize(("changes", "answer", "note"), MISSING.values(), ids=MISSING)
def test_who_is_not_there_is_said_beside_what_would_fit(
    full, config, called, changes, answer, note
):
    full.delete("pods", "web", "default")
    for each in (asking(), *changes):
        full.put(each)

    status, shown, _ = called(*FILTER, "-o", "json", "--kubeconfig", config)

    found = json.loads(shown)
    assert found["answer"].startswith(answer)
    assert status == (1 if note else 0)
    assert [note in each["text"] for each in found["notes"] if each["refuses"]] == [True] * status


def test_of_all_pods_that_wait_it_is_said_once(full, config, called):
    full.delete("pods", "web", "default")
    for name in ("one", "two"):
        full.put(pod(name, claims=["web"]))
    full.put(lease(holderIdentity=""))

    status, shown, _ = called("filter", "--kubeconfig", config)

    assert status == 1
    assert shown.count("note: no instance of the extender leads") == 1
    assert shown.startswith("2 pods wait for a node; 0 of them can get one (each judged alone;")


def test_who_is_in_another_namespace_than_is_asked_about_is_not_said_to_be_missing(
    full, config, called
):
    full.delete("pods", "web", "default")
    full.put(asking())
    full.delete("leases.coordination.k8s.io", NAME, OWN_NAMESPACE)
    full.put(in_deployment(NAME, "elsewhere"))

    status, _, _ = called(*FILTER, "--kubeconfig", config)

    assert status == 0


def test_note_that_nobody_asks_the_extender_needs_an_extender(full, config, called):
    _, with_lease, _ = called(*FILTER, "--kubeconfig", config)
    full.delete("leases.coordination.k8s.io", NAME, OWN_NAMESPACE)

    _, without, _ = called(*FILTER, "--kubeconfig", config)

    assert "note: no container asks for" in with_lease
    assert "note: no container asks for" not in without


def test_a_pod_without_the_resource_needs_nobody_of_ours(full, config, called):
    full.put(lease(holderIdentity=""))

    status, _, _ = called(*FILTER, "--kubeconfig", config)

    assert status == 0


@pytest.mark.parametrize("written", ["secret", "secret\n", "secret\r\n"])
def test_token_file_may_end_in_a_line_break(full, config, tmp_path, called, written):
    """As editors and echo leave it; kubectl takes it, too."""
    token = tmp_path / "token"
    token.write_bytes(written.encode())
    with_file = Path(config).read_text().replace("token: t", f"tokenFile: {token}")
    Path(config).write_text(with_file)

    assert called(*FILTER, "--kubeconfig", config)[0] == 0
    assert {call.client for call in full.calls} == {"secret"}


def test_who_may_not_list_pods_can_give_one_in_a_file(full, config, tmp_path, called):
    full.authorize = lambda call: call.resource != "pods"
    file = tmp_path / "pod.json"
    file.write_text(json.dumps(WEB))

    status, _, err = called("filter", "--kubeconfig", config, "--pod", str(file))

    assert status == 0
    assert err.startswith("warning: pods cannot be listed; give the pod in a file: 403")


def refused(said: tuple[int, str, str], text: str) -> None:
    """Check that a command ended with one error that begins so."""
    status, out, err = said
    assert (status, out) == (2, "")
    assert err.startswith(f"error: {text}")
    assert err.count("\n") == 1


def test_a_namespace_that_is_no_text_is_an_error_of_one_line(config, called):
    text = Path(config).read_text().replace("user: u}}", "user: u, namespace: 7}}")
    Path(config).write_text(text)

    said = called(*FILTER, "--kubeconfig", config)

    refused(said, "cannot connect to a cluster by kubeconfig ")
    assert "a field of it is missing or has the wrong type" in said[2]


@pytest.mark.parametrize("command", [FILTER, ("serve", "--host", "127.0.0.1", "--port", "0")])
def test_kubeconfig_that_cannot_be_used_is_an_error_of_one_line(tmp_path, called, command):
    config = tmp_path / "config"
    config.write_text("current-context: x\n")

    said = called(*command, "--kubeconfig", str(config))

    refused(said, "cannot connect to a cluster by kubeconfig ")


@pytest.mark.parametrize(
    ("command", "text"),
    [
        (FILTER, "persistentvolumeclaims cannot be listed: the API server cannot be reached: "),
        (("doctor",), "the API server cannot be reached: "),
        (("propose-address",), "cannot list servicecidrs.networking.k8s.io: the API server cannot "
            "be reached: "),
    ],
)  # fmt: skip
def test_api_server_that_is_away_is_an_error_of_one_line(tmp_path, called, command, text):
    refused(called(*command, "--kubeconfig", kubeconfig(tmp_path, 1)), text)


def test_credentials_that_are_refused_are_an_error(server, config, called):
    server.faults.append(Fault(Answer(401), times=None))

    refused(called("doctor", "--kubeconfig", config), "401: ")


def test_who_may_read_nothing_gets_no_error_and_every_right_that_is_missing(server, config, called):
    server.authorize = lambda _: False

    status, out, err = called("doctor", "--kubeconfig", config, "-o", "json")

    report = json.loads(out)
    assert (status, err) == (0, "")
    assert report["counts"] == {"ok": 1, "warning": 0, "error": 0, "unknown": 21}
    texts = {each["text"] for each in report["findings"] if each["severity"] == "unknown"}
    assert "not allowed to list pods in longhorn-scheduler" in texts
    assert "not allowed to create subjectaccessreviews.authorization.k8s.io" in texts


def test_no_kubeconfig_at_all_is_an_error_of_one_line(tmp_path, called, monkeypatch):
    monkeypatch.delenv("KUBECONFIG", raising=False)
    monkeypatch.delenv("KUBERNETES_SERVICE_HOST", raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))

    refused(called(*FILTER), "there is no kubeconfig ~/.kube/config; give one with ")


def of_a_pod_that_waits(server: FakeApiServer) -> None:
    waits = core_document("Pod", "waits", spec={"schedulerName": "longhorn-scheduler"})
    server.put({**waits, "status": {"phase": "Pending"}})


def of_a_service_alone(server: FakeApiServer) -> None:
    server.put(service())
    server.put(config_map(scheduler_extender_inject="true"))
    server.remove_resource("longhorn.io", "volumes")
    server.add_resource(DISK_SCHEDULES)


@pytest.mark.parametrize(
    ("name", "prepare", "counts"),
    [
        ("pod-that-waits", of_a_pod_that_waits, "1 error, 1 ok"),
        ("service-alone", of_a_service_alone, "7 errors, 2 warnings, 7 ok, 2 unknown"),
    ],
)
def test_doctor_prints_a_table_in_full(
    server, config, called, golden, name,
    prepare, counts
):  # fmt: skip
    prepare(server)

    status, out, err = called("doctor", "--kubeconfig", config)

    first, *lines = out.splitlines()
    assert (status, err, first) == (1, "", counts)
    assert max(map(len, lines)) <= 98
    golden(f"doctor/live-{name}", out)


@pytest.mark.parametrize(
    ("options", "reasons"), [((), ["10.43.0.95", "fd43::5f"]), (("--quiet",), [])]
)
def test_addresses_alone_are_on_stdout(server, config, called, options, reasons):
    ranges = ["10.43.0.0/16", "fd43::/112"]
    cidr = {"metadata": {"name": "kubernetes"}, "spec": {"cidrs": ranges}}
    put(server, [{"apiVersion": "networking.k8s.io/v1", "kind": "ServiceCIDR", **cidr}])

    status, out, err = called("propose-address", "--kubeconfig", config, *options)

    assert (status, out) == (0, "10.43.0.95\nfd43::5f\n")
    assert [line.split()[0] for line in err.splitlines()] == reasons


def test_a_right_that_is_missing_is_an_error_of_one_line(server, config, called):
    server.authorize = lambda _: False

    said = called("propose-address", "--kubeconfig", config)

    refused(said, "not allowed to list servicecidrs.networking.k8s.io; run this as")
