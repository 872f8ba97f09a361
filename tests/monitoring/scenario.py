"""A day in a minute: real instances at work, then in trouble, seen by a real Prometheus."""

import asyncio
import socket
import time
from contextlib import ExitStack, suppress
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

import httpx
import trustme

from monitoring.panels import Query
from monitoring.rules import ALERTS
from tests.certificates import write_certificate
from tests.fakes import Call, FakeApiServer
from tests.fakes.installed import LONGHORN
from tests.monitoring.cluster import KNOWN_SECONDS, PATIENCE_SECONDS, ROOMS, Cluster
from tests.monitoring.disks import Disks, lend, spoil
from tests.monitoring.installation import installed, rights
from tests.monitoring.prometheus import Alerting, Prometheus, Sample
from tests.monitoring.work import in_background, repeat, work
from tests.pod_process import PodProcess
from tests.ports import free_port

QUIET_SECONDS = 12.0
PROVOKED = (
    "Abandoned", "Absent", "BadRequests", "CertificateUnusable", "ConnectionLimit", "Errors",
    "FilterSlow", "HandshakesFail", "HoldsExpire", "NoLeader", "NoStandby", "PackingUndecided",
    "PodsWaitLong",
    "SettingsErrors", "SlowClients", "TargetDown", "Unavailable", "UnreadableObjects",
    "ViewIncomplete", "ViewStale", "WakeUpsFail",
    *(alert.name for alert in ALERTS if alert.name.startswith("DiskSchedule")),
)  # fmt: skip
NOT_PROVOKED = {
    "NoRoomToRebuild": "the other disks have room for what is on one node",
    "DiskFullSoon": "only longhorn-manager shows what it rests on",
    "TwoLeaders": "no fault of ours or of the API server makes two instances lead",
    "LeaderChanges": "five changes take longer than a 60th of 15 minutes",
    "EventLoopLag": "nothing that is sent to an instance holds it up for half a second",
    "NotAsked": "pods are looked for every 30 s, and all pods here are asked about",
    "Restarts": "three starts of a process do when the machine is busy",
    "WatchFlapping": "ten failures of a watch do, since it pauses for up to 8 s between them",
}
_SETTINGS = {
    "filter_wait_seconds": "3",
    "step_limit": "1",
    "body_timeout_seconds": "3",
    "connection_limit": "40",
}


class Recording(NamedTuple):
    """What Prometheus told.

    Attributes:
        panels: The series of each dashboard query, until the last instance was about to end.
        expressions: Errors of rules as they are shipped, by alert; "" if there is none.
        in_quiet: The alerts that fired when nothing was wrong.
        fired: Those that did later.
        unhealthy: Rules that Prometheus could not evaluate, and why.
    """

    panels: dict[Query, list[Sample]]
    expressions: dict[str, str]
    in_quiet: dict[str, Alerting]
    fired: dict[str, Alerting]
    unhealthy: dict[str, str]


async def record(folder: Path) -> Recording:
    """Go through everything, and return what Prometheus told."""
    server = FakeApiServer(Random(0), bookmark_seconds=0.5)
    is_granted = rights()
    denied: set[tuple[str, str]] = {("extender-2", "backingimages")}

    def allow(call: Call) -> bool:
        is_denied = (call.client, call.resource) in denied or (call.verb, call.resource) in denied
        return is_granted(call) and not is_denied

    server.authorize = allow
    chain, key = write_certificate(trustme.CA(), folder, "tls")
    https = {
        "metrics_port": str(free_port()),
        "tls_cert_file": chain,
        "tls_private_key_file": key,
    }
    async with (
        installed(folder, server, _SETTINGS, _SETTINGS, {**_SETTINGS, **https}) as installation,
        in_background(installation.prometheus.watch()),
    ):
        cluster, disks, instances, controllers, prometheus = installation
        began_at = time.time()
        await installation.start(*instances[:2])
        await installation.start_controllers()
        stage = Stage(cluster, disks, instances, controllers, prometheus, Path(chain), denied)
        async with in_background(work(cluster)), in_background(lend(disks)):
            await asyncio.sleep(QUIET_SECONDS)
            in_quiet = await prometheus.firing()
            prometheus.fired.clear()
            await stage.trouble()
            await stage.turn_off()
        panels = await prometheus.panels(began_at, time.time())
        await stage.go_away(server)
        return Recording(
            panels=panels,
            expressions=await _expressions(prometheus),
            in_quiet=in_quiet,
            fired=prometheus.fired,
            unhealthy=await prometheus.unhealthy(),
        )


class Stage(NamedTuple):
    """Where trouble is made.

    Attributes:
        chain: The certificate of the third instance.
        denied: What is refused although the rights are there: a client or a verb, and a resource.
    """

    cluster: Cluster
    disks: Disks
    instances: list[PodProcess]
    controllers: list[PodProcess]
    prometheus: Prometheus
    chain: Path
    denied: set[tuple[str, str]]

    async def trouble(self) -> None:
        """Have everything go wrong that leaves the leader in place."""
        cluster, leader = self.cluster, self.instances[0]
        await self._reject_for_good()
        cluster.put(_unreadable())
        cluster.set_config(**{"scheduler-extender-node-reservation-timeout": "soon"})
        async with (
            in_background(repeat(1.0, lambda _: self._ask_nonsense())),
            in_background(repeat(0.5, lambda number: self._overtake("slow", number))),
            in_background(repeat(0.7, lambda number: self._overtake("late", number))),
            in_background(repeat(3.0, self._leave)),
            in_background(repeat(4.0, self._let_holds_expire)),
            in_background(repeat(1.0, lambda _: _connect(leader.port, 12, seconds=4))),
            in_background(self._third_instance()),
            in_background(spoil(self.disks, self.prometheus, self.denied)),
        ):
            await self._wake_up()
            await self._undecided()
            await self.prometheus.fires(
                *(f"LonghornSchedulerExtender{name}" for name in PROVOKED if name not in _AT_END),
                within=90,
            )

    async def turn_off(self) -> None:
        """End all but one, and have that one not lead."""
        for process in (*self.instances[1:], *self.controllers):
            process.kill()
        self.cluster.set_config(**{"scheduler-extender-enabled": "false"})
        await self._fires(
            "NoLeader", "Unavailable", "TargetDown", "NoStandby", "DiskScheduleNoLeader"
        )

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
        self.chain.write_text("no certificate")

        async def crowd(_: int) -> None:
            await _connect(instance.port, 3, seconds=0.1)
            await _connect(instance.metrics_port, 60, seconds=0.2)

        await repeat(1.0, crowd)


_AT_END = (
    "Absent", "DiskScheduleNoLeader", "NoLeader", "NoStandby", "TargetDown", "Unavailable",
    "ViewStale",
)  # fmt: skip


async def _connect(port: int, connections: int, *, seconds: float) -> None:
    """Open connections, begin to say something, and leave it at that."""
    with ExitStack() as stack:
        for _ in range(connections):
            opened = stack.enter_context(socket.create_connection(("127.0.0.1", port)))
            opened.send(b"POST /")
        await asyncio.sleep(seconds)


async def _expressions(prometheus: Prometheus) -> dict[str, str]:
    errors = {}
    for alert in ALERTS:
        try:
            await prometheus.query(alert.expr)
            errors[alert.alert] = ""
        except AssertionError as error:
            errors[alert.alert] = str(error)
    return errors


def _unreadable() -> dict[str, Any]:
    return {
        "apiVersion": "longhorn.io/v1beta2",
        "kind": "Volume",
        "metadata": {"name": "odd", "namespace": LONGHORN},
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
