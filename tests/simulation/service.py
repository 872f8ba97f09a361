"""Our service in the simulation, and kube-scheduler's way to it over the network."""

import asyncio
from collections.abc import Callable
from random import Random
from typing import Any

import msgspec

from tests.actors.api import Object
from tests.actors.scheduler import Reply, Verb
from tests.fakes import Call
from tests.fakes.installed import ipv4, ipv6
from tests.integration.instances import NODES, Process, Processes

EXAMPLE_KINDS = (
    "persistentvolumeclaims",
    "nodes",
    "storageclasses.storage.k8s.io",
    "nodes.longhorn.io",
    "settings.longhorn.io",
)
GLANCE_SECONDS = 0.05
IDLE_SECONDS = 90.0
"""kube-scheduler closes a connection that nothing went over for so long."""
WAY_SECONDS = 0.002
"""Most that a call takes there, and back."""
_PROBE = {"metadata": {"name": "probe", "namespace": "default", "uid": "probe"}, "spec": {}}
PROBE = msgspec.json.encode({"Pod": _PROBE, "Nodes": None, "NodeNames": NODES})
"""A request about a pod without volumes, for which nothing is held."""


class Service(Processes):
    """The instances of our service, in a cluster that is empty but for them.

    Attributes:
        connected: The instance that kube-scheduler has a connection to.
        answered: Told of each answer of /filter when it is given: by whom, what, about which pod.
    """

    def __init__(self, random: Random, *, pods: int, **settings: Any) -> None:
        super().__init__(random.getrandbits(32), pods=pods, **settings)
        self.connected: Process | None = None
        self.answered: list[Callable[[Process, Object, Object], None]] = []
        self._used_at = 0.0
        self._way = Random(random.getrandbits(32))
        self._served: set[asyncio.Task[Reply | None]] = set()
        self.server.authorize = self._authorize_ours
        for resource in EXAMPLE_KINDS:
            for obj in self.server.list(resource):
                metadata = obj["metadata"]
                self.server.delete(resource, metadata["name"], metadata.get("namespace", ""))

    async def post(self, verb: Verb, body: bytes) -> Reply | None:
        """POST as kube-scheduler does; None if the connection breaks or is refused.

        Whoever is cancelled closes the connection; what has arrived is answered all the same.
        """
        served = asyncio.create_task(self._serve(verb, body))
        self._served.add(served)
        served.add_done_callback(self._served.discard)
        try:
            await asyncio.wait([served])
        except asyncio.CancelledError:
            self.connected = None
            raise
        return served.result()

    async def end(self) -> None:
        """Drop the calls that are still being answered."""
        served = [*self._served]
        for call in served:
            call.cancel()
        if served:
            await asyncio.wait(served)

    async def is_answered(self) -> bool:
        """Whether the leader answers."""
        if len(self.leaders) != 1:
            return False
        answer = await self.leader.filter(body=PROBE)
        return answer is not None and answer.is_verdict and len(self.leaders) == 1

    async def _serve(self, verb: Verb, body: bytes) -> Reply | None:
        process = self._connect()
        await asyncio.sleep(self._way.uniform(0, WAY_SECONDS))
        if process is None or not await _runs(process):
            self.connected = None
            return None
        self.connected, self._used_at = process, asyncio.get_running_loop().time()
        ask = process.filter if verb is Verb.FILTER else process.prioritize
        answer = await ask(body=body)
        if answer is not None and verb is Verb.FILTER:
            for observer in self.answered:
                observer(
                    process, msgspec.json.decode(answer.body), msgspec.json.decode(body)["Pod"]
                )
        if answer is None or not await _runs(process):
            self.connected = None
            return None
        if answer.closes:
            self.connected = None
        await asyncio.sleep(self._way.uniform(0, WAY_SECONDS))
        return Reply(answer.status, answer.body)

    def _connect(self) -> Process | None:
        """Return who is at the other end of the connection, or of a new one."""
        idle = asyncio.get_running_loop().time() - self._used_at
        connected = self.connected
        if connected is not None and idle < IDLE_SECONDS and not _is_gone(connected):
            return connected
        latest: dict[str, Process] = {}
        for number, process in enumerate(self._latest()):
            if process is not None:
                latest |= dict.fromkeys((ipv4(number), ipv6(number)), process)
        addresses = self.addresses()
        return latest.get(self._way.choice(addresses)) if addresses else None

    def _authorize_ours(self, call: Call) -> bool:
        """Hold only our service to the shipped rules."""
        return not call.client.startswith("extender-") or self._authorize(call)


async def _runs(process: Process) -> bool:
    """Wait for a replica that is stopped to go on; tell whether it lives."""
    while not (process.is_running or _is_gone(process)):  # noqa: ASYNC110 (nobody tells)
        await asyncio.sleep(GLANCE_SECONDS)
    return not _is_gone(process)


def _is_gone(process: Process) -> bool:
    return process.is_killed or process.ended.done()
