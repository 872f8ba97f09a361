"""What a call of kube-scheduler holds, decoded so that no body takes many times its own size.

A small body is decoded in one go: little can be made of it. Of a larger one, whole nodes are most,
and they stay the bytes that they came in. The rest is looked at before it is decoded: a body of
128 MiB may consist of millions of names, volumes or nodes of a few bytes, or of a text with one
character that makes Python keep four bytes for each.
"""

from collections.abc import Iterator, Sequence
from contextlib import suppress
from itertools import count
from typing import Annotated, Any, ClassVar, NamedTuple

import msgspec
from msgspec import UNSET, Meta, Raw, UnsetType
from msgspec.json import Decoder

from app.errors import BadRequestError
from app.kube.objects import Pod
from app.serving.body import SMALL_BYTES
from app.serving.names import MOST_CHARACTERS
from longhorn import NodeName

MOST_NODES = 20_000
"""Candidates. The largest cluster that Kubernetes supports has 5,000."""
_NAME_BYTES = MOST_CHARACTERS + 2
"""The longest name in JSON. Each character may also be written as \\u0061."""
_MOST_NAMES_BYTES = MOST_NODES * (MOST_CHARACTERS + 10)
MOST_POD_BYTES = 2 * 2**20
"""etcd keeps no object of more than 1.5 MiB."""


class NodeList(msgspec.Struct):
    """Kubernetes nodes, each as the bytes it came in."""

    items: list[Raw] | None = None


class NodeMetadata(msgspec.Struct, gc=False):
    """Of a node; the name is the only part that is read."""

    name: Raw


class Counted(msgspec.Struct, gc=False):
    """What a body may have only so many of. When there are too many, decoding ends."""

    most: ClassVar[int] = MOST_NODES
    what: ClassVar[str] = "candidates"
    numbers: ClassVar[Iterator[int]] = count()
    """To be begun anew for each body. Nothing else runs while one is decoded."""

    def __post_init__(self) -> None:
        """Count it."""
        if next(self.numbers) >= self.most:
            raise BadRequestError(f"the request has more than {self.most} {self.what}")


class NodeHead(Counted, gc=False):
    """A node without the rest."""

    metadata: NodeMetadata


class NodeHeads(msgspec.Struct):
    """The same nodes, of which only the names are read."""

    items: list[NodeHead] | None = None


class SmallCall(msgspec.Struct, rename="pascal"):
    """A small body. kube-scheduler sends all three keys, with null for the form it does not use."""

    pod: Pod | UnsetType | None = UNSET
    nodes: NodeHeads | UnsetType | None = UNSET
    node_names: list[NodeName] | UnsetType | None = UNSET


class LargeCall(msgspec.Struct, rename="pascal"):
    """A large body, of which only the heads of nodes are decoded."""

    pod: Raw | UnsetType = UNSET
    nodes: NodeHeads | UnsetType | None = UNSET
    node_names: Raw | UnsetType = UNSET


class OldLargeCall(msgspec.Struct, rename={"node_names": "nodenames"}):
    """The same of an older client, which writes keys in lower case."""

    pod: Raw | UnsetType = UNSET
    nodes: NodeHeads | UnsetType | None = UNSET
    node_names: Raw | UnsetType = UNSET


class NodesOfCall(msgspec.Struct, rename="pascal"):
    """The nodes of a body, whole."""

    nodes: NodeList


class NodesOfOldCall(msgspec.Struct):
    """The same of an older client."""

    nodes: NodeList


class WholeNodes(NamedTuple):
    """The candidates as whole nodes."""

    names: list[NodeName]
    """Not checked, and maybe one twice."""
    items: list[Raw]
    """The node of each name."""


class Arguments(NamedTuple):
    """What a call is about. No name in it is checked."""

    pod: Pod
    names: list[NodeName]
    nodes: WholeNodes | None
    """If there are any, they count, and not the names."""


_NodeName = Annotated[NodeName, Meta(min_length=1)]
_small_decoder = Decoder(SmallCall)
_nodes_decoder = Decoder(NodesOfCall)
_large_decoders: list[
    tuple[
        Decoder[LargeCall] | Decoder[OldLargeCall], Decoder[NodesOfCall] | Decoder[NodesOfOldCall]
    ]
] = [
    (Decoder(LargeCall), _nodes_decoder),
    (Decoder(OldLargeCall), Decoder(NodesOfOldCall)),
]
_keys_decoder = Decoder(dict[str, Raw])
_name_decoder = Decoder(_NodeName)
_names_decoder = Decoder(list[_NodeName])
_UNDECODABLE = (msgspec.MsgspecError, RecursionError)


