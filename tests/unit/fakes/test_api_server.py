"""The in-memory API server refuses, forgets and fails when a test tells it to."""

import asyncio
import random
from collections.abc import AsyncIterator

import aiohttp
import pytest
from kubernetes_asyncio.client import ApiClient

from tests.actors.api import CONFIG_MAPS, LEASES
from tests.contract.exchange import ask, named, watching
from tests.fakes import (
    Answer,
    CutAnswer,
    FakeApiServer,
    Fault,
    Hang,
    LostAnswer,
    Refused,
    WatchCut,
    WatchEndsAtOnce,
    WatchGarbage,
    WatchHang,
)

pytestmark = pytest.mark.looptime

MAPS = CONFIG_MAPS.path("default")


@pytest.fixture
def server() -> FakeApiServer:
    return FakeApiServer(random.Random(0))


@pytest.fixture
async def client(server: FakeApiServer) -> AsyncIterator[ApiClient]:
    async with server.client("us") as api_client:
        yield api_client


def put(server: FakeApiServer, name: str, **data: str) -> None:
    metadata = {"name": name, "namespace": "default"}
    server.put({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": data})


async def create(client: ApiClient, name: str = "a") -> int:
    return (await ask(client, "POST", MAPS, body=named(name))).status


async def test_what_is_put_or_got_is_a_copy(server):
    put(server, "a", k="1")

    server.list("configmaps")[0]["data"]["k"] = "2"

    found = server.get("configmaps", "a", "default")
    assert found is not None
    assert found["data"] == {"k": "1"}


@pytest.mark.parametrize(
    ("method", "path", "query", "expected"),
    [
        ("GET", f"{LEASES.path('x')}/a", {}, ("get", "x", "a")),
        ("GET", LEASES.path("x"), {}, ("list", "x", "")),
        ("GET", LEASES.path("x"), {"watch": "true", "timeoutSeconds": "1"}, ("watch", "x", "")),
        ("GET", LEASES.path("x"), {"fieldSelector": "metadata.name=a"}, ("list", "x", "a")),
        ("GET", "/apis/coordination.k8s.io/v1/leases", {}, ("list", "", "")),
        ("POST", LEASES.path("x"), {}, ("create", "x", "")),
        ("PUT", f"{LEASES.path('x')}/a", {}, ("update", "x", "a")),
        ("PATCH", f"{LEASES.path('x')}/a", {}, ("patch", "x", "a")),
        ("DELETE", f"{LEASES.path('x')}/a", {}, ("delete", "x", "a")),
    ],
)
async def test_calls_are_judged_in_the_words_of_rbac(server, client, method, path, query, expected):
    server.authorize = lambda _: False

    refused = await ask(client, method, path, query=query)

    assert refused.refusal == (403, "Forbidden")
    [call] = server.calls
    assert (call.verb, call.namespace, call.name) == expected
    assert (call.group, call.resource, call.client) == ("coordination.k8s.io", "leases", "us")


async def test_without_the_gate_a_streaming_list_is_refused(server, client):
    server.streaming_lists = False
    query = {"watch": "1", "sendInitialEvents": "true", "resourceVersionMatch": "NotOlderThan"}

    assert (await ask(client, "GET", MAPS, query=query)).refusal == (422, "Invalid")


@pytest.mark.parametrize(
    ("kind", "error", "applied"),
    [
        pytest.param(Refused(), aiohttp.ClientConnectorError, 0, id="refused"),
        pytest.param(Hang(), TimeoutError, 0, id="hang"),
        pytest.param(LostAnswer(), aiohttp.ServerDisconnectedError, 1, id="lost"),
        pytest.param(LostAnswer(hang=True), TimeoutError, 1, id="lost-in-silence"),
        pytest.param(CutAnswer(), aiohttp.ClientPayloadError, 1, id="cut"),
    ],
)
async def test_a_failed_request_may_have_been_applied(server, client, kind, error, applied):
    server.faults.append(Fault(kind))

    with pytest.raises(error):
        await create(client)

    assert len(server.list("configmaps")) == applied


async def test_a_fault_strikes_as_often_as_told_and_only_what_matches(server, client):
    lists = Fault(Answer(500), matches=lambda call: call.verb == "list", times=2)
    server.faults += [Fault(WatchCut()), lists]

    created = await create(client)
    struck = [(await ask(client, "GET", MAPS)).status for _ in range(3)]

    assert (created, struck) == (201, [500, 500, 200])


@pytest.mark.parametrize(
    ("fault", "expected"),
    [
        pytest.param(WatchEndsAtOnce(), ["end"], id="ends-at-once"),
        pytest.param(WatchCut(1), ["ADDED", "ClientPayloadError"], id="cut"),
        pytest.param(WatchHang(1), ["ADDED", "TimeoutError"], id="hangs"),
        pytest.param(WatchGarbage(b'{"type":"x"}\n', 1), ["ADDED", "x", "ADDED"], id="garbage"),
    ],
)
async def test_a_watch_fails_after_some_events(server, client, fault, expected):
    server.faults.append(Fault(fault))
    for name in ("a", "b"):
        put(server, name)
    seen: list[str] = []

    async with watching(client, MAPS, timeoutSeconds="10", allowWatchBookmarks="true") as events:
        while len(seen) < len(expected):
            try:
                event = await events.next(seconds=100_000)
                seen.append(event["type"] if event else "end")
            except (aiohttp.ClientPayloadError, TimeoutError) as error:
                seen.append(type(error).__name__)

    assert seen == expected


@pytest.mark.parametrize("whom", ["us", None])
async def test_an_outage_refuses_connections_and_breaks_watches(server, client, whom):
    async with (
        server.client("them") as other,
        watching(client, MAPS) as ours,
        watching(other, MAPS) as theirs,
    ):
        with server.outage(whom), pytest.raises(aiohttp.ClientConnectorError):
            await create(client)
        put(server, "a")

        with pytest.raises(aiohttp.ClientPayloadError):
            await ours.next()
        if whom == "us":
            assert len(await theirs.take(1)) == 1

    assert await create(client, "b") == 201


async def test_an_answer_on_its_way_is_lost_in_an_outage(server, client):
    server.latency = lambda _: (0.0, 2.0)
    asyncio.get_running_loop().call_later(1, server.outage, "us")

    with pytest.raises(aiohttp.ServerDisconnectedError):
        await create(client)

    assert len(server.list("configmaps")) == 1


async def test_in_a_silent_outage_nothing_comes_and_watches_go_on_after_it(server, client):
    async with watching(client, MAPS) as events:
        outage = server.outage("us", silent=True)
        put(server, "a")
        with pytest.raises(TimeoutError):
            await events.next(seconds=1000)
        with pytest.raises(TimeoutError):
            await create(client, "b")
        outage.end()

        [(type_, obj)] = await events.take(1)

    assert (type_, obj["metadata"]["name"]) == ("ADDED", "a")
    assert len(server.list("configmaps")) == 1
