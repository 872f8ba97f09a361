"""The published schema of both verbs: whole, true to recorded requests, and fit for generators."""

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from prometheus_client import CollectorRegistry

from app.process.health import MetricsText
from app.serving.decisions import unchanging
from app.serving.http import create_apps
from app.serving.metrics import Metrics
from app.serving.names import NodeNames
from app.serving.victims import decode_preemption, encode_victims
from app.serving.wire import decode_request, encode_error, encode_scores
from app.settings import Settings
from extender import Extender, Scores
from extender.demand.requests import PodRequest
from extender.scoring import Score
from tests.builders import GENEROUS, view_of

WIRE = Path(__file__).parents[3] / "data" / "wire"
RECORDED = sorted(path.name for path in WIRE.glob("filter-*.json"))
POD = {"metadata": {"name": "a"}}


@pytest.fixture(scope="module")
def schema() -> dict[str, Any]:
    metrics = Metrics(CollectorRegistry(), version="1.2.3")
    return create_apps(
        decisions=unchanging(Extender(GENEROUS), view_of(), metrics),
        mutating=None,
        unready=lambda: None,
        state=None,
        picture=None,
        metrics=metrics,
        text=MetricsText(metrics.registry, lambda: 0.0).latest,
        settings=Settings(),
        version="1.2.3",
    ).main.openapi()


def references(value: object) -> Iterator[str]:
    """Find every `$ref` below *value*."""
    if isinstance(value, dict):
        if isinstance(value.get("$ref"), str):
            yield value["$ref"]
        value = [*value.values()]
    for part in value if isinstance(value, list) else ():
        yield from references(part)


def validate(instance: object, part: dict[str, Any], schema: dict[str, Any]) -> None:
    """Check *instance* against one part of the schema, its components at hand."""
    body = part["content"]["application/json"]["schema"]
    whole = {**body, "components": schema["components"]}
    jsonschema.Draft202012Validator(whole).validate(instance)


def test_the_components_are_those_that_are_referred_to(schema):
    names = schema["components"]["schemas"]

    assert set(references(schema)) == {f"#/components/schemas/{name}" for name in names}


def test_every_component_is_a_valid_json_schema(schema):
    for component in json.loads(json.dumps(schema))["components"]["schemas"].values():
        jsonschema.Draft202012Validator.check_schema(component)


def test_the_paths_and_their_statuses(schema):
    statuses = {
        f"{method.upper()} {path}": sorted(operation["responses"])
        for path, operations in schema["paths"].items()
        for method, operation in operations.items()
    }

    assert statuses == {
        "POST /filter": ["200", "400", "408", "413", "503"],
        "POST /prioritize": ["200", "400", "408", "413", "422", "503"],
        "POST /preempt": ["200", "400", "408", "413", "422", "503"],
        "GET /healthz": ["200", "503"],
        "GET /readyz": ["200", "503"],
        "GET /metrics": ["200"],
    }


def evicted(sent: bytes) -> bytes:
    preemption = decode_preemption(sent, NodeNames(tuple))
    return encode_victims(preemption, preemption.request.candidates)


def refused(sent: bytes) -> bytes:
    return b"".join(encode_error("claim is gone", decode_request(sent, NodeNames(tuple))))


def scored(sent: bytes) -> bytes:
    request = decode_request(sent, NodeNames(tuple))
    nodes, asked = request.candidates, PodRequest(pod=request.pod, volumes=())
    return encode_scores(Scores(request=asked, nodes=nodes, scores=[Score(total=7)] * len(nodes)))


ANSWERS = [
    *(("/filter", refused, name) for name in RECORDED),
    *(("/prioritize", scored, name) for name in RECORDED),
    *(("/preempt", evicted, f"preempt-{form}-1.36.json") for form in ("names", "nodes")),
]


@pytest.mark.parametrize(("path", "answer", "name"), ANSWERS)
def test_recorded_requests_and_their_answers_satisfy_the_schema(schema, path, answer, name):
    sent = (WIRE / name).read_bytes()
    operation = schema["paths"][path]["post"]

    validate(json.loads(sent), operation["requestBody"], schema)
    validate(json.loads(answer(sent)), operation["responses"]["200"], schema)


REFUSED: dict[str, dict[str, Any]] = {
    "pod-list": {"Pod": []},
    "pod-without-name": {"Pod": {"metadata": {}}},
    "pod-missing": {"Nodes": None, "NodeNames": ["a"]},
    "pod-null": {"Pod": None, "Nodes": None, "NodeNames": ["a"]},
    "name-number": {"Pod": POD, "NodeNames": [5]},
    "nodes-list": {"Pod": POD, "Nodes": []},
    "node-number": {"Pod": POD, "Nodes": {"items": [5]}},
    "node-without-name": {"Pod": POD, "Nodes": {"items": [{"metadata": {}}]}},
}


@pytest.mark.parametrize("request_", REFUSED.values(), ids=REFUSED)
def test_refused_request_does_not_satisfy_the_schema(schema, request_):
    with pytest.raises(jsonschema.ValidationError):
        validate(request_, schema["paths"]["/filter"]["post"]["requestBody"], schema)


def test_client_can_be_generated_without_a_warning(schema, tmp_path):
    (tmp_path / "openapi.json").write_text(json.dumps(schema))
    (tmp_path / "config.yml").write_text("post_hooks: []\n")

    generated = subprocess.run(
        [
            *(sys.executable, "-m", "openapi_python_client", "generate", "--meta", "none"),
            *("--path", tmp_path / "openapi.json", "--config", tmp_path / "config.yml"),
            *("--output-path", tmp_path / "client", "--fail-on-warning"),
        ],
        capture_output=True,
        text=True,
        timeout=30,
        check=False,
    )

    told = generated.stdout + generated.stderr
    assert (generated.returncode, "arning" in told) == (0, False), told
    assert [*(tmp_path / "client").rglob("filter_*.py")]
