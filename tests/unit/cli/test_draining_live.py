"""`may-drain` on a live cluster: a real client, and the lists that an API server would give."""

import json
import os
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest

from app.kube.longhorn.resources import SHARDS
from cli.commands import run_command
from cli.kube.draining.kinds import DRAINED, GUESTS
from tests.unit.cli.drained import Document, node, pod, replica, settings, volume

DOCUMENTS = [*node(), *node("node-2"), volume(), replica(), replica("node-2"), pod(), *settings()]
VERSION = "/apis/longhorn.io/v1beta2"


class Server(ThreadingHTTPServer):
    """Lists documents by kind, and by the node of pods; *statuses* are those of single paths."""

    daemon_threads = True
    documents: list[Document]
    namespace: str
    statuses: dict[str, int]
    served: list[str]
    """The kinds of Longhorn's group."""


class Handler(BaseHTTPRequestHandler):
    server: Server

    def do_GET(self) -> None:
        url = urlsplit(self.path)
        paths = {
            each.path(self.server.namespace if each.group == "longhorn.io" else ""): each
            for each in DRAINED.values()
        }
        status = self.server.statuses.get(url.path, 200)
        if status != 200:
            self.reply(status, {"message": f"no list of {url.path}"})
        elif url.path == VERSION:
            self.reply(200, {"resources": [{"name": name} for name in self.server.served]})
        else:
            kind = paths.get(url.path)
            selector = parse_qs(url.query).get("fieldSelector", [""])[0]
            wanted = selector.removeprefix("spec.nodeName=")
            items = [
                {**each, "metadata": {**each["metadata"], "resourceVersion": "1"}}
                for each in self.server.documents
                if kind is not None
                and (each["apiVersion"], each["kind"]) == (kind.api_version, kind.kind)
                and (kind is not GUESTS or each["spec"]["nodeName"] == wanted)
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
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    for name in [name for name in os.environ if name.startswith("EXTENDER_")]:
        monkeypatch.delenv(name)
    with Server(("127.0.0.1", 0), Handler) as server:
        server.documents, server.namespace = DOCUMENTS, "longhorn-system"
        server.statuses, server.served = {}, [SHARDS.plural]
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        yield server
        server.shutdown()
        thread.join()


class Ask:
    """Asks the command about the cluster of a server."""

    def __init__(self, server: Server, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
        self._config = folder / "config"
        self._capsys = capsys
        self._config.write_text(f"""
current-context: here
contexts: [{{name: here, context: {{cluster: k, user: u}}}}]
clusters: [{{name: k, cluster: {{server: "http://127.0.0.1:{server.server_address[1]}"}}}}]
users: [{{name: u, user: {{token: t}}}}]
""")

    def __call__(self, *arguments: str) -> tuple[int, str, str]:
        status = run_command(["may-drain", *arguments, "--kubeconfig", str(self._config)])
        captured = self._capsys.readouterr()
        return status, captured.out, captured.err


@pytest.fixture
def ask(server: Server, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Ask:
    return Ask(server, tmp_path, capsys)


def test_a_live_cluster_is_answered_as_its_objects_in_a_file(
    ask: Ask, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "cluster.json"
    file.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": DOCUMENTS}))

    live = ask("node-1")
    from_file = run_command(["may-drain", "node-1", "--cluster-file", str(file)])

    assert live == (from_file, *capsys.readouterr())
    assert live[0] == 0


def test_the_pods_of_all_nodes_in_question_are_read(ask: Ask, server: Server) -> None:
    server.documents = [
        *DOCUMENTS,
        replica("node-3"),
        *node("node-3"),
        pod("b", "node-2", owner=None),
    ]

    assert ask("node-1", "node-3")[0] == 0
    assert ask("node-1", "node-2")[0] == 1
    assert "Pod default/b has no controller" in ask("--next", "node-1", "node-2")[1]


def test_a_node_without_pods_may_be_drained(ask: Ask, server: Server) -> None:
    server.documents = [each for each in DOCUMENTS if each["kind"] != "Pod"]

    assert ask("node-1")[0] == 0


def test_what_may_not_be_listed_is_an_error_that_names_it(ask: Ask, server: Server) -> None:
    for resource in DRAINED.values():
        namespace = "longhorn-system" if resource.group == "longhorn.io" else ""
        server.statuses = {resource.path(namespace): 403}

        status, out, err = ask("node-1")

        assert (status, out) == (2, "")
        assert f"error: {resource.name} cannot be listed" in err


def test_a_longhorn_without_shards_is_one_of_an_older_version(ask: Ask, server: Server) -> None:
    server.served = []
    server.statuses = {SHARDS.path("longhorn-system"): 404}

    assert ask("node-1")[0] == 0


def test_the_wrong_namespace_is_no_yes(
    ask: Ask, server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    server.namespace = "storage"

    status, out, err = ask("node-1")

    assert (status, out) == (2, "")
    assert "name its namespace in EXTENDER_LONGHORN_NAMESPACE" in err

    monkeypatch.setenv("EXTENDER_LONGHORN_NAMESPACE", "storage")
    assert ask("node-1")[0] == 0


def test_a_missing_policy_keeps_everything(ask: Ask, server: Server) -> None:
    server.documents = [each for each in DOCUMENTS if each["kind"] != "Setting"]

    status, out, _ = ask("node-1")

    assert status == 1
    assert "1. Setting node-drain-policy is missing or has no value" in out


def test_a_watch_that_is_over_at_once_asks_once_and_tells_so(ask: Ask, server: Server) -> None:
    server.documents = [each for each in DOCUMENTS if each["kind"] != "Setting"]

    status, out, err = ask("node-1", "--watch", "--timeout", "0")

    assert status == 1
    assert out.startswith("node-1: not yet")
    assert err.count("\n") == 1
    assert "node-1: not yet, Setting node-drain-policy is missing" in err


def test_a_watch_ends_with_a_yes(ask: Ask) -> None:
    status, out, err = ask("node-1", "--watch")

    assert (status, out.startswith("node-1: yes"), "node-1: yes" in err) == (0, True, True)
