"""The OpenAPI schema of all verbs, made from the structures that decode and encode them."""

from collections.abc import Sequence
from typing import Annotated, Any

import msgspec
from fastapi import FastAPI
from msgspec import Meta

from app.kube import objects
from app.serving.names import (
    LABEL,
    MOST_CHARACTERS,
    MOST_CHARACTERS_OF_LABEL,
    MOST_CHARACTERS_OF_UID,
    SUBDOMAIN,
    UID,
)
from app.serving.victims import PreemptionResult, Victim, Victims, WholeVictim
from app.serving.wire import ExtenderFilterResult, HostPriority

# As app/serving/names.py checks them.
Name = Annotated[str, Meta(max_length=MOST_CHARACTERS, pattern=f"^{SUBDOMAIN}$")]
NameOrNone = Annotated[str, Meta(max_length=MOST_CHARACTERS, pattern=f"^({SUBDOMAIN})?$")] | None
LabelOrNone = (
    Annotated[str, Meta(max_length=MOST_CHARACTERS_OF_LABEL, pattern=f"^({LABEL})?$")] | None
)
UidOrNone = Annotated[str, Meta(max_length=MOST_CHARACTERS_OF_UID, pattern=f"^({UID})?$")] | None


class NodeMetadata(msgspec.Struct):
    name: Name


class Node(msgspec.Struct):
    """The only part of a node that is read."""

    metadata: NodeMetadata


class Nodes(msgspec.Struct):
    """Whole nodes. The answer to /filter contains all their fields."""

    items: list[Node] | None = None


class Metadata(objects.Metadata, frozen=True):
    name: Name
    namespace: LabelOrNone = None
    uid: UidOrNone = None


class PodClaimSource(objects.PodClaimSource, frozen=True):
    claim_name: NameOrNone = None


class PodVolume(objects.PodVolume, frozen=True):
    name: LabelOrNone = None
    persistent_volume_claim: PodClaimSource | None = None


class PodSchedulingGroup(objects.PodSchedulingGroup, frozen=True):
    pod_group_name: NameOrNone = None


class PodSpec(objects.PodSpec, frozen=True):
    volumes: Sequence[PodVolume] | None = None
    node_name: NameOrNone = None
    scheduling_group: PodSchedulingGroup | None = None


class PodStatus(objects.PodStatus, frozen=True):
    nominated_node_name: NameOrNone = None


class Pod(objects.Pod, frozen=True):
    metadata: Metadata
    spec: PodSpec | None = None
    status: PodStatus | None = None


class ExtenderCall(msgspec.Struct, rename="pascal"):
    """A pod and the candidate nodes, in one form or the other."""

    pod: Pod
    nodes: Nodes | None = None
    node_names: list[Name] | None = None


class PreemptionCall(msgspec.Struct, rename="pascal"):
    """A pod, and who would be evicted for it on each node, in one form or the other."""

    pod: Pod
    node_name_to_victims: dict[Name, Victims[WholeVictim]] | None = None
    node_name_to_meta_victims: dict[Name, Victims[Victim]] | None = None


class ErrorBody(msgspec.Struct):
    """Why a request was refused."""

    error: str


_schemas, _components = msgspec.json.schema_components(
    [
        ExtenderCall,
        ExtenderFilterResult,
        ErrorBody,
        list[HostPriority],
        PreemptionCall,
        PreemptionResult,
    ],
    ref_template="#/components/schemas/{name}",
)


def _content(schema: dict[str, Any], description: str) -> dict[str, Any]:
    return {"description": description, "content": {"application/json": {"schema": schema}}}


REQUEST = {
    **_content(_schemas[0], "A pod and the candidate nodes: Nodes or NodeNames, the other null."),
    "required": True,
}
PREEMPT_REQUEST = {
    **_content(
        _schemas[4],
        "A pod, and who would be evicted for it: NodeNameToVictims or NodeNameToMetaVictims.",
    ),
    "required": True,
}
_REFUSALS: dict[int | str, dict[str, Any]] = {
    400: _content(_schemas[2], "The body cannot be decoded, or has a name that cannot be."),
    408: _content(_schemas[2], "The body did not arrive in time."),
    413: _content(_schemas[2], "The body is too large."),
}
FILTER_RESPONSES: dict[int | str, dict[str, Any]] = {
    **_REFUSALS,
    200: _content(_schemas[1], "The nodes that fit and why the others do not, or Error."),
    503: _content(_schemas[2], "Too many large bodies are being read."),
}
_NO_ANSWERS: dict[int | str, dict[str, Any]] = {
    **_REFUSALS,
    422: _content(_schemas[2], "A claim of the pod does not lead to a volume."),
    503: _content(
        _schemas[2], "This instance may not answer, or too many large bodies are being read."
    ),
}
PRIORITIZE_RESPONSES: dict[int | str, dict[str, Any]] = {
    **_NO_ANSWERS,
    200: _content(_schemas[3], "The score of each candidate, in the order of the request."),
}
PREEMPT_RESPONSES: dict[int | str, dict[str, Any]] = {
    **_NO_ANSWERS,
    200: _content(_schemas[5], "The victims of each node that has room for the pod's volumes."),
}


def add_schemas(app: FastAPI) -> None:
    """Add to the application's schema what requests and responses refer to."""
    made = app.openapi()  # FastAPI keeps this object and serves it from now on
    made.setdefault("components", {}).setdefault("schemas", {}).update(_components)
