"""Instances of the service as processes, and the proxy that stands for kube-proxy.

Each instance runs with the token of the shipped ServiceAccount and nothing else. Its pod is an
object alone, with an address that may be published; the proxy knows which port stands for it.
"""

import asyncio
import contextlib
import json
import ssl
import sys
import time
from collections.abc import AsyncIterator, Sequence
from pathlib import Path

import httpx

from app.config import NAME, OWN_NAMESPACE
from tests.actors.api import LEASES, PODS, Api, Key, Object
from tests.e2e.calls import Call, read_calls
from tests.e2e.control_plane import ControlPlane
from tests.e2e.histograms import Histogram, read_histogram
from tests.e2e.proxy import Endpoint
from tests.e2e.users import ADMIN, EXTENDER
from tests.e2e.waiting import until
from tests.pod_process import PODS_NODE, PodProcess, Settings
from tests.ports import free_ports
from tests.processes import Process

ROOT = Path(__file__).parents[2]
START_SECONDS = 60.0
PROBE = "default/probe"
"""The pod, which nobody makes, that tests ask about to see whether there is an answer."""
_PROBE_SECONDS = 0.02


class InstanceProcess(PodProcess):
    """One process in one pod, whose address may be published."""

    def __init__(
        self, number: int, port: int, folder: Path, kubeconfig: Path, settings: Settings
    ) -> None:
        self.address = f"10.42.0.{number + 1}"
        super().__init__(
            f"{NAME}-{number}",
            ["serve"],
            port=port,
            log=folder / f"extender-{number}.log",
            kubeconfig=kubeconfig,
            settings=settings,
        )

    async def histogram(self, name: str) -> Histogram:
        """Return a histogram over all labels; its name goes without the prefix."""
        return read_histogram(await self.get("/metrics"), name)

    async def state(self) -> Object:
        """Return /debug/state; the setting `debug` must be on."""
        state: Object = json.loads(await self.get("/debug/state"))
        return state

    async def filter(self, body: Object) -> Object:
        """Ask this instance itself, past the Service."""
        async with httpx.AsyncClient(timeout=10.0) as http:
            response = await http.post(f"http://127.0.0.1:{self.port}/filter", json=body)
        answer: Object = response.raise_for_status().json()
        return answer


