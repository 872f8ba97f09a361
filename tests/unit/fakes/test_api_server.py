"""What only the in-memory API server can be asked: its ways past clients, RBAC, determinism."""

import asyncio
import random
from collections.abc import AsyncIterator

import msgspec
import pytest
from kubernetes_asyncio.client import ApiClient, ApiException, CoreV1Api

from tests.contract.exchange import PATIENCE_SECONDS, ask, named, watching
from tests.contract.paths import CUSTOM, config_maps, leases, settings
from tests.fakes import Call, FakeApiServer, Object

pytestmark = pytest.mark.looptime

MAPS = config_maps("default")
EVERY_POD = "/api/v1/pods"


def config_map(name: str, **fields: object) -> Object:
    metadata = {"name": name, "namespace": "default"}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, **fields}


def fake(seed: int = 0, *, chop: float = 0.0) -> FakeApiServer:
    return FakeApiServer(random.Random(seed), chop=chop)


@pytest.fixture
def server() -> FakeApiServer:
    return fake()


@pytest.fixture
async def client(server: FakeApiServer) -> AsyncIterator[ApiClient]:
    async with server.client("us") as api_client:
        yield api_client


async def test_tests_read_and_write_past_the_clients(
    server: FakeApiServer, client: ApiClient
) -> None:
    stored = server.put(config_map("a", data={"k": "1"}))

    assert server.get("configmaps", "a", "default") == stored
    assert server.list("configmaps") == server.list("configmaps", "default") == [stored]
    assert server.list("configmaps", "kube-system") == []
    assert (await ask(client, "GET", f"{MAPS}/a")).json == stored
    server.delete("configmaps", "a", "default")
    assert server.get("configmaps", "a", "default") is None


async def test_what_is_put_or_got_is_a_copy(server: FakeApiServer) -> None:
    given = config_map("a", data={"k": "1"})
    stored = server.put(given)

    given["data"]["k"] = stored["data"]["k"] = "2"
    server.list("configmaps")[0]["data"]["k"] = "3"

    found = server.get("configmaps", "a", "default")
    assert found is not None
    assert found["data"] == {"k": "1"}


async def test_what_is_put_is_seen_by_watches(server: FakeApiServer, client: ApiClient) -> None:
    async with watching(client, MAPS) as events:
        server.put(config_map("a"))
        server.put(config_map("a", data={"k": "1"}))
        server.put(config_map("a", data={"k": "1"}))
        server.delete("configmaps", "a", "default")
        seen = await events.take(3)

    assert [type_ for type_, _ in seen] == ["ADDED", "MODIFIED", "DELETED"]


async def test_putting_creates_the_namespace(server: FakeApiServer) -> None:
    lease = {
        "apiVersion": "coordination.k8s.io/v1",
        "kind": "Lease",
        "metadata": {"name": "a", "namespace": "new"},
    }
    server.put(lease)

    assert server.get("namespaces", "new") is not None


@pytest.mark.parametrize(
    ("method", "path", "query", "expected"),
    [
        ("GET", f"{leases('x')}/a", {}, ("get", "x", "a")),
        ("GET", leases("x"), {}, ("list", "x", "")),
        ("GET", leases("x"), {"watch": "true", "timeoutSeconds": "1"}, ("watch", "x", "")),
        ("GET", leases("x"), {"fieldSelector": "metadata.name=a"}, ("list", "x", "a")),
        ("GET", "/apis/coordination.k8s.io/v1/leases", {}, ("list", "", "")),
        ("POST", leases("x"), {}, ("create", "x", "")),
        ("PUT", f"{leases('x')}/a", {}, ("update", "x", "a")),
        ("PATCH", f"{leases('x')}/a", {}, ("patch", "x", "a")),
        ("DELETE", f"{leases('x')}/a", {}, ("delete", "x", "a")),
    ],
)
async def test_calls_are_kept_in_the_words_of_rbac(
    server: FakeApiServer,
    client: ApiClient,
    method: str,
    path: str,
    query: dict[str, str],
    expected: tuple[str, str, str],
) -> None:
    await ask(client, method, path, query=query, body=named("a") if method != "GET" else None)

    [call] = server.calls
    assert (call.verb, call.namespace, call.name) == expected
    assert (call.group, call.resource, call.client) == ("coordination.k8s.io", "leases", "us")
    assert call.headers["Authorization"] == "Bearer us"


