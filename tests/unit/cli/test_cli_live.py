"""The commands on a live cluster: a real client, and the answers that an API server would give."""

import json
import os
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import jsonschema
import pytest
import yaml

from app.config import RESOURCE
from cli.commands import run_command
from cli.doctor.problems import Check
from cli.kube.resources import IN_FILES, PODS
from cli.schema import schema
from tests.builders import (
    GIB,
    core_document,
    document,
    node_document,
    runner_documents,
    setting_documents,
)

NAMESPACE = "longhorn-system"
PATHS = {
    resource.path(NAMESPACE if resource.group == "longhorn.io" else ""): resource
    for resource in IN_FILES.values()
}
DOCUMENTS = [
    node_document("roomy"),
    node_document("tight", disk_status={"storageMaximum": GIB, "storageAvailable": GIB}),
    core_document("Node", "roomy"),
    core_document("Node", "tight"),
    *runner_documents("roomy", "tight"),
    core_document(
        "Pod",
        "web-0",
        spec={"volumes": [{"name": "d", "persistentVolumeClaim": {"claimName": "data"}}]},
    ),
    core_document("PersistentVolumeClaim", "data", spec={"volumeName": "pv"}),
    core_document(
        "PersistentVolume",
        "pv",
        spec={"csi": {"driver": "driver.longhorn.io", "volumeHandle": "vol"}},
    ),
    document("Volume", "vol", spec={"size": str(10 * GIB), "dataLocality": "best-effort"}),
    *setting_documents(),
]
FILTER = ("filter", "--pod", "default/web-0")


class Server(ThreadingHTTPServer):
    """Gives its version and lists; *statuses* are those of paths, *otherwise* of all others.

    *lists* are those of paths of which the service reads nothing, *documents* all other objects.
    """

    daemon_threads = True
    statuses: dict[str, int]
    otherwise = 403
    lists: dict[str, list[dict[str, Any]]]
    documents: list[dict[str, Any]]
    tokens: set[str | None]


class Handler(BaseHTTPRequestHandler):
    server: Server

    def do_GET(self) -> None:
        self.server.tokens.add(self.headers["Authorization"])
        path = urlsplit(self.path).path
        known = path in PATHS or path in self.server.lists or path == "/version"
        status = self.server.statuses.get(path, 200 if known else self.server.otherwise)
        if status != 200:
            self.reply(status, {"message": f"no list of {path}"})
        elif path == "/version":
            self.reply(200, {"gitVersion": "v1.36.1"})
        elif path in self.server.lists:
            self.reply(200, {"metadata": {}, "items": self.server.lists[path]})
        else:
            kind = PATHS[path].api_version, PATHS[path].kind
            items = [
                {**each, "metadata": {**each["metadata"], "resourceVersion": "1"}}
                for each in self.server.documents
                if (each["apiVersion"], each["kind"]) == kind
            ]
            self.reply(200, {"metadata": {"resourceVersion": "5"}, "items": items})

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["Content-Length"]))
        self.reply(self.server.otherwise, {"message": "so be it"})

    def reply(self, status: int, body: dict[str, Any]) -> None:
        content = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, format: str, *args: object) -> None:
        pass


@pytest.fixture(autouse=True)
def no_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in os.environ if name.startswith("EXTENDER_")]:
        monkeypatch.delenv(name)


@pytest.fixture
def server() -> Iterator[Server]:
    with Server(("127.0.0.1", 0), Handler) as server:
        server.statuses, server.lists, server.tokens = {}, {}, set()
        server.documents = DOCUMENTS
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        yield server
        server.shutdown()
        thread.join()


def kubeconfig(folder: Path, server: Server | None, user: str = "token: t") -> str:
    """Write the kubeconfig of a server; None stands for one that is away."""
    path = folder / "config"
    port = server.server_address[1] if server else 1
    path.write_text(f"""
current-context: here
contexts: [{{name: here, context: {{cluster: k, user: u}}}}]
clusters: [{{name: k, cluster: {{server: "http://127.0.0.1:{port}"}}}}]
users: [{{name: u, user: {{{user}}}}}]
""")
    return str(path)


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    """Run a command; return its status, and what it printed on both streams."""
    status = run_command(arguments)
    captured = capsys.readouterr()
    return status, captured.out, captured.err


