"""Instances of the service on one loop and virtual time, and kube-scheduler's way to them.

Each instance is a process of its own: it can be killed, stopped and continued, told to end, and
started again in the same pod. It lives by `Instance.run`; only its sockets are left out.
"""

import asyncio
import json
from datetime import datetime, timedelta
from functools import cache
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

import httpx
import pytest
import yaml

from app.config import NAME
from app.instance.instance import Instance
from app.process.surroundings import Surroundings
from app.serving.metrics import Metrics
from app.settings import Settings
from tests.fakes import FakeApiServer, Object
from tests.fakes.installed import NAMESPACE, config_map, instance_pod, ipv4, ipv6, service
from tests.integration.processes import (
    CLIENT,
    EPOCH,
    LEASES,
    LoopProcess,
    LoopProcesses,
    client_of,
)
from tests.integration.rbac import STARTUP_TAINT, shipped

EXAMPLE = Path(__file__).parents[2] / "examples" / "goal2"
NODES = ("node-1", "node-2", "node-3", "node-4")
NOT_THE_LEADER = "this instance of the extender is not the leader"
NOT_KNOWING = "this instance of the extender does not know the cluster; its /readyz says why"
SLICES = "endpointslices.discovery.k8s.io"
VIRTUAL_TIME = pytest.mark.looptime(resolution=2**-20, noop_cycles=0)
"""Ticks are a power of two so that sums of times are exact. Otherwise a timer comes due a rounding
error before its time, and who waits for the rest of it is woken at once, for ever."""


class Answer(NamedTuple):
    """What an instance answers to kube-scheduler."""

    status: int
    closes: bool
    """Whether the connection is of no more use."""
    body: bytes

    @property
    def error(self) -> str:
        return str(json.loads(self.body)["Error"])

    @property
    def accepted(self) -> list[str]:
        return list(json.loads(self.body)["NodeNames"])

    @property
    def rejected(self) -> dict[str, str]:
        return dict(json.loads(self.body)["FailedAndUnresolvableNodes"])

    @property
    def scores(self) -> dict[str, int]:
        """By node, in the order of the answer."""
        return {each["Host"]: each["Score"] for each in json.loads(self.body)}

    @property
    def is_verdict(self) -> bool:
        return self.status == 200 and not self.error


class Process(LoopProcess):
    """One process in one pod.

    Attributes:
        clock_ahead: Seconds that its clock is ahead of the loop's.
        wall_clock_ahead: Seconds that its idea of the date is ahead.
    """

    def __init__(self, server: FakeApiServer, pod: str, *, random: Random, settings: Settings):
        super().__init__(server, pod)
        self.clock_ahead = random.uniform(0, 1e6)
        self.wall_clock_ahead = random.uniform(-60, 60)
        self.instance = Instance(
            Surroundings(
                self._connection,
                lambda: asyncio.get_running_loop().time() + self.clock_ahead,
                self._wall_time,
                random,
            ),
            settings,
            port=9504,
            metrics=Metrics(self.registry, version="1"),
            version="1",
        )
        self._listens = False
        main = self.instance.apps.main
        # Without the settings of a webhook nothing of it is served.
        webhook = self.instance.apps.on_webhook_port or main
        self.run(self.instance.run(self._told_to_end, self._serve), main, webhook)

    @property
    def is_leading(self) -> bool:
        """Whether it would act, if it got to act at this moment."""
        return not self.is_killed and self.instance.standing.is_leading()

    @property
    def is_running(self) -> bool:
        return not (self.is_killed or self._gate.is_shut or self.ended.done())

    @property
    def is_ending(self) -> bool:
        """Whether it was told to end and still runs."""
        return self.is_running and self._told_to_end.is_set()

    async def filter(
        self, pod: str = "pair", body: bytes | None = None, *, client: str = CLIENT
    ) -> Answer | None:
        """Ask where a pod may go, from the address of *client*; None if nobody answers."""
        return await self._post("/filter", filter_request(pod) if body is None else body, client)

    async def prioritize(self, pod: str = "pair", body: bytes | None = None) -> Answer | None:
        """Ask how good each node is for a pod; None if nobody answers."""
        return await self._post("/prioritize", filter_request(pod) if body is None else body)

    async def _post(self, path: str, content: bytes, client: str = CLIENT) -> Answer | None:
        if not (self.is_running and self._listens):
            return None
        if client == CLIENT:
            response = await self._clients[0].post(path, content=content)
        else:
            async with client_of(self.instance.apps.main, client) as http:
                response = await http.post(path, content=content)
        closes = response.headers.get("connection") == "close"
        return Answer(response.status_code, closes, response.content)

    async def mutate(self, review: object) -> httpx.Response:
        """Ask what is added to a new pod."""
        return await self._clients[1].post("/mutate", json=review)

    async def _serve(self, stop: asyncio.Event) -> None:
        """Do what the servers do, without sockets."""
        self._listens = True
        await stop.wait()
        self._listens = False

    def _wall_time(self) -> datetime:
        seconds = asyncio.get_running_loop().time() + self.wall_clock_ahead
        return EPOCH + timedelta(seconds=seconds)


