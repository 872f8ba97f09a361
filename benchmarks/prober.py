"""Sends a normal request every 50 ms, as kube-scheduler would: over one connection, one at a time.

Run as ``python -m benchmarks.prober PORT SECONDS FILE``, as a process of its own, so that nothing
else delays it. The file has the pod as JSON. It prints the seconds that each answer took, and how
many requests had none.
"""

import asyncio
import json
import sys
import time
from pathlib import Path

from benchmarks.clusters import GIB, Object, names_part, pod, request
from benchmarks.crowds import NODES

PAUSE_SECONDS = 0.05
PATIENCE_SECONDS = 5.0
"""kube-scheduler's httpTimeout in the shipped configurations."""
ADDRESS = "127.0.0.2"
"""The crowds use another one, as in a cluster."""
NORMAL = pod("normal", [3 * GIB, 5 * GIB])

Connection = tuple[asyncio.StreamReader, asyncio.StreamWriter]


async def ask(port: int, seconds: float, pod: Object) -> tuple[list[float], int]:
    """Ask again and again; return how long answers took, and how many failed."""
    body = request(pod, names_part(NODES))
    sent = b"POST /filter HTTP/1.1\r\nhost: x\r\ncontent-length: %d\r\n\r\n" % len(body) + body
    latencies, failed = [], 0
    connection: Connection | None = None
    began = time.monotonic()
    while time.monotonic() < began + seconds:
        asked = time.monotonic()
        try:
            async with asyncio.timeout(PATIENCE_SECONDS):
                if connection is None or connection[0].at_eof():
                    connection = await asyncio.open_connection(
                        "127.0.0.1", port, local_addr=(ADDRESS, 0)
                    )
                failed += not await _is_answered(*connection, sent)
        except (OSError, EOFError, TimeoutError):
            failed += 1
            connection = None
        latencies.append(time.monotonic() - asked)
        await asyncio.sleep(PAUSE_SECONDS)
    return latencies, failed


async def _is_answered(
    reader: asyncio.StreamReader, writer: asyncio.StreamWriter, sent: bytes
) -> bool:
    writer.write(sent)
    head = await reader.readuntil(b"\r\n\r\n")
    length = int(head.lower().partition(b"content-length: ")[2].partition(b"\r")[0])
    answer = json.loads(await reader.readexactly(length))
    return b" 200 " in head and not answer["Error"]


if __name__ == "__main__":
    port, seconds, file = sys.argv[1:]
    asked = json.loads(Path(file).read_text())
    print(json.dumps(asyncio.run(ask(int(port), float(seconds), asked))))
