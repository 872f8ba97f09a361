"""Somebody answers kube-scheduler in the place of the service, without TLS."""

import asyncio
import contextlib
import json
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from tests.actors import api as kinds
from tests.e2e.waiting import until
from tests.e2e.workloads import claims, pod
from tests.e2e.world import World

PATIENCE_SECONDS = 30.0


async def test_kube_scheduler_believes_that_a_full_node_has_room(make_world):
    async with answering("node-1") as url, make_world(instances=1, urlPrefix=url) as world:
        await ask_for_too_much(world)

        await until(lambda: node_of(world) == "node-1", within=PATIENCE_SECONDS)


async def test_it_accepts_no_node_that_is_not_among_its_candidates(make_world):
    async with answering("node-9") as url, make_world(instances=1, urlPrefix=url) as world:
        await ask_for_too_much(world)

        await until(
            lambda: '"node-9" which is not found' in message(world), within=PATIENCE_SECONDS
        )
        assert node_of(world) == ""


@asynccontextmanager
async def answering(node: str) -> AsyncIterator[str]:
    """Accept a node for every pod, at the URL that is returned."""
    body = json.dumps({"NodeNames": [node]}).encode()
    head = b"HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: %d\r\n\r\n" % len(body)

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.closing(writer):
            asked = await reader.readuntil(b"\r\n\r\n")
            [length] = re.findall(rb"(?i)content-length: (\d+)", asked)
            await reader.readexactly(int(length))
            writer.write(head + body)
            await writer.drain()

    async with await asyncio.start_server(answer, "127.0.0.1", 0) as server:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"


async def ask_for_too_much(world: World) -> None:
    """Create a pod of which one volume fits on a node, and both fit on none."""
    await world.add_nodes({"disk": 100}, {"disk": 100})
    for each in claims("large", 2, "60Gi"):
        await world.api.create(each, kinds.CLAIMS)
    await world.api.create(pod("large", "large-0", "large-1"), kinds.PODS)


def node_of(world: World) -> str:
    found = world.seen.pod("large")
    return str(found["spec"].get("nodeName", "")) if found else ""


def message(world: World) -> str:
    """Return what kube-scheduler has last written of the pod."""
    found = world.seen.pod("large") or {}
    conditions = found.get("status", {}).get("conditions", [])
    return " ".join(each.get("message", "") for each in conditions)
