"""The scheduler extender v1 protocol, as kube-scheduler speaks it.

The top-level Go types carry no JSON tags, so their keys are Go field names; older clients write
them in lower case. Names come if kube-scheduler has `nodeCacheCapable: true`, else whole nodes,
which go back byte for byte, since kube-scheduler scores what it gets back.
Source: kubernetes staging/src/k8s.io/kube-scheduler/extender/v1/types.go, pkg/scheduler/extender.go
"""

from collections.abc import Mapping, Sequence

import msgspec
from msgspec import UNSET, Raw, UnsetType

from app.errors import BadRequestError
from app.kube.objects import Metadata, Pod
from app.kube.records import pod_ref
from extender import FilterResult, NodeName, PodRef


class NodeList(msgspec.Struct):
    """Kubernetes nodes, each as the bytes it came in."""

    items: list[Raw] | None = None
    metadata: dict[str, str] = {}


class ExtenderArgs(msgspec.Struct, rename="pascal"):
    """The request. kube-scheduler always sends all three keys, null where it has nothing."""

    pod: Pod | UnsetType | None = UNSET
    nodes: NodeList | UnsetType | None = UNSET
    node_names: list[NodeName] | UnsetType | None = UNSET


class ExtenderFilterResult(msgspec.Struct, rename="pascal", kw_only=True):
    """The answer. If both lists are null, or missing, kube-scheduler takes it for "no node"."""

    nodes: NodeList | None
    node_names: Sequence[NodeName] | None
    failed_nodes: Mapping[NodeName, str] = {}
    failed_and_unresolvable_nodes: Mapping[NodeName, str] = {}
    error: str = ""


class FilterRequest(msgspec.Struct, frozen=True, kw_only=True):
    """A decoded request."""

    pod: PodRef
    candidates: list[NodeName]
    nodes: Mapping[NodeName, Raw] | None
    """The whole nodes, if they came; the answer then has that form too."""


class _NodeHead(msgspec.Struct):
    metadata: Metadata


_args_decoder = msgspec.json.Decoder(ExtenderArgs)
_keys_decoder = msgspec.json.Decoder(dict[str, Raw])
_node_decoder = msgspec.json.Decoder(_NodeHead)
_encoder = msgspec.json.Encoder()


def decode_request(body: bytes) -> FilterRequest:
    """Decode the body of a filter call.

    Raises:
        BadRequestError: It is not JSON of the right shape, or there is no pod in it.
    """
    try:
        args = _args_decoder.decode(body)
        if UNSET in (args.pod, args.nodes, args.node_names):
            args = _decode_any_case(body)
        if not args.pod:
            raise BadRequestError("the request has no Pod")
        pod = pod_ref(args.pod)
        if not args.nodes:
            names = args.node_names or []
            return FilterRequest(pod=pod, candidates=names, nodes=None)
        items = args.nodes.items or []
        names = [NodeName(_node_decoder.decode(item).metadata.name) for item in items]
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise BadRequestError(f"the request cannot be decoded: {error}") from error
    nodes = dict(zip(reversed(names), reversed(items), strict=True))  # the first of a name stays
    return FilterRequest(pod=pod, candidates=names, nodes=nodes)


def _decode_any_case(body: bytes) -> ExtenderArgs:
    """Decode top-level keys in any letter case; of two that differ in case the last one counts."""
    values = {key.lower(): value for key, value in _keys_decoder.decode(body).items()}
    null = Raw(b"null")
    return ExtenderArgs(
        pod=msgspec.json.decode(values.get("pod", null), type=Pod | None),
        nodes=msgspec.json.decode(values.get("nodes", null), type=NodeList | None),
        node_names=msgspec.json.decode(values.get("nodenames", null), type=list[NodeName] | None),
    )


def encode_result(result: FilterResult, request: FilterRequest) -> bytes:
    """Encode the answer in the form of the request, accepted nodes in the order offered.

    All rejections are unresolvable: evicting pods frees no Longhorn space, so that anything else
    would have kube-scheduler look for victims in vain.
    """
    failed = {name: str(rejection) for name, rejection in result.rejected.items()}
    return _encode(result.accepted, request, failed, "")


def encode_error(text: str, request: FilterRequest) -> bytes:
    """Encode why there is no answer. Goes with status 200: the body of others is not read."""
    return _encode([], request, {}, text)


def _encode(
    accepted: Sequence[NodeName], request: FilterRequest, failed: Mapping[NodeName, str], error: str
) -> bytes:
    nodes = request.nodes
    return _encoder.encode(
        ExtenderFilterResult(
            nodes=None if nodes is None else NodeList(items=[nodes[name] for name in accepted]),
            node_names=accepted if nodes is None else None,
            failed_and_unresolvable_nodes=failed,
            error=error,
        )
    )
