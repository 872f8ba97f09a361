"""The HTTP interface: statuses, forms, limits and what is counted."""

import asyncio
import json
from collections.abc import AsyncIterator
from typing import Any

import httpx
import pytest
from fastapi import FastAPI
from prometheus_client import CollectorRegistry
from prometheus_client.parser import text_string_to_metric_families

from app.config import Settings
from app.metrics import Metrics
from app.serving.decisions import unchanging
from app.serving.http import create_apps
from extender import ClusterView, Extender
from tests.builders import GENEROUS, GIB, bound, disk, node, view_of, volume

PREFIX = "longhorn_scheduler_extender_"
LIMIT_BYTES = 1_000
ROOMY, FULL = "node-1", "node-2"


@pytest.fixture
def view() -> ClusterView:
    """One volume of 10 GiB, and room for it on node-1 only."""
    return view_of(
        *bound(volume("vol", size_bytes=10 * GIB)),
        node(ROOMY),
        node(FULL, disk(maximum_bytes=GIB)),
    )


@pytest.fixture
def metrics() -> Metrics:
    return Metrics(CollectorRegistry(), version="1.2.3")


@pytest.fixture
def app(view: ClusterView, metrics: Metrics) -> FastAPI:
    return create_apps(
        decisions=unchanging(Extender(GENEROUS), view, metrics),
        unready=lambda: "",
        state=None,
        metrics=metrics,
        settings=Settings(body_limit_bytes=LIMIT_BYTES, body_timeout_seconds=0.05),
        unsent_bytes=lambda: 0,
        version="1.2.3",
    ).main


@pytest.fixture
async def client(app: FastAPI) -> AsyncIterator[httpx.AsyncClient]:
    transport = httpx.ASGITransport(app=app)
    async with httpx.AsyncClient(transport=transport, base_url="http://extender") as client:
        yield client


def pod(*claims: str) -> dict[str, Any]:
    volumes = [{"name": claim, "persistentVolumeClaim": {"claimName": claim}} for claim in claims]
    return {"metadata": {"name": "pod", "uid": "1"}, "spec": {"volumes": volumes}}


def by_names(*names: str, claims: tuple[str, ...] = ("vol",)) -> dict[str, Any]:
    return {"Pod": pod(*claims), "Nodes": None, "NodeNames": list(names)}


def by_nodes(*names: str, claims: tuple[str, ...] = ("vol",)) -> dict[str, Any]:
    items = [{"metadata": {"name": name, "labels": {"number": str(n)}}}
             for n, name in enumerate(names)]  # fmt: skip
    return {
        "Pod": pod(*claims),
        "Nodes": {"metadata": {}, "items": items},
        "NodeNames": None,
    }


def padded(size_bytes: int) -> bytes:
    """Write a good request of exactly this size."""
    return json.dumps(by_names(ROOMY)).encode().ljust(size_bytes)


async def in_chunks(body: bytes) -> AsyncIterator[bytes]:
    for start in range(0, len(body), 100):
        yield body[start : start + 100]


async def stalled(body: bytes, reading: asyncio.Event | None = None) -> AsyncIterator[bytes]:
    """Send the beginning of a body, and no more."""
    if reading:
        reading.set()
    yield body
    await asyncio.Event().wait()


async def samples(client: httpx.AsyncClient, name: str) -> dict[str, float]:
    """Return the values of one metric by its only label, or by "" if it has none."""
    text = (await client.get("/metrics")).text
    return {
        next(iter(sample.labels.values()), ""): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
        if sample.name == PREFIX + name
    }


async def test_names_are_answered_with_the_names_that_fit(client: httpx.AsyncClient) -> None:
    response = await client.post("/filter", json=by_names(FULL, "node-9", ROOMY))

    assert (response.status_code, response.json()) == (
        200,
        {
            "Nodes": None,
            "NodeNames": [ROOMY],
            "FailedNodes": {},
            "FailedAndUnresolvableNodes": {
                FULL: "no disk of the Longhorn node has room for a volume of 10 GiB",
                "node-9": "no Longhorn node of this name",
            },
            "Error": "",
        },
    )


async def test_nodes_are_answered_with_the_nodes_that_fit(client: httpx.AsyncClient) -> None:
    request = by_nodes(FULL, ROOMY)

    response = await client.post("/filter", json=request)

    assert (response.status_code, response.json()) == (
        200,
        {
            "Nodes": {"metadata": {}, "items": [request["Nodes"]["items"][1]]},
            "NodeNames": None,
            "FailedNodes": {},
            "FailedAndUnresolvableNodes": {
                FULL: "no disk of the Longhorn node has room for a volume of 10 GiB"
            },
            "Error": "",
        },
    )


async def test_a_pod_without_longhorn_volumes_loses_no_candidate(
    client: httpx.AsyncClient,
) -> None:
    response = await client.post("/filter", json=by_names("z", FULL, "a", claims=()))

    assert response.json() == {
        "Nodes": None,
        "NodeNames": ["z", FULL, "a"],
        "FailedNodes": {},
        "FailedAndUnresolvableNodes": {},
        "Error": "",
    }


