"""What tests do with a cluster that runs."""

import itertools
import json
import os
import subprocess
import sys
from base64 import b64decode
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from app.config import NAME
from tests.cluster import probe
from tests.cluster.addresses import cable_of
from tests.cluster.images import ROOT
from tests.cluster.inside import KUBECONFIG, POWER_CUT, READY_SECONDS, SCHEDULER_CONFIG, Plan
from tests.e2e.deployed import Administrator
from tests.e2e.waiting import until
from tests.processes import Process

ON_NODES = f"/etc/{NAME}"
"""Where the docs put kube-scheduler's certificate."""
Object = dict[str, Any]


class RunningCluster:
    """A cluster in a folder.

    Attributes:
        administrator: Runs commands as a person would, in this clone.
        certificates: What `ON_NODES` is on the one control-plane node.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.administrator = self.administrator_in(ROOT)
        self.certificates = folder / "etc" / NAME
        self.certificates.mkdir(parents=True, exist_ok=True)
        self._numbers = itertools.count(1)
        self._ctr = Plan.read(folder).programs["ctr"]

    def administrator_in(self, clone: Path, **variables: str) -> Administrator:
        """Return who runs commands in another clone."""
        return Administrator(self._folder / KUBECONFIG, clone, **variables)

    def put_first(self, programs: Path) -> None:
        """Have the administrator find programs in this folder before all others."""
        self.administrator = self.administrator_in(ROOT, PATH=f"{programs}:{os.environ['PATH']}")

    def configure_scheduler(self, text: str) -> None:
        """Give kube-scheduler a configuration; it is started anew."""
        text = text.replace(ON_NODES, str(self.certificates))
        (self._folder / SCHEDULER_CONFIG).write_text(text, encoding="utf-8")

    def restart_scheduler(self) -> None:
        """Have kube-scheduler read all anew."""
        file = self._folder / SCHEDULER_CONFIG
        file.write_text(file.read_text(encoding="utf-8") + "# Again.\n", encoding="utf-8")

    async def copy_certificates(self, namespace: str) -> None:
        """Copy kube-scheduler's certificate to where it reads it."""
        secret = await self.get("secret", f"{NAME}-kube-scheduler", "--namespace", namespace)
        for file, content in secret["data"].items():
            (self.certificates / file).write_bytes(b64decode(content))

    async def cut_power(self) -> None:
        """End all machines at once, and wait until all their programs are started again."""
        file = self._folder / POWER_CUT
        file.touch()
        await until(lambda: not file.exists(), within=READY_SECONDS)

    async def get(self, *what: str) -> Object:
        """Return what `kubectl get` finds."""
        got: Object = json.loads(
            await self.administrator.run("kubectl", "get", *what, "-o", "json")
        )
        return got

    def inside(self, *command: str) -> list[str]:
        """Return what runs a command in the network of the control plane, or `node-1`'s, ..."""
        return [str(self._folder / "enter"), *command]

    def signal(self, pod: Object, name: str) -> None:
        """Send a signal, such as SIGKILL, to the container of a pod."""
        [status] = pod["status"]["containerStatuses"]
        container = status["containerID"].removeprefix("containerd://")
        command = [
            str(self._ctr),
            "--namespace=k8s.io",
            "tasks",
            "kill",
            f"--signal={name}",
            container,
        ]
        subprocess.run(self.inside(pod["spec"]["nodeName"], *command), check=True)

    def network_of(self, pod: Object) -> list[str]:
        """Return what runs a command, after `inside`, in the network of a pod."""
        node, address = pod["spec"]["nodeName"], pod["status"]["podIP"]
        listed = subprocess.run(
            self.inside(node, "ip", "netns", "list"), capture_output=True, text=True, check=True
        )
        for name in (line.split()[0] for line in listed.stdout.splitlines()):
            there = ["ip", "netns", "exec", name]
            own = subprocess.run(
                self.inside(node, *there, "ip", "-oneline", "address"),
                capture_output=True,
                text=True,
                check=True,
            )
            if f" {address}/" in own.stdout:
                return [node, *there]
        raise AssertionError(f"{node} has no network with {address}")

    def cut_off(self, node: str) -> None:
        """Pull the cable of a node."""
        self._set_cable(node, "down")

    def connect(self, node: str) -> None:
        """Put it back."""
        self._set_cable(node, "up")

    def _set_cable(self, node: str, state: str) -> None:
        subprocess.run(self.inside("ip", "link", "set", cable_of(node), state), check=True)

    @contextmanager
    def probed(self, url: str, *where: str, kept: bool = False) -> Iterator["Answers"]:
        """Ask a URL while the block goes on.

        Args:
            url: What is asked.
            where: What runs a command there; none for the network of the control plane.
            kept: Over one connection as long as it works, not each time over a new one.
        """
        log = self._folder / f"probe-{next(self._numbers)}.log"
        options = [probe.KEPT] if kept else []
        asking = (sys.executable, probe.__file__, url, str(self.certificates))
        command = self.inside(*where, *asking, *options)
        process = Process("probe", command, log)
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
