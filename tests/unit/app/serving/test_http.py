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

from app.process.health import MetricsText, Text, create_health_app
from app.serving.decisions import unchanging
from app.serving.http import create_apps
from app.serving.metrics import Metrics
from app.settings import Settings
from extender import ClusterView, Extender
from tests.builders import GENEROUS, bound, nodes_of, view_of, volume

PREFIX = "longhorn_scheduler_extender_"
LIMIT_BYTES = 1_000
ROOMY, FULL = "node-1", "node-2"
Content = bytes | AsyncIterator[bytes]
EACH = pytest.mark.parametrize("path", ["/filter", "/prioritize", "/preempt"])
GONE = (
    "PersistentVolumeClaim default/gone is not in the cluster; "
    "create it, or wait until the extender has seen it"
)


def apps(view: ClusterView, settings: Settings, **inside: Any) -> tuple[FastAPI, Text]:
    """Build what answers on the main port, and the text of its metrics."""
    metrics = Metrics(CollectorRegistry(), version="1.2.3")
    text = MetricsText(metrics.registry, lambda: 0.0).latest
    made = create_apps(
        decisions=unchanging(Extender(GENEROUS), view, metrics),
        mutating=None,
        unready=lambda: None,
        metrics=metrics,
        text=text,
        settings=settings,
        version="1.2.3",
        **{"state": None, "picture": None, **inside},
    )
    return made.main, text


def client_of(app: FastAPI) -> httpx.AsyncClient:
    return httpx.AsyncClient(transport=httpx.ASGITransport(app=app), base_url="http://extender")


@pytest.fixture
def app() -> FastAPI:
    """One volume of 10 GiB, and room for it on node-1 only."""
    view = view_of(*bound(volume("vol")), *nodes_of("1 2:1"))
    return apps(view, Settings(body_limit_bytes=LIMIT_BYTES))[0]


@pytest.fixture
async def client(app: FastAPI) -> AsyncIterator[httpx.AsyncClient]:
    async with client_of(app) as client:
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


ASKED = (FULL, "node-9", ROOMY)
FORMS: dict[str, tuple[dict[str, Any], object, object]] = {
    "names": (by_names(*ASKED), None, [ROOMY]),
    "nodes": (by_nodes(*ASKED), {"metadata": {}, "items": by_nodes(ROOMY)["Nodes"]["items"]}, None),
}