class Processes(LoopProcesses[Process]):
    """All processes of the service, a small Longhorn cluster, and the clients of both."""

    def __init__(
        self,
        seed: int = 0,
        *,
        pods: int = 3,
        latency_seconds: float = 0.05,
        streaming_lists: bool = True,
        **settings: Any,
    ) -> None:
        """Set up pods and the cluster; nothing runs yet.

        Args:
            seed: Of all chance.
            pods: How many there are, named extender-0 and so on.
            latency_seconds: Most that a request takes there and back.
            streaming_lists: Whether the API server offers them.
            settings: Of the processes.
        """
        super().__init__(
            seed,
            shipped(*([STARTUP_TAINT] if "startup_taint" in settings else [])),
            NAME,
            latency_seconds=latency_seconds,
            streaming_lists=streaming_lists,
        )
        self._settings = settings
        self._addresses: tuple[int, list[str]] = (0, [])
        for obj in (
            *_documents("cluster.yaml"),
            service(),
            config_map(scheduler_extender_inject="true"),
        ):
            self.server.put(obj)
        for number in range(pods):
            self.server.put(instance_pod(number))

    def start(self, number: int) -> Process:
        """Start a process in a pod."""
        pod = f"extender-{number}"
        settings = Settings(pod_name=pod, node_name=f"node-{number + 1}", **self._settings)
        process = Process(self.server, pod, random=Random(self.random.random()), settings=settings)
        self.all.append(process)
        return process

    async def start_all(self, count: int = 3) -> list[Process]:
        """Start processes and wait until kube-scheduler is answered."""
        processes = [self.start(number) for number in range(count)]
        await self.until(self.is_answered, within=10)
        return processes

    def request(self, pod: str, *nodes: str) -> bytes:
        """Create a pod of examples/goal2, and return kube-scheduler's request for it.

        All nodes are candidates unless some are given.
        """
        request = json.loads(filter_request(pod))
        request["Pod"] = self.server.put(request["Pod"])
        return json.dumps({**request, "NodeNames": [*(nodes or NODES)]}).encode()

    @property
    def standbys(self) -> list[Process]:
        return [each for each in self.all if each.is_running and not each.is_leading]

    def addresses(self) -> list[str]:
        """Return what kube-proxy would send requests to."""
        version = self.server.version
        if version != self._addresses[0]:
            self._addresses = (version, self._read_addresses())
        return self._addresses[1]

    def slice(self, family: str = "ipv4") -> Object | None:
        return self.server.get(SLICES, f"{NAME}-{family}", NAMESPACE)

    def lease(self) -> Object | None:
        return self.server.get(LEASES, NAME, NAMESPACE)

    @property
    def lease_spec(self) -> Object:
        lease = self.lease()
        assert lease is not None
        return dict(lease["spec"])

    def points_at(self, process: Process) -> bool:
        """Whether all that kube-proxy would send requests to is this process."""
        addresses = self.addresses()
        number = int(process.pod.removeprefix("extender-"))
        return bool(addresses) and set(addresses) <= {ipv4(number), ipv6(number)}

    async def ask(self, pod: str = "pair") -> Answer | None:
        """Ask through the Service, as kube-scheduler does; None if nobody answers.

        The process that answers for an address is the last one started in its pod.
        """
        at = {
            address: process
            for number, process in enumerate(self._latest())
            for address in (ipv4(number), ipv6(number))
            if process is not None
        }
        request = filter_request(pod, uid=False)
        answers = [
            await at[address].filter(body=request) if address in at else None
            for address in self.addresses()
        ]
        return answers[0] if answers and None not in answers else None

    async def is_answered(self) -> bool:
        """Whether kube-scheduler gets a verdict now."""
        answer = await self.ask()
        return answer is not None and answer.is_verdict

    def _read_addresses(self) -> list[str]:
        slices = [
            each
            for each in self.server.list(SLICES, NAMESPACE)
            if each["metadata"].get("labels", {}).get("kubernetes.io/service-name") == NAME
        ]
        return [endpoint["addresses"][0] for each in slices for endpoint in each["endpoints"] or ()]

    def _latest(self) -> list[Process | None]:
        latest: dict[int, Process] = {
            int(each.pod.removeprefix("extender-")): each for each in self.all
        }
        return [latest.get(number) for number in range(max(latest, default=-1) + 1)]


@cache
def filter_request(pod: str, *, uid: bool = True) -> bytes:
    """Return kube-scheduler's request for a pod of examples/goal2 and all nodes.

    Without uid nothing is held for the pod. With it, until it is found that there is no such pod.
    """
    [found] = [each for each in _documents("pods.yaml") if each["metadata"]["name"] == pod]
    metadata = {**found["metadata"], "resourceVersion": None}
    if not uid:
        del metadata["uid"]
    found = {**found, "metadata": metadata}
    return json.dumps({"Pod": found, "Nodes": None, "NodeNames": NODES}).encode()


@cache
def _documents(name: str) -> list[Object]:
    """Read the cluster, in which node-1 has one disk and node-4 four, or its pods."""
    return [*yaml.safe_load_all((EXAMPLE / name).read_text())]
