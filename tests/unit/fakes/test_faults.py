"""What goes wrong on request between a client and the in-memory API server."""

import asyncio
import random
from collections.abc import AsyncIterator

import aiohttp
import pytest
from kubernetes_asyncio.client import ApiClient

from tests.contract.exchange import ask, named, watching
from tests.contract.paths import config_maps
from tests.fakes import (
    Answer,
    CutAnswer,
    Delay,
    FakeApiServer,
    Fault,
    FaultKind,
    Hang,
    LostAnswer,
    Object,
    Refused,
    WatchCut,
    WatchEndsAtOnce,
    WatchGarbage,
    WatchHang,
)

pytestmark = pytest.mark.looptime

MAPS = config_maps("default")


def config_map(name: str) -> Object:
    metadata = {"name": name, "namespace": "default"}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata}


@pytest.fixture
def server() -> FakeApiServer:
    return FakeApiServer(random.Random(0))


@pytest.fixture
async def client(server: FakeApiServer) -> AsyncIterator[ApiClient]:
    async with server.client("us") as api_client:
        yield api_client


@pytest.fixture
async def other(server: FakeApiServer) -> AsyncIterator[ApiClient]:
    async with server.client("them") as api_client:
        yield api_client


async def create(client: ApiClient, name: str = "a") -> int:
    return (await ask(client, "POST", MAPS, body=named(name))).status


async def test_a_refused_connection_applies_nothing(
    server: FakeApiServer, client: ApiClient
) -> None:
    server.faults.append(Fault(Refused()))

    with pytest.raises(aiohttp.ClientConnectorError, match="Cannot connect to host fake:80"):
        await create(client)

    assert server.list("configmaps") == []
    assert [call.verb for call in server.calls] == ["create"]
    assert await create(client) == 201


@pytest.mark.parametrize(
    ("kind", "error", "applied"),
    [
        pytest.param(Hang(), TimeoutError, 0, id="hang"),
        pytest.param(LostAnswer(), aiohttp.ServerDisconnectedError, 1, id="lost"),
        pytest.param(LostAnswer(hang=True), TimeoutError, 1, id="lost-in-silence"),
        pytest.param(CutAnswer(), aiohttp.ClientPayloadError, 1, id="cut"),
    ],
)
async def test_a_failed_request_may_have_been_applied(
    server: FakeApiServer,
    client: ApiClient,
    kind: FaultKind,
    error: type[Exception],
    applied: int,
) -> None:
    server.faults.append(Fault(kind))

    with pytest.raises(error):
        await create(client)

    assert len(server.list("configmaps")) == applied


async def test_a_request_cancelled_after_it_was_applied_stays_applied(
    server: FakeApiServer, client: ApiClient
) -> None:
    server.latency = lambda _: (1.0, 1.0)

    for name, seconds in (("a", 0.5), ("b", 1.5)):
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(seconds):
                await create(client, name)
    await asyncio.sleep(10)

    assert [obj["metadata"]["name"] for obj in server.list("configmaps")] == ["b"]


async def test_latency_and_delay_add_up(server: FakeApiServer, client: ApiClient) -> None:
    server.latency = lambda _: (1.0, 2.0)
    server.faults.append(Fault(Delay(4.0)))

    await create(client)

    assert asyncio.get_running_loop().time() == pytest.approx(7)


async def test_something_else_can_answer(server: FakeApiServer, client: ApiClient) -> None:
    page = Answer(200, b"<html>sign in</html>", {"Content-Type": "text/html"})
    server.faults += [Fault(Answer(429, headers={"Retry-After": "5"})), Fault(page)]

    async with asyncio.timeout(1):
        limited = await client.call_api(MAPS, "GET", _preload_content=False)
    html = await ask(client, "GET", MAPS)

    assert (limited.status, limited.headers["retry-after"]) == (429, "5")
    assert (html.status, html.content_type, html.data) == (
        200,
        "text/html",
        b"<html>sign in</html>",
    )
    assert (await ask(client, "GET", MAPS)).json["items"] == []


