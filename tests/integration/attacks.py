"""What clients send that want a process to run out of memory, and how much it takes then.

The process leads on a cluster in which one claim of two fits nowhere, with pods that wait for each
of them. All comes from loopback, in bounded numbers.
"""

import asyncio
import contextlib
import http.client
import json
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

from app.serving.arguments import MOST_NODES
from tests.builders import GIB, node_document
from tests.fakes import FakeApiServer, Object, over_http
from tests.fakes.installed import config_map, instance_pod, service
from tests.integration.pod_objects import claim_object, storage_class_object
from tests.integration.pod_objects import pod_object as pod_of
from tests.pod_process import PodProcess, instance_process

MIB = 2**20
PATIENCE_SECONDS = 60.0
FITS, HUGE = "fits", "huge"
DISK_BYTES = 10**15
CLIENT = "127.0.0.1"

Body = Callable[[], bytes]
Sending = Iterable[tuple[str, bytes]]
"""Requests, each with the address that it comes from."""


class Target:
    """A process that leads, and pods that exist.

    Attributes:
        process: The process.
        nodes: The names of the nodes.
        pods: The pods as they are, by the claim that they have.
    """

    def __init__(self, instance: PodProcess, nodes: list[str], pods: dict[str, list[Object]]):
        self.nodes = nodes
        self.pods = pods
        self.process = instance.process
        self._port = instance.port

    def send(self, sending: Sending) -> Counter[str]:
        """Send requests one after another; return what became of them."""
        seen = Counter[str]()
        for address, body in sending:
            seen[self._post(address, body)] += 1
        return seen

    def send_at_once(self, sendings: list[Sending]) -> Counter[str]:
        """Do so with several clients at once."""
        with ThreadPoolExecutor(len(sendings)) as pool:
            return sum(pool.map(self.send, sendings), Counter[str]())

    def metric(self, name: str) -> float:
        """Return a metric by its name without the common prefix, and its labels if it has any."""
        connection = self._connect(CLIENT)
        with contextlib.closing(connection):
            connection.request("GET", "/metrics")
            lines = connection.getresponse().read().decode().splitlines()
        start = f"longhorn_scheduler_extender_{name} "
        [value] = [line.removeprefix(start) for line in lines if line.startswith(start)]
        return float(value)

    def _post(self, address: str, body: bytes) -> str:
        connection = self._connect(address)
        with contextlib.closing(connection):
            connection.request("POST", "/filter", body)
            response = connection.getresponse()
            return str(response.status) if _read(response) else "no answer"

    def _connect(self, address: str) -> http.client.HTTPConnection:
        return http.client.HTTPConnection(
            CLIENT, self._port, timeout=PATIENCE_SECONDS, source_address=(address, 0)
        )


@asynccontextmanager
async def target(folder: Path, nodes: int, pods: int = 1) -> AsyncIterator[Target]:
    """Run an instance until the end of the block, and have it asked about a pod of each claim.

    Args:
        folder: For its files.
        nodes: How many there are.
        pods: How many there are for each claim.
    """
    server = FakeApiServer(Random(1))
    names = [f"worker-{number:05}.example.internal" for number in range(nodes)]
    storage = (
        storage_class_object(),
        claim_object(FITS, 1),
        claim_object(HUGE, 10 * DISK_BYTES // GIB),
    )
    disk = {"storageMaximum": DISK_BYTES, "storageAvailable": DISK_BYTES}
    cluster = (node_document(name, disk_status=disk) for name in names)
    for each in (service(), config_map(), instance_pod(0), *storage, *cluster):
        server.put(each)
    waiting = {
        claim: [server.put(pod_of(f"{claim}-{number}", claim)) for number in range(pods)]
        for claim in (FITS, HUGE)
    }
    async with over_http(server) as api_port:
        instance = instance_process(folder, 0, api_port)
        instance.start()
        try:
            await instance.leads()
            found = Target(instance, names, waiting)
            real = [(CLIENT, call(pods[0], NodeNames=names)) for pods in waiting.values()]
            assert await asyncio.to_thread(found.send, real) == {"200": 2}
            yield found
        finally:
            instance.kill()


def call(pod: Object, **candidates: Any) -> bytes:
    """Build a request."""
    called = {"Pod": pod, "Nodes": None, "NodeNames": None, **candidates}
    return json.dumps(called, separators=(",", ":")).encode()


def invented(at: Target, count: int, names: Callable[[int], list[str]]) -> Iterator[bytes]:
    """Build requests for pods that do not exist, with the claim of one that fits nowhere."""
    for number in range(count):
        metadata = {"name": f"invented-{number}", "namespace": "default", "uid": f"no-{number}"}
        yield call({**at.pods[HUGE][0], "metadata": metadata}, NodeNames=names(number))


def real(at: Target, claim: str, names: Callable[[int], list[str]]) -> Iterator[bytes]:
    """Build a request for each pod that exists."""
    for number, pod in enumerate(at.pods[claim]):
        yield call(pod, NodeNames=names(number))


def all_but_one(at: Target) -> Callable[[int], list[str]]:
    """Name all nodes but one, another for each number."""

    def names(number: int) -> list[str]:
        left_out = number % len(at.nodes)
        return [*at.nodes[:left_out], *at.nodes[left_out + 1 :]]

    return names


def other_names(number: int) -> list[str]:
    """Invent as many names of nodes as a request may have, others for each number."""
    return [f"{number:03}{index:05}" for index in range(MOST_NODES)]


def whole_nodes(at: Target, size_bytes: int) -> bytes:
    """Build a request for the pod that fits, with whole nodes, of so many bytes."""
    filler = "x" * (size_bytes // len(at.nodes) - 100)
    items = [{"metadata": {"name": name}, "filler": filler} for name in at.nodes]
    return call(at.pods[FITS][0], Nodes={"items": items})


def by_client(address: str, bodies: Iterable[bytes]) -> Sending:
    return ((address, body) for body in bodies)


class Swelling(NamedTuple):
    """A body of many small values, or of a text that takes more memory than bytes."""

    before: bytes
    piece: bytes
    after: bytes

    def of(self, size_bytes: int) -> bytes:
        return self.before + self.piece * (size_bytes // len(self.piece)) + self.after


_POD = b'{"Pod":{"metadata":{"name":"pod"}},'
SWELLING = {
    "names": Swelling(_POD + b'"Nodes":null,"NodeNames":[', b'"a",', b'"a"]}'),
    "nodes": Swelling(_POD + b'"Nodes":{"items":[', b'{"metadata":{"name":1}},', b"{}]}}"),
    "volumes": Swelling(b'{"Pod":{"spec":{"volumes":[', b"{},", b']}},"NodeNames":[]}'),
    "keys": Swelling(b"{", b'"x":1,', b'"y":1}'),
    "a wide name": Swelling(
        b'{"Pod":{"metadata":{"name":"' + "\U0001f600".encode(), b"x", b'"}},"NodeNames":[]}'
    ),
}


def _read(response: http.client.HTTPResponse) -> bool:
    """Read an answer piece by piece; return whether all of it came."""
    left = response.length
    while piece := response.read(MIB):
        left = None if left is None else left - len(piece)
    return not left
