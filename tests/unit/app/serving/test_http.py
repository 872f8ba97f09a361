"""The HTTP interface: statuses, forms, limits and what is counted."""

import json
from collections.abc import AsyncIterator
from typing import Any

import httpx
import msgspec
import pytest
from fastapi import FastAPI
from prometheus_client import CollectorRegistry
from prometheus_client.parser import text_string_to_metric_families

from app.process.health import MetricsText, create_health_app
from app.serving.decisions import unchanging
from app.serving.http import create_apps
from app.serving.metrics import Metrics
from app.settings import Settings
from extender import Extender
from tests.builders import GENEROUS, GIB, bound, disk, node, view_of, volume

PREFIX = "longhorn_scheduler_extender_"
LIMIT_BYTES = 1_000
ROOMY, FULL = "node-1", "node-2"
Content = bytes | AsyncIterator[bytes]
EACH = pytest.mark.parametrize("path", ["/filter", "/prioritize", "/preempt"])
GONE = (
    "PersistentVolumeClaim default/gone is not in the cluster; "
    "create it, or wait until the extender has seen it"
)


@pytest.fixture
def app() -> FastAPI:
    """One volume of 10 GiB, and room for it on node-1 only."""
    view = view_of(
        *bound(volume("vol", size_bytes=10 * GIB)),
        node(ROOMY),
        node(FULL, disk(maximum_bytes=GIB)),
    )
    metrics = Metrics(CollectorRegistry(), version="1.2.3")
    return create_apps(
        decisions=unchanging(Extender(GENEROUS), view, metrics),
        mutating=None,
        unready=lambda: None,
        state=None,
        picture=None,
        metrics=metrics,
        text=MetricsText(metrics.registry, lambda: 0.0).latest,
        settings=Settings(body_limit_bytes=LIMIT_BYTES),
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


def by_nodes(*names: str) -> dict[str, Any]:
    items = [{"metadata": {"name": name, "labels": {"a": "b"}}} for name in names]
    return {"Pod": pod("vol"), "Nodes": {"metadata": {}, "items": items}, "NodeNames": None}


def evicting(*names: str, claims: tuple[str, ...] = ("vol",)) -> dict[str, Any]:
    victims = {name: {"Pods": [{"UID": f"{name}-uid"}], "NumPDBViolations": 1} for name in names}
    return {"Pod": pod(*claims), "NodeNameToVictims": None, "NodeNameToMetaVictims": victims}


def padded(size_bytes: int, path: str) -> bytes:
    """Write a good request of exactly this size."""
    request = evicting(ROOMY) if path == "/preempt" else by_names(ROOMY)
    return json.dumps(request).encode().ljust(size_bytes)


async def in_chunks(body: bytes) -> AsyncIterator[bytes]:
    for start in range(0, len(body), 100):
        yield body[start : start + 100]


async def samples(client: httpx.AsyncClient, name: str) -> dict[str, float]:
    """Return the values of one metric by its only label, or by "" if it has none."""
    text = (await client.get("/metrics")).text
    return {
        next(iter(sample.labels.values()), ""): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
        if sample.name == PREFIX + name
    }


@pytest.mark.parametrize(
    ("request_", "nodes", "names"),
    [
        pytest.param(by_names(FULL, "node-9", ROOMY), None, [ROOMY], id="names"),
        pytest.param(
            by_nodes(FULL, "node-9", ROOMY),
            {"metadata": {}, "items": by_nodes(FULL, "node-9", ROOMY)["Nodes"]["items"][2:]},
            None,
            id="nodes",
        ),
    ],
)
async def test_the_nodes_that_fit_are_answered_in_the_form_of_the_request(
    client, request_, nodes, names
):
    response = await client.post("/filter", json=request_)

    assert (response.status_code, response.json()) == (
        200,
        {
            "Nodes": nodes,
            "NodeNames": names,
            "FailedNodes": {},
            "FailedAndUnresolvableNodes": {
                FULL: "no disk of the Longhorn node has room for a volume of 10 GiB",
                "node-9": "no Longhorn node of this name",
            },
            "Error": "",
        },
    )
    assert (response.headers["content-type"], response.headers["content-length"]) == (
        "application/json",
        str(len(response.content)),
    )


async def test_an_unknown_claim_is_answered_with_its_name_and_no_node(client):
    response = await client.post("/filter", json=by_names(ROOMY, claims=("vol", "gone")))

    assert (response.status_code, response.json()) == (
        200,
        {
            "Nodes": None,
            "NodeNames": [],
            "FailedNodes": {},
            "FailedAndUnresolvableNodes": {},
            "Error": GONE,
        },
    )


@pytest.mark.parametrize(
    "request_",
    [
        pytest.param(by_names(FULL, "node-9", ROOMY), id="names"),
        pytest.param(by_nodes(FULL, "node-9", ROOMY), id="nodes"),
        pytest.param(by_names(FULL, "node-9", FULL, ROOMY, ROOMY), id="names-twice"),
        pytest.param(by_nodes(FULL, "node-9", FULL, ROOMY, ROOMY), id="nodes-twice"),
    ],
)
async def test_every_candidate_has_one_score_in_the_order_asked(client, request_):
    response = await client.post("/prioritize", json=request_)

    *rejected, roomy = response.json()
    assert rejected == [{"Host": FULL, "Score": 0}, {"Host": "node-9", "Score": 0}]
    assert (roomy["Host"], roomy["Score"] in range(1, 11)) == (ROOMY, True)
    assert (response.status_code, response.headers["content-type"]) == (200, "application/json")
    assert response.headers["content-length"] == str(len(response.content))


async def test_for_an_unknown_claim_there_is_no_score_but_a_status_and_its_name(client):
    response = await client.post("/prioritize", json=by_names(ROOMY, claims=("vol", "gone")))

    assert (response.status_code, response.json()) == (422, {"error": GONE})
    assert "connection" not in response.headers


async def test_only_nodes_with_room_are_left_for_evictions(client):
    response = await client.post("/preempt", json=evicting(FULL, "node-9", ROOMY))

    kept = {ROOMY: {"Pods": [{"UID": f"{ROOMY}-uid"}], "NumPDBViolations": 1}}
    assert (response.status_code, response.json()) == (200, {"NodeNameToMetaVictims": kept})
    assert await samples(client, "preemptions_total") == {
        "kept": 0, "left_out": 1, "error": 0, "unavailable": 0, "bad_request": 0,
    }  # fmt: skip


async def test_for_an_unknown_claim_nobody_is_evicted(client):
    response = await client.post("/preempt", json=evicting(ROOMY, claims=("gone",)))

    assert (response.status_code, response.json()["error"]) == (422, GONE)


@EACH
@pytest.mark.parametrize(
    "body",
    [
        pytest.param(b'{"NodeNames":["a"],"NodeNameToVictims":{}}', id="no-pod"),
        pytest.param(b'{"Pod":{"metadata":{"name":"\xff"}}}', id="not-utf-8"),
    ],
)
async def test_a_body_that_cannot_be_decoded_is_400_with_one_line_of_json(client, path, body):
    response = await client.post(path, content=body)

    assert (response.status_code, response.headers["content-type"]) == (400, "application/json")
    assert list(response.json()) == ["error"]
    assert response.json()["error"]
    assert b"\n" not in response.content


@EACH
@pytest.mark.parametrize("send", [pytest.param(bytes, id="by-length"), in_chunks])
async def test_a_body_of_exactly_the_limit_is_read(client, path, send):
    response = await client.post(path, content=send(padded(LIMIT_BYTES, path)))

    assert response.status_code == 200


@EACH
@pytest.mark.parametrize("send", [pytest.param(bytes, id="by-length"), in_chunks])
async def test_one_byte_more_than_the_limit_is_413_and_the_connection_closed(client, path, send):
    response = await client.post(path, content=send(padded(LIMIT_BYTES + 1, path)))

    assert (response.status_code, response.headers["connection"], response.json()) == (
        413,
        "close",
        {"error": "the body is larger than the 1000 B of EXTENDER_BODY_LIMIT_BYTES"},
    )


@EACH
async def test_a_client_that_goes_away_is_no_longer_in_flight(app, client, path):
    async def disconnected() -> dict[str, Any]:
        return {"type": "http.disconnect"}

    async def nobody(message: object) -> None:
        del message

    await app(
        {"type": "http", "method": "POST", "path": path, "headers": [], "query_string": b""},
        disconnected,
        nobody,
    )

    assert await samples(client, "requests_in_flight") == {"": 0}


@pytest.mark.parametrize("path", ["/healthz", "/readyz"])
@pytest.mark.parametrize(
    ("accept", "content_type", "text"),
    [
        ("*/*", "text/plain; charset=utf-8", "ok"),
        ("application/json", "application/json", '{"status":"ok"}'),
    ],
)
async def test_health_is_plain_text_and_json_for_who_accepts_json(
    client, path, accept, content_type, text
):
    response = await client.get(path, headers={"Accept": accept})

    assert (response.status_code, response.headers["content-type"], response.text) == (
        200,
        content_type,
        text,
    )


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("GET", "/filter", 405),
        ("GET", "/prioritize", 405),
        ("POST", "/healthz", 405),
        ("GET", "/preempt", 405),
        ("POST", "/bind", 404),
        ("GET", "/debug/state", 404),
        ("GET", "/docs", 404),
        ("POST", "//filter", 404),
    ],
)
async def test_other_methods_and_paths_are_refused_with_a_reason_in_the_same_form(
    client, method, path, status
):
    response = await client.request(method, f"http://extender{path}")

    assert response.status_code == status
    assert list(response.json()) == ["error"]


