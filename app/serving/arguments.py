"""What a call of kube-scheduler holds, decoded so that no body takes many times its own size.

A body is read once. Whole nodes, which are most of a large one, stay the bytes that they came in,
and so do names of nodes until it is known how many there are: a body of 128 MiB may consist of
millions of names, volumes or nodes of a few bytes, or of a text with one character that makes
Python keep four bytes for each.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import count
from typing import Annotated, Any, ClassVar, NamedTuple

import msgspec
from msgspec import UNSET, Meta, Raw, UnsetType
from msgspec.json import Decoder

from app.errors import BadRequestError
from app.kube.objects import Pod
from app.serving.body import SMALL_BYTES, Content
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


class Call(msgspec.Struct, rename="pascal"):
    """A body. kube-scheduler sends all three keys, with null for the form it does not use."""

    pod: Raw | UnsetType = UNSET
    nodes: NodeHeads | UnsetType | None = UNSET
    node_names: Raw | UnsetType = UNSET


class OldCall(msgspec.Struct, rename={"node_names": "nodenames"}):
    """The same of an older client, which writes keys in lower case."""

    pod: Raw | UnsetType = UNSET
    nodes: NodeHeads | UnsetType | None = UNSET
    node_names: Raw | UnsetType = UNSET


class NodesOfCall(msgspec.Struct, rename="pascal"):
    """The nodes of a body, whole. A key may be there twice: the first may be null."""

    nodes: NodeList | None


class NodesOfOldCall(msgspec.Struct):
    """The same of an older client."""

    nodes: NodeList | None


class WholeNodes:
    """The candidates as whole nodes.

    Args:
        names: Their names, not checked, and maybe one twice.
        sent: What they are in, and how it is decoded.
        value: All of them as they were sent, if it is known where that begins and ends.

    Attributes:
        names: Their names.
        value: All of them as they were sent, None if that is not known.
    """

    def __init__(
        self,
        names: list[NodeName],
        sent: tuple[Content, Decoder[Any]],
        value: memoryview | None = None,
    ) -> None:
        self.names, self.value = names, value
        self._sent = sent

    def by_name(self) -> Mapping[NodeName, Raw]:
        """Read the body once more, and return each node; of those of one name the first."""
        content, decoder = self._sent
        found = dict[NodeName, Raw]()
        for name, item in zip(self.names, decoder.decode(content).nodes.items or (), strict=True):
            found.setdefault(name, item)
        return found


class Arguments(NamedTuple):
    """What a call is about. No name in it is checked."""

    pod: Pod
    names: Raw
    """The names of candidates, as a list or null."""
    nodes: WholeNodes | None
    """If there are any, they count, and not the names."""


_NodeName = Annotated[NodeName, Meta(min_length=1)]
_calls: list[tuple[Decoder[Call] | Decoder[OldCall], Decoder[Any]]] = [
    (Decoder(Call), Decoder(NodesOfCall)),
    (Decoder(OldCall), Decoder(NodesOfOldCall)),
]
_keys_decoder = Decoder(dict[str, Raw])
_name_decoder = Decoder(_NodeName)
_names_decoder = Decoder(list[_NodeName])
_NULL = Raw(b"null")
_UNDECODABLE = (msgspec.MsgspecError, RecursionError)
_BEFORE_POD, _BEFORE_NODES, _AFTER_NODES = b'{"Pod":', b',"Nodes":', b',"NodeNames":null}'
"""How kube-scheduler writes a call with whole nodes, between and after its values."""


def arguments_of(body: Content) -> Arguments:
    """Decode a body, which is UTF-8.

    msgspec checks that only in what it reads. `app/serving/body.py` has checked all of it.

    Raises:
        BadRequestError: It is not JSON of the right shape, there is no pod in it, or it holds more
            than any call of kube-scheduler.
    """
    if not len(body):
        raise BadRequestError("the body is empty")
    NodeHead.numbers = count()
    try:
        for decoder, nodes_decoder in _calls:
            call = decoder.decode(body)
            if call.pod is not UNSET and not (call.nodes is UNSET and call.node_names is UNSET):
                return _arguments(call, body, nodes_decoder)
        return _of_any_case(body)
    except _UNDECODABLE as error:
        raise BadRequestError(f"the request cannot be decoded: {error}") from error


def names_of(sent: Raw) -> list[NodeName]:
    """Decode the names of candidates.

    Raises:
        BadRequestError: They are no list of texts, or too many.
    """
    # No name has a comma in it. The copy to count them is small.
    if _size(sent) > _MOST_NAMES_BYTES or bytes(sent).count(b",") >= MOST_NODES:
        raise BadRequestError(f"the request has more than {MOST_NODES} candidates")
    names: list[NodeName] | None = _decode_value("NodeNames", sent, list[NodeName] | None)
    return names or []


def _of_any_case(body: Content) -> Arguments:
    """Decode top-level keys in any letter case. If two differ in case only, the last one counts."""
    if len(body) > SMALL_BYTES:
        raise BadRequestError(
            f"a request of more than {SMALL_BYTES} B must have the keys Pod, Nodes and NodeNames"
        )
    sent = {"pod": "Pod", "nodes": "Nodes", "nodenames": "NodeNames"}
    values = {
        sent[key.lower()]: value
        for key, value in _keys_decoder.decode(body).items()
        if key.lower() in sent
    }
    cased = msgspec.json.encode(values)
    [(decoder, nodes_decoder), _] = _calls
    return _arguments(decoder.decode(cased), cased, nodes_decoder)


def _arguments(call: Call | OldCall, body: Content, nodes_decoder: Decoder[Any]) -> Arguments:
    sent = call.pod or _NULL
    if _size(sent) > MOST_POD_BYTES:
        raise BadRequestError(f"`Pod` is larger than {MOST_POD_BYTES} B, as no pod can be")
    pod: Pod | None = _decode_value("Pod", sent, Pod | None)
    if pod is None:
        raise BadRequestError("the request has no Pod")
    names = call.node_names or _NULL
    if not call.nodes:
        return Arguments(pod, names, None)
    nodes = _names_of(call.nodes.items or ())
    return Arguments(pod, names, WholeNodes(nodes, (body, nodes_decoder), _value(body, sent)))


def _value(body: Content, pod: Raw) -> memoryview | None:
    """Return the nodes as kube-scheduler has sent them, None if somebody writes another way."""
    begin = len(_BEFORE_POD) + _size(pod)
    value = begin + len(_BEFORE_NODES)
    whole = memoryview(body)
    as_sent = (
        whole[: len(_BEFORE_POD)] == _BEFORE_POD
        and whole[begin:value] == _BEFORE_NODES
        and whole[-len(_AFTER_NODES) :] == _AFTER_NODES
    )
    return whole[value : -len(_AFTER_NODES)] if as_sent else None


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
