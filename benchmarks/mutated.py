"""Sends mutated requests to an instance on a live cluster; shows statuses and memory.

Run as ``python -m benchmarks.mutated [REQUESTS] [SEED]``. The requests are kube-scheduler's as they
were recorded, and reviews of new pods (`tests/mutations.py`), in turn for each verb; now and then
one stops in the middle of its body, or says that its body is too large. The pods of the recorded
ones are in the cluster. Fails with the request if one is answered otherwise than it may be.
"""

import asyncio
import json
import ssl
import sys
import time
from collections import Counter
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import Any

import trustme
import yaml

from app.serving.names import NodeNames
from app.serving.wire import decode_request
from tests.certificates import write_certificate
from tests.fakes import FakeApiServer, over_http
from tests.fakes.installed import config_map, instance_pod, service
from tests.integration.pod_objects import claim_object, storage_class_object
from tests.mutations import STATUSES, VERBS, mutated, recorded
from tests.pod_process import PodProcess, instance_process
from tests.ports import free_port

REQUESTS, SEED = 1_000_000, 1
CONNECTIONS = 30
WARM_UP = 5_000
LINE = 10_000
"""So many requests for each line that is printed."""
STALL, TOO_LARGE = 1 / 5_000, 1 / 500
BODY_SECONDS = 1
PATIENCE_SECONDS = 60.0
HOST = "127.0.0.1"
CLOSED = 0
"""In place of a status, if the connection ended without one."""
MIB = 2**20
EXAMPLE = Path(__file__).parents[1] / "examples" / "goal2" / "cluster.yaml"
CLAIM_GIB = 1

Connection = tuple[asyncio.StreamReader, asyncio.StreamWriter]


class WrongStatusError(Exception):
    """A request was answered as none may be."""


