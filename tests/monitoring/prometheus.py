"""A real Prometheus that scrapes real instances, and what it says."""

import asyncio
import json
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, NamedTuple

import httpx
import yaml

from monitoring.panels import INTERVAL, NAMESPACE, ROWS, Query
from monitoring.rules import Alert, rule_groups
from monitoring.series import CONTROLLER_JOB, JOB
from tests.fakes import installed as names
from tests.ports import free_port

PATIENCE_SECONDS = 20.0
_RATE_INTERVAL = "5s"
"""What Grafana would take for `$__rate_interval`, at least four scrapes."""

Alerting = dict[str, Any]
"""An alert as Prometheus tells of it."""


class Sample(NamedTuple):
    """A series of a query: its labels, and its values over time."""

    labels: dict[str, str]
    points: list[tuple[float, float]]


class Prometheus:
    """The server's API.

    Attributes:
        fired: Every alert that has fired, as it was told of first.
    """

    def __init__(self, client: httpx.AsyncClient, targets: Mapping[str, Path]) -> None:
        self.fired: dict[str, Alerting] = {}
        self._client = client
        self._targets = targets
        self._ports: dict[str, dict[str, int]] = {job: {} for job in targets}

    def scrape(self, pod: str, port: int, job: str = JOB) -> None:
        """Begin to scrape a pod, with the labels that the Prometheus Operator would give it."""
        self._ports[job][pod] = port
        content = [
            {"targets": [f"127.0.0.1:{port}"], "labels": {"namespace": names.NAMESPACE, "pod": pod}}
            for pod, port in self._ports[job].items()
        ]
        new = self._targets[job].with_suffix(".new")
        new.write_text(json.dumps(content))
        new.rename(self._targets[job])

    async def query(self, expr: str) -> list[dict[str, Any]]:
        """Evaluate an expression now."""
        return list((await self._get("query", query=expr))["result"])

    async def query_range(self, expr: str, start: float, end: float) -> list[Sample]:
        """Evaluate an expression for each second of a time."""
        data = await self._get("query_range", query=expr, start=start, end=end, step=1)
        return [
            Sample(each["metric"], [(at, float(value)) for at, value in each["values"]])
            for each in data["result"]
        ]

    async def panels(self, start: float, end: float) -> dict[Query, list[Sample]]:
        """Evaluate what the dashboard asks, for each second of a time."""
        return {
            query: await self.query_range(_filled_in(query.expr), start, end)
            for row in ROWS
            for panel in row.panels
            for query in panel.queries
        }

    async def firing(self) -> dict[str, Alerting]:
        """Return the alerts that fire now, by name."""
        alerts = (await self._get("alerts"))["alerts"]
        return {each["labels"]["alertname"]: each for each in alerts if each["state"] == "firing"}

    async def unhealthy(self) -> dict[str, str]:
        """Return the rules that could not be evaluated, and why."""
        [group] = (await self._get("rules"))["groups"]
        return {
            each["name"]: each.get("lastError", each["health"])
            for each in group["rules"]
            if each["health"] != "ok"
        }

    async def watch(self) -> None:
        """Remember which alerts fire, until cancelled."""
        while True:
            self.fired = {**await self.firing(), **self.fired}
            await asyncio.sleep(0.25)

    async def fires(self, *names: str, within: float = PATIENCE_SECONDS) -> None:
        """Wait until alerts have fired."""
        loop = asyncio.get_running_loop()
        deadline = loop.time() + within
        while missing := {*names} - {*self.fired}:
            assert loop.time() < deadline, f"not firing after {within:g} s: {sorted(missing)}"
            await asyncio.sleep(0.25)

    async def is_ready(self) -> bool:
        try:
            return (await self._client.get("/-/ready")).status_code == 200
        except httpx.TransportError:
            return False

    async def _get(self, path: str, **query: Any) -> dict[str, Any]:
        response = await self._client.get(f"/api/v1/{path}", params=query)
        assert response.status_code == 200, (query, response.text)
        data: dict[str, Any] = response.json()["data"]
        return data


@asynccontextmanager
async def running(folder: Path, alerts: tuple[Alert, ...]) -> AsyncIterator[Prometheus]:
    """Run Prometheus with these alerts; it scrapes and evaluates every second."""
    port = free_port()
    targets = {job: folder / f"{job}.json" for job in (JOB, CONTROLLER_JOB)}
    for file in targets.values():
        file.write_text("[]")
    (folder / "rules.yaml").write_text(yaml.safe_dump(rule_groups(alerts)))
    (folder / "prometheus.yaml").write_text(yaml.safe_dump(_configuration(targets)))
    command = [
        "prometheus",
        f"--config.file={folder / 'prometheus.yaml'}",
        f"--storage.tsdb.path={folder / 'data'}",
        f"--web.listen-address=127.0.0.1:{port}",
        "--log.level=warn",
    ]
    with (folder / "prometheus.log").open("w") as log:
        process = await asyncio.create_subprocess_exec(*command, stdout=log, stderr=log)
        try:
            async with httpx.AsyncClient(
                base_url=f"http://127.0.0.1:{port}", timeout=PATIENCE_SECONDS
            ) as client:
                prometheus = Prometheus(client, targets)
                async with asyncio.timeout(PATIENCE_SECONDS):
                    while not await prometheus.is_ready():
                        assert process.returncode is None, (folder / "prometheus.log").read_text()
                        await asyncio.sleep(0.1)
                yield prometheus
        finally:
            process.terminate()
            await process.wait()


def _filled_in(expr: str) -> str:
    """Fill in the variables of the dashboard, as Grafana does."""
    return expr.replace(NAMESPACE, names.NAMESPACE).replace(INTERVAL, _RATE_INTERVAL)


def _configuration(targets: Mapping[str, Path]) -> Mapping[str, Any]:
    return {
        "global": {"scrape_interval": "1s", "scrape_timeout": "1s", "evaluation_interval": "1s"},
        "rule_files": ["rules.yaml"],
        "scrape_configs": [
            {"job_name": job, "file_sd_configs": [{"files": [str(file)]}]}
            for job, file in targets.items()
        ],
    }
