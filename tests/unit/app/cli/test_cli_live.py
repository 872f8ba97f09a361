"""The commands on a live cluster: a real client, and lists that an API server would give."""

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from app.cli.commands import run_command
from app.kube.resources import (
    BACKING_IMAGES,
    CLAIMS,
    KUBERNETES_NODES,
    NODES,
    PERSISTENT_VOLUMES,
    PODS,
    REPLICAS,
    SETTINGS,
    STORAGE_CLASSES,
    VOLUMES,
)
from tests.builders import GIB, core_document, document, node_document

NAMESPACE = "longhorn-system"
PATHS = {
    resource.path(NAMESPACE if resource.group == "longhorn.io" else ""): resource
    for resource in (
        *(CLAIMS, PERSISTENT_VOLUMES, STORAGE_CLASSES, KUBERNETES_NODES, PODS),
        *(NODES, VOLUMES, REPLICAS, BACKING_IMAGES, SETTINGS),
    )
}
DOCUMENTS = [
    node_document("roomy"),
    node_document("tight", disk_status={"storageMaximum": GIB, "storageAvailable": GIB}),
    core_document("Node", "roomy"),
    core_document("Node", "tight"),
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
]


class ListServer(ThreadingHTTPServer):
    """Gives lists; *refused* are paths that are answered with 403."""

    daemon_threads = True
    documents: list[dict[str, Any]]
    refused: frozenset[str] = frozenset()
    tokens: set[str | None]

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"


class ListHandler(BaseHTTPRequestHandler):
    server: ListServer

    def do_GET(self) -> None:
        self.server.tokens.add(self.headers["Authorization"])
        path = urlsplit(self.path).path
        resource = PATHS.get(path)
        if resource is None or path in self.server.refused:
            self.reply(403, {"kind": "Status", "message": f"no list of {path}"})
            return
        items = [
            {**each, "metadata": {**each["metadata"], "resourceVersion": "1"}}
            for each in self.server.documents
            if (each["apiVersion"], each["kind"]) == (resource.api_version, resource.kind)
        ]
        self.reply(200, {"metadata": {"resourceVersion": "5"}, "items": items})

    def reply(self, status: int, body: dict[str, Any]) -> None:
        content = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, format: str, *args: object) -> None:
        pass


@pytest.fixture
def server() -> Iterator[ListServer]:
    with ListServer(("127.0.0.1", 0), ListHandler) as server:
        server.documents, server.tokens = DOCUMENTS, set()
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        yield server
        server.shutdown()
        thread.join()


def kubeconfig(folder: Path, url: str, user: str = "token: t") -> str:
    path = folder / "config"
    path.write_text(f"""
current-context: here
contexts: [{{name: here, context: {{cluster: k, user: u}}}}]
clusters: [{{name: k, cluster: {{server: "{url}"}}}}]
users: [{{name: u, user: {{{user}}}}}]
""")
    return str(path)


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    """Run a command; return its status, and what it printed on both streams."""
    status = run_command(arguments)
    captured = capsys.readouterr()
    return status, captured.out, captured.err


def test_live_cluster_is_answered_as_its_objects_in_a_file(
    server: ListServer, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "cluster.json"
    file.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": DOCUMENTS}))
    asked = ("--pod", "default/web-0", "-o", "json")

    live = run(capsys, "filter", "--kubeconfig", kubeconfig(tmp_path, server.url), *asked)
    from_file = run(capsys, "filter", "--cluster-file", str(file), *asked)

    assert live == from_file
    assert live[0] == 0
    assert json.loads(live[1])["accepted"] == ["roomy"]


@pytest.mark.parametrize("written", ["secret", "secret\n", "secret\r\n"])
def test_token_file_may_end_in_a_line_break(
    server: ListServer, tmp_path: Path, capsys: pytest.CaptureFixture[str], written: str
) -> None:
    """As editors and echo leave it; kubectl takes it, too."""
    token = tmp_path / "token"
    token.write_text(written)
    config = kubeconfig(tmp_path, server.url, f"tokenFile: {token}")

    status, _, _ = run(capsys, "filter", "--kubeconfig", config, "--pod", "default/web-0")

    assert status == 0
    assert server.tokens == {"Bearer secret"}


def test_kind_that_may_not_be_listed_is_an_error_of_one_line(
    server: ListServer, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = VOLUMES.path(NAMESPACE)
    server.refused = frozenset({path})
    config = kubeconfig(tmp_path, server.url)

    status, out, err = run(capsys, "filter", "--kubeconfig", config, "--pod", "default/web-0")

    assert (status, out) == (2, "")
    assert err == f"error: {VOLUMES.name} cannot be listed: 403: no list of {path}\n"


def test_who_may_not_list_pods_can_give_one_in_a_file(
    server: ListServer, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    server.refused = frozenset({PODS.path()})
    config = kubeconfig(tmp_path, server.url)
    pod = tmp_path / "pod.json"
    pod.write_text(json.dumps(next(each for each in DOCUMENTS if each["kind"] == "Pod")))

    status, _, err = run(capsys, "filter", "--kubeconfig", config, "--pod", str(pod))

    assert status == 0
    assert err.startswith("warning: pods cannot be listed; give the pod in a file: 403")


@pytest.mark.parametrize(
    "command", [("filter", "--pod", "a/b"), ("serve", "--host", "127.0.0.1", "--port", "0")]
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


def test_api_server_that_is_away_is_an_error_of_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    config = kubeconfig(tmp_path, "http://127.0.0.1:1")

    status, out, err = run(capsys, "filter", "--kubeconfig", config, "--pod", "a/b")

    assert (status, out) == (2, "")
    assert err.startswith("error: persistentvolumeclaims cannot be listed: the API server cannot")
    assert err.count("\n") == 1