class Extender:
    """All instances, and the Service in front of them.

    Attributes:
        instances: In the order of their pods.
        url: What kube-scheduler calls.
        runs_pods: Whether it runs the pods of the service itself; else they are objects alone.
        namespace: Where it is installed.
    """

    runs_pods = False
    namespace = OWN_NAMESPACE

    def __init__(
        self,
        control_plane: ControlPlane,
        api: Api,
        folder: Path,
        *,
        server: str,
        settings: Settings,
    ) -> None:
        """Nothing runs yet.

        Args:
            control_plane: Which gives tokens.
            api: To make the pods.
            folder: For logs, and what passes through the proxy.
            server: How the instances reach the API server.
            settings: Of the instances, where they are not the defaults.
        """
        self.instances: list[InstanceProcess] = []
        [self._port] = free_ports(1)
        self.url = f"http://127.0.0.1:{self._port}"
        self._control_plane = control_plane
        self._api = api
        self._folder = folder
        self._server = server
        self._settings = settings
        self._record = folder / "calls.jsonl"
        self._forgotten_bytes = 0
        self._proxy: Process | None = None
        self._tls: ssl.SSLContext | bool = False
        """Of the calls from here; False without TLS."""

    @property
    def kubeconfig(self) -> Path:
        """A kubeconfig of the service's account."""
        return self._control_plane.users.kubeconfig(EXTENDER, self._server)

    async def start(self, count: int) -> None:
        """Start instances and the proxy; return when kube-scheduler would be answered."""
        kubeconfig = self.kubeconfig
        for number, port in enumerate(free_ports(count)):
            settings = self._settings_of_instance()
            instance = InstanceProcess(number, port, self._folder, kubeconfig, settings)
            instance.start()
            self.instances.append(instance)
            await self._make_pod(instance)
        endpoints = [Endpoint(each.address, each.port) for each in self.instances]
        self._start_proxy(endpoints)
        await until(self.is_answering, within=START_SECONDS, what=self._trouble)

    async def stop(self) -> None:
        """End all of it."""
        for process in [each.process for each in self.instances]:
            await process.stop()
        if self._proxy is not None:
            await self._proxy.stop()

    def calls(self, *, since: float = 0.0) -> list[Call]:
        """Return the calls of /filter that began at *since*, seconds since the epoch, or later."""
        return [call for call in self._calls() if call.at >= since]

    def forget_calls(self) -> None:
        """Tell no more of the calls until now."""
        self._forgotten_bytes = self._record.stat().st_size

    async def mend(self) -> None:
        """Have all instances run again, and be ready, whatever was done to them."""
        for each in self.instances:
            if each.process.is_running:
                each.process.resume()
            else:
                each.start()
        for each in self.instances:
            await until(each.is_ready, within=START_SECONDS, what=self._trouble)
        await until(self.is_answering, within=START_SECONDS, what=self._trouble)

    async def leader(self) -> InstanceProcess:
        """Return the instance that holds the lease."""
        [leader] = [each for each in self.instances if each.pod == await self._holder()]
        return leader

    async def is_answering(self) -> bool:
        """Whether a call through the Service gets a verdict: a pod without claims, no node."""
        assert self._proxy is not None
        self._proxy.assert_running()
        for each in self.instances:
            each.process.assert_running()
        return await self.answers_now()

    async def answers_now(self) -> bool:
        """Whether a call gets a verdict at this moment, over a connection of its own."""
        namespace, _, name = PROBE.partition("/")
        pod = {"metadata": {"namespace": namespace, "name": name, "uid": name}, "spec": {}}
        body: Object = {"Pod": pod, "Nodes": None, "NodeNames": []}
        try:
            async with httpx.AsyncClient(timeout=2.0, verify=self._tls) as http:
                response = await http.post(f"{self.url}/filter", content=json.dumps(body))
        except httpx.HTTPError:
            return False
        return response.status_code == 200 and not response.json()["Error"]

    @contextlib.asynccontextmanager
    async def probed(self) -> AsyncIterator[list[float]]:
        """Ask again and again; yields when there were answers, by the monotonic clock."""
        answered: list[float] = []
        task = asyncio.create_task(self._probe(answered))
        try:
            yield answered
        finally:
            task.cancel()
            await asyncio.wait([task])

    def _calls(self) -> list[Call]:
        return read_calls(self._record, skip_bytes=self._forgotten_bytes)

    async def _probe(self, answered: list[float]) -> None:
        while True:
            if await self.answers_now():
                answered.append(time.monotonic())
            await asyncio.sleep(_PROBE_SECONDS)

    async def _holder(self) -> str:
        lease = await self._api.get(LEASES, NAME, self.namespace)
        holder = ((lease or {}).get("spec") or {}).get("holderIdentity") or ""
        return str(holder).partition("_")[0]

    async def _make_pod(self, instance: InstanceProcess) -> None:
        await self._api.ensure(
            {
                "metadata": {"name": instance.pod, "namespace": self.namespace},
                "spec": {
                    "nodeName": PODS_NODE,
                    "containers": [{"name": "extender", "image": "none"}],
                },
            },
            PODS,
        )
        addresses = {"podIP": instance.address, "podIPs": [{"ip": instance.address}]}
        key = Key(self.namespace, instance.pod)
        await self._api.patch(PODS, key, {"status": addresses}, "status")

    def _start_proxy(self, endpoints: Sequence[Endpoint]) -> None:
        command = proxy_command(
            endpoints,
            kubeconfig=self._control_plane.users.kubeconfig(ADMIN),
            namespace=self.namespace,
            service=NAME,
            port=self._port,
            record=self._record,
        )
        self._proxy = Process("proxy", command, self._folder / "proxy.log")

    def _settings_of_instance(self) -> Settings:
        """Return the settings of the next instance to start."""
        return self._settings

    def _trouble(self) -> str:
        logs = [self._folder / "proxy.log", *sorted(self._folder.glob("extender-*.log"))]
        return "\n".join(log.read_text(errors="replace")[-500:] for log in logs if log.exists())


def proxy_command(endpoints: Sequence[Endpoint], **flags: object) -> list[str]:
    """Return the command that plays kube-proxy for one Service."""
    command = [sys.executable, "-m", "tests.e2e.proxy"]
    command += [f"--endpoint={each.address}:{each.port}" for each in endpoints]
    return command + [f"--{flag}={value}" for flag, value in flags.items()]
