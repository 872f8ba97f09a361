"""The OpenAPI schema of /filter, made from the structures that decode and encode it."""

from typing import Any

import msgspec
from fastapi import FastAPI

from app.kube.objects import Pod
from app.serving.wire import ExtenderFilterResult, NodeHead


class Nodes(msgspec.Struct):
    """Whole nodes. The answer contains all their fields."""

    items: list[NodeHead] | None = None


class FilterCall(msgspec.Struct, rename="pascal"):
    """A pod and the candidate nodes, in one form or the other."""

    pod: Pod
    nodes: Nodes | None = None
    node_names: list[str] | None = None


class ErrorBody(msgspec.Struct):
    """Why a request was refused."""

    error: str


_schemas, _components = msgspec.json.schema_components(
    [FilterCall, ExtenderFilterResult, ErrorBody], ref_template="#/components/schemas/{name}"
)


def _content(schema: dict[str, Any], description: str) -> dict[str, Any]:
    return {"description": description, "content": {"application/json": {"schema": schema}}}


FILTER_REQUEST = {
    **_content(_schemas[0], "A pod and the candidate nodes: Nodes or NodeNames, the other null."),
    "required": True,
}
FILTER_RESPONSES: dict[int | str, dict[str, Any]] = {
    200: _content(_schemas[1], "The nodes that fit and why the others do not, or Error."),
    400: _content(_schemas[2], "The body cannot be decoded."),
    408: _content(_schemas[2], "The body did not arrive in time."),
    413: _content(_schemas[2], "The body is too large."),
    503: _content(_schemas[2], "Too many large bodies are being read."),
}


def add_schemas(app: FastAPI) -> None:
    """Add to the application's schema what FILTER_REQUEST and FILTER_RESPONSES refer to."""
    made = app.openapi()  # FastAPI keeps this object and serves it from now on
    made.setdefault("components", {}).setdefault("schemas", {}).update(_components)
