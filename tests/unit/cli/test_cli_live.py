"""The commands on a live cluster: a real client, and real HTTP to the API server in memory."""

import json
from pathlib import Path

import pytest

from app.config import NAME, OWN_NAMESPACE, RESOURCE
from tests.builders import (
    GIB,
    conditions,
    core_document,
    document,
    node_document,
    runner_documents,
    setting_documents,
)
from tests.fakes import DISK_SCHEDULES, Answer, FakeApiServer, Fault, Object
from tests.fakes.installed import config_map, service
from tests.unit.cli.live import kubeconfig, lease, own, put
from tests.unit.cli.plans import error
from tests.unit.cli.plans import write as write_documents
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


@pytest.mark.usefixtures("full")
def test_live_cluster_is_answered_as_its_objects_in_a_file(config, tmp_path, called):
    file = write_documents(tmp_path / "cluster.json", *DOCUMENTS)

    live = called(*FILTER, "-o", "json", "--kubeconfig", config)

    assert live == called(*FILTER, "-o", "json", "--cluster-file", file)
    assert live[0] == 0
    assert json.loads(live[1])["accepted"] == ["roomy"]


def change(config: str, old: str, new: str) -> None:
    """Put something into a kubeconfig."""
    file = Path(config)
    file.write_text(file.read_text().replace(old, new))


IN_NAMESPACES = {
    "filter gone": "which is shop",
    "filter gone --context away": "which is default",
    "filter gone --namespace attic": "which is attic",
    "filter gone --context away -n attic": "which is attic",
    "plan scale gone 1": "shop/gone",
    "plan scale gone 1 -n attic": "attic/gone",
    "plan resize gone 10Gi": "shop/gone",
    "plan resize gone 10Gi -n attic": "attic/gone",
}


@pytest.mark.parametrize(("words", "named"), IN_NAMESPACES.items(), ids=IN_NAMESPACES)
def test_the_namespace_of_the_context_counts_as_for_kubectl(config, called, words, named):
    change(config, "user: u}}", "user: u, namespace: shop}}")
    change(config, "contexts: [", "contexts: [{name: away, context: {cluster: k, user: u}}, ")

    status, _, err = called(*words.split(), "--kubeconfig", config)

    assert (status, named in err) == (2, True)


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


def in_deployment(name: str, namespace: str = OWN_NAMESPACE) -> Object:
    return own("Deployment", name, namespace) | {"apiVersion": "apps/v1"}


READY = own(
    "Pod", "s-0", spec={"nodeName": "roomy"}, status={"conditions": conditions(Ready="True")}
)
READY["metadata"]["labels"] = {"app": "longhorn-scheduler"}
RUNNING = [in_deployment("longhorn-scheduler"), READY]


@pytest.fixture
def asking(full: FakeApiServer) -> FakeApiServer:
    """The server, in which the pod asks for the extender by the second scheduler."""
    full.delete("pods", "web", "default")
    full.put(pod(spec={"schedulerName": "longhorn-scheduler"}))
    return full


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
    asking, config, called, changes, answer, note
):
    for each in changes:
        asking.put(each)

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
    asking, config, called
):
    asking.delete("leases.coordination.k8s.io", NAME, OWN_NAMESPACE)
    asking.put(in_deployment(NAME, "elsewhere"))

    assert called(*FILTER, "--kubeconfig", config)[0] == 0


def test_note_that_nobody_asks_the_extender_needs_an_extender(full, config, called):
    _, with_lease, _ = called(*FILTER, "--kubeconfig", config)
    full.delete("leases.coordination.k8s.io", NAME, OWN_NAMESPACE)

    _, without, _ = called(*FILTER, "--kubeconfig", config)

    assert "note: no container asks for" in with_lease
    assert "note: no container asks for" not in without


def test_a_pod_without_the_resource_needs_nobody_of_ours(full, config, called):
    full.put(lease(holderIdentity=""))

    assert called(*FILTER, "--kubeconfig", config)[0] == 0


@pytest.mark.parametrize("written", ["secret", "secret\n", "secret\r\n"])
def test_token_file_may_end_in_a_line_break(full, config, tmp_path, called, written):
    """As editors and echo leave it; kubectl takes it, too."""
    token = tmp_path / "token"
    token.write_bytes(written.encode())
    change(config, "token: t", f"tokenFile: {token}")

    assert called(*FILTER, "--kubeconfig", config)[0] == 0
    assert {call.client for call in full.calls} == {"secret"}


def test_who_may_not_list_pods_can_give_one_in_a_file(full, config, tmp_path, called):
    full.authorize = lambda call: call.resource != "pods"
    file = tmp_path / "pod.json"
    file.write_text(json.dumps(WEB))

    status, _, err = called("filter", "--kubeconfig", config, "--pod", str(file))

    assert status == 0
    assert err.startswith("warning: pods cannot be listed; give the pod in a file: 403")


def test_a_namespace_that_is_no_text_is_an_error_of_one_line(config, called):
    change(config, "user: u}}", "user: u, namespace: 7}}")

    told = error(called(*FILTER, "--kubeconfig", config))

    assert told.startswith("cannot connect to a cluster by kubeconfig ")
    assert "a field of it is missing or has the wrong type" in told


@pytest.mark.parametrize("command", [FILTER, ("serve", "--host", "127.0.0.1", "--port", "0")])
def test_kubeconfig_that_cannot_be_used_is_an_error_of_one_line(write, called, command):
    config = write("current-context: x\n", "config")

    told = error(called(*command, "--kubeconfig", str(config)))

    assert told.startswith("cannot connect to a cluster by kubeconfig ")


AWAY = "the API server cannot be reached: "
UNREACHED = {
    "filter --pod default/web": f"persistentvolumeclaims cannot be listed: {AWAY}",
    "doctor": AWAY,
    "propose-address": f"cannot list servicecidrs.networking.k8s.io: {AWAY}",
}


@pytest.mark.parametrize(("words", "text"), UNREACHED.items())
def test_api_server_that_is_away_is_an_error_of_one_line(tmp_path, called, words, text):
    told = called(*words.split(), "--kubeconfig", kubeconfig(tmp_path, 1))

    assert error(told).startswith(text)


def test_credentials_that_are_refused_are_an_error(server, config, called):
    server.faults.append(Fault(Answer(401), times=None))

    assert error(called("doctor", "--kubeconfig", config)).startswith("401: ")


def test_a_right_that_is_missing_is_an_error_of_one_line(server, config, called):
    server.authorize = lambda _: False

    told = error(called("propose-address", "--kubeconfig", config))

    assert told.startswith("not allowed to list servicecidrs.networking.k8s.io; run this as")


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

    assert error(called(*FILTER)).startswith("there is no kubeconfig ~/.kube/config; give one with")


WAITS = core_document("Pod", "waits", spec={"schedulerName": "longhorn-scheduler"})
DOCTOR = {
    "pod-that-waits": ("1 error, 1 ok", [WAITS | {"status": {"phase": "Pending"}}]),
    "service-alone": ("7 errors, 2 warnings, 7 ok, 2 unknown",
        [service(), config_map(scheduler_extender_inject="true")]),
}  # fmt: skip


@pytest.mark.parametrize("name", DOCTOR)
def test_doctor_prints_a_table_in_full(server, config, called, golden, name):
    counts, objects = DOCTOR[name]
    if name == "service-alone":
        server.remove_resource("longhorn.io", "volumes")
        server.add_resource(DISK_SCHEDULES)
    for each in objects:
        server.put(each)

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
