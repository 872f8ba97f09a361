"""`doctor` as a command: exit statuses, both forms of output, and errors of one line."""

import json
import os
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from app.cli.commands import run_command
from app.cli.doctor.problems import Check


class Server(ThreadingHTTPServer):
    """Answers /version, and everything else with a status."""

    daemon_threads = True
    status = 403
    version_status = 200


class Handler(BaseHTTPRequestHandler):
    server: Server

    def do_GET(self) -> None:
        if self.path == "/version":
            self.reply(self.server.version_status, b'{"gitVersion": "v1.36.1"}')
        else:
            self.reply(self.server.status, b'{"message": "so be it"}')

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["Content-Length"]))
        self.reply(self.server.status, b'{"message": "so be it"}')

    def reply(self, status: int, content: bytes) -> None:
        self.send_response(status)
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
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        yield server
        server.shutdown()
        thread.join()


def kubeconfig(folder: Path, port: int) -> str:
    path = folder / "config"
    path.write_text(f"""
current-context: here
contexts: [{{name: here, context: {{cluster: k, user: u}}}}]
clusters: [{{name: k, cluster: {{server: "http://127.0.0.1:{port}"}}}}]
users: [{{name: u, user: {{token: t}}}}]
""")
    return str(path)


def run(
    capsys: pytest.CaptureFixture[str], folder: Path, port: int, *arguments: str
) -> tuple[int, str, str]:
    status = run_command(["doctor", "--kubeconfig", kubeconfig(folder, port), *arguments])
    captured = capsys.readouterr()
    return status, captured.out, captured.err


def test_who_may_read_nothing_gets_no_error_and_every_right_that_is_missing(
    server: Server, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    status, out, err = run(capsys, tmp_path, server.server_address[1], "-o", "json")

    report = json.loads(out)
    assert (status, err) == (0, "")
    assert report["counts"] == {"ok": 1, "warning": 0, "error": 0, "unknown": 15}
    texts = {each["text"] for each in report["findings"] if each["severity"] == "unknown"}
    assert "not allowed to list pods in longhorn-system" in texts
    assert "not allowed to create subjectaccessreviews.authorization.k8s.io" in texts


def test_a_cluster_without_anything_is_an_error_and_a_table(
    server: Server, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    server.status = 404

    status, out, err = run(capsys, tmp_path, server.server_address[1])

    assert (status, err) == (1, "")
    lines = out.splitlines()
    assert lines[0] == "ok       api-server       Kubernetes v1.36.1 answers"
    assert {line.split()[1] for line in lines[:-1] if not line.startswith(" ")} == {*Check}
    assert max(len(line) for line in lines) <= 98
    assert lines[-1].startswith("1 ok, 7 error, ")


def test_an_api_server_that_is_away_is_an_error_of_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    status, out, err = run(capsys, tmp_path, 1)

    assert (status, out) == (2, "")
    assert err.startswith("error: the API server cannot be reached: ")
    assert err.count("\n") == 1


def test_credentials_that_are_refused_are_an_error_of_one_line(
    server: Server, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    server.version_status = 401

    status, out, err = run(capsys, tmp_path, server.server_address[1])

    assert (status, out) == (2, "")
    assert err.startswith("error: 401: ")
