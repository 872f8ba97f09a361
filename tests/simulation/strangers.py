"""Somebody else than kube-scheduler reaches the port, knows the cluster, and asks what it likes."""

import asyncio
from random import Random
from typing import Any, NoReturn

import msgspec

from tests.simulation.trace import Trace
from tests.simulation.truth import HOSTS, WORKLOADS
from tests.simulation.world import World

CLIENTS = ("10.9.9.1", "10.9.9.2", "10.9.9.3")
REQUESTS_PER_SECOND = 10.0
VERSIONS = ("", "0", "1", "9000000000000000000", "x")


class Strangers:
    """Sends requests about pods that exist, do not, or are others than it says.

    Args:
        world: What it knows.
        random: What it sends.
        trace: Counts it.
    """

    def __init__(self, world: World, random: Random, trace: Trace) -> None:
        self._world = world
        self._random = random
        self._trace = trace
        self._sent: set[asyncio.Task[None]] = set()

    async def run(self) -> NoReturn:
        """Send requests until cancelled, each without waiting for the last one."""
        while True:
            await asyncio.sleep(self._random.expovariate(REQUESTS_PER_SECOND))
            running = [each for each in self._world.service.all if each.is_running]
            if running:
                process, client = self._random.choice(running), self._random.choice(CLIENTS)
                self._trace.count("requests of strangers")
                sent = asyncio.create_task(_send(process, self._request(), client))
                self._sent.add(sent)
                sent.add_done_callback(self._sent.discard)

    def _request(self) -> bytes:
        random, truth = self._random, self._world.truth
        pods = [msgspec.json.decode(msgspec.json.encode(pod)) for pod in truth.pods()]
        hosts = [each["metadata"]["name"] for each in truth.all(HOSTS)]
        pod: dict[str, Any] = {"metadata": {}, "spec": {}, "status": {}}
        if pods and random.random() < 0.8:
            pod = random.choice(pods)
        other = random.choice(pods) if pods else pod
        metadata = pod["metadata"]
        metadata.setdefault("namespace", WORKLOADS)
        for field, values in (
            ("uid", (other["metadata"].get("uid", ""), f"uid-{random.randrange(100)}", "")),
            ("name", (other["metadata"].get("name", "x"), f"pod-{random.randrange(100)}")),
            ("resourceVersion", VERSIONS),
        ):
            if field not in metadata or random.random() < 0.25:
                metadata[field] = random.choice(values)
        if random.random() < 0.25:
            pod["spec"]["volumes"] = random.choice((other["spec"].get("volumes"), [], None))
        if random.random() < 0.25:
            status = pod.setdefault("status", {})
            status["nominatedNodeName"] = random.choice(hosts)
            status["conditions"] = None
        nodes = random.sample(hosts, random.randint(0, len(hosts)))
        if random.random() < 0.1:
            nodes.append(f"made-up-{random.randrange(100)}")
        return msgspec.json.encode({"Pod": pod, "Nodes": None, "NodeNames": nodes})


async def _send(process: Any, request: bytes, client: str) -> None:
    await process.filter(body=request, client=client)