async def test_a_fault_strikes_as_often_as_told_and_only_what_matches(
    server: FakeApiServer, client: ApiClient, other: ApiClient
) -> None:
    theirs = Fault(Answer(500), matches=lambda call: call.client == "them", times=2)
    server.faults.append(theirs)

    ours = [(await ask(client, "GET", MAPS)).status for _ in range(3)]
    struck = [(await ask(other, "GET", MAPS)).status for _ in range(3)]

    assert (ours, struck) == ([200, 200, 200], [500, 500, 200])


async def test_faults_can_be_drawn(server: FakeApiServer, client: ApiClient) -> None:
    server.interfere = lambda call: Answer(503) if call.verb == "list" else WatchCut()

    assert (await ask(client, "GET", MAPS)).status == 503
    assert await create(client) == 201


async def test_faults_of_watches_spare_other_calls(
    server: FakeApiServer, client: ApiClient
) -> None:
    server.faults.append(Fault(WatchEndsAtOnce()))

    assert (await ask(client, "GET", MAPS)).status == 200
    async with watching(client, MAPS) as events:
        assert await events.next() is None


async def test_a_watch_is_cut_after_some_events(server: FakeApiServer, client: ApiClient) -> None:
    server.faults.append(Fault(WatchCut(after_events=2)))
    for name in ("a", "b", "c"):
        server.put(config_map(name))

    async with watching(client, MAPS) as events:
        assert len(await events.take(2)) == 2
        with pytest.raises(aiohttp.ClientPayloadError):
            await events.next()


async def test_a_watch_falls_silent_for_ever(server: FakeApiServer, client: ApiClient) -> None:
    server.faults.append(Fault(WatchHang(after_events=1)))
    for name in ("a", "b"):
        server.put(config_map(name))

    async with watching(client, MAPS, timeoutSeconds="10", allowWatchBookmarks="true") as events:
        assert len(await events.take(1)) == 1
        with pytest.raises(TimeoutError):
            await events.next(seconds=100_000)


async def test_garbage_comes_between_events(server: FakeApiServer, client: ApiClient) -> None:
    server.faults.append(Fault(WatchGarbage(b'{"oops":1}\n', after_events=1)))
    for name in ("a", "b"):
        server.put(config_map(name))

    async with watching(client, MAPS) as events:
        seen = [await events.next() for _ in range(3)]

    assert seen[1] == {"oops": 1}
    assert [event["type"] for event in seen if event and "type" in event] == ["ADDED", "ADDED"]


@pytest.mark.parametrize("whom", ["us", None])
async def test_an_outage_refuses_connections_and_breaks_watches(
    server: FakeApiServer, client: ApiClient, other: ApiClient, whom: str | None
) -> None:
    async with watching(client, MAPS) as ours, watching(other, MAPS) as theirs:
        with server.outage(whom), pytest.raises(aiohttp.ClientConnectorError):
            await create(client)
        server.put(config_map("a"))

        with pytest.raises(aiohttp.ClientPayloadError):
            await ours.next()
        if whom == "us":
            assert len(await theirs.take(1)) == 1

    assert await create(client, "b") == 201


async def test_an_answer_on_its_way_is_lost_in_an_outage(
    server: FakeApiServer, client: ApiClient
) -> None:
    server.latency = lambda _: (0.0, 2.0)

    async def cut_off() -> None:
        await asyncio.sleep(1)
        server.outage("us")

    async with asyncio.TaskGroup() as group:
        group.create_task(cut_off())
        with pytest.raises(aiohttp.ServerDisconnectedError):
            await create(client)

    assert len(server.list("configmaps")) == 1


async def test_in_a_silent_outage_nothing_comes_and_watches_go_on_after_it(
    server: FakeApiServer, client: ApiClient
) -> None:
    async with watching(client, MAPS) as events:
        outage = server.outage("us", silent=True)
        server.put(config_map("a"))
        with pytest.raises(TimeoutError):
            await events.next(seconds=1000)
        with pytest.raises(TimeoutError):
            await create(client, "b")
        outage.end()

        [(type_, obj)] = await events.take(1)

    assert (type_, obj["metadata"]["name"]) == ("ADDED", "a")
    assert len(server.list("configmaps")) == 1