@pytest.mark.parametrize(("request_", "nodes", "names"), FORMS.values(), ids=FORMS)
async def test_nodes_that_fit_are_answered_in_the_form_of_the_request(
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
    assert response.headers["content-type"] == "application/json"
    assert response.headers["content-length"] == str(len(response.content))


async def test_unknown_claim_is_answered_with_its_name_and_no_node(client):
    response = await client.post("/filter", json=by_names(ROOMY, claims=("vol", "gone")))

    nothing: dict[str, Any] = {"FailedNodes": {}, "FailedAndUnresolvableNodes": {}}
    expected = {"Nodes": None, "NodeNames": [], **nothing, "Error": GONE}
    assert (response.status_code, response.json()) == (200, expected)


SCORED = {
    "names": by_names(*ASKED),
    "nodes": by_nodes(*ASKED),
    "names-twice": by_names(FULL, "node-9", FULL, ROOMY, ROOMY),
    "nodes-twice": by_nodes(FULL, "node-9", FULL, ROOMY, ROOMY),
}


@pytest.mark.parametrize("request_", SCORED.values(), ids=SCORED)
async def test_every_candidate_has_one_score_in_the_order_asked(client, request_):
    response = await client.post("/prioritize", json=request_)

    *rejected, roomy = response.json()
    assert rejected == [{"Host": FULL, "Score": 0}, {"Host": "node-9", "Score": 0}]
    assert (roomy["Host"], roomy["Score"] in range(1, 11)) == (ROOMY, True)
    assert (response.status_code, response.headers["content-type"]) == (200, "application/json")
    assert response.headers["content-length"] == str(len(response.content))


@pytest.mark.parametrize(
    ("path", "request_"),
    [
        ("/prioritize", by_names(ROOMY, claims=("vol", "gone"))),
        ("/preempt", evicting(ROOMY, claims=("gone",))),
    ],
)
async def test_for_an_unknown_claim_there_is_a_status_and_its_name(client, path, request_):
    response = await client.post(path, json=request_)

    assert (response.status_code, response.json()) == (422, {"error": GONE})
    assert "connection" not in response.headers


async def test_only_nodes_with_room_are_left_for_evictions(client):
    response = await client.post("/preempt", json=evicting(*ASKED))

    kept = {ROOMY: {"Pods": [{"UID": f"{ROOMY}-uid"}], "NumPDBViolations": 1}}
    assert (response.status_code, response.json()) == (200, {"NodeNameToMetaVictims": kept})
    assert await samples(client, "preemptions_total") == {
        "kept": 0, "left_out": 1, "error": 0, "unavailable": 0, "bad_request": 0,
    }  # fmt: skip


UNDECODABLE = {
    "no-pod": b'{"NodeNames":["a"],"NodeNameToVictims":{}}',
    "not-utf-8": b'{"Pod":{"metadata":{"name":"\xff"}}}',
}


@EACH
@pytest.mark.parametrize("body", UNDECODABLE.values(), ids=UNDECODABLE)
async def test_body_that_cannot_be_decoded_is_400_with_one_line_of_json(client, path, body):
    response = await client.post(path, content=body)

    assert (response.status_code, response.headers["content-type"]) == (400, "application/json")
    assert list(response.json()) == ["error"]
    assert response.json()["error"]
    assert b"\n" not in response.content


@EACH
@pytest.mark.parametrize("send", [pytest.param(bytes, id="by-length"), in_chunks])
async def test_one_byte_more_than_the_limit_is_413_and_the_connection_closed(client, path, send):
    largest = await client.post(path, content=send(padded(LIMIT_BYTES, path)))
    larger = await client.post(path, content=send(padded(LIMIT_BYTES + 1, path)))

    assert [largest.status_code, larger.status_code] == [200, 413]
    assert larger.headers["connection"] == "close"
    error = "the body is larger than the 1000 B of EXTENDER_BODY_LIMIT_BYTES"
    assert larger.json() == {"error": error}


@EACH
async def test_client_that_goes_away_is_no_longer_in_flight(app, client, path):
    async def disconnected():
        return {"type": "http.disconnect"}

    async def send(message):
        del message

    scope = {"type": "http", "method": "POST", "path": path, "headers": [], "query_string": b""}
    await app(scope, disconnected, send)

    assert await samples(client, "requests_in_flight") == {"": 0}


@pytest.mark.parametrize("path", ["/healthz", "/readyz"])
@pytest.mark.parametrize(
    ("accept", "content_type", "text"),
    [
        ("*/*", "text/plain; charset=utf-8", "ok"),
        ("application/json", "application/json", '{"status":"ok"}'),
    ],
)
async def test_health_is_plain_text_and_json_for_clients_that_accept_json(
    client, path, accept, content_type, text
):
    response = await client.get(path, headers={"Accept": accept})

    assert (response.status_code, response.text) == (200, text)
    assert response.headers["content-type"] == content_type


REFUSED = {
    "GET /filter": 405,
    "GET /prioritize": 405,
    "GET /preempt": 405,
    "POST /healthz": 405,
    "POST /bind": 404,
    "GET /debug/state": 404,
    "GET /docs": 404,
    "POST //filter": 404,
}


@pytest.mark.parametrize(("asked", "status"), REFUSED.items())
async def test_other_methods_and_paths_are_refused_with_a_reason_in_the_same_form(
    client, asked, status
):
    method, path = asked.split()

    response = await client.request(method, f"http://extender{path}")

    assert (response.status_code, list(response.json())) == (status, ["error"])


class State(msgspec.Struct):
    holds: int = 0


@pytest.mark.parametrize(("on_metrics_port", "status"), [(False, 200), (True, 404)])
async def test_what_is_inside_is_never_shown_on_the_port_of_the_metrics(*, on_metrics_port, status):
    async def picture():
        yield "<html>"

    main, text = apps(view_of(), Settings(metrics_port=9505), state=State, picture=picture)
    app = create_health_app(lambda: None, text, version="1") if on_metrics_port else main

    async with client_of(app) as client:
        statuses = [(await client.get(path)).status_code for path in ("/debug/state", "/")]

    assert statuses == [status, status]


OF_GONE = by_names(ROOMY, claims=("gone",))
TOO_LARGE = {"x": "y" * LIMIT_BYTES}
OUTCOMES: dict[str, tuple[object, str, str]] = {
    "fits": (by_names(ROOMY, FULL), "fits", "scored"),
    "does-not-fit": (by_names(FULL), "does_not_fit", "scored"),
    "no-candidates": (by_names(), "does_not_fit", "scored"),
    "nothing-local": (by_names(FULL, claims=()), "nothing_local", "scored"),
    "unknown-claim": (OF_GONE, "error", "error"),
    "bad-request": ([], "bad_request", "bad_request"),
    "too-large": (TOO_LARGE, "bad_request", "bad_request"),
}


@pytest.mark.parametrize(("request_", "decided", "scored"), OUTCOMES.values(), ids=OUTCOMES)
async def test_request_is_counted_once_by_its_outcome_and_scores_apart(
    client, request_, decided, scored
):
    of_filter = ("decisions_total", "rejections_total", "candidates_count", "packing_steps_count")
    no_scores = await samples(client, "prioritizations_total")
    zeros = [await samples(client, name) for name in of_filter]

    await client.post("/prioritize", json=request_)
    assert await samples(client, "prioritizations_total") == {**no_scores, scored: 1}
    assert [await samples(client, name) for name in of_filter] == zeros

    await client.post("/filter", json=request_)
    assert await samples(client, "decisions_total") == {**zeros[0], decided: 1}


async def test_rejected_nodes_are_counted_by_reason(client):
    zeros = await samples(client, "rejections_total")

    await client.post("/filter", json=by_names(ROOMY, FULL, "x", "y"))

    counted = {"insufficient_storage": 1, "unknown_node": 2}
    assert await samples(client, "rejections_total") == zeros | counted


MEASURED = {
    "/filter": {
        "filter_duration_seconds_count": 1, "prioritize_duration_seconds_count": 0,
        "candidates_sum": 1, "packing_steps_count": 1,
    },
    "/prioritize": {
        "filter_duration_seconds_count": 0, "prioritize_duration_seconds_count": 1,
    },
    "/preempt": {
        "filter_duration_seconds_count": 0, "preempt_duration_seconds_count": 1,
        "candidates_sum": 0,
    },
}  # fmt: skip


@pytest.mark.parametrize(("path", "values"), MEASURED.items())
async def test_request_is_measured(client, path, values):
    await client.post(path, content=padded(700, path))

    for name, value in {**values, "request_bytes_sum": 700, "requests_in_flight": 0}.items():
        assert await samples(client, name) == {"": value}, name


@EACH
async def test_request_being_read_is_in_flight(client, path):
    counted: dict[str, float] = {}

    async def body():
        counted.update(await samples(client, "requests_in_flight"))
        yield b"{"

    await client.post(path, content=body())

    assert counted == {"": 1}
