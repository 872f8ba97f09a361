"""A day in a minute: real instances at work, then in trouble, seen by a real Prometheus.

Rules are evaluated as they are shipped, but for time: their windows, how long they must last and
the limits of waits are a 60th, so that a minute of theirs is a second of this test. The service's
own times (the lease, timeouts of holds, backoffs) are not, which is why a hand-over could alert
here and cannot at the true durations; `rule_cases.py` has those.
"""

import asyncio
import re
import socket
import time
from collections.abc import AsyncIterator, Callable, Coroutine, Iterable
from contextlib import ExitStack, asynccontextmanager, suppress
from itertools import count
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

import httpx
import msgspec
import trustme

from monitoring.panels import INTERVAL, NAMESPACE, ROWS, Query
from monitoring.rules import ALERTS, Alert
from tests.fakes import Call, FakeApiServer
from tests.integration import instances as names
from tests.integration.rbac import shipped
from tests.monitoring.api import free_port, over_http
from tests.monitoring.cluster import KNOWN_SECONDS, PATIENCE_SECONDS, ROOMS, Cluster
from tests.monitoring.instances import InstanceProcess
from tests.monitoring.prometheus import Alerting, Prometheus, Sample, running

FASTER = 60
QUIET_SECONDS = 12.0
RATE_INTERVAL = "5s"
"""What Grafana would take for `$__rate_interval`, at least four scrapes."""
PROVOKED = (
    "Abandoned", "Absent", "BadRequests", "CertificateUnusable", "ConnectionLimit", "Errors",
    "FilterSlow", "HandshakesFail", "HoldsExpire", "NoLeader", "NoStandby", "PackingUndecided",
    "PodsWaitLong",
    "SettingsErrors", "SlowClients", "TargetDown", "Unavailable", "UnreadableObjects",
    "ViewIncomplete", "ViewStale", "WakeUpsFail",
)  # fmt: skip
NOT_PROVOKED = {
    "TwoLeaders": "no fault of ours or of the API server makes two instances lead",
    "LeaderChanges": "five changes take longer than a 60th of 15 minutes",
    "Restarts": "three starts of a process do when the machine is busy",
    "WatchFlapping": "ten failures of a watch do, since it pauses for up to 8 s between them",
}
_SETTINGS = {
    "EXTENDER_FILTER_WAIT_SECONDS": "3",
    "EXTENDER_STEP_LIMIT": "1",
    "EXTENDER_BODY_TIMEOUT_SECONDS": "3",
    "EXTENDER_CONNECTION_LIMIT": "40",
}


class Recording(NamedTuple):
    """What Prometheus told.

    Attributes:
        began_at: When it began to scrape, in seconds since 1970; *ended_at* likewise.
        panels: The series of each dashboard query, over all of that time.
        expressions: Errors of rules as they are shipped, by alert; "" if there is none.
        in_quiet: The alerts that fired when nothing was wrong.
        fired: Those that did later.
        unhealthy: Rules that Prometheus could not evaluate, and why.
    """

    began_at: float
    ended_at: float
    panels: dict[Query, list[Sample]]
    expressions: dict[str, str]
    in_quiet: dict[str, Alerting]
    fired: dict[str, Alerting]
    unhealthy: dict[str, str]


def faster(alert: Alert) -> Alert:
    """Return an alert whose times are a 60th."""
    return msgspec.structs.replace(
        alert,
        expr=re.sub(r"\[(\w+)\]", lambda found: f"[{_faster(found[1])}]", alert.expr),
        lasts=_faster(alert.lasts),
        limit_seconds=alert.limit_seconds / FASTER,
    )


def asked(expr: str) -> str:
    """Fill in the variables of the dashboard, as Grafana does."""
    return expr.replace(NAMESPACE, names.NAMESPACE).replace(INTERVAL, RATE_INTERVAL)


def _faster(duration: str) -> str:
    number, unit = int(duration[:-1]), duration[-1]
    return f"{number * {'m': 60, 'h': 3600}[unit] // FASTER}s"


