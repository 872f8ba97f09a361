"""A command of ours that runs as a process, as it would in a pod of its own."""

import asyncio
import json
import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import httpx
import yaml
from prometheus_client.parser import text_string_to_metric_families

from app.config import PREFIX
from tests.fakes.installed import kubeconfig
from tests.ports import free_port
from tests.processes import Process

ROOT = Path(__file__).parents[1]
PODS_NODE = "control-plane"
"""Where our pods are said to be; no node that pods of tests could go to."""
READY_SECONDS = 60.0
"""A start takes 3 s of a core, and others may want it, too."""
Settings = Mapping[str, object]
"""By the fields of the command's settings in `app.config`."""


class PodProcess:
    """One process in one pod, with a kubeconfig of its account; it can be started again.

    Args:
        pod: Name of the pod.
        command: Of ours, with arguments of its own.
        log: What it writes goes there, after what is there.
        kubeconfig: How it reaches the API server.
        settings: Where they are not the defaults.
        port: Where it listens on loopback; a free one unless given.
        node: Where the pod is said to be.

    Attributes:
        metrics_port: Where it answers /metrics and the probes.
        webhook_port: Where it answers /mutate; 0 without a webhook.
    """

    def __init__(
        self,
        pod: str,
        command: Sequence[str],
        *,
        log: Path,
        kubeconfig: Path,
        settings: Settings,
        port: int = 0,
        node: str = PODS_NODE,
    ) -> None:
        self.pod, self.node, self.port = pod, node, port or free_port()
        self.metrics_port = int(str(settings.get("metrics_port", self.port)))
        self.webhook_port = int(str(settings.get("webhook_port", 0)))
        self._log = log
        self._command = [sys.executable, "-m", "cli", *command, "--kubeconfig", str(kubeconfig)]
        self._command += ["--host", "127.0.0.1", "--port", str(self.port)]
        own = {**settings, "pod_name": pod, "node_name": node}
        self._environ = clean_environ() | {
            f"{PREFIX}{name.upper()}": str(value) for name, value in own.items()
        }
        self._process: Process | None = None

    @property
    def process(self) -> Process:
        """The process that was started last."""
        assert self._process is not None, f"{self.pod} was not started"
        return self._process

    def start(self) -> None:
        """Start it, for the first time or after its end."""
        assert self._process is None or not self._process.is_running
        self._process = Process(self.pod, self._command, self._log, self._environ, ROOT)

    def kill(self) -> None:
        """Send SIGKILL, if it runs."""
        if self._process is not None:
            self._process.kill()

    async def is_ready(self) -> bool:
        """Whether the readiness probe of its pod succeeds; one that has ended fails the test."""
        self.process.assert_running()
        try:
            await self.get("/readyz")
        except httpx.HTTPError:
            return False
        return True

    async def is_up(self) -> None:
        """Wait until it serves its metrics."""
        await self._shows("heartbeat")

    async def leads(self) -> None:
        """Wait until it leads."""
        await self._shows(f'heartbeat{{node="{self.node}"}} 1.0')

    def events(self) -> list[dict[str, Any]]:
        """Return what it has logged."""
        return [json.loads(line) for line in self._log.read_text().splitlines()]

    async def metric(self, name: str, **labels: str) -> float:
        """Return the sum of a metric over all labels but those given."""
        return sum(
            sample.value
            for family in text_string_to_metric_families(await self.get("/metrics"))
            for sample in family.samples
            if sample.name == name and labels.items() <= sample.labels.items()
        )

    async def get(self, path: str, *, seconds: float = 5.0) -> str:
        """Return what it serves there, beside the metrics. Raises `httpx.HTTPError`."""
        async with httpx.AsyncClient(timeout=seconds) as http:
            url = f"http://127.0.0.1:{self.metrics_port}{path}"
            return (await http.get(url)).raise_for_status().text

    async def _shows(self, text: str) -> None:
        async with asyncio.timeout(READY_SECONDS):
            while text not in await self._metrics():
                self.process.assert_running()
                await asyncio.sleep(0.1)

    async def _metrics(self) -> str:
        try:
            return await self.get("/metrics", seconds=READY_SECONDS)
        except httpx.TransportError:
            return ""


def instance_process(folder: Path, number: int, api_port: int, **settings: object) -> PodProcess:
    """Make an instance of the service, on the in-memory API server at *api_port*."""
    return _on_fake(folder, f"extender-{number}", number, "serve", api_port, settings)


def controller_process(folder: Path, number: int, api_port: int) -> PodProcess:
    """Make an instance of the controller of DiskSchedules, on the same."""
    return _on_fake(
        folder, f"controller-{number}", number, "disk-schedule-controller", api_port, {}
    )


def clean_environ() -> dict[str, str]:
    """Return the environment without settings that somebody has set there."""
    return {name: text for name, text in os.environ.items() if not name.startswith(PREFIX)}


def _on_fake(
    folder: Path, pod: str, number: int, command: str, api_port: int, settings: Settings
) -> PodProcess:
    file = folder / f"{pod}.kubeconfig"
    file.write_text(yaml.safe_dump(kubeconfig(api_port, pod)))
    return PodProcess(
        pod,
        [command],
        log=folder / f"{pod}.log",
        kubeconfig=file,
        settings=settings,
        node=f"node-{number + 1}",
    )
