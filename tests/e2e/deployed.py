"""The service as it is installed: what runs is what its Deployment says."""

import asyncio
import os
import shutil
import ssl
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from app.config import NAME
from tests.actors.api import SERVICES
from tests.e2e.extender import ROOT, START_SECONDS, Extender
from tests.e2e.proxy import Endpoint
from tests.e2e.service_pods import ServicePods
from tests.e2e.waiting import until
from tests.fakes.installed import LONGHORN
from tests.ports import free_ports
from tests.tools import give_up

COMMAND_SECONDS = 300.0
"""As long as Helm waits by default."""
_MOST_PODS = 12
"""One after another, over all roll-outs of a test."""


class DeployedExtender(Extender):
    """Pods of a Deployment that somebody installs.

    Attributes:
        sources: The tree to run, by the tag of the image; the one of these tests if it has none.
        pods: The pods.
    """

    runs_pods = True

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self.sources: dict[str, Path] = {}
        self._endpoints = [
            Endpoint(f"10.42.0.{number}", port)
            for number, port in enumerate(free_ports(_MOST_PODS), start=1)
        ]
        self._task: asyncio.Task[None] | None = None

    async def start(self, count: int) -> None:  # noqa: ARG002 (the Deployment says how many)
        """Wait for pods; there is no Service yet."""
        self.pods = ServicePods(
            self._api,
            namespace=self.namespace,
            endpoints=self._endpoints,
            folder=self._folder,
            kubeconfig=lambda name, token: self._control_plane.users.kubeconfig_of(
                token, name, self._server
            ),
            sources=self.sources,
        )
        self._task = asyncio.create_task(self.pods.run())

    def call_with(self, folder: Path) -> None:
        """Call as kube-scheduler does, with its certificate in a folder."""
        self.url = self.url.replace("http:", "https:")
        self._tls = ssl.create_default_context(cafile=folder / "ca.crt")
        # What is called is at an address of this machine, which the certificate does not have.
        self._tls.check_hostname = False
        self._tls.load_cert_chain(folder / "tls.crt", folder / "tls.key")

    async def serve(self) -> None:
        """Stand in for the Service, once it is installed; return when it answers."""
        await until(self._has_service, within=START_SECONDS)
        self._start_proxy(self._endpoints)
        await until(self.is_answering, within=START_SECONDS, what=self._trouble)

    async def _has_service(self) -> bool:
        return await self._api.get(SERVICES, NAME, self.namespace) is not None

    async def is_answering(self) -> bool:
        """Whether a call through the Service gets a verdict; a failed kubelet fails the test."""
        if self._task is not None and self._task.done():
            self._task.result()
        return await super().is_answering()

    async def stop(self) -> None:
        """End all of it."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.wait([self._task])
        await super().stop()


class DeployedInLonghorns(DeployedExtender):
    """Installed where Longhorn is, as it was up to 0.2.0."""

    namespace = LONGHORN


def clean_clone(folder: Path) -> Path:
    """Make a clone of what is committed."""
    clone = folder / "clone"
    subprocess.run(["git", "clone", "--quiet", str(ROOT), str(clone)], check=True)
    return clone


def write_program(path: Path, script: str) -> None:
    """Write a program that stands in for another one, into a folder of its own."""
    path.parent.mkdir()
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)


class Administrator:
    """Runs the commands that a person would run, against this control plane.

    Args:
        kubeconfig: Of an administrator.
        folder: Where the commands run.
        variables: Of their environment, besides those of these tests.
    """

    def __init__(self, kubeconfig: Path, folder: Path, **variables: str) -> None:
        self.kubeconfig = str(kubeconfig)
        self._environ = {**os.environ, "KUBECONFIG": self.kubeconfig, **variables}
        self._folder = folder

    async def run(self, *command: str, stdin: str = "") -> str:
        """Run one command and return what it prints; anything but success fails the test.

        A missing tool skips the test, except in CI.
        """
        done = await self.attempt(*command, stdin=stdin)
        assert done.returncode == 0, f"{' '.join(command)}:\n{done.stdout}{done.stderr}"
        return done.stdout

    async def attempt(self, *command: str, stdin: str = "") -> subprocess.CompletedProcess[str]:
        """Run one command, whatever comes of it; a missing tool is as for `run`."""
        if shutil.which(command[0]) is None:
            give_up(f"{command[0]} is not on the PATH")
        return await asyncio.to_thread(self._run, command, stdin)

    def _run(self, command: Sequence[str], stdin: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            command,
            input=stdin,
            cwd=self._folder,
            env=self._environ,
            capture_output=True,
            text=True,
            timeout=COMMAND_SECONDS,
            check=False,
        )