async def record(folder: Path) -> Recording:
    """Go through everything, and return what Prometheus told."""
    server = FakeApiServer(Random(0), bookmark_seconds=0.5)
    rights = shipped(names.NAMESPACE)
    denied: set[tuple[str, str]] = {("extender-2", "backingimages")}

    def allow(call: Call) -> bool:
        is_denied = (call.client, call.resource) in denied or (call.verb, call.resource) in denied
        return rights.allow(call) and not is_denied

    server.authorize = allow
    async with (
        over_http(server) as api_port,
        running(folder, tuple(map(faster, ALERTS))) as prometheus,
        _instances(folder, api_port) as instances,
        httpx.AsyncClient(base_url=f"http://127.0.0.1:{instances[0].port}") as leader,
        _in_background(prometheus.watch()),
    ):
        cluster = Cluster(server, leader)
        cluster.install(instances=3)
        began_at = time.time()
        await _start(instances, prometheus)
        stage = Stage(cluster, instances, prometheus, folder, denied)
        async with _in_background(_work(cluster)):
            await asyncio.sleep(QUIET_SECONDS)
            in_quiet = await prometheus.firing()
            prometheus.fired.clear()
            await stage.trouble()
            await stage.turn_off()
        ended_at = time.time()
        panels = await _panels(prometheus, began_at, ended_at)
        await stage.go_away(server)
        return Recording(
            began_at=began_at,
            ended_at=ended_at,
            panels=panels,
            expressions=await _expressions(prometheus),
            in_quiet=in_quiet,
            fired=prometheus.fired,
            unhealthy=await prometheus.unhealthy(),
        )


