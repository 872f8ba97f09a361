"""What tests do with a cluster that runs."""

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.cluster.images import ROOT
from tests.cluster.inside import KUBECONFIG, SCHEDULER_CONFIG, Plan
from tests.e2e.deployed import Administrator
from tests.e2e.processes import Process

Object = dict[str, Any]


class RunningCluster:
    """A cluster in a folder.

    Attributes:
        administrator: Runs commands as a person would, in this clone.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.administrator = self.administrator_in(ROOT)
        self._ctr = Plan.read(folder).programs["ctr"]

    def administrator_in(self, clone: Path, **variables: str) -> Administrator:
        """Return who runs commands in another clone."""
        return Administrator(self._folder / KUBECONFIG, clone, **variables)

    def configure_scheduler(self, text: str) -> None:
        """Give kube-scheduler a configuration; it is started anew."""
        (self._folder / SCHEDULER_CONFIG).write_text(text, encoding="utf-8")

    async def get(self, *what: str) -> Object:
        """Return what `kubectl get` finds."""
        got: Object = json.loads(
            await self.administrator.run("kubectl", "get", *what, "-o", "json")
        )
        return got

    def inside(self, *command: str) -> list[str]:
        """Return what runs a command in the network of the control plane, or `node-1`'s, ..."""
        return [str(self._folder / "enter"), *command]

    def kill_container(self, pod: Object) -> None:
        """Send SIGKILL to the container of a pod."""
        [status] = pod["status"]["containerStatuses"]
        container = status["containerID"].removeprefix("containerd://")
        command = [
            str(self._ctr),
            "--namespace=k8s.io",
            "tasks",
            "kill",
            "--signal=SIGKILL",
            container,
        ]
        subprocess.run(self.inside(pod["spec"]["nodeName"], *command), check=True)

    @contextmanager
    def probed(self, url: str) -> Iterator["Answers"]:
        """Ask a URL from the network of the control plane while the block goes on."""
        log = self._folder / "probe.log"
        log.unlink(missing_ok=True)
        script = Path(__file__).with_name("probe.py")
        process = Process("probe", self.inside(sys.executable, str(script), url), log)
        try:
            yield Answers(log)
        finally:
            process.kill()


class Answers:
    """What came of each request, and when, by this machine's clock that never goes back."""

    def __init__(self, log: Path) -> None:
        self._log = log

    def given(self) -> list[float]:
        """Return when the service answered."""
        return [at for at, result in self._all() if result == "answered"]

    def refused(self) -> list[str]:
        """Return what came instead of answers."""
        return [result for _, result in self._all() if result != "answered"]

    def _all(self) -> list[tuple[float, str]]:
        lines = self._log.read_text(encoding="utf-8").splitlines()
        return [(float(at), result) for at, _, result in (line.partition(" ") for line in lines)]