def test_live_cluster_is_answered_as_its_objects_in_a_file(
    server: Server, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "cluster.json"
    file.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": DOCUMENTS}))

    live = run(capsys, *FILTER, "-o", "json", "--kubeconfig", kubeconfig(tmp_path, server))
    from_file = run(capsys, *FILTER, "-o", "json", "--cluster-file", str(file))

    assert live == from_file
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
def test_the_namespace_of_the_context_counts_as_for_kubectl(
    server: Server,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    options: tuple[str, ...],
    namespace: str,
) -> None:
    config = Path(kubeconfig(tmp_path, server))
    contexts = "context: {cluster: k, user: u"
    text = config.read_text().replace(f"{contexts}}}", f"{contexts}, namespace: shop}}")
    config.write_text(text.replace("contexts: [", f"contexts: [{{name: away, {contexts}}}}}, "))

    status, _, err = run(capsys, "filter", "gone", "--kubeconfig", str(config), *options)

    assert status == 2
    assert f"in the namespace of --namespace, which is {namespace}" in err


def test_a_pod_is_found_in_the_namespace_of_the_context(
    server: Server,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("KUBECONFIG", kubeconfig(tmp_path, server))
    monkeypatch.delenv("KUBERNETES_SERVICE_HOST", raising=False)

    status, _, _ = run(capsys, "filter", "pod/web-0")

    assert status == 0


@pytest.mark.parametrize(("name", "status"), [("roomy", 0), ("tight", 1)])
def test_holds_that_only_the_leader_knows_are_told_of_if_they_could_change_the_answer(
    server: Server, tmp_path: Path, capsys: pytest.CaptureFixture[str], name: str, status: int
) -> None:
    asking = {
        "volumes": [{"name": "d", "persistentVolumeClaim": {"claimName": "other"}}],
        "containers": [{"resources": {"limits": {RESOURCE: "1"}}}],
    }
    other = core_document("Pod", "other", metadata={"uid": "other"}, spec=asking)
    server.documents = [*DOCUMENTS, other]
    config = kubeconfig(tmp_path, server)

    found, out, _ = run(capsys, *FILTER, "--nodes", name, "--kubeconfig", config)

    assert found == status
    assert ("room that the leader may hold for default/other is not" in out) is (status == 0)


@pytest.mark.parametrize("written", ["secret", "secret\n", "secret\r\n"])
def test_token_file_may_end_in_a_line_break(
    server: Server, tmp_path: Path, capsys: pytest.CaptureFixture[str], written: str
) -> None:
    """As editors and echo leave it; kubectl takes it, too."""
    token = tmp_path / "token"
    token.write_text(written)
    config = kubeconfig(tmp_path, server, f"tokenFile: {token}")

    status, _, _ = run(capsys, *FILTER, "--kubeconfig", config)

    assert status == 0
    assert server.tokens == {"Bearer secret"}


def test_who_may_not_list_pods_can_give_one_in_a_file(
    server: Server, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    server.statuses[PODS.path()] = 403
    config = kubeconfig(tmp_path, server)
    pod = tmp_path / "pod.json"
    pod.write_text(json.dumps(next(each for each in DOCUMENTS if each["kind"] == "Pod")))

    status, _, err = run(capsys, "filter", "--kubeconfig", config, "--pod", str(pod))

    assert status == 0
    assert err.startswith("warning: pods cannot be listed; give the pod in a file: 403")


def test_a_namespace_that_is_no_text_is_an_error_of_one_line(
    server: Server, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    config = Path(kubeconfig(tmp_path, server))
    config.write_text(config.read_text().replace("user: u}}", "user: u, namespace: 7}}"))

    status, out, err = run(capsys, *FILTER, "--kubeconfig", str(config))

    assert (status, out) == (2, "")
    assert err.startswith("error: cannot connect to a cluster by kubeconfig ")
    assert "a field of it is missing or has the wrong type" in err


@pytest.mark.parametrize(
    "command",
    [
        FILTER,
        ("serve", "--host", "127.0.0.1", "--port", "0"),
        ("doctor",),
        ("propose-address",),
    ],
)
def test_kubeconfig_that_cannot_be_used_is_an_error_of_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], command: tuple[str, ...]
) -> None:
    config = tmp_path / "config"
    config.write_text("current-context: x\n")

    status, out, err = run(capsys, *command, "--kubeconfig", str(config))

    assert (status, out) == (2, "")
    assert err.startswith("error: cannot connect to a cluster by kubeconfig ")
    assert err.count("\n") == 1


@pytest.mark.parametrize(
    ("command", "text"),
    [
        (FILTER, "persistentvolumeclaims cannot be listed: the API server cannot be reached: "),
        (("doctor",), "the API server cannot be reached: "),
        (
            ("propose-address",),
            "cannot list servicecidrs.networking.k8s.io: the API server cannot be reached: ",
        ),
    ],
)
def test_api_server_that_is_away_is_an_error_of_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], command: tuple[str, ...], text: str
) -> None:
    status, out, err = run(capsys, *command, "--kubeconfig", kubeconfig(tmp_path, None))

    assert (status, out) == (2, "")
    assert err.startswith(f"error: {text}")
    assert err.count("\n") == 1