@pytest.mark.parametrize("claims", [pytest.param((), id="all"), pytest.param(("vol",), id="fit")])
async def test_a_node_named_twice_is_answered_once(
    client: httpx.AsyncClient, claims: tuple[str, ...]
) -> None:
    response = await client.post("/filter", json=by_names(ROOMY, ROOMY, claims=claims))

    assert response.json()["NodeNames"] == [ROOMY]


@pytest.mark.parametrize("claims", [pytest.param((), id="all"), pytest.param(("vol",), id="fit")])
async def test_of_two_nodes_of_one_name_the_first_is_answered(
    client: httpx.AsyncClient, claims: tuple[str, ...]
) -> None:
    request = by_nodes(ROOMY, ROOMY, claims=claims)

    response = await client.post("/filter", json=request)

    assert response.json()["Nodes"]["items"] == request["Nodes"]["items"][:1]


async def test_the_answer_is_json_of_known_length(client: httpx.AsyncClient) -> None:
    response = await client.post("/filter", json=by_names(ROOMY))

    assert (response.headers["content-type"], response.headers["content-length"]) == (
        "application/json",
        str(len(response.content)),
    )


async def test_equal_requests_get_equal_answers(client: httpx.AsyncClient) -> None:
    first = await client.post("/filter", json=by_names(FULL, "node-9"))
    second = await client.post("/filter", json=by_names(FULL, "node-9"))

    assert first.content == second.content


@pytest.mark.parametrize(
    ("request_", "nodes", "names"),
    [
        pytest.param(by_names(ROOMY, claims=("gone",)), None, [], id="names"),
        pytest.param(
            by_nodes(ROOMY, claims=("vol", "gone")),
            {"metadata": {}, "items": []},
            None,
            id="nodes",
        ),
    ],
)
async def test_an_unknown_claim_is_answered_with_its_name_and_no_node(
    client: httpx.AsyncClient, request_: object, nodes: object, names: object
) -> None:
    response = await client.post("/filter", json=request_)

    assert (response.status_code, response.json()) == (
        200,
        {
            "Nodes": nodes,
            "NodeNames": names,
            "FailedNodes": {},
            "FailedAndUnresolvableNodes": {},
            "Error": "PersistentVolumeClaim default/gone is not in the cluster; "
            "create it, or wait until the extender has seen it",
        },
    )


@pytest.mark.parametrize(
    "body",
    [
        pytest.param(b"", id="empty"),
        pytest.param(b"Pod: x\n", id="yaml"),
        pytest.param(b'{"NodeNames":["a"]}', id="no-pod"),
        pytest.param(b'{"Pod":{"metadata":{"name":"\xff"}}}', id="invalid-utf-8"),
        pytest.param(b"[" * LIMIT_BYTES, id="deep"),
    ],
)
async def test_a_body_that_cannot_be_decoded_is_400_with_one_line_of_json(
    client: httpx.AsyncClient, body: bytes
) -> None:
    response = await client.post("/filter", content=body)

    assert (response.status_code, response.headers["content-type"]) == (400, "application/json")
    assert list(response.json()) == ["error"]
    assert response.json()["error"]
    assert b"\n" not in response.content


async def test_a_body_of_exactly_the_limit_is_read(client: httpx.AsyncClient) -> None:
    response = await client.post("/filter", content=padded(LIMIT_BYTES))

    assert response.json()["NodeNames"] == [ROOMY]


async def test_a_chunked_body_of_exactly_the_limit_is_read(client: httpx.AsyncClient) -> None:
    response = await client.post("/filter", content=in_chunks(padded(LIMIT_BYTES)))

    assert response.json()["NodeNames"] == [ROOMY]


@pytest.mark.parametrize("chunked", ["by-length", "chunked"])
async def test_one_byte_more_than_the_limit_is_413_and_the_connection_closed(
    client: httpx.AsyncClient, chunked: str
) -> None:
    body = padded(LIMIT_BYTES + 1)

    response = await client.post(
        "/filter", content=in_chunks(body) if chunked == "chunked" else body
    )

    assert (response.status_code, response.headers["connection"], response.json()) == (
        413,
        "close",
        {"error": "the body is larger than the 1000 B of EXTENDER_BODY_LIMIT_BYTES"},
    )


async def test_a_body_that_does_not_arrive_is_408_and_the_connection_closed(
    client: httpx.AsyncClient,
) -> None:
    response = await client.post("/filter", content=stalled(b"{"))

    assert (response.status_code, response.headers["connection"], response.json()) == (
        408,
        "close",
        {"error": "the body did not arrive within 0.05 s"},
    )


async def test_a_client_that_goes_away_is_no_longer_in_flight(
    app: FastAPI, client: httpx.AsyncClient
) -> None:
    async def disconnected() -> dict[str, Any]:
        return {"type": "http.disconnect"}

    async def nobody(message: object) -> None:
        del message

    await app(
        {"type": "http", "method": "POST", "path": "/filter", "headers": [], "query_string": b""},
        disconnected,
        nobody,
    )

    assert await samples(client, "requests_in_flight") == {"": 0}


