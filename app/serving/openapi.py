"""The OpenAPI schema of both verbs, made from the structures that decode and encode them."""

from typing import Any

import msgspec
from fastapi import FastAPI

from app.kube.objects import Pod
from app.serving.wire import ExtenderFilterResult, HostPriority, NodeHead


class Nodes(msgspec.Struct):
    """Whole nodes. The answer to /filter contains all their fields."""

    items: list[NodeHead] | None = None


class ExtenderCall(msgspec.Struct, rename="pascal"):
    """A pod and the candidate nodes, in one form or the other."""

    pod: Pod
    nodes: Nodes | None = None
    node_names: list[str] | None = None


class ErrorBody(msgspec.Struct):
    """Why a request was refused."""

    error: str


_schemas, _components = msgspec.json.schema_components(
    [ExtenderCall, ExtenderFilterResult, ErrorBody, list[HostPriority]],
    ref_template="#/components/schemas/{name}",
)


def _content(schema: dict[str, Any], description: str) -> dict[str, Any]:
    return {"description": description, "content": {"application/json": {"schema": schema}}}


REQUEST = {
    **_content(_schemas[0], "A pod and the candidate nodes: Nodes or NodeNames, the other null."),
    "required": True,
}
_REFUSALS: dict[int | str, dict[str, Any]] = {
    400: _content(_schemas[2], "The body cannot be decoded."),
    408: _content(_schemas[2], "The body did not arrive in time."),
    413: _content(_schemas[2], "The body is too large."),
}
FILTER_RESPONSES: dict[int | str, dict[str, Any]] = {
    **_REFUSALS,
    200: _content(_schemas[1], "The nodes that fit and why the others do not, or Error."),
    503: _content(_schemas[2], "Too many large bodies are being read."),
}
PRIORITIZE_RESPONSES: dict[int | str, dict[str, Any]] = {
    **_REFUSALS,
    200: _content(_schemas[3], "The score of each candidate, in the order of the request."),
    422: _content(_schemas[2], "A claim of the pod does not lead to a volume."),
    503: _content(
        _schemas[2], "This instance may not answer, or too many large bodies are being read."
    ),
}


def add_schemas(app: FastAPI) -> None:
    """Add to the application's schema what requests and responses refer to."""
    made = app.openapi()  # FastAPI keeps this object and serves it from now on
    made.setdefault("components", {}).setdefault("schemas", {}).update(_components)