@pytest.mark.parametrize(
    ("path", "query", "message"),
    [
        (
            f"{leases('x')}/a",
            {},
            'leases.coordination.k8s.io "a" is forbidden: User "us" cannot get resource "leases" '
            'in API group "coordination.k8s.io" in the namespace "x"',
        ),
        (
            EVERY_POD,
            {"watch": "1"},
            'pods is forbidden: User "us" cannot watch resource "pods" in API group "" '
            "at the cluster scope",
        ),
        (
            "/apis/nobody.io/v1/things",
            {},
            'things.nobody.io is forbidden: User "us" cannot list resource "things" '
            'in API group "nobody.io" at the cluster scope',
        ),
    ],
)
async def test_what_no_role_allows_is_forbidden(
    server: FakeApiServer, client: ApiClient, path: str, query: dict[str, str], message: str
) -> None:
    server.authorize = lambda _: False

    refused = await ask(client, "GET", path, query=query)

    assert refused.refusal == (403, "Forbidden")
    assert refused.json["message"] == message


async def test_a_role_can_name_the_object(server: FakeApiServer, client: ApiClient) -> None:
    server.authorize = lambda call: call.name == "a"
    server.put(config_map("a"))

    one = await ask(client, "GET", MAPS, query={"fieldSelector": "metadata.name=a"})
    all_ = await ask(client, "GET", MAPS)

    assert (one.status, all_.status) == (200, 403)


async def test_a_removed_resource_is_like_a_missing_crd(
    server: FakeApiServer, client: ApiClient
) -> None:
    path = settings("default")
    await ask(client, "POST", path, body=named("a", **CUSTOM))
    async with watching(client, path, resourceVersion=str(server.version)) as events:
        removed = server.remove_resource("longhorn.io", "settings")
        assert await events.next() is None
    missing = await ask(client, "GET", path)

    server.add_resource(removed)

    assert (missing.status, missing.data) == (404, b"404 page not found\n")
    assert (await ask(client, "GET", path)).json["items"] == []


async def test_without_the_gate_a_streaming_list_is_refused(
    server: FakeApiServer, client: ApiClient
) -> None:
    server.streaming_lists = False
    query = {"watch": "1", "sendInitialEvents": "true", "resourceVersionMatch": "NotOlderThan"}

    refused = await ask(client, "GET", MAPS, query=query)

    assert refused.refusal == (422, "Invalid")
    assert refused.json["message"] == (
        'ListOptions.meta.k8s.io "" is invalid: sendInitialEvents: Forbidden: sendInitialEvents is '
        "forbidden for watch unless the WatchList feature gate is enabled"
    )


async def test_reads_of_the_cache_can_lag(server: FakeApiServer, client: ApiClient) -> None:
    server.put(config_map("a"))
    server.put(config_map("b"))
    server.cache_lag = 1

    cached = (await ask(client, "GET", MAPS, query={"resourceVersion": "0"})).json
    newest = (await ask(client, "GET", MAPS)).json

    assert [item["metadata"]["name"] for item in cached["items"]] == ["a"]
    assert [item["metadata"]["name"] for item in newest["items"]] == ["a", "b"]


async def test_compaction_is_not_noticed_by_a_running_watch(
    server: FakeApiServer, client: ApiClient
) -> None:
    async with watching(client, MAPS, resourceVersion=str(server.version)) as events:
        server.put(config_map("a"))
        server.put(config_map("b"))
        server.compact()
        assert len(await events.take(2)) == 2


async def test_a_list_waits_a_little_for_its_version(
    server: FakeApiServer, client: ApiClient
) -> None:
    async def put_later() -> None:
        await asyncio.sleep(2)
        server.put(config_map("a"))

    query = {"resourceVersion": str(server.version + 1)}
    async with asyncio.TaskGroup() as group:
        group.create_task(put_later())
        served = await ask(client, "GET", MAPS, query=query)
    refused = await ask(client, "GET", MAPS, query={"resourceVersion": "1000"})

    assert served.status == 200
    assert refused.refusal == (504, "Timeout")
    assert asyncio.get_running_loop().time() == pytest.approx(5)