@pytest.mark.parametrize("path", ["/healthz", "/readyz"])
async def test_health_is_plain_text(client: httpx.AsyncClient, path: str) -> None:
    response = await client.get(path)

    assert (response.status_code, response.headers["content-type"], response.text) == (
        200,
        "text/plain; charset=utf-8",
        "ok",
    )


@pytest.mark.parametrize("path", ["/healthz", "/readyz"])
async def test_health_is_json_for_who_accepts_json(client: httpx.AsyncClient, path: str) -> None:
    response = await client.get(path, headers={"Accept": "application/json"})

    assert (response.status_code, response.headers["content-type"], response.json()) == (
        200,
        "application/json",
        {"status": "ok"},
    )


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("GET", "/filter", 405),
        ("PUT", "/filter", 405),
        ("POST", "/healthz", 405),
        ("POST", "/metrics", 405),
        ("GET", "/", 404),
        ("POST", "/prioritize", 404),
        ("GET", "/debug/state", 404),
        ("GET", "/docs", 404),
        ("GET", "/filter/x", 404),
    ],
)
async def test_other_methods_and_paths_are_refused(
    client: httpx.AsyncClient, method: str, path: str, status: int
) -> None:
    assert (await client.request(method, path)).status_code == status


async def test_metrics_are_prometheus_text(client: httpx.AsyncClient) -> None:
    response = await client.get("/metrics")

    assert response.status_code == 200
    assert response.headers["content-type"].startswith("text/plain; version=")


@pytest.mark.parametrize(
    ("request_", "outcome"),
    [
        pytest.param(by_names(ROOMY, FULL), "fits", id="fits"),
        pytest.param(by_names(FULL), "does_not_fit", id="does-not-fit"),
        pytest.param(by_names(), "does_not_fit", id="no-candidates"),
        pytest.param(by_names(FULL, claims=()), "nothing_local", id="nothing-local"),
        pytest.param(by_names(ROOMY, claims=("gone",)), "error", id="unknown-claim"),
        pytest.param([], "bad_request", id="bad-request"),
        pytest.param({"x": "y" * LIMIT_BYTES}, "bad_request", id="too-large"),
    ],
)
async def test_a_request_is_counted_once_by_its_outcome(
    client: httpx.AsyncClient, request_: object, outcome: str
) -> None:
    zeros = await samples(client, "decisions_total")

    await client.post("/filter", json=request_)

    assert await samples(client, "decisions_total") == {**zeros, outcome: 1}


async def test_rejected_nodes_are_counted_by_reason(client: httpx.AsyncClient) -> None:
    zeros = await samples(client, "rejections_total")

    await client.post("/filter", json=by_names(ROOMY, FULL, "x", "y"))

    assert await samples(client, "rejections_total") == {
        **zeros,
        "insufficient_storage": 1,
        "unknown_node": 2,
    }


async def test_what_a_request_brought_is_measured(client: httpx.AsyncClient) -> None:
    body = padded(700)

    await client.post("/filter", content=body)

    assert {
        name: await samples(client, name)
        for name in (
            "filter_duration_seconds_count",
            "request_bytes_count",
            "request_bytes_sum",
            "candidates_count",
            "candidates_sum",
            "packing_steps_count",
            "requests_in_flight",
        )
    } == {
        "filter_duration_seconds_count": {"": 1},
        "request_bytes_count": {"": 1},
        "request_bytes_sum": {"": 700},
        "candidates_count": {"": 1},
        "candidates_sum": {"": 1},
        "packing_steps_count": {"": 1},
        "requests_in_flight": {"": 0},
    }


async def test_a_request_being_read_is_in_flight(client: httpx.AsyncClient) -> None:
    reading = asyncio.Event()

    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(client.post("/filter", content=stalled(b"{", reading)))
        await reading.wait()
        counted = await samples(client, "requests_in_flight")

    assert counted == {"": 1}


async def test_others_are_answered_while_a_body_is_awaited(client: httpx.AsyncClient) -> None:
    reading = asyncio.Event()

    async with asyncio.TaskGroup() as tasks:
        slow = tasks.create_task(client.post("/filter", content=stalled(b"{", reading)))
        await reading.wait()
        quick = await client.post("/filter", json=by_names(ROOMY))
        still_slow = not slow.done()

    assert (still_slow, quick.json()["NodeNames"]) == (True, [ROOMY])


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [("POST", "/prioritize", 404), ("POST", "//filter", 404), ("GET", "/filter", 405)],
)
async def test_a_wrong_path_or_method_has_a_reason_in_the_same_form(
    client: httpx.AsyncClient, method: str, path: str, status: int
) -> None:
    response = await client.request(method, f"http://extender{path}")

    assert response.status_code == status
    assert list(response.json()) == ["error"]