class Sender:
    """Sends requests over some connections, and counts what comes back.

    Args:
        instance: Answers them.
        bodies: What is changed, by verb.
        left: How many to send.
        random: What to send.
    """

    def __init__(
        self, instance: PodProcess, bodies: dict[str, list[bytes]], left: int, random: Random
    ) -> None:
        self.seen: Counter[tuple[str, int]] = Counter()
        self.most_bytes = 0
        self._instance = instance
        self._bodies = bodies
        self._left = left
        self._sent = 0
        self._random = random
        self._tls = ssl._create_unverified_context()  # noqa: S323, SLF001 (of our own making)

    async def run(self) -> None:
        """Send all of them."""
        async with asyncio.TaskGroup() as tasks:
            for number in range(CONNECTIONS):
                tasks.create_task(self._send_from(f"127.0.2.{number + 1}"))

    async def _send_from(self, address: str) -> None:
        open_: dict[str, Connection] = {}
        while self._left > 0:
            self._left -= 1
            self._sent += 1
            verb = VERBS[self._sent % len(VERBS)]
            bodies = self._bodies[verb]
            body = mutated(self._random.choice(bodies), bodies, self._random)
            if self._sent % LINE == 0:
                self.line()
            try:
                status = await self._status(verb, body, address, open_)
            except (OSError, EOFError):
                open_.pop(verb, None)
                status = CLOSED
            self.seen[verb, status] += 1
            if status not in STATUSES and status != CLOSED:
                raise WrongStatusError(f"{verb} answered {status}: {body!r}")

    async def _status(
        self, verb: str, body: bytes, address: str, open_: dict[str, Connection]
    ) -> int:
        """Send one request; return the status of its answer."""
        chance = self._random.random()
        size = len(body) if chance > TOO_LARGE else 2**40
        sent = body[: len(body) // 2] if chance < STALL else body
        head = f"POST /{verb} HTTP/1.1\r\nhost: x\r\ncontent-length: {size}\r\n\r\n".encode()
        async with asyncio.timeout(PATIENCE_SECONDS):
            if verb not in open_:
                open_[verb] = await self._connected(verb, address)
            reader, writer = open_[verb]
            writer.write(head + sent)
            answered = (await reader.readuntil(b"\r\n\r\n")).lower()
            length = int(answered.partition(b"content-length: ")[2].partition(b"\r")[0])
            await reader.readexactly(length)
        if b"connection: close" in answered or size != len(sent):
            open_.pop(verb)[1].close()
        return int(answered[9:12])

    async def _connected(self, verb: str, address: str) -> Connection:
        local, instance = (address, 0), self._instance
        if verb != "mutate":
            return await asyncio.open_connection(HOST, instance.port, local_addr=local)
        return await asyncio.open_connection(
            HOST, instance.webhook_port, local_addr=local, ssl=self._tls
        )

    def line(self) -> None:
        """Print where it is."""
        resident = self._instance.process.resident_bytes
        self.most_bytes = max(self.most_bytes, resident)
        statuses = Counter[int]()
        for (_, status), count in self.seen.items():
            statuses[status] += count
        counts = ", ".join(f"{status}: {count}" for status, count in sorted(statuses.items()))
        print(f"{self._sent:9}{resident / MIB:8.1f} MiB  {counts}", flush=True)


async def measure(requests: int, seed: int) -> None:
    """Send them, and print what came back and the memory before, at most and after."""
    with TemporaryDirectory() as name:
        folder, server = Path(name), FakeApiServer(Random(seed))
        cluster = yaml.safe_load_all(EXAMPLE.read_text())
        for each in (*cluster, storage_class_object(), service(), config_map(), instance_pod(0)):
            server.put(each)
        bodies = {verb: recorded(verb) for verb in VERBS}
        for verb in ("filter", "prioritize", "preempt"):
            bodies[verb] = [_known(each, server) for each in bodies[verb]]
        async with over_http(server) as api_port:
            instance = instance_process(folder, 0, api_port, **_settings(folder))
            instance.start()
            try:
                await instance.is_up()
                await instance.leads()
                await Sender(instance, bodies, WARM_UP, Random(f"warm-up {seed}")).run()
                before, began = instance.process.resident_bytes, time.monotonic()
                sender = Sender(instance, bodies, requests, Random(seed))
                await sender.run()
                await instance.leads()
                after, took = instance.process.resident_bytes, time.monotonic() - began
            finally:
                instance.kill()
    for (verb, status), count in sorted(sender.seen.items()):
        print(f"{verb:12}{status:5}{count:9}")
    most = max(sender.most_bytes, after)
    print(
        f"{requests} requests in {took:.0f} s, resident MiB: {before / MIB:.1f} before, "
        f"{most / MIB:.1f} at most, {after / MIB:.1f} after"
    )


def _settings(folder: Path) -> dict[str, object]:
    chain, key = write_certificate(trustme.CA(), folder)
    return {
        "webhook_port": free_port(),
        "webhook_cert_file": chain,
        "webhook_private_key_file": key,
        "body_timeout_seconds": BODY_SECONDS,
        "log_level": "error",
    }


def _known(body: bytes, server: FakeApiServer) -> bytes:
    """Have the pod of a request be in the cluster, with its claims; return the request for it."""
    request = decode_request(body, NodeNames(tuple))
    pod, uid = json.loads(body)["Pod"], request.pod.uid
    namespace, name = request.pod.namespace, request.pod.name
    found = server.get("pods", name, namespace)
    if found is None:
        metadata = {"name": name, "namespace": namespace}
        status = {"phase": "Pending"}
        head = {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "status": status}
        found = server.put({**head, "spec": pod["spec"]})
        for key in request.pod.claims:
            claim = claim_object(key.partition("/")[2], CLAIM_GIB)
            claim["metadata"] |= {"namespace": namespace}
            server.put(claim)
    return body.replace(uid.encode(), found["metadata"]["uid"].encode())


if __name__ == "__main__":
    given: list[Any] = [int(each) for each in sys.argv[1:]]
    asyncio.run(measure(*[*given, *(REQUESTS, SEED)[len(given) :]]))
