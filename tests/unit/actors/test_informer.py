"""The cache of objects that every played part acts on makes up for what it missed."""

import asyncio
from random import Random

import pytest

from tests.actors.api import CLAIMS, Api, Informer, Object
from tests.fakes import FakeApiServer
from tests.unit.actors.world import VIRTUAL_TIME

pytestmark = VIRTUAL_TIME


def put(server: FakeApiServer, name: str, mark: str) -> None:
    metadata = {"name": name, "namespace": "default"}
    kind = {"apiVersion": CLAIMS.api_version, "kind": CLAIMS.kind}
    server.put({**kind, "metadata": metadata, "spec": {"volumeName": mark}})


def mark(obj: Object | None) -> str:
    return "" if obj is None else str(obj["spec"]["volumeName"])


async def test_a_condition_is_looked_at_at_once_and_after_each_change():
    server = FakeApiServer(Random(0))
    async with server.client("actor") as client, asyncio.TaskGroup() as tasks:
        informer = Informer(Api(client), CLAIMS)
        running = tasks.create_task(informer.run())
        await informer.until(lambda: not informer.objects)
        waiting = tasks.create_task(informer.until(lambda: len(informer.objects) == 2))
        put(server, "first", "1")
        await asyncio.sleep(1)
        assert not waiting.done()

        put(server, "second", "1")
        await asyncio.sleep(1)
        assert waiting.done()
        assert informer.handlers == []
        running.cancel()


@pytest.mark.parametrize("compacted", [False, True])
async def test_after_a_break_all_is_made_up_for(*, compacted):
    server = FakeApiServer(Random(0))
    told: set[tuple[str, str]] = set()
    for name in ("changed", "deleted", "same"):
        put(server, name, "1")
    async with server.client("actor") as client, asyncio.TaskGroup() as tasks:
        informer = Informer(Api(client), CLAIMS)
        running = tasks.create_task(informer.run())
        await informer.synced.wait()
        informer.handlers.append(lambda old, new: told.add((mark(old), mark(new))))
        with server.outage():
            put(server, "changed", "2")
            put(server, "new", "3")
            server.delete("persistentvolumeclaims", "deleted", "default")
            await asyncio.sleep(30)
            assert told == set()
            if compacted:
                server.compact()
        await asyncio.sleep(1)
        running.cancel()

    assert told == {("1", "2"), ("1", ""), ("", "3")}
    found = {key.name: mark(obj) for key, obj in informer.objects.items()}
    assert found == {"changed": "2", "same": "1", "new": "3"}
