"""A command of ours that runs as a process, as it would in a pod of its own."""

import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

import httpx
from prometheus_client.parser import text_string_to_metric_families

from app.config import PREFIX
from tests.e2e.processes import Process

PODS_NODE = "control-plane"
"""Where our pods are said to be; no node that pods of tests could go to."""
Settings = Mapping[str, object]
"""By the fields of the command's settings in `app.config`."""


class PodProcess:
    """One process in one pod, with a kubeconfig of its account."""

    def __init__(
        self,
        pod: str,
        command: Sequence[str],
        *,
        port: int,
        log: Path,
        kubeconfig: Path,
        settings: Settings,
    ) -> None:
        """Start it.

        Args:
            pod: Name of the pod.
            command: Of ours, with arguments of its own.
            port: Where it listens on loopback.
            log: What it writes goes there, after what is there.
            kubeconfig: How it reaches the API server.
            settings: Where they are not the defaults.
        """
        self.pod = pod
        self.port = port
        self._metrics_port = settings.get("metrics_port", port)
        self._command = command
        self._log = log
        self._kubeconfig = kubeconfig
        self._settings = settings
        self.process = self._start()

    def restart(self) -> None:
        """Start it again after its end, in the same pod."""
        assert not self.process.is_running
        self.process = self._start()

    async def is_ready(self) -> bool:
        """Whether the readiness probe of its pod succeeds; one that has ended fails the test."""
        self.process.assert_running()
        try:
            await self.get("/readyz")
        except httpx.HTTPError:
            return False
        return True

    async def metric(self, name: str, **labels: str) -> float:
        """Return the sum of a metric over all labels but those given."""
        return sum(
            sample.value
            for family in text_string_to_metric_families(await self.get("/metrics"))
            for sample in family.samples
            if sample.name == name and labels.items() <= sample.labels.items()
        )

    async def get(self, path: str) -> str:
        """Return what it serves there, beside the metrics. Raises `httpx.HTTPError`."""
        async with httpx.AsyncClient(timeout=5.0) as http:
            return (
                (await http.get(f"http://127.0.0.1:{self._metrics_port}{path}"))
                .raise_for_status()
                .text
            )

    def _start(self) -> Process:
        environ = {key: text for key, text in os.environ.items() if not key.startswith(PREFIX)}
        settings = {**self._settings, "pod_name": self.pod, "node_name": PODS_NODE}
        environ |= {f"{PREFIX}{name.upper()}": str(value) for name, value in settings.items()}
        command = [sys.executable, "-m", "cli", *self._command]
        command += ["--kubeconfig", str(self._kubeconfig)]
        command += ["--host", "127.0.0.1", "--port", str(self.port)]
        return Process(self.pod, command, self._log, environ)