class Stage(NamedTuple):
    """Where trouble is made."""

    cluster: Cluster
    instances: list[InstanceProcess]
    prometheus: Prometheus
    folder: Path
    denied: set[tuple[str, str]]

    async def trouble(self) -> None:
        """Have everything go wrong that leaves the leader in place."""
        cluster, leader = self.cluster, self.instances[0]
        await self._reject_for_good()
        cluster.put(_unreadable())
        cluster.set_config(**{"scheduler-extender-node-reservation-timeout": "soon"})
        async with (
            _in_background(_repeat(1.0, lambda _: self._ask_nonsense())),
            _in_background(_repeat(0.5, lambda number: self._overtake("slow", number))),
            _in_background(_repeat(0.7, lambda number: self._overtake("late", number))),
            _in_background(_repeat(3.0, self._leave)),
            _in_background(_repeat(4.0, self._let_holds_expire)),
            _in_background(_repeat(1.0, lambda _: _connect(leader.port, 12, seconds=4))),
            _in_background(self._third_instance()),
        ):
            await self._wake_up()
            await self._undecided()
            await self.prometheus.fires(
                *(f"LonghornSchedulerExtender{name}" for name in PROVOKED if name not in _AT_END),
                within=90,
            )

    async def turn_off(self) -> None:
        """End all but one, and have that one not lead."""
        for instance in self.instances[1:]:
            instance.kill()
        self.cluster.set_config(**{"scheduler-extender-enabled": "false"})
        await self._fires("NoLeader", "Unavailable", "TargetDown", "NoStandby")

    async def go_away(self, server: FakeApiServer) -> None:
        """Have the API server fall silent, and the last instance end."""
        with server.outage(silent=True):
            await self._fires("ViewStale")
        self.instances[0].kill()
        await self._fires("Absent")

    async def _fires(self, *alerts: str) -> None:
        await self.prometheus.fires(
            *(f"LonghornSchedulerExtender{name}" for name in alerts), within=30
        )

    async def _reject_for_good(self) -> None:
        await self.cluster.create("giant", 200)
        await self.cluster.ask("giant", *ROOMS)

    async def _wake_up(self) -> None:
        """Have a pod woken, and another one not, since that is not allowed any more."""
        for pod in ("tenant-1", "tenant-2"):
            await self._let_room(pod)
            await self.cluster.create(f"{pod}-next", 60)
            await self.cluster.ask(f"{pod}-next", "sleep-1")
            if pod == "tenant-2":
                self.denied.add(("patch", "pods"))
            self.cluster.remove(pod, f"{pod}-0")
            await asyncio.sleep(1)

    async def _let_room(self, pod: str) -> None:
        await self.cluster.create(pod, 60)
        await self.cluster.ask(pod, "sleep-1")
        self.cluster.bind(pod, "sleep-1")
        self.cluster.place(f"{pod}-0", "sleep-1")
        await asyncio.sleep(KNOWN_SECONDS)

    async def _undecided(self) -> None:
        """Ask for what fits on the two disks of a node, but not the largest first."""
        await self.cluster.create("puzzle", 40, 40, 30, 30, 30, 30)
        await self.cluster.ask("puzzle", "node-2")

    async def _ask_nonsense(self) -> None:
        """Ask for nothing, and for a pod whose claim does not exist."""
        assert await self.cluster.send(b"{") == 400
        self.cluster.put(_orphan())
        assert (await self.cluster.ask("orphan", *ROOMS))["Error"]

    async def _overtake(self, name: str, number: int) -> None:
        """Have an answer wait for a pod whose node is never chosen."""
        await self._offer_and_wait(name, number, patience_seconds=PATIENCE_SECONDS)

    async def _leave(self, number: int) -> None:
        """Have kube-scheduler not wait for such an answer."""
        for again in range(3):
            await self._offer_and_wait("left", 3 * number + again, patience_seconds=0.3)

    async def _offer_and_wait(self, name: str, number: int, *, patience_seconds: float) -> None:
        first, second = f"{name}-first-{number}", f"{name}-second-{number}"
        await self.cluster.create(first, 60)
        await self.cluster.create(second, 60)
        await self.cluster.ask(first, f"{name}-1", f"{name}-2")
        with suppress(httpx.ReadTimeout):
            await self.cluster.ask(
                second, f"{name}-1", f"{name}-2", patience_seconds=patience_seconds
            )
        self.cluster.remove(first, f"{first}-0")
        self.cluster.remove(second, f"{second}-0")

    async def _let_holds_expire(self, number: int) -> None:
        """Let holds run out of time, in each way."""
        pods = [f"broken-{number}-{each}" for each in range(6)]
        for pod in pods:
            await self.cluster.create(pod, 1)
            await self.cluster.ask(pod, *ROOMS)
        for pod in pods[2:4]:
            self.cluster.nominate(pod, ROOMS[0])
        for pod in pods[4:]:
            self.cluster.bind(pod, ROOMS[0])

    async def _third_instance(self) -> None:
        """Start an instance that may not list everything, break its certificate, and crowd it.

        Part of the crowd says something else than TLS.
        """
        instance = self.instances[2]
        instance.start()
        await instance.is_up()
        self.prometheus.scrape(instance.pod, instance.metrics_port)
        (self.folder / "tls.crt").write_text("no certificate")

        async def crowd(_: int) -> None:
            await _connect(instance.port, 3, seconds=0.1)
            await _connect(instance.metrics_port, 60, seconds=0.2)

        await _repeat(1.0, crowd)


_AT_END = ("Absent", "NoLeader", "NoStandby", "TargetDown", "Unavailable", "ViewStale")


async def _start(instances: list[InstanceProcess], prometheus: Prometheus) -> None:
    """Start two instances of which the first leads."""
    first, second = instances[:2]
    first.start()
    await first.leads()
    second.start()
    await second.is_up()
    for instance in (first, second):
        prometheus.scrape(instance.pod, instance.metrics_port)


async def _work(cluster: Cluster) -> None:
    """Have pods scheduled, run and deleted, one after another."""
    for number in count():
        pod, node = f"web-{number}", ROOMS[number % len(ROOMS)]
        await cluster.create(pod, 1)
        answer = await cluster.ask(pod, *ROOMS)
        if answer["Error"]:
            await asyncio.sleep(0.3)
        else:
            await _schedule(cluster, pod, node)
        cluster.remove(pod, f"{pod}-0")


