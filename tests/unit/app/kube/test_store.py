"""What leadership reads and writes: every answer is a value, and nothing is raised."""

import asyncio
import random
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from typing import Any

import msgspec
import pytest

from app.kube.connection import Connection
from app.kube.store import NamespaceStore
from leader import Absent, Collection, Conflict, Failed, Listed, Stored
from tests.fakes import Answer, FakeApiServer, Fault, Hang, Refused
from tests.unit.app.kube.following import failure

pytestmark = pytest.mark.looptime

NAMESPACE = "longhorn-system"
LEASE = "leases.coordination.k8s.io"
Ask = Callable[[NamespaceStore], Awaitable[object]]


def lease(name: str = "lease", **metadata: Any) -> dict[str, Any]:
    return {
        "apiVersion": "coordination.k8s.io/v1",
        "kind": "Lease",
        "metadata": {"name": name, "namespace": NAMESPACE, **metadata},
        "spec": {"holderIdentity": "us"},
    }


def endpoint_slice(name: str, service: str) -> dict[str, Any]:
    return {
        "apiVersion": "discovery.k8s.io/v1",
        "kind": "EndpointSlice",
        "metadata": {
            "name": name,
            "namespace": NAMESPACE,
            "labels": {"kubernetes.io/service-name": service, "x": "y"},
        },
        "addressType": "IPv4",
        "endpoints": [],
    }


@pytest.fixture
def server() -> FakeApiServer:
    return FakeApiServer(random.Random(5), chop=0.3)


@pytest.fixture
async def store(server: FakeApiServer) -> AsyncIterator[NamespaceStore]:
    async with server.client("us") as client:
        yield NamespaceStore(Connection(client), NAMESPACE)


async def stored(store: NamespaceStore, name: str = "lease") -> Mapping[str, Any]:
    answer = await store.read(Collection.LEASES, name, deadline_seconds=5)
    assert isinstance(answer, Stored)
    return answer.body


async def test_object_is_created_read_replaced_and_deleted(server, store):
    created = await store.create(Collection.LEASES, lease(), deadline_seconds=5)
    assert isinstance(created, Stored)
    read = await stored(store)
    assert read == created.body
    assert await store.create(Collection.LEASES, lease(), deadline_seconds=5) == Conflict()

    changed = {**read, "spec": {"holderIdentity": "them"}}
    replaced = await store.replace(Collection.LEASES, changed, deadline_seconds=5)
    assert isinstance(replaced, Stored)
    assert replaced.body["metadata"]["resourceVersion"] != read["metadata"]["resourceVersion"]
    assert await stored(store) == replaced.body

    deleted = await store.delete(Collection.LEASES, replaced.body, deadline_seconds=5)
    assert deleted == Stored(body=replaced.body)
    assert server.get(LEASE, "lease", NAMESPACE) is None


async def test_what_is_not_there_is_absent(store):
    ghost = lease(resourceVersion="5")

    assert await store.read(Collection.LEASES, "lease", deadline_seconds=5) == Absent()
    assert await store.read(Collection.SERVICES, "x", deadline_seconds=5) == Absent()
    assert await store.read(Collection.PODS, "x", deadline_seconds=5) == Absent()
    assert await store.delete(Collection.LEASES, ghost, deadline_seconds=5) == Absent()
    slice_ = {**endpoint_slice("s", "us"), "metadata": ghost["metadata"]}
    answer = await store.replace(Collection.ENDPOINT_SLICES, slice_, deadline_seconds=5)
    assert answer == Absent()


async def test_creation_in_a_namespace_that_is_gone_fails(server):
    async with server.client("us") as client:
        store = NamespaceStore(Connection(client), "gone")
        body = lease(namespace="gone")

        answer = await store.create(Collection.LEASES, body, deadline_seconds=5)

    assert isinstance(answer, Failed)


@pytest.mark.parametrize("collection", [Collection.LEASES, Collection.ENDPOINT_SLICES])
async def test_write_over_a_newer_version_is_a_conflict_and_changes_nothing(
    server, store, collection
):
    body = lease() if collection is Collection.LEASES else endpoint_slice("lease", "us")
    created = await store.create(collection, body, deadline_seconds=5)
    assert isinstance(created, Stored)
    server.put({**body, "metadata": {**body["metadata"], "labels": {"newer": "yes"}}})

    replaced = await store.replace(collection, created.body, deadline_seconds=5)
    deleted = await store.delete(collection, created.body, deadline_seconds=5)

    assert (replaced, deleted) == (Conflict(), Conflict())
    kept = await store.read(collection, "lease", deadline_seconds=5)
    assert isinstance(kept, Stored)
    assert kept.body["metadata"]["labels"] == {"newer": "yes"}


