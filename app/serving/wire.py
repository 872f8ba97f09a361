"""The scheduler extender v1 protocol, as kube-scheduler speaks it.

The top-level Go types carry no JSON tags, so their keys are Go field names; older clients write
them in lower case. Names come if kube-scheduler has `nodeCacheCapable: true`, else whole nodes,
which go back byte for byte, since kube-scheduler scores what it gets back.
Source: kubernetes staging/src/k8s.io/kube-scheduler/extender/v1/types.go, pkg/scheduler/extender.go
"""

from collections.abc import Mapping, Sequence
from enum import StrEnum
from operator import attrgetter
from typing import Annotated

import msgspec
from msgspec import Meta, Raw

from app.kube.translate import pod_group, pod_ref, pod_status
from app.serving.arguments import WholeNodes, arguments_of, names_of
from app.serving.body import Content
from app.serving.names import NodeNames, check_pod
from extender import Answer, PodRef, Scores
from extender.kubernetes import GroupKey, PodStatus
from extender.scoring import HIGHEST_SCORE
from longhorn import NodeName


class Verb(StrEnum):
    """What kube-scheduler asks; its path, too."""

    FILTER = "filter"
    PRIORITIZE = "prioritize"
    PREEMPT = "preempt"


class AcceptedNodes(msgspec.Struct):
    """Whole nodes in an answer, as a NodeList that kube-scheduler decodes."""

    items: list[Raw]
    metadata: dict[str, str] = {}


class ExtenderFilterResult(msgspec.Struct, rename="pascal", kw_only=True):
    """The answer. kube-scheduler reads it as "no node" if both lists are null or missing."""

    nodes: AcceptedNodes | None
    node_names: Sequence[NodeName] | None
    failed_nodes: Mapping[NodeName, str] = {}
    failed_and_unresolvable_nodes: Mapping[NodeName, str] = {}
    error: str = ""


# Out of the garbage collector's sight, 5,000 of them are made a quarter faster.
class HostPriority(msgspec.Struct, rename="pascal", gc=False):
    """How good one candidate is. The answer to /prioritize is a list of them."""

    host: NodeName
    score: Annotated[int, Meta(ge=0, le=HIGHEST_SCORE)]


class ExtenderRequest(msgspec.Struct, frozen=True, kw_only=True):
    """A decoded request: a pod, and the nodes that it may go to."""

    pod: PodRef
    status: PodStatus
    group: GroupKey | None = None
    """The PodGroup that the pod is a member of."""
    candidates: list[NodeName]
    """Each once."""
    unknown: int = 0
    """How many of them are no nodes of Longhorn."""
    nodes: WholeNodes | None
    """The whole nodes, if the request has that form; the answer then has it, too."""
    names: Raw | None = None
    """The list of names as it was sent, if that names each candidate once."""


Parts = Sequence[bytes | Raw | memoryview]
"""An answer. Whole nodes in it are parts of the request's body, and it is not made one of them all:
it would take as much memory as the body."""

_encoder = msgspec.json.Encoder()
_total_of = attrgetter("total")
_NO_NODES, _NO_ITEMS, _NO_NAMES = (
    b'"Nodes":{"items":[],"metadata":{}}',
    b'"items":[]',
    b'"NodeNames":[]',
)


def decode_request(body: Content, node_names: NodeNames) -> ExtenderRequest:
    """Decode the body of a call, which is UTF-8.

    Raises:
        BadRequestError: It cannot be decoded (`arguments_of`), or it has a name that Kubernetes
            would not accept.
    """
    sent = arguments_of(body)
    check_pod(sent.pod)
    if sent.nodes is None:
        candidates, unknown = node_names.of_list(sent.names, names_of)
    else:
        field = "Nodes.items[{}].metadata.name"
        candidates, unknown = node_names.each_once(sent.nodes.names, field)
    return ExtenderRequest(
        pod=pod_ref(sent.pod),
        status=pod_status(sent.pod),
        group=pod_group(sent.pod),
        candidates=candidates,
        unknown=unknown,
        nodes=sent.nodes,
        names=sent.names if node_names.is_last(candidates) else None,
    )


def encode_result(result: Answer, request: ExtenderRequest) -> Parts:
    """Encode the answer in the form of the request, accepted nodes in the order of the candidates.

    All rejections are unresolvable: to evict pods frees no space in Longhorn. For any other kind of
    rejection, kube-scheduler would look for pods to evict.
    """
    failed = {name: str(rejection) for name, rejection in result.rejected.items()}
    return _encode(result.accepted, request, failed, "")


def encode_error(text: str, request: ExtenderRequest) -> Parts:
    """Encode why there is no verdict; for status 200, as kube-scheduler reads no other body."""
    return _encode([], request, {}, text)


def encode_scores(scores: Scores) -> bytes:
    """Encode the score of every candidate, in the order asked: kube-scheduler gives others none."""
    totals = map(_total_of, scores.scores)
    return _encoder.encode(list(map(HostPriority, scores.nodes, totals)))


def _encode(
    accepted: Sequence[NodeName],
    request: ExtenderRequest,
    failed: Mapping[NodeName, str],
    error: str,
) -> Parts:
    nodes, is_all = request.nodes, accepted == request.candidates
    encoded = _encoder.encode(
        ExtenderFilterResult(
            nodes=None if nodes is None else AcceptedNodes([]),
            node_names=([] if is_all and request.names else accepted) if nodes is None else None,
            failed_and_unresolvable_nodes=failed,
            error=error,
        )
    )
    if nodes is None:
        if not (accepted and is_all and request.names):
            return [encoded]
        head, _, tail = encoded.partition(_NO_NAMES)
        return [head + _NO_NAMES[:-2], request.names, tail]
    if not accepted:
        return [encoded]
    if is_all and nodes.value is not None and len(nodes.names) == len(accepted):
        head, _, tail = encoded.partition(_NO_NODES)
        return [head + _NO_NODES[:8], nodes.value, tail]
    head, _, tail = encoded.partition(_NO_ITEMS)
    by_name = nodes.by_name()
    items: list[bytes | Raw | memoryview] = [b","] * (2 * len(accepted) - 1)
    items[::2] = [by_name[name] for name in accepted]
    return [head + _NO_ITEMS[:-1], *items, _NO_ITEMS[-1:] + tail]