class State(msgspec.Struct):
    holds: int = 0


@pytest.mark.parametrize(("on_metrics_port", "status"), [(False, 200), (True, 404)])
async def test_what_is_inside_is_never_shown_on_the_port_of_the_metrics(*, on_metrics_port, status):
    async def picture() -> AsyncIterator[str]:
        yield "<html>"

    metrics = Metrics(CollectorRegistry(), version="1")
    text = MetricsText(metrics.registry, lambda: 0.0).latest
    main, _ = create_apps(
        decisions=unchanging(Extender(GENEROUS), view_of(), metrics),
        mutating=None,
        unready=lambda: None,
        state=State,
        picture=picture,
        metrics=metrics,
        text=text,
        settings=Settings(metrics_port=9505),
        version="1",
    )
    app = create_health_app(lambda: None, text, version="1") if on_metrics_port else main

    transport = httpx.ASGITransport(app=app)
    async with httpx.AsyncClient(transport=transport, base_url="http://extender") as client:
        statuses = [(await client.get(path)).status_code for path in ("/debug/state", "/")]

    assert statuses == [status, status]


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
async def test_a_request_is_counted_once_by_its_outcome(client, request_, outcome):
    zeros = await samples(client, "decisions_total")

    await client.post("/filter", json=request_)

    assert await samples(client, "decisions_total") == {**zeros, outcome: 1}


