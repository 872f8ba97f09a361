"""The scheduler extender v1 protocol, as kube-scheduler speaks it.

The top-level Go types carry no JSON tags, so their keys are Go field names; older clients write
them in lower case. Names come if kube-scheduler has `nodeCacheCapable: true`, else whole nodes,
which go back byte for byte, since kube-scheduler scores what it gets back.
Source: kubernetes staging/src/k8s.io/kube-scheduler/extender/v1/types.go, pkg/scheduler/extender.go
"""

from collections.abc import Mapping, Sequence
from enum import StrEnum
from operator import attrgetter
from typing import Annotated, Any

import msgspec
from msgspec import UNSET, Meta, Raw, UnsetType

from app.errors import BadRequestError
from app.kube.objects import Metadata, Pod
from app.kube.translate import pod_ref, pod_status
from app.serving.names import NodeNames, check_pod
from extender import HIGHEST_SCORE, Answer, PodRef, PodStatus, Scores
from longhorn import NodeName


class Verb(StrEnum):
    """What kube-scheduler asks; its path, too."""

    FILTER = "filter"
    PRIORITIZE = "prioritize"


class NodeList(msgspec.Struct):
    """Kubernetes nodes, each as the bytes it came in."""

    items: list[Raw] | None = None


class AcceptedNodes(msgspec.Struct):
    """The same in an answer, as a NodeList that kube-scheduler decodes."""

    items: list[Raw]
    metadata: dict[str, str] = {}


class ExtenderArgs(msgspec.Struct, rename="pascal"):
    """The request. kube-scheduler sends all three keys, with null for the form it does not use."""

    pod: Pod | UnsetType | None = UNSET
    nodes: NodeList | UnsetType | None = UNSET
    node_names: list[NodeName] | UnsetType | None = UNSET


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
    """A decoded request. It has the same form for every verb."""

    pod: PodRef
    status: PodStatus
    candidates: list[NodeName]
    """Each once."""
    nodes: Mapping[NodeName, Raw] | None
    """The whole nodes by name, if the request has that form; the answer then has it, too."""


class NodeHead(msgspec.Struct):
    """The only part of a node that is read: its name."""

    metadata: Metadata


_args_decoder = msgspec.json.Decoder(ExtenderArgs)
_keys_decoder = msgspec.json.Decoder(dict[str, Raw])
_node_decoder = msgspec.json.Decoder(NodeHead)
_encoder = msgspec.json.Encoder()
_node_names = NodeNames()
_total_of = attrgetter("total")
_UNDECODABLE = (msgspec.MsgspecError, RecursionError)


def decode_request(body: bytes | bytearray) -> ExtenderRequest:
    """Decode the body of a call, which is UTF-8.

    msgspec checks that only in what it reads. `app/serving/body.py` has checked all of it.

    Raises:
        BadRequestError: It is not JSON of the right shape, there is no pod in it, or it has a name
            that Kubernetes would not accept.
    """
    if not body:
        raise BadRequestError("the body is empty")
    try:
        args = _args_decoder.decode(body)
        if UNSET in (args.pod, args.nodes, args.node_names):
            args = _decode_any_case(body)
    except _UNDECODABLE as error:
        raise BadRequestError(f"the request cannot be decoded: {error}") from error
    if not args.pod:
        raise BadRequestError("the request has no Pod")
    check_pod(args.pod)
    pod, status = pod_ref(args.pod), pod_status(args.pod)
    if not args.nodes:
        candidates = _node_names.each_once(args.node_names or [], "NodeNames[{}]")
        return ExtenderRequest(pod=pod, status=status, candidates=candidates, nodes=None)
    items = args.nodes.items or []
    names = [_node_name(index, item) for index, item in enumerate(items)]
    candidates = _node_names.each_once(names, "Nodes.items[{}].metadata.name")
    nodes: dict[NodeName, Raw] = {}
    for name, item in zip(names, items, strict=True):
        nodes.setdefault(name, item)
    return ExtenderRequest(pod=pod, status=status, candidates=candidates, nodes=nodes)


def _decode_any_case(body: bytes | bytearray) -> ExtenderArgs:
    """Decode top-level keys in any letter case. If two differ in case only, the last one counts."""
    values = {key.lower(): (key, value) for key, value in _keys_decoder.decode(body).items()}
    absent = "", Raw(b"null")
    return ExtenderArgs(
        pod=_decode_value(*values.get("pod", absent), Pod | None),
        nodes=_decode_value(*values.get("nodes", absent), NodeList | None),
        node_names=_decode_value(*values.get("nodenames", absent), list[NodeName] | None),
    )


def _decode_value(key: str, value: Raw, type_: Any) -> Any:
    try:
        return msgspec.json.decode(value, type=type_)
    except _UNDECODABLE as error:
        raise BadRequestError(f"the request cannot be decoded: {error} in `{key}`") from error


def _node_name(index: int, item: Raw) -> NodeName:
    try:
        return NodeName(_node_decoder.decode(item).metadata.name)
    except _UNDECODABLE as error:
        text = f"the request cannot be decoded: {error} in `Nodes.items[{index}]`"
        raise BadRequestError(text) from error


def encode_result(result: Answer, request: ExtenderRequest) -> bytes:
    """Encode the answer in the form of the request, accepted nodes in the order of the candidates.

    All rejections are unresolvable: to evict pods frees no space in Longhorn. For any other kind of
    rejection, kube-scheduler would look for pods to evict.
    """
    failed = {name: str(rejection) for name, rejection in result.rejected.items()}
    return _encode(result.accepted, request, failed, "")


def encode_error(text: str, request: ExtenderRequest) -> bytes:
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
) -> bytes:
    nodes = request.nodes
    return _encoder.encode(
        ExtenderFilterResult(
            nodes=None if nodes is None else AcceptedNodes([nodes[name] for name in accepted]),
            node_names=accepted if nodes is None else None,
            failed_and_unresolvable_nodes=failed,
            error=error,
        )
    )
