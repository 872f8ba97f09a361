"""The real service: its process, and the requests that it gets."""

import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from http.client import HTTPConnection
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from examples.demo.api_server import ApiServer
from tests.fakes import Object
from tests.fakes.installed import config_map, instance_pod, kubeconfig, service

_ROOT = Path(__file__).parents[2]
_POD = "extender-0"
_PATIENCE_SECONDS = 30.0
_PAUSE_SECONDS = 0.005
_HOLD_SECONDS = 60
"""How long holds stand. By default it is 5 s once a pod is bound, which a slow machine may need."""
_SETTINGS = {
    "EXTENDER_POD_NAME": _POD,
    "EXTENDER_DEBUG": "true",  # for /debug/state, which the bars are drawn from
    # It is the only instance: it looks at once, and needs no time limit that a slow machine misses.
    "EXTENDER_RETRY_PERIOD_SECONDS": "0.2",
    "EXTENDER_RENEW_DEADLINE_SECONDS": "50",
    "EXTENDER_LEASE_DURATION_SECONDS": "60",
}


class Service:
    """A running service.

    Args:
        port: Of loopback, on which it answers.
        api: The API server of its cluster.
    """

    def __init__(self, port: int, api: ApiServer) -> None:
        self._port = port
        self._api = api

    def filter(self, pod: Object, candidates: Sequence[str]) -> Object:
        """Post the pod to /filter, as kube-scheduler does with nodeCacheCapable: true."""
        answer: Object = self._call("POST", "/filter", _arguments(pod, candidates))
        return answer

    def prioritize(self, pod: Object, candidates: Sequence[str]) -> dict[str, int]:
        """Post the pod to /prioritize; return the score of each candidate."""
        answer = self._call("POST", "/prioritize", _arguments(pod, candidates))
        return {each["Host"]: each["Score"] for each in answer}

    @contextmanager
    def without_holds(self) -> Iterator[None]:
        """Have it hold nothing until the end of the block, as its live settings allow."""
        self._hold_for(0)
        yield
        self._hold_for(_HOLD_SECONDS)

    def wait_until(self, what: str, is_so: Callable[[Object], bool]) -> Object:
        """Wait until what /debug/state shows is as it should be, and return it.

        Raises:
            SystemExit: It did not become so; the text says *what* was waited for.
        """
        deadline = time.monotonic() + _PATIENCE_SECONDS
        while not is_so(state := self._call("GET", "/debug/state")):
            if time.monotonic() > deadline:
                raise SystemExit(f"waited {_PATIENCE_SECONDS:g} s in vain until {what}")
            time.sleep(_PAUSE_SECONDS)
        found: Object = state
        return found

    def _hold_for(self, seconds: int) -> None:
        _configure(self._api, seconds)
        self.wait_until(
            "the live settings are in force",
            lambda state: state["settings"]["pod_scheduling_timeout_seconds"] == seconds,
        )

    def _call(self, method: str, path: str, body: Object | None = None) -> Any:
        connection = HTTPConnection("127.0.0.1", self._port, timeout=_PATIENCE_SECONDS)
        try:
            content = None if body is None else json.dumps(body)
            connection.request(method, path, content, {"Content-Type": "application/json"})
            response = connection.getresponse()
            text = response.read()
        except OSError as error:
            raise SystemExit(f"the service does not answer {method} {path}: {error}") from error
        finally:
            connection.close()
        if response.status != 200:
            raise SystemExit(
                f"the service answers {method} {path} with {response.status}: {text!r}"
            )
        return json.loads(text)


@contextmanager
def service_on(api: ApiServer) -> Iterator[Service]:
    """Run the service on the cluster of *api*, from when it leads; check that it ends well.

    Raises:
        SystemExit: It did not start, or ended with an error.
    """
    for each in (service(), instance_pod(0)):
        api.put(each)
    _configure(api, _HOLD_SECONDS)
    with TemporaryDirectory() as folder:
        file = Path(folder) / "kubeconfig"
        file.write_text(json.dumps(kubeconfig(api.port, "demo")))
        command = [sys.executable, "-m", "cli", "serve", "--kubeconfig", str(file)]
        with subprocess.Popen(
            [*command, "--host", "127.0.0.1", "--port", "0"],
            cwd=_ROOT,
            env=_environ(),
            stdout=subprocess.PIPE,
            text=True,
            start_new_session=True,  # a Ctrl-C ends the demonstration, and that ends the service
        ) as process:
            assert process.stdout is not None
            drain = threading.Thread(target=process.stdout.read)  # or the pipe fills
            try:
                running = Service(_port(process.stdout), api)
                drain.start()
                running.wait_until("it leads", lambda state: not state["instance"]["unavailable"])
                yield running
            finally:
                process.terminate()
                try:
                    process.wait(_PATIENCE_SECONDS)
                except subprocess.TimeoutExpired:
                    process.kill()
                    raise
                if drain.ident:
                    drain.join()
    if process.returncode != 0:
        raise SystemExit(f"the service ended with status {process.returncode}")


def _port(log: Iterable[str]) -> int:
    """Read from the service's log where it listens."""
    for line in log:
        event = json.loads(line)
        if event["event"] == "serve.started":
            return int(event["port"])
    raise SystemExit("the service did not start; the line above says why")


def _configure(api: ApiServer, seconds: int) -> None:
    """Write the ConfigMap with the live settings: how long a hold stands at most."""
    api.put(
        config_map(
            scheduler_extender_pod_scheduling_timeout=str(seconds),
            scheduler_extender_node_reservation_timeout=str(seconds),
        )
    )


def _environ() -> dict[str, str]:
    """Return the environment, with our settings in place of those of another service."""
    environ = {name: text for name, text in os.environ.items() if not name.startswith("EXTENDER_")}
    return {**environ, **_SETTINGS}


def _arguments(pod: Object, candidates: Sequence[str]) -> Object:
    return {"Pod": pod, "Nodes": None, "NodeNames": list(candidates)}