def test_credentials_that_are_refused_are_an_error_of_one_line(
    server: Server, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    server.statuses["/version"] = 401

    status, out, err = run(capsys, "doctor", "--kubeconfig", kubeconfig(tmp_path, server))

    assert (status, out) == (2, "")
    assert err.startswith("error: 401: ")


def test_who_may_read_nothing_gets_no_error_and_every_right_that_is_missing(
    server: Server, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    server.statuses = dict.fromkeys(PATHS, 403)
    config = kubeconfig(tmp_path, server)

    status, out, err = run(capsys, "doctor", "--kubeconfig", config, "-o", "json")

    report = json.loads(out)
    assert (status, err) == (0, "")
    assert report["counts"] == {"ok": 1, "warning": 0, "error": 0, "unknown": 20}
    texts = {each["text"] for each in report["findings"] if each["severity"] == "unknown"}
    assert "not allowed to list pods in longhorn-system" in texts
    assert "not allowed to create subjectaccessreviews.authorization.k8s.io" in texts


def test_no_kubeconfig_at_all_is_an_error_of_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("KUBECONFIG", raising=False)
    monkeypatch.delenv("KUBERNETES_SERVICE_HOST", raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))

    status, out, err = run(capsys, *FILTER)

    assert (status, out) == (2, "")
    assert err.startswith("error: there is no kubeconfig ~/.kube/config; give one with ")
    assert err.count("\n") == 1


def test_a_cluster_without_anything_is_an_error_and_a_table(
    server: Server, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    server.statuses, server.otherwise = dict.fromkeys(PATHS, 404), 404

    status, out, err = run(capsys, "doctor", "--kubeconfig", kubeconfig(tmp_path, server))

    assert (status, err) == (1, "")
    lines = out.splitlines()
    assert lines[1] == "ok       api-server       Kubernetes v1.36.1 answers"
    assert {line.split()[1] for line in lines[1:] if not line.startswith(" ")} == {*Check}
    assert max(len(line) for line in lines) <= 98
    assert lines[0].startswith("3 ok, 7 error, ")


def test_addresses_alone_are_on_stdout(
    server: Server, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    ranges = {"metadata": {"name": "kubernetes"}, "spec": {"cidrs": ["10.43.0.0/16", "fd43::/112"]}}
    server.lists["/apis/networking.k8s.io/v1/servicecidrs"] = [ranges]
    server.lists["/api/v1/services"] = []

    status, out, err = run(capsys, "propose-address", "--kubeconfig", kubeconfig(tmp_path, server))

    assert (status, out) == (0, "10.43.0.95\nfd43::5f\n")
    assert [line.split()[0] for line in err.splitlines()] == ["10.43.0.95", "fd43::5f"]


def test_a_right_that_is_missing_is_an_error_of_one_line(
    server: Server, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    status, out, err = run(capsys, "propose-address", "--kubeconfig", kubeconfig(tmp_path, server))

    assert (status, out) == (2, "")
    assert err.startswith("error: not allowed to list servicecidrs.networking.k8s.io; run this as")
    assert err.count("\n") == 1


def may_read_nothing(server: Server) -> None:
    server.statuses = dict.fromkeys(PATHS, 403)


def has_nothing(server: Server) -> None:
    server.statuses, server.otherwise = dict.fromkeys(PATHS, 404), 404


def refuses(server: Server) -> None:
    server.statuses["/version"] = 401


def has_ranges(server: Server) -> None:
    ranges = {"metadata": {"name": "kubernetes"}, "spec": {"cidrs": ["10.43.0.0/16"]}}
    server.lists["/apis/networking.k8s.io/v1/servicecidrs"] = [ranges]
    server.lists["/api/v1/services"] = []


STATUSES: dict[tuple[str, int], Callable[[Server], None]] = {
    ("doctor", 0): may_read_nothing,
    ("doctor", 1): has_nothing,
    ("doctor", 2): refuses,
    ("propose-address", 0): has_ranges,
    ("propose-address", 2): may_read_nothing,
}
"""What makes a command that needs a live cluster end so."""


@pytest.mark.parametrize(("command", "status"), STATUSES)
@pytest.mark.parametrize("output", ["json", "yaml", "table"])
def test_the_exit_status_is_that_of_the_help_and_json_obeys_the_schema(
    server: Server,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    command: str,
    status: int,
    output: str,
) -> None:
    STATUSES[command, status](server)

    got, out, _ = run(capsys, command, "--kubeconfig", kubeconfig(tmp_path, server), "-o", output)

    assert got == status
    if status == 2:
        assert out == ""
    elif output != "table":
        jsonschema.validate(yaml.safe_load(out), schema(command))


def test_quiet_leaves_out_why_an_address_is_proposed(
    server: Server, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    has_ranges(server)
    config = kubeconfig(tmp_path, server)

    assert run(capsys, "propose-address", "--kubeconfig", config, "--quiet") == (
        0,
        "10.43.0.95\n",
        "",
    )