async def test_deletion_of_an_object_made_anew_is_a_conflict(server, store):
    await store.create(Collection.LEASES, lease(), deadline_seconds=5)
    old = await stored(store)
    server.delete(LEASE, "lease", NAMESPACE)
    server.put(lease())

    assert await store.delete(Collection.LEASES, old, deadline_seconds=5) == Conflict()
    assert server.get(LEASE, "lease", NAMESPACE) is not None
    assert server.calls[-1].body["preconditions"] == {
        "resourceVersion": old["metadata"]["resourceVersion"]
    }


async def test_objects_are_selected_by_all_their_labels(server, store):
    server.put(endpoint_slice("ours", "us"))
    server.put(endpoint_slice("theirs", "them"))
    elsewhere = endpoint_slice("elsewhere", "us")
    elsewhere["metadata"]["namespace"] = "default"
    server.put(elsewhere)
    labels = {"kubernetes.io/service-name": "us", "x": "y"}

    answer = await store.select(Collection.ENDPOINT_SLICES, labels, deadline_seconds=5)
    none = await store.select(Collection.ENDPOINT_SLICES, {"x": "z"}, deadline_seconds=5)

    assert isinstance(answer, Listed)
    assert [body["metadata"]["name"] for body in answer.bodies] == ["ours"]
    assert none == Listed(bodies=[])


BODY = lease(resourceVersion="5")
ASKED: list[Any] = [
    pytest.param(lambda s: s.read(Collection.LEASES, "lease", deadline_seconds=3), id="read"),
    pytest.param(
        lambda s: s.select(Collection.LEASES, {"a": "b"}, deadline_seconds=3), id="select"
    ),
    pytest.param(lambda s: s.create(Collection.LEASES, lease(), deadline_seconds=3), id="create"),
    pytest.param(lambda s: s.replace(Collection.LEASES, BODY, deadline_seconds=3), id="replace"),
    pytest.param(lambda s: s.delete(Collection.LEASES, BODY, deadline_seconds=3), id="delete"),
]


@pytest.mark.parametrize("ask", ASKED)
@pytest.mark.parametrize(
    ("kind", "text"),
    [
        (Refused(), "cannot be reached"),
        (Hang(), "within 3 s"),
        (Answer(500, b"boom"), "500: boom"),
        (Answer(403, msgspec.json.encode(failure(403, "Forbidden", "may not"))), "403: may not"),
        (Answer(410), "410"),
    ],
)
async def test_failures_are_told(server, store, ask, kind, text):
    server.faults.append(Fault(kind))
    loop = asyncio.get_running_loop()
    started = loop.time()

    answer = await ask(store)

    assert isinstance(answer, Failed)
    assert text in answer.why
    assert "leases" in answer.why
    assert loop.time() - started <= 3.01


@pytest.mark.parametrize("ask", ASKED[:4])
@pytest.mark.parametrize(
    "body",
    [
        b"<html>log in first</html>",
        b"",
        b"[]",
        b"\xff\xfe",
        b'{"metadata": {"name": "\xff", "resourceVersion": "1"}, "items": [{"a": "\xff"}]}',
        b'{"metadata": {"name": "a", "resourceVersion": "1"}, "x": ' + b"[" * 50_000,
        b'{"items": 5}',
        b'{"metadata": null, "items": 5}',
        b'{"metadata": {"name": null, "resourceVersion": "1"}, "items": 5}',
        b'{"items": [{}]}',
        b'{"items": [{"metadata": {"name": "a"}}]}',
        b'{"items": [{"metadata": {"name": 5, "resourceVersion": "1"}}]}',
    ],
    ids=lambda body: body[:40].decode(errors="replace"),
)
async def test_answer_that_is_no_object_is_a_failure(server, store, ask, body):
    server.faults.append(Fault(Answer(200, body)))

    assert isinstance(await ask(store), Failed)


@pytest.mark.parametrize("items", [b'{"items": null}', b"{}", b'{"items": []}'])
async def test_list_without_objects_is_empty(server, store, items):
    server.faults.append(Fault(Answer(200, items)))

    answer = await store.select(Collection.LEASES, {}, deadline_seconds=3)

    assert answer == Listed(bodies=[])


async def test_unknown_fields_are_given_back_as_they_were(server, store):
    body = lease(resourceVersion="7", managedFields=[{"f": {}}], annotations={"a": None})
    body["future"] = {"deep": [1, 2.5, None, True]}
    server.faults.append(Fault(Answer(200, msgspec.json.encode(body))))

    assert await stored(store) == body
