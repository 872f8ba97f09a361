"""Instances on an API server in memory, seen by a real Prometheus.

Rules are evaluated as they are shipped, but for time: their windows, how long they must last and
the limits of waits are a 60th, so that a minute of theirs is a second here. The service's own times
(the lease, timeouts of holds, backoffs) are not, which is why a hand-over could alert here and
cannot at the true durations; `rule_cases.py` has those.
"""

import re
import ssl
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import NamedTuple

import httpx
import msgspec
import trustme

from monitoring.rules import ALERTS, Alert
from monitoring.series import CONTROLLER_JOB
from tests.certificates import write_certificate
from tests.fakes import Call, FakeApiServer, over_http
from tests.integration.rbac import of_the_controller, shipped
from tests.monitoring.cluster import Cluster
from tests.monitoring.disks import Disks
from tests.monitoring.prometheus import Prometheus, running
from tests.pod_process import PodProcess, controller_process, instance_process
from tests.ports import free_port

_FASTER = 60
_LIMIT = re.compile(r"(?<=_seconds\) > )\d+")
"""How long something may last, in an expression."""
_HOST = "127.0.0.1"


class Installation(NamedTuple):
    """What runs.

    Attributes:
        cluster: What the instances know, and a client of the first one.
        disks: On what the controllers decide.
        instances: None of them is started yet.
        controllers: The same.
        prometheus: It scrapes those that were started with `start` and `start_controllers`.
    """

    cluster: Cluster
    disks: Disks
    instances: list[PodProcess]
    controllers: list[PodProcess]
    prometheus: Prometheus

    async def start(self, first: PodProcess, *others: PodProcess) -> None:
        """Start instances, of which the first is to lead, and have them scraped."""
        first.start()
        await first.leads()
        for each in others:
            each.start()
        for each in others:
            await each.is_up()
        for each in (first, *others):
            self.prometheus.scrape(each.pod, each.metrics_port)

    async def start_controllers(self) -> None:
        """Start all controllers, of which the first is to lead, and have them scraped."""
        first, *others = self.controllers
        first.start()
        await first.leads()
        for each in others:
            each.start()
        for each in self.controllers:
            await each.is_up()
            self.prometheus.scrape(each.pod, each.metrics_port, CONTROLLER_JOB)


@asynccontextmanager
async def installed(
    folder: Path, server: FakeApiServer, *settings: Mapping[str, str], controllers: int = 1
) -> AsyncIterator[Installation]:
    """Install an instance with a webhook for each of *settings*, and controllers of DiskSchedules;
    end all at the end.
    """
    ca = trustme.CA()
    chain, key = write_certificate(ca, folder, "webhook")
    files = {"webhook_cert_file": chain, "webhook_private_key_file": key}
    trust = ssl.create_default_context()
    ca.configure_trust(trust)
    async with over_http(server) as api_port, running(folder, _faster_alerts()) as prometheus:
        instances = [
            instance_process(folder, number, api_port, webhook_port=free_port(), **files, **more)
            for number, more in enumerate(settings)
        ]
        async with (
            httpx.AsyncClient(base_url=f"http://{_HOST}:{instances[0].port}") as leader,
            httpx.AsyncClient(
                base_url=f"https://{_HOST}:{instances[0].webhook_port}", verify=trust
            ) as webhook,
        ):
            cluster, disks = Cluster(server, leader, webhook), Disks(server)
            cluster.install(len(instances))
            disks.install()
            deciding = [
                controller_process(folder, number, api_port) for number in range(controllers)
            ]
            with _ending([*instances, *deciding]):
                yield Installation(cluster, disks, instances, deciding, prometheus)


def rights() -> Callable[[Call], bool]:
    """Return what says whether a call is allowed, by the shipped rules of who calls."""
    service = shipped()
    controller = of_the_controller(manage_objects=False)
    return lambda call: (controller if call.client.startswith("controller-") else service).allow(
        call
    )


def _faster_alerts() -> tuple[Alert, ...]:
    """Return the alerts, with times that are a 60th."""
    return tuple(
        msgspec.structs.replace(
            alert,
            expr=_LIMIT.sub(
                lambda found: f"{int(found[0]) / _FASTER:g}",
                re.sub(r"\[(\w+)\]", lambda found: f"[{_faster(found[1])}]", alert.expr),
            ),
            lasts=_faster(alert.lasts),
        )
        for alert in ALERTS
    )


def _faster(duration: str) -> str:
    number, unit = int(duration[:-1]), duration[-1]
    return f"{number * {'m': 60, 'h': 3600}[unit] // _FASTER}s"


@contextmanager
def _ending(instances: Iterable[PodProcess]) -> Iterator[None]:
    try:
        yield
    finally:
        for instance in instances:
            instance.kill()
