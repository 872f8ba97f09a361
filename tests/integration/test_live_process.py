"""The real process on a live cluster: its start, its end, and what it tells meanwhile."""

import contextlib
import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

import pytest
import yaml

from tests.fakes import Call, FakeApiServer, Object, in_a_thread
from tests.fakes.installed import instance_pod, service
from tests.integration.instances import NOT_KNOWING, filter_request
from tests.integration.server import PATIENCE_SECONDS, ROOT, Server

STOP_SECONDS = 3.0
BEARER = "not-for-the-log"
_WRITES = ("create", "update", "patch")


class LiveServer(NamedTuple):
    """A process, and what it has written to stdout so far."""

    server: Server
    log: list[str]

    def wait_for(self, condition: Callable[[], object]) -> None:
        deadline = time.monotonic() + PATIENCE_SECONDS
        while not condition():
            assert time.monotonic() < deadline, self.log
            assert self.server.process.poll() is None, self.log
            threading.Event().wait(0.02)

    def is_ready(self) -> bool:
        return self.server.call("GET", "/readyz")[0] == 200

    def is_published(self) -> bool:
        return any("endpointslice.published" in line for line in [*self.log])

    def events(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in [*self.log]]


@contextlib.contextmanager
def serving_cluster(
    folder: Path, port: int, name: str = "serve", **settings: str
) -> Iterator[LiveServer]:
    """Run a command that serves on the API server at *port*.

    *settings* are variables of its environment.
    """
    kubeconfig = folder / "kubeconfig"
    kubeconfig.write_text(yaml.safe_dump(_kubeconfig(port)))
    environ = {name: text for name, text in os.environ.items() if not name.startswith("EXTENDER_")}
    command = [sys.executable, "-m", "cli", name, "--kubeconfig", str(kubeconfig)]
    with subprocess.Popen(
        [*command, "--host", "127.0.0.1", "--port", "0"],
        cwd=ROOT,
        env={
            **environ,
            "EXTENDER_POD_NAME": "extender-0",
            "EXTENDER_NODE_NAME": "node-1",
            **settings,
        },
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        guard = threading.Timer(30, process.kill)
        guard.start()
        log: list[str] = []
        assert process.stdout is not None
        drain = threading.Thread(target=log.extend, args=(process.stdout,))
        drain.start()
        live = LiveServer(Server(process, 0, 0), log)
        try:
            live.wait_for(lambda: any("serve.started" in line for line in [*log]))
            [started] = [each for each in live.events() if each["event"] == "serve.started"]
            yield LiveServer(Server(process, started["port"], started["port"]), log)
        finally:
            guard.cancel()
            process.kill()
            process.wait()
            drain.join()


def api_server(*objects: Object) -> FakeApiServer:
    """Make an API server with a cluster that has nothing but *objects*."""
    server = FakeApiServer(Random(1))
    for each in objects:
        server.put(each)
    return server


def written(calls: Sequence[Call], resource: str) -> list[Object]:
    """Return what was to be written of a kind, in order."""
    return [call.body for call in calls if call.resource == resource and call.verb in _WRITES]


def _kubeconfig(port: int) -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": "it", "cluster": {"server": f"http://127.0.0.1:{port}"}}],
        "users": [{"name": "it", "user": {"token": BEARER}}],
        "contexts": [{"name": "it", "context": {"cluster": "it", "user": "it"}}],
        "current-context": "it",
    }


class Life(NamedTuple):
    """What was seen of a process from its start to its end."""

    status: int
    errors: str
    log: list[str]
    calls: list[Call]
    answer: bytes
    metrics: bytes


@pytest.fixture(scope="module")
def life(tmp_path_factory: pytest.TempPathFactory) -> Life:
    """Start a process, wait until it leads, ask it, and send SIGTERM."""
    with contextlib.ExitStack() as stack:
        server = api_server(service(), instance_pod(0))
        port = stack.enter_context(in_a_thread(server)).port
        live = stack.enter_context(serving_cluster(tmp_path_factory.mktemp("life"), port))
        live.wait_for(live.is_ready)
        live.wait_for(live.is_published)
        _, answer = live.server.call("POST", "/filter", filter_request("pair"))
        _, metrics = live.server.call("GET", "/metrics")
        status, errors = live.server.end(signal.SIGTERM, within_seconds=STOP_SECONDS)
    return Life(status, errors, live.log, server.calls, answer, metrics)


def test_sigterm_ends_it_with_success(life: Life) -> None:
    assert (life.status, life.errors) == (0, "")


def test_it_takes_the_lease_and_gives_it_back(life: Life) -> None:
    holders = [lease["spec"]["holderIdentity"] for lease in written(life.calls, "leases")]

    assert holders[0].startswith("extender-0_")
    assert [*dict.fromkeys(holders)] == [holders[0], ""]


def test_it_publishes_its_pod_and_withdraws_it(life: Life) -> None:
    published = [
        [endpoint["addresses"] for endpoint in each["endpoints"]]
        for each in written(life.calls, "endpointslices")
    ]

    assert published == [[["10.42.0.1"]], []]


def test_it_answers_from_what_it_has_read(life: Life) -> None:
    assert "pair-a is not in the cluster" in json.loads(life.answer)["Error"]


def test_its_heartbeat_beats(life: Life) -> None:
    assert b'longhorn_scheduler_extender_heartbeat{node="node-1"} 1.0' in life.metrics


def test_every_line_on_stdout_is_an_event(life: Life) -> None:
    events = [json.loads(line)["event"] for line in life.log]

    assert {"serve.started", "lease.acquired", "endpointslice.published"} <= {*events}
    assert events[-3:] == ["lease.released", "endpointslice.withdrawn", "serve.stopped"]


def test_its_log_does_not_tell_its_token(life: Life) -> None:
    assert BEARER not in "".join(life.log)


def test_it_ends_soon_if_the_api_server_has_gone(tmp_path: Path) -> None:
    with contextlib.ExitStack() as until_gone, contextlib.ExitStack() as stack:
        port = until_gone.enter_context(in_a_thread(api_server(service(), instance_pod(0)))).port
        live = stack.enter_context(serving_cluster(tmp_path, port))
        live.wait_for(live.is_published)
        until_gone.close()

        status, errors = live.server.end(signal.SIGTERM, within_seconds=STOP_SECONDS)

    assert (status, errors) == (0, "")


def test_without_an_api_server_it_stays_up_and_says_why_it_is_not_ready(tmp_path: Path) -> None:
    with in_a_thread(api_server()) as closed:
        pass
    with serving_cluster(tmp_path, closed.port) as live:
        live.wait_for(lambda: b"cannot be reached" in live.server.call("GET", "/readyz")[1])
        unready = live.server.call("GET", "/readyz")
        healthy = live.server.call("GET", "/healthz")
        answer = live.server.call("POST", "/filter", filter_request("pair"))

        status, errors = live.server.end(signal.SIGTERM, within_seconds=STOP_SECONDS)

    assert unready[0] == 503
    assert unready[1].startswith(b"persistentvolumeclaims: not listed yet: the API server cannot")
    assert healthy == (200, b"ok")
    assert json.loads(answer[1])["Error"] == NOT_KNOWING
    assert (status, errors) == (0, "")