def arguments_of(body: bytes | bytearray) -> Arguments:
    """Decode a body, which is UTF-8.

    msgspec checks that only in what it reads. `app/serving/body.py` has checked all of it.

    Raises:
        BadRequestError: It is not JSON of the right shape, there is no pod in it, or it holds more
            than any call of kube-scheduler.
    """
    if not body:
        raise BadRequestError("the body is empty")
    NodeHead.numbers = count()
    try:
        return _small(body) if len(body) <= SMALL_BYTES else _large(body)
    except _UNDECODABLE as error:
        raise BadRequestError(f"the request cannot be decoded: {error}") from error


def _small(body: bytes | bytearray) -> Arguments:
    call = _small_decoder.decode(body)
    if UNSET in (call.pod, call.nodes, call.node_names):
        return _of_any_case(body)
    items = _nodes_decoder.decode(body).nodes.items if call.nodes else None
    return _arguments(call.pod, call.node_names, call.nodes, items)


def _of_any_case(body: bytes | bytearray) -> Arguments:
    """Decode top-level keys in any letter case. If two differ in case only, the last one counts."""
    values = {key.lower(): (key, value) for key, value in _keys_decoder.decode(body).items()}
    absent = "", Raw(b"null")
    nodes = values.get("nodes", absent)
    heads = _decode_value(*nodes, NodeHeads | None)
    items = _decode_value(*nodes, NodeList).items if heads else None
    return _arguments(
        _decode_value(*values.get("pod", absent), Pod | None),
        _decode_value(*values.get("nodenames", absent), list[NodeName] | None),
        heads,
        items,
    )


def _large(body: bytes | bytearray) -> Arguments:
    for decoder, nodes_decoder in _large_decoders:
        call = decoder.decode(body)
        if call.pod is not UNSET and not (call.nodes is UNSET and call.node_names is UNSET):
            pod, names = _pod_and_names(call.pod, call.node_names or Raw(b"null"))
            items = nodes_decoder.decode(body).nodes.items if call.nodes else None
            return _arguments(pod, names, call.nodes, items)
    raise BadRequestError(
        f"a request of more than {SMALL_BYTES} B must have the keys Pod, Nodes and NodeNames"
    )


def _pod_and_names(pod: Raw, names: Raw) -> tuple[Pod | None, list[NodeName] | None]:
    if _size(pod) > MOST_POD_BYTES:
        raise BadRequestError(f"`Pod` is larger than {MOST_POD_BYTES} B, as no pod can be")
    # No name has a comma in it. The copy to count them is small.
    if _size(names) > _MOST_NAMES_BYTES or bytes(names).count(b",") >= MOST_NODES:
        raise _too_many_nodes()
    return (
        _decode_value("Pod", pod, Pod | None),
        _decode_value("NodeNames", names, list[NodeName] | None),
    )


def _arguments(
    pod: Pod | UnsetType | None,
    names: list[NodeName] | UnsetType | None,
    heads: NodeHeads | UnsetType | None,
    items: list[Raw] | None,
) -> Arguments:
    if not pod:
        raise BadRequestError("the request has no Pod")
    names = names or []
    if len(names) > MOST_NODES:
        raise _too_many_nodes()
    if not heads:
        return Arguments(pod, names, None)
    return Arguments(pod, names, WholeNodes(_names_of(heads.items or ()), items or []))


def _names_of(heads: Sequence[NodeHead]) -> list[NodeName]:
    """Decode the names together, or one by one if one is long or wrong."""
    sent = [head.metadata.name for head in heads]
    if max(map(_size, sent), default=0) <= _NAME_BYTES:
        with suppress(*_UNDECODABLE):
            return _names_decoder.decode(b"[" + b",".join(sent) + b"]")
    return [_name_of(index, name) for index, name in enumerate(sent)]


def _name_of(index: int, name: Raw) -> NodeName:
    field = f"Nodes.items[{index}].metadata.name"
    if _size(name) > 6 * _NAME_BYTES:
        raise BadRequestError(f"`{field}` has more than {MOST_CHARACTERS} characters")
    try:
        return _name_decoder.decode(name)
    except _UNDECODABLE as error:
        raise BadRequestError(f"the request cannot be decoded: {error} in `{field}`") from error


def _decode_value(key: str, value: Raw, type_: Any) -> Any:
    try:
        return msgspec.json.decode(value, type=type_)
    except _UNDECODABLE as error:
        raise BadRequestError(f"the request cannot be decoded: {error} in `{key}`") from error


def _size(raw: Raw) -> int:
    return memoryview(raw).nbytes


def _too_many_nodes() -> BadRequestError:
    return BadRequestError(f"the request has more than {MOST_NODES} candidates")
