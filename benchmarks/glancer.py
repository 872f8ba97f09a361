"""Looks at a process as a probe and a scheduler do: is its event loop free, and does it answer?

Run as ``python -m benchmarks.glancer PORT NODES SECONDS``, as a process of its own, so that nothing
else delays it. Each line that it prints is a JSON array: what was asked for, when (seconds since
1970), how many seconds the answer took, and whether it was good.
"""

import asyncio
import json
import sys
import time

import httpx

from benchmarks.clusters import GIB, names_part, pod, request

GLANCED = pod("glanced", [GIB])
"""What is asked about; it fits."""
_PAUSES = {"/healthz": 0.05, "/filter": 0.25}
PATIENCE_SECONDS = 5.0
"""kube-scheduler's httpTimeout in the shipped configurations."""

_PROBE_SECONDS = 3_600.0
"""A probe waits for as long as it takes: how long is what is looked for."""


async def _look(client: httpx.AsyncClient, path: str, body: bytes) -> None:
    while True:
        asked, began = time.time(), time.monotonic()
        try:
            if path == "/healthz":
                is_good = (await client.get(path)).status_code == 200
            else:
                response = await client.post(path, content=body, timeout=PATIENCE_SECONDS)
                is_good = not response.json()["Error"]
        except (httpx.HTTPError, ValueError):
            is_good = False
        print(json.dumps([path, asked, time.monotonic() - began, is_good]), flush=True)
        await asyncio.sleep(_PAUSES[path])


async def _main(port: int, nodes: int) -> None:
    body = request(GLANCED, names_part(nodes))
    address = f"http://127.0.0.1:{port}"
    async with (
        httpx.AsyncClient(base_url=address, timeout=_PROBE_SECONDS) as client,
        asyncio.TaskGroup() as tasks,
    ):
        for path in _PAUSES:
            tasks.create_task(_look(client, path, body))


if __name__ == "__main__":
    asyncio.run(_main(int(sys.argv[1]), int(sys.argv[2])))
