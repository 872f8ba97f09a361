"""Instances of the service and of the controller of DiskSchedules as real processes, on the API
server at a loopback port."""

import asyncio
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import httpx
import yaml

from tests.integration.server import ROOT
from tests.ports import free_port

STOP_SECONDS = 10.0
CONTROLLER = "controller"
"""How the names of the controller's pods begin."""
READY_SECONDS = 60.0
"""A start takes 3 s of a core, and others may want it, too."""


class PodProcess:
    """The process in one pod, which can be ended and started again.

    Attributes:
        pod: Its name, which is also what the API server knows the process by.
        node: Of the pod.
        port: Where it listens.
        metrics_port: Where it answers /metrics.
    """

    def __init__(
        self, folder: Path, pod: str, node: str, command: str, api_port: int, **settings: str
    ) -> None:
        self.pod = pod
        self.node = node
        self.port = free_port()
        self.metrics_port = int(settings.get("EXTENDER_METRICS_PORT", self.port))
        self._process: subprocess.Popen[bytes] | None = None
        self._log = folder / f"{pod}.log"
        kubeconfig = folder / f"{pod}.kubeconfig"
        kubeconfig.write_text(yaml.safe_dump(_kubeconfig(api_port, pod)))
        self._command = [
            *(sys.executable, "-m", "cli", command, "--kubeconfig", str(kubeconfig)),
            *("--host", "127.0.0.1", "--port", str(self.port)),
        ]
        self._environ = {
            **{name: text for name, text in os.environ.items() if not name.startswith("EXTENDER_")},
            "EXTENDER_POD_NAME": pod,
            "EXTENDER_NODE_NAME": node,
            **settings,
        }

    def start(self) -> None:
        """Start the process."""
        with self._log.open("a") as log:
            self._process = subprocess.Popen(
                self._command, cwd=ROOT, env=self._environ, stdout=log, stderr=log
            )

    @property
    def pid(self) -> int:
        """Of the process that runs."""
        assert self._process is not None
        return self._process.pid

    def kill(self) -> None:
        """Send SIGKILL, if it runs."""
        if self._process is not None:
            self._process.kill()
            self._process.wait(STOP_SECONDS)
            self._process = None

    async def is_up(self) -> None:
        """Wait until it serves its metrics."""
        await self._shows("heartbeat")

    async def leads(self) -> None:
        """Wait until it leads."""
        await self._shows(f'heartbeat{{node="{self.node}"}} 1.0')

    def events(self) -> list[dict[str, Any]]:
        """Return what it has logged."""
        return [json.loads(line) for line in self._log.read_text().splitlines()]

    async def _shows(self, text: str) -> None:
        async with asyncio.timeout(READY_SECONDS):
            while text not in await self._metrics():
                assert self._process is not None
                assert self._process.poll() is None, self._log.read_text()
                await asyncio.sleep(0.1)

    async def _metrics(self) -> str:
        """Return what it serves, "" if it does not."""
        try:
            async with httpx.AsyncClient(timeout=READY_SECONDS) as client:
                return (await client.get(f"http://127.0.0.1:{self.metrics_port}/metrics")).text
        except httpx.TransportError:
            return ""


class InstanceProcess(PodProcess):
    """An instance of the service.

    Attributes:
        webhook_port: Where it answers /mutate; 0 without a webhook.
    """

    def __init__(self, folder: Path, number: int, api_port: int, **settings: str) -> None:
        pod, node = f"extender-{number}", f"node-{number + 1}"
        super().__init__(folder, pod, node, "serve", api_port, **settings)
        self.webhook_port = int(settings.get("EXTENDER_WEBHOOK_PORT", 0))


class ControllerProcess(PodProcess):
    """An instance of the controller of DiskSchedules."""

    def __init__(self, folder: Path, number: int, api_port: int) -> None:
        pod, node = f"{CONTROLLER}-{number}", f"node-{number + 1}"
        super().__init__(folder, pod, node, "disk-schedule-controller", api_port)


def _kubeconfig(port: int, user: str) -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": "it", "cluster": {"server": f"http://127.0.0.1:{port}"}}],
        "users": [{"name": "it", "user": {"token": user}}],
        "contexts": [{"name": "it", "context": {"cluster": "it", "user": "it"}}],
        "current-context": "it",
    }
