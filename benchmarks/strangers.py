"""Clients that are not kube-scheduler, know the cluster, and ask without a pause.

Run as ``python -m benchmarks.strangers PORT SECONDS [KIND]...``, as a process of its own, with
``{"pods": [...], "nodes": [...]}`` as JSON on standard input: pods of the cluster that wait, and
names of nodes. Ten clients send 1,000 requests a second together, each of a kind drawn at random:
all kinds unless some are named. It prints a JSON document of what came back, and stops by itself.
"""

import asyncio
import itertools
import json
import sys
import time
from collections import Counter
from collections.abc import Callable, Sequence
from random import Random
from typing import Any

Object = dict[str, Any]

CLIENTS = 10
REQUESTS_PER_SECOND = 1_000
MOST_CONNECTIONS = 40
"""Of each client; all together are fewer than the service lets in."""
HUGE_VERSION = str(9 * 10**18)
NODE_NAMES = 300
"""Made up, in a request of `elsewhere`."""

_numbers = itertools.count()


def invented(pod: Object, nodes: Sequence[str], random: Random) -> Object:
    """Ask about a pod that does not exist, with the claims of one that does."""
    name = f"invented-{next(_numbers)}"
    return _request(_changed(pod, name=name, uid=f"{name}-{random.random()}"), nodes)


def newer(pod: Object, nodes: Sequence[str], random: Random) -> Object:
    """Ask about such a pod that is newer than everything there is."""
    request = invented(pod, nodes, random)
    request["Pod"]["metadata"]["resourceVersion"] = HUGE_VERSION
    return request


def renamed(pod: Object, nodes: Sequence[str], random: Random) -> Object:
    """Give the uid of a pod to another one without volumes, or in another namespace."""
    if random.random() < 0.5:
        return _request(_changed(pod, namespace="elsewhere"), nodes)
    return _request({**_changed(pod, name="renamed"), "spec": {}}, nodes)


def fewer(pod: Object, nodes: Sequence[str], random: Random) -> Object:
    """Ask about a pod that exists and one node, or none."""
    return _request(pod, random.sample([*nodes], random.randrange(2)))


def elsewhere(pod: Object, _: Sequence[str], random: Random) -> Object:
    """Ask about a pod that exists and nodes that do not."""
    return _request(pod, [f"made-up-{random.randrange(10**6)}" for _ in range(NODE_NAMES)])


Make = Callable[[Object, Sequence[str], Random], Object]
KINDS: dict[str, Make] = {
    each.__name__: each for each in (invented, newer, renamed, fewer, elsewhere)
}
INVENTED = ("invented", "newer", "renamed")
"""Those about pods that do not exist."""


class _Client:
    """One address, with a few connections that are kept.

    Args:
        address: Where it asks from.
        port: Of the service.
        seen: What came back, of all clients.
    """

    def __init__(self, address: str, port: int, seen: Counter[str]) -> None:
        self._address = address
        self._port = port
        self._seen = seen
        self._idle: list[tuple[asyncio.StreamReader, asyncio.StreamWriter]] = []
        self._busy = 0

    def close(self) -> None:
        """Close the connections that are kept."""
        for _, writer in self._idle:
            writer.close()

    async def send(self, body: bytes) -> None:
        """Send a request, unless all connections still wait for answers."""
        if self._busy == MOST_CONNECTIONS:
            self._seen["not sent"] += 1
            return
        self._busy += 1
        try:
            self._seen[await self._answer(body)] += 1
        except (OSError, EOFError):
            self._seen["cut off"] += 1
        finally:
            self._busy -= 1

    async def _answer(self, body: bytes) -> str:
        if self._idle:
            reader, writer = self._idle.pop()
        else:
            reader, writer = await asyncio.open_connection(
                "127.0.0.1", self._port, local_addr=(self._address, 0)
            )
        try:
            writer.write(b"POST /filter HTTP/1.1\r\nhost: x\r\n")
            writer.write(b"content-length: %d\r\n\r\n" % len(body) + body)
            head = (await reader.readuntil(b"\r\n\r\n")).lower()
            length = int(head.partition(b"content-length: ")[2].partition(b"\r")[0])
            answer = json.loads(await reader.readexactly(length))
        except BaseException:
            writer.close()
            raise
        self._idle.append((reader, writer))
        status = head[9:12].decode()
        return f"{status} with an error" if answer.get("Error") else status


async def ask(
    port: int,
    until: float,
    pods: Sequence[Object],
    nodes: Sequence[str],
    kinds: Sequence[str] = tuple(KINDS),
) -> Counter[str]:
    """Send requests until a time, each at its time; return what came back."""
    seen: Counter[str] = Counter()
    random = Random(1)
    clients = [_Client(f"127.0.1.{number}", port, seen) for number in range(1, CLIENTS + 1)]
    makes = [KINDS[kind] for kind in kinds]
    began = time.monotonic()
    asked: set[asyncio.Task[None]] = set()
    for number in range(int((until - began) * REQUESTS_PER_SECOND)):
        request = random.choice(makes)(random.choice([*pods]), nodes, random)
        await asyncio.sleep(max(0.0, began + number / REQUESTS_PER_SECOND - time.monotonic()))
        if time.monotonic() > until:
            break
        task = asyncio.create_task(clients[number % CLIENTS].send(json.dumps(request).encode()))
        asked.add(task)
        task.add_done_callback(asked.discard)
    if asked:
        _, late = await asyncio.wait(asked, timeout=5)
        for each in late:
            each.cancel()
        seen["late"] = len(late)
    for client in clients:
        client.close()
    return seen


def _changed(pod: Object, **metadata: str) -> Object:
    return {**pod, "metadata": {**pod["metadata"], **metadata}}


def _request(pod: Object, nodes: Sequence[str]) -> Object:
    return {"Pod": pod, "Nodes": None, "NodeNames": [*nodes]}


def main() -> None:
    """Ask."""
    port, seconds, *kinds = sys.argv[1:]
    given = json.load(sys.stdin)
    until = time.monotonic() + float(seconds)
    asking = ask(int(port), until, given["pods"], given["nodes"], kinds or tuple(KINDS))
    print(json.dumps(asyncio.run(asking)))


if __name__ == "__main__":
    main()
