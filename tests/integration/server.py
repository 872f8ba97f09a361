"""The real server process, started for a test and always ended."""

import contextlib
import functools
import http.client
import json
import os
import socket
import subprocess
import sys
import threading
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import yaml

ROOT = Path(__file__).parents[2]
PATIENCE_SECONDS = 10.0
"""Longer than anything here takes; what takes longer has gone wrong."""


class Server(NamedTuple):
    """A process that has said that it listens."""

    process: subprocess.Popen[str]
    port: int
    metrics_port: int
    webhook_port: int = 0
    """0 without a webhook."""

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

    def end(self, signal_number: int, *, within_seconds: float) -> tuple[int, str]:
        """Send a signal; return the exit status and what stands on stderr."""
        self.process.send_signal(signal_number)
        status = self.process.wait(within_seconds)
        assert self.process.stderr is not None
        return status, self.process.stderr.read()


def command(example: str, *more: str) -> list[str]:
    cluster = str(ROOT / "examples" / example)
    return [
        *(sys.executable, "-m", "cli", "serve", "--cluster-file", cluster),
        *("--host", "127.0.0.1", *more),
    ]


@contextlib.contextmanager
def serving(example: str, **environ: str) -> Iterator[Server]:
    """Run the server on an embedded cluster and a port of its choice."""
    clean = {name: value for name, value in os.environ.items() if not name.startswith("EXTENDER_")}
    with subprocess.Popen(
        command(example, "--port", "0"),
        cwd=ROOT,
        env={**clean, **environ},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        guard = threading.Timer(300, process.kill)
        guard.start()
        try:
            assert process.stdout is not None
            started = _started(process.stdout)
            drain = threading.Thread(target=lambda log: [*log], args=(process.stdout,))
            drain.start()
            port = int(started["port"])
            metrics_port = int(started.get("metrics_port", port))
            yield Server(process, port, metrics_port, int(started.get("webhook_port", 0)))
        finally:
            guard.cancel()
            process.kill()
            process.wait()
        drain.join()


def _started(log: Iterable[str]) -> dict[str, Any]:
    for line in log:
        event: dict[str, Any] = json.loads(line)
        if event["event"] == "serve.started":
            return event
    raise AssertionError("the server ended before it listened")


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