@pytest.mark.parametrize(
    ("request_", "outcome"),
    [
        pytest.param(by_names(ROOMY, FULL), "scored", id="some-fit"),
        pytest.param(by_names(FULL), "scored", id="none-fits"),
        pytest.param(by_names(ROOMY, claims=("gone",)), "error", id="unknown-claim"),
        pytest.param([], "bad_request", id="bad-request"),
        pytest.param({"x": "y" * LIMIT_BYTES}, "bad_request", id="too-large"),
    ],
)
async def test_a_request_for_scores_is_counted_apart_from_decisions(client, request_, outcome):
    of_filter = ("decisions_total", "rejections_total", "candidates_count", "packing_steps_count")
    zeros = await samples(client, "prioritizations_total")
    before = [await samples(client, name) for name in of_filter]

    await client.post("/prioritize", json=request_)

    assert await samples(client, "prioritizations_total") == {**zeros, outcome: 1}
    assert [await samples(client, name) for name in of_filter] == before


async def test_rejected_nodes_are_counted_by_reason(client):
    zeros = await samples(client, "rejections_total")

    await client.post("/filter", json=by_names(ROOMY, FULL, "x", "y"))

    counted = {"insufficient_storage": 1, "unknown_node": 2}
    assert await samples(client, "rejections_total") == zeros | counted


@pytest.mark.parametrize(
    ("path", "name", "value"),
    [
        ("/filter", "filter_duration_seconds_count", 1),
        ("/filter", "prioritize_duration_seconds_count", 0),
        ("/filter", "request_bytes_sum", 700),
        ("/filter", "candidates_sum", 1),
        ("/filter", "packing_steps_count", 1),
        ("/filter", "requests_in_flight", 0),
        ("/prioritize", "filter_duration_seconds_count", 0),
        ("/prioritize", "prioritize_duration_seconds_count", 1),
        ("/prioritize", "request_bytes_sum", 700),
        ("/prioritize", "requests_in_flight", 0),
        ("/preempt", "filter_duration_seconds_count", 0),
        ("/preempt", "preempt_duration_seconds_count", 1),
        ("/preempt", "request_bytes_sum", 700),
        ("/preempt", "candidates_sum", 0),
        ("/preempt", "requests_in_flight", 0),
    ],
)
async def test_what_a_request_brought_is_measured(client, path, name, value):
    await client.post(path, content=padded(700, path))

    assert await samples(client, name) == {"": value}


@EACH
async def test_a_request_being_read_is_in_flight(client, path):
    counted: dict[str, float] = {}

    async def body() -> AsyncIterator[bytes]:
        counted.update(await samples(client, "requests_in_flight"))
        yield b"{"

    await client.post(path, content=body())

    assert counted == {"": 1}