async def test_bookmarks_come_each_minute_and_shortly_before_the_end(
    server: FakeApiServer, client: ApiClient
) -> None:
    loop = asyncio.get_running_loop()
    times = []
    query = {"allowWatchBookmarks": "true", "timeoutSeconds": "150"}

    async with watching(client, MAPS, resourceVersion=str(server.version), **query) as events:
        while await events.next(seconds=100):
            times.append(loop.time())
    ended_at = loop.time()

    assert [*times, ended_at] == pytest.approx([60, 120, 148, 150])


async def test_a_watch_without_a_time_lasts_half_an_hour_to_an_hour(
    server: FakeApiServer, client: ApiClient
) -> None:
    async with watching(client, MAPS, resourceVersion=str(server.version)) as events:
        assert await events.next(seconds=10_000) is None

    assert 1800 <= asyncio.get_running_loop().time() <= 3600


async def test_a_cancelled_read_loses_nothing(server: FakeApiServer, client: ApiClient) -> None:
    async with watching(client, MAPS, resourceVersion=str(server.version)) as events:
        server.watch_delay = lambda _: 2.0
        server.put(config_map("a"))
        for _ in range(2):
            with pytest.raises(TimeoutError):
                await events.next(seconds=1)
        server.watch_delay = lambda _: 0.0
        [(type_, obj)] = await events.take(1)

    assert (type_, obj["metadata"]["name"]) == ("ADDED", "a")


async def test_time_of_creation_follows_the_loop(server: FakeApiServer) -> None:
    server.put(config_map("a"))
    await asyncio.sleep(90)

    later = server.put(config_map("b"))

    assert later["metadata"]["creationTimestamp"] == "2026-01-01T00:01:30Z"


async def test_a_closed_client_breaks_its_watches_and_sends_no_more(server: FakeApiServer) -> None:
    api_client = server.client("us")
    async with watching(api_client, MAPS) as events:
        reading = asyncio.ensure_future(events.next())
        await asyncio.sleep(1)
        await api_client.close()
        with pytest.raises(Exception, match="Connection closed"):
            await reading

    with pytest.raises(RuntimeError, match="Session is closed"):
        await ask(api_client, "GET", MAPS)


async def test_a_patch_of_another_type_is_not_supported(client: ApiClient) -> None:
    async with asyncio.timeout(PATIENCE_SECONDS):
        response = await client.call_api(
            f"{MAPS}/a",
            "PATCH",
            header_params={"Content-Type": "application/strategic-merge-patch+json"},
            body={},
            _preload_content=False,
        )

    assert response.status == 415


async def test_the_generated_api_works_too(server: FakeApiServer, client: ApiClient) -> None:
    """So that code may use models and `_preload_content`, and errors carry the Status."""
    server.put(config_map("a", data={"k": "v"}))
    api = CoreV1Api(client)

    found = await api.read_namespaced_config_map("a", "default")
    with pytest.raises(ApiException) as caught:
        await api.read_namespaced_config_map("b", "default")

    assert found.data == {"k": "v"}
    assert caught.value.status == 404
    assert 'configmaps "b" not found' in msgspec.json.decode(str(caught.value.body))["message"]


async def _trace(seed: int) -> tuple[list[Call], list[bytes]]:
    server = fake(seed, chop=0.5)
    latencies = random.Random(seed)
    server.latency = lambda _: (latencies.random(), latencies.random())
    pieces: list[bytes] = []

    async def write(name: str) -> None:
        async with server.client(name) as client:
            for value in range(3):
                await ask(client, "POST", MAPS, body=named(f"{name}-{value}"))

    async def watch() -> None:
        async with server.client("watcher") as client, asyncio.timeout(30):
            query = [("watch", "1"), ("timeoutSeconds", "20")]
            response = await client.call_api(
                MAPS, "GET", query_params=query, _preload_content=False
            )
            while piece := await response.content.readany():
                pieces.append(piece)

    async with asyncio.TaskGroup() as group:
        for name in ("x", "y"):
            group.create_task(write(name))
        group.create_task(watch())
    return server.calls, pieces


async def test_a_seed_gives_the_same_run_again() -> None:
    begun = asyncio.get_running_loop().time()
    calls, pieces = await _trace(7)
    again, pieces_again = await _trace(7)
    _, other_pieces = await _trace(8)

    assert pieces == pieces_again
    assert pieces != other_pieces
    assert len(pieces) > len(b"".join(pieces).splitlines())
    assert [(call.verb, call.client) for call in calls] == [
        (call.verb, call.client) for call in again
    ]
    assert calls[0].at == begun
