"""Instances of the service as real processes, on the API server at a loopback port."""

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
from tests.monitoring.api import free_port

STOP_SECONDS = 10.0
READY_SECONDS = 60.0
"""A start takes 3 s of a core, and others may want it, too."""


class InstanceProcess:
    """The process in one pod, which can be ended and started again.

    Attributes:
        port: Where it answers /filter.
        metrics_port: Where it answers /metrics.
        webhook_port: Where it answers /mutate; 0 without a webhook.
    """

    def __init__(self, folder: Path, number: int, api_port: int, **settings: str) -> None:
        self.pod = f"extender-{number}"
        self.node = f"node-{number + 1}"
        self.port = free_port()
        self.metrics_port = int(settings.get("EXTENDER_METRICS_PORT", self.port))
        self.webhook_port = int(settings.get("EXTENDER_WEBHOOK_PORT", 0))
        self._process: subprocess.Popen[bytes] | None = None
        self._log = folder / f"{self.pod}.log"
        self._kubeconfig = folder / f"{self.pod}.kubeconfig"
        self._kubeconfig.write_text(yaml.safe_dump(_kubeconfig(api_port, self.pod)))
        self._environ = {
            **{name: text for name, text in os.environ.items() if not name.startswith("EXTENDER_")},
            "EXTENDER_POD_NAME": self.pod,
            "EXTENDER_NODE_NAME": self.node,
            **settings,
        }

    def start(self) -> None:
        """Start the process."""
        command = [sys.executable, "-m", "app", "serve", "--kubeconfig", str(self._kubeconfig)]
        with self._log.open("a") as log:
            self._process = subprocess.Popen(
                [*command, "--host", "127.0.0.1", "--port", str(self.port)],
                cwd=ROOT,
                env=self._environ,
                stdout=log,
                stderr=log,
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


def _kubeconfig(port: int, user: str) -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": "it", "cluster": {"server": f"http://127.0.0.1:{port}"}}],
        "users": [{"name": "it", "user": {"token": user}}],
        "contexts": [{"name": "it", "context": {"cluster": "it", "user": "it"}}],
        "current-context": "it",
    }
