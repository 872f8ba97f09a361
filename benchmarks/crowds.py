"""Crowds of clients that no service should meet: slow ones, greedy ones, busy ones.

Run as ``python -m benchmarks.crowds KIND PORT SECONDS [FILE]``, as a process of its own, since they
keep a core busy. The file has the pods of the cluster, as JSON; without it they ask about some that
it need not have. It prints a JSON document of what came back, and stops by itself.
"""

import asyncio
import json
import random
import sys
import time
from collections import Counter
from collections.abc import Callable, Coroutine
from pathlib import Path

from benchmarks import strangers
from benchmarks.clusters import GIB, Object, names_part, node_name, pod, request

CONNECTIONS = 500
BODIES, BODY_BYTES = 50, 50 * 10**6
REQUESTS_PER_SECOND = 10_000 / 60
NODES, DISKS = 100, 4
PODS = [pod(f"busy-{number}", [(2 if number % 5 == 0 else 500) * GIB, GIB]) for number in range(20)]
"""Those that fit nowhere are asked for again and again. Few that fit wait for their node at once,
since kube-scheduler schedules one after another."""
_NODE_NAMES = [node_name(number) for number in range(NODES)]
_HEAD = b"POST /filter HTTP/1.1\r\nhost: x\r\n"

Crowd = Callable[[int, float, list[Object]], Coroutine[None, None, Counter[str]]]


async def slow(port: int, until: float, _: list[Object]) -> Counter[str]:
    """Send requests of one byte a second over 500 connections; one that is cut off is reopened."""
    seen: Counter[str] = Counter()

    async def one(number: int) -> None:
        sent = _HEAD if number % 2 else _HEAD + b"content-length: 1000000\r\n\r\n"
        await asyncio.sleep(random.random())
        while time.monotonic() < until:
            connection = await _connected(port, seen)
            if connection is None:
                continue
            reader, writer = connection
            try:
                for byte in sent + b"x" * 1_000:
                    writer.write(bytes([byte]))
                    await writer.drain()
                    await asyncio.sleep(1)
                    if reader.at_eof() or time.monotonic() > until:
                        break
            except OSError:
                pass
            finally:
                writer.close()
            seen["cut off" if time.monotonic() < until else "stopped"] += 1

    async with asyncio.TaskGroup() as tasks:
        for number in range(CONNECTIONS):
            tasks.create_task(one(number))
    return seen


async def greedy(port: int, until: float, pods: list[Object]) -> Counter[str]:
    """Send 50 bodies of 50 MB at once, again and again; half of the answers are not taken."""
    seen: Counter[str] = Counter()
    body = _whole_nodes(pods[0])
    head = _HEAD + b"connection: close\r\ncontent-length: %d\r\n\r\n" % len(body)

    async def one(number: int) -> None:
        while time.monotonic() < until:
            connection = await _connected(port, seen)
            if connection is None:
                continue
            reader, writer = connection
            try:
                writer.write(head)
                for start in range(0, len(body), 2**18):
                    writer.write(body[start : start + 2**18])
                    await writer.drain()
                status = (await reader.readline()).decode()[9:12] or "nothing"
                seen[status] += 1
                if status == "200" and number % 2:
                    await reader.read()
                elif status == "200":
                    await asyncio.sleep(max(until - time.monotonic(), 0))
            except OSError:
                seen["cut off"] += 1
            finally:
                writer.transport.abort()

    async with asyncio.TaskGroup() as tasks:
        for number in range(BODIES):
            tasks.create_task(one(number))
    return seen


async def busy(port: int, until: float, pods: list[Object]) -> Counter[str]:
    """Send 10,000 requests a minute, each at its time, whatever happens to the others."""
    seen: Counter[str] = Counter()
    bodies = [request(each, names_part(NODES)) for each in pods]
    idle: list[tuple[asyncio.StreamReader, asyncio.StreamWriter]] = []

    async def one(number: int) -> None:
        body = bodies[number % len(bodies)]
        reader, writer = idle.pop() if idle else await asyncio.open_connection("127.0.0.1", port)
        try:
            writer.write(_HEAD + b"content-length: %d\r\n\r\n" % len(body) + body)
            head = await reader.readuntil(b"\r\n\r\n")
            length = int(head.lower().partition(b"content-length: ")[2].partition(b"\r")[0])
            answer = json.loads(await reader.readexactly(length))
        except (OSError, EOFError):
            seen["cut off"] += 1
            writer.close()
            return
        seen["error" if answer["Error"] else "answered"] += 1
        idle.append((reader, writer))

    began = time.monotonic()
    asked = []
    for number in range(int((until - began) * REQUESTS_PER_SECOND)):
        await asyncio.sleep(began + number / REQUESTS_PER_SECOND - time.monotonic())
        asked.append(asyncio.create_task(one(number)))
    _, late = await asyncio.wait(asked, timeout=1)
    for each in late:
        each.cancel()
    seen["late"] = len(late)
    return seen


async def invented(port: int, until: float, pods: list[Object]) -> Counter[str]:
    """Send 1,000 requests a second about pods that do not exist, with claims that do."""
    return await strangers.ask(port, until, pods, _NODE_NAMES, strangers.INVENTED)


async def informed(port: int, until: float, pods: list[Object]) -> Counter[str]:
    """Send as many, half of them about pods that exist."""
    return await strangers.ask(port, until, pods, _NODE_NAMES)


async def all_at_once(port: int, until: float, pods: list[Object]) -> Counter[str]:
    """Be slow, greedy and busy at once."""
    answers = await asyncio.gather(*(crowd(port, until, pods) for crowd in (slow, greedy, busy)))
    return sum(answers, Counter())


CROWDS: dict[str, Crowd] = {
    "slow": slow, "greedy": greedy, "busy": busy, "all": all_at_once,
    "invented": invented, "informed": informed,
}  # fmt: skip


async def _connected(
    port: int, seen: Counter[str]
) -> tuple[asyncio.StreamReader, asyncio.StreamWriter] | None:
    try:
        return await asyncio.open_connection("127.0.0.1", port)
    except OSError:
        seen["refused"] += 1
        return None


def _whole_nodes(pod: Object) -> bytes:
    """Make a call with whole nodes, of the size of a body."""
    count = 1_000
    filler = "x" * (BODY_BYTES // count - 100)
    items = [
        {"metadata": {"name": f"node-{number}", "annotations": {"filler": filler}}}
        for number in range(count)
    ]
    return request(pod, b'"NodeNames":null,"Nodes":' + json.dumps({"items": items}).encode())


def main() -> None:
    """Send one crowd."""
    kind, port, seconds, *files = sys.argv[1:]
    pods = json.loads(Path(files[0]).read_text()) if files else PODS
    seen = asyncio.run(CROWDS[kind](int(port), time.monotonic() + float(seconds), pods))
    print(json.dumps(seen))


if __name__ == "__main__":
    main()
