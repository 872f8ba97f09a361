"""The real server process, started for a test and always ended."""

import contextlib
import functools
import http.client
import json
import signal
import socket
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import yaml

from tests.fakes.installed import kubeconfig
from tests.pod_process import ROOT, clean_environ
from tests.processes import Process

PATIENCE_SECONDS = 60.0
"""Far longer than anything here takes, however busy the machine; what takes longer went wrong."""
BEARER = "not-for-the-log"
_PAUSE_SECONDS = 0.02


class Server:
    """A process that has said that it listens.

    Attributes:
        process: The process.
        port: Where it answers kube-scheduler.
        metrics_port: Where it answers the probes, and who reads metrics.
        webhook_port: Where it answers the API server; 0 without a webhook.
    """

    def __init__(self, process: Process) -> None:
        self.process = process
        self.port = self.metrics_port = self.webhook_port = 0
        self.wait_for(self._has_started)

    def wait_for(self, is_so: Callable[[], object]) -> None:
        """Wait for something, as long as the process lives and within reason."""
        deadline, pause = time.monotonic() + PATIENCE_SECONDS, threading.Event()
        while not is_so():
            self.process.assert_running()
            assert time.monotonic() < deadline, self.process.log.read_text()
            pause.wait(_PAUSE_SECONDS)

    def connect(self) -> socket.socket:
        return socket.create_connection(("127.0.0.1", self.port), timeout=PATIENCE_SECONDS)

    def call(
        self, method: str, path: str, body: bytes | None = None, *, port: int | None = None
    ) -> tuple[int, bytes]:
        """Send one request over a connection of its own."""
        connection = http.client.HTTPConnection(
            "127.0.0.1", port or self.port, timeout=PATIENCE_SECONDS
        )
        with contextlib.closing(connection):
            connection.request(method, path, body)
            response = connection.getresponse()
            return response.status, response.read()

    def is_ready(self) -> bool:
        return self.call("GET", "/readyz", port=self.metrics_port)[0] == 200

    def filter(self, request: object) -> dict[str, Any]:
        """Send a filter request that is answered."""
        status, answer = self.call("POST", "/filter", json.dumps(request).encode())
        assert status == 200, answer
        result: dict[str, Any] = json.loads(answer)
        return result

    def metric(self, name: str) -> float:
        """Return a metric by its name without the common prefix, and its labels if it has any."""
        _, text = self.call("GET", "/metrics", port=self.metrics_port)
        line = f"longhorn_scheduler_extender_{name} "
        [value] = [
            each[len(line) :] for each in text.decode().splitlines() if each.startswith(line)
        ]
        return float(value)

    def end(self, number: signal.Signals, *, within_seconds: float) -> tuple[int, list[str]]:
        """Send a signal; return the exit status, and what was written besides events and what to
        try."""
        self.process.terminate(number)
        status = self.process.wait(within_seconds=within_seconds)
        return status, [line for line in self.lines() if not line.startswith(('{"', "try: "))]

    def lines(self) -> list[str]:
        """Return the whole lines that it has written so far."""
        return self.process.log.read_text().rpartition("\n")[0].splitlines()

    def events(self, name: str = "") -> list[dict[str, Any]]:
        """Return the events that it has logged so far, all or those of a name."""
        events = [json.loads(line) for line in self.lines() if line.startswith('{"')]
        return [each for each in events if name in ("", each["event"])]

    def _has_started(self) -> bool:
        for event in self.events("serve.started"):
            self.port = int(event["port"])
            self.metrics_port = int(event.get("metrics_port", self.port))
            self.webhook_port = int(event.get("webhook_port", 0))
        return self.port > 0


def command(example: str, *more: str) -> list[str]:
    cluster = str(ROOT / "examples" / example)
    return [
        *(sys.executable, "-m", "cli", "serve", "--cluster-file", cluster),
        *("--host", "127.0.0.1", *more),
    ]


@contextlib.contextmanager
def serving(example: str, **environ: str) -> Iterator[Server]:
    """Run the server on an embedded cluster and a port of its choice."""
    with _running(command(example, "--port", "0"), environ) as server:
        yield server


@contextlib.contextmanager
def serving_cluster(
    folder: Path, port: int, name: str = "serve", module: str = "cli", **environ: str
) -> Iterator[Server]:
    """Run a command that serves on the API server at *port*."""
    file = folder / "kubeconfig"
    file.write_text(yaml.safe_dump(kubeconfig(port, BEARER)))
    ours = [sys.executable, "-m", module, name, "--kubeconfig", str(file)]
    pod = {"EXTENDER_POD_NAME": "extender-0", "EXTENDER_NODE_NAME": "node-1"}
    with _running([*ours, "--host", "127.0.0.1", "--port", "0"], pod | environ) as server:
        yield server


@contextlib.contextmanager
def _running(ours: Sequence[str], environ: dict[str, str]) -> Iterator[Server]:
    with tempfile.TemporaryDirectory() as folder:
        log = Path(folder) / "log"
        process = Process("the server", ours, log, clean_environ() | environ, ROOT)
        try:
            yield Server(process)
        finally:
            process.kill()


def receive_all(connection: socket.socket) -> bytes:
    """Read until the other end closes the connection, in good order or not."""
    received = bytearray()
    with contextlib.suppress(ConnectionResetError):
        while chunk := connection.recv(2**20):
            received += chunk
    return bytes(received)


@functools.cache
def pods(example: str) -> dict[str, Any]:
    """Return the pods of an embedded cluster by name."""
    text = (ROOT / "examples" / example / "pods.yaml").read_text()
    return {pod["metadata"]["name"]: pod for pod in yaml.safe_load_all(text)}


def by_names(pod: object, *names: str) -> dict[str, Any]:
    return {"Pod": pod, "Nodes": None, "NodeNames": list(names)}
