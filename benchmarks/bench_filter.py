"""Measures /filter over HTTP, beside an endpoint that only decodes and echoes: `make bench`.

Both are processes of their own on loopback and are asked in turn, so that a busy machine slows
both. "again" asks for a pod like those before it, as the replicas of one StatefulSet and every
repeated attempt do; "new" asks for sizes that were not asked for lately, so that each node is
judged anew. CPU is the server's, user and system.
"""

import http.client
import json
import re
import socket
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import cycle
from pathlib import Path
from statistics import median, quantiles
from typing import NamedTuple

from benchmarks.clusters import GIB, Object, cluster, names_part, nodes_part, pod, request
from tests.ports import free_port
from tests.processes import Process

ROOT = Path(__file__).parents[1]
NODES, DISKS, SEED = 5_000, 10, 1
CANDIDATES = (100, 1_000, 5_000)
CLAIMS = (1, 4, 12)
NEW_PODS = 40  # more than the service remembers needs of
ROUNDS_BY_NAME, ROUNDS_WITH_NODES = 96, 24
_STEP = 2**21
_START_SECONDS = 60
_STARTED = re.compile(r'"port":(\d+).*"serve\.started"')
"""In what the service logs, among warnings about the cluster."""


class Server(NamedTuple):
    """A server process, with a connection kept open as kube-scheduler's is."""

    process: Process
    connection: http.client.HTTPConnection

    def ask(self, body: bytes, verb: str = "filter") -> tuple[float, bytes]:
        """Post *body*; return the seconds until the answer was read, and the answer."""
        started = time.perf_counter()
        self.connection.request("POST", f"/{verb}", body, {"Content-Type": "application/json"})
        response = self.connection.getresponse()
        answer = response.read()
        elapsed = time.perf_counter() - started
        if response.status != 200:
            raise SystemExit(f"status {response.status}: {answer[:200]!r}")
        return elapsed, answer


def main() -> None:
    """Print the table."""
    same, new = pods_of_claims()
    pods = [*same.values(), *(p for group in new.values() for p in group)]
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "cluster.json"
        file.write_text(json.dumps(cluster(NODES, DISKS, pods, seed=SEED)))
        with filter_server(file) as service, _bare_server(file.parent) as bare:
            print(f"{NODES} Longhorn nodes with {DISKS} disks; milliseconds\n")
            print(
                f"{'form':6}{'nodes':>6}{'claims':>7}  {'needs':6}{'accepted':>9}"
                f"{'bare':>8}{'p99':>8}{'filter':>8}{'p99':>8}{'ratio':>7}"
                f"{'bare cpu':>10}{'cpu':>10}{'ratio':>7}"
            )
            for row in rows(same, new):
                compared = _compare(bare, service, row.pods, row.candidates, row.rounds)
                print(f"{row.title}{compared}", flush=True)


class Row(NamedTuple):
    """What is asked for one row of the table."""

    title: str
    pods: list[Object]
    candidates: bytes
    rounds: int


def rows(same: dict[int, Object], new: dict[int, list[Object]]) -> Iterator[Row]:
    """Yield all rows: by form, number of candidates, number of claims, and needs."""
    for form, make, rounds in (
        ("names", names_part, ROUNDS_BY_NAME),
        ("nodes", nodes_part, ROUNDS_WITH_NODES),
    ):
        for candidates in CANDIDATES:
            part = make(candidates)
            for claims in CLAIMS:
                for needs, asked in (("again", [same[claims]]), ("new", new[claims])):
                    title = f"{form:6}{candidates:6}{claims:7}  {needs:6}"
                    yield Row(title, asked, part, rounds)


def pods_of_claims() -> tuple[dict[int, Object], dict[int, list[Object]]]:
    """Return, by their number of claims, a pod to ask for again and pods of new needs."""
    same = {claims: pod(f"same-{claims}", [20 * GIB] * claims) for claims in CLAIMS}
    new = {
        claims: [
            pod(f"new-{claims}-{n}", [20 * GIB + (n + 1) * _STEP] * claims) for n in range(NEW_PODS)
        ]
        for claims in CLAIMS
    }
    return same, new


def _compare(
    bare: Server, service: Server, pods: list[Object], candidates: bytes, rounds: int
) -> str:
    servers = (bare, service)
    for server in servers:  # warm up
        server.ask(request(pods[-1], candidates))
    latencies: dict[Server, list[float]] = {server: [] for server in servers}
    before = {server: server.process.cpu_seconds for server in servers}
    answer = b""
    for _, asked in zip(range(rounds), cycle(pods), strict=False):
        body = request(asked, candidates)
        for server in servers:
            elapsed, answer = server.ask(body)
            latencies[server].append(elapsed)
    cpu = {server: (server.process.cpu_seconds - before[server]) / rounds for server in servers}
    mid = {server: median(latencies[server]) for server in servers}
    p99 = {server: quantiles(latencies[server], n=100)[98] for server in servers}
    columns = [
        f"{_accepted(answer):9}",
        *(f"{1e3 * seconds[server]:8.2f}" for server in servers for seconds in (mid, p99)),
        f"{mid[service] / mid[bare]:7.2f}",
        *(f"{1e3 * cpu[server]:10.2f}" for server in servers),
        f"{cpu[service] / max(cpu[bare], 1e-9):7.2f}",
    ]
    return "".join(columns)


def _accepted(answer: bytes) -> int:
    """Return how many nodes were accepted; whole nodes are counted, not decoded."""
    if answer.startswith(b'{"Nodes":{'):
        return answer.count(b'"podCIDR"')
    decoded = json.loads(answer)
    if decoded["Error"]:
        raise SystemExit(decoded["Error"])
    return len(decoded["NodeNames"])


@contextmanager
def filter_server(file: Path) -> Iterator[Server]:
    """Start the service on a cluster file."""
    log = file.with_name("filter.log")  # not a pipe: nobody would read it
    arguments = ["-m", "cli", "serve", "--cluster-file", str(file), "--host", "127.0.0.1"]
    with _process([*arguments, "--port", "0"], log) as process:
        _wait_until(lambda: _STARTED.search(log.read_text()) is not None)
        started = _STARTED.search(log.read_text())
        assert started is not None
        port = int(started[1])
        yield Server(process, http.client.HTTPConnection("127.0.0.1", port, timeout=120))


@contextmanager
def _bare_server(folder: Path) -> Iterator[Server]:
    port = free_port()
    with _process(["-m", "benchmarks.bare", str(port)], folder / "bare.log") as process:
        _wait_until(lambda: _is_listening(port))
        yield Server(process, http.client.HTTPConnection("127.0.0.1", port, timeout=120))


def _is_listening(port: int) -> bool:
    with socket.socket() as client:
        return client.connect_ex(("127.0.0.1", port)) == 0


@contextmanager
def _process(arguments: list[str], log: Path) -> Iterator[Process]:
    process = Process(log.stem, [sys.executable, *arguments], log, folder=ROOT)
    try:
        yield process
    finally:
        process.kill()


def _wait_until(ready: Callable[[], bool]) -> None:
    deadline = time.monotonic() + _START_SECONDS
    while not ready():
        if time.monotonic() > deadline:
            raise SystemExit("the server did not start")
        time.sleep(0.05)


if __name__ == "__main__":
    main()