async def _schedule(cluster: Cluster, pod: str, node: str) -> None:
    await cluster.score(pod, *ROOMS)
    await asyncio.sleep(0.01)
    cluster.nominate(pod, node)
    await asyncio.sleep(0.05)
    cluster.bind(pod, node)
    await asyncio.sleep(0.1)
    cluster.place(f"{pod}-0", node)
    await asyncio.sleep(KNOWN_SECONDS)
    cluster.attach(f"{pod}-0", node)
    await asyncio.sleep(KNOWN_SECONDS)
    await cluster.ask(pod, *ROOMS)  # as if it had been restarted
    await cluster.create(f"{pod}-without")
    await cluster.ask(f"{pod}-without", *ROOMS)
    cluster.remove(f"{pod}-without")


async def _connect(port: int, connections: int, *, seconds: float) -> None:
    """Open connections, begin to say something, and leave it at that."""
    with ExitStack() as stack:
        for _ in range(connections):
            opened = stack.enter_context(socket.create_connection(("127.0.0.1", port)))
            opened.send(b"POST /")
        await asyncio.sleep(seconds)


async def _panels(
    prometheus: Prometheus, began_at: float, ended_at: float
) -> dict[Query, list[Sample]]:
    return {
        query: await prometheus.query_range(asked(query.expr), began_at, ended_at)
        for query in _queries()
    }


def _queries() -> Iterable[Query]:
    return (query for row in ROWS for panel in row.panels for query in panel.queries)


async def _expressions(prometheus: Prometheus) -> dict[str, str]:
    errors = {}
    for alert in ALERTS:
        try:
            await prometheus.query(alert.promql)
            errors[alert.alert] = ""
        except AssertionError as error:
            errors[alert.alert] = str(error)
    return errors


def _unreadable() -> dict[str, Any]:
    return {
        "apiVersion": "longhorn.io/v1beta2",
        "kind": "Volume",
        "metadata": {"name": "odd", "namespace": names.NAMESPACE},
        "spec": {"size": "large"},
    }


def _orphan() -> dict[str, Any]:
    volume = {"name": "data", "persistentVolumeClaim": {"claimName": "nowhere"}}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "orphan", "namespace": "default"},
        "spec": {"volumes": [volume]},
    }


async def _repeat(seconds: float, act: Callable[[int], Coroutine[Any, Any, None]]) -> None:
    for number in count():
        await act(number)
        await asyncio.sleep(seconds)


@asynccontextmanager
async def _in_background(work: Coroutine[Any, Any, None]) -> AsyncIterator[None]:
    """Do something until the end of the block; what fails there fails here."""
    async with asyncio.TaskGroup() as tasks:
        task = tasks.create_task(work)
        yield
        task.cancel()


@asynccontextmanager
async def _instances(folder: Path, api_port: int) -> AsyncIterator[list[InstanceProcess]]:
    """Make two instances, and one that serves HTTPS; end them at the end."""
    certificate = trustme.CA().issue_cert("127.0.0.1")
    certificate.cert_chain_pems[0].write_to_path(str(folder / "tls.crt"))
    certificate.private_key_pem.write_to_path(str(folder / "tls.key"))
    https = {
        "EXTENDER_METRICS_PORT": str(free_port()),
        "EXTENDER_TLS_CERT_FILE": str(folder / "tls.crt"),
        "EXTENDER_TLS_PRIVATE_KEY_FILE": str(folder / "tls.key"),
    }
    instances = [
        InstanceProcess(folder, 0, api_port, **_SETTINGS),
        InstanceProcess(folder, 1, api_port, **_SETTINGS),
        InstanceProcess(folder, 2, api_port, **_SETTINGS, **https),
    ]
    try:
        yield instances
    finally:
        for instance in instances:
            instance.kill()
