"""The extender v1 protocol from kube-scheduler's side: what it sends, and what it takes for what.

Source: kubernetes pkg/scheduler/extender.go, staging/src/k8s.io/kube-scheduler/extender/v1. Go's
decoder matches keys in any letter case; of a repeated key the last one counts.
"""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from enum import StrEnum
from typing import NamedTuple

import msgspec

from tests.actors.api import Object


class Reply(NamedTuple):
    """What came back over HTTP."""

    status: int
    body: bytes


class Verb(StrEnum):
    """What the extender is asked for."""

    FILTER = "filter"
    PRIORITIZE = "prioritize"


Ask = Callable[[Verb, bytes], Awaitable[Reply | None]]
"""POSTs a body to the extender; None if nobody answers."""


class CallError(Exception):
    """The call failed: the whole attempt ends in an error."""


class _NodeHead(msgspec.Struct):
    metadata: dict[str, object] = {}


class _NodeList(msgspec.Struct):
    items: list[_NodeHead] | None = None


class _Result(msgspec.Struct):
    """The answer, keys in lower case; a list that is missing is no list."""

    nodes: _NodeList | None = None
    nodenames: list[str] | None = None
    failednodes: dict[str, str] | None = None
    failedandunresolvablenodes: dict[str, str] | None = None
    error: str = ""


class _HostScore(msgspec.Struct, rename="pascal"):
    host: str
    score: int


class Verdict(NamedTuple):
    """What the scheduler makes of an answer."""

    accepted: list[str]
    messages: dict[str, str]


def request(pod: Object, names: Sequence[str], nodes: Mapping[str, Object] | None) -> bytes:
    """Build a request; with *nodes* as a scheduler sends it whose extender keeps no nodes.

    Objects go without kind and apiVersion, as the typed clients keep them.
    """
    whole = None if nodes is None else {"metadata": {}, "items": [_bare(nodes[n]) for n in names]}
    listed = list(names) if nodes is None else None
    return msgspec.json.encode({"Pod": _bare(pod), "Nodes": whole, "NodeNames": listed})


def read(reply: Reply, offered: Sequence[str], *, node_cache_capable: bool) -> Verdict:
    """Read an answer. Nodes that are in no list do not pass.

    Raises:
        CallError: As for the real one: another status than 200, what cannot be decoded, Error, a
            name that was not offered.
    """
    if reply.status != 200:
        raise CallError(f"failed filter with extender: status {reply.status}")
    result = _decode(reply.body)
    if result.error:
        raise CallError(result.error)
    failed = {**(result.failednodes or {}), **(result.failedandunresolvablenodes or {})}
    if node_cache_capable and result.nodenames is not None:
        strangers = [name for name in result.nodenames if name not in offered]
        if strangers:
            raise CallError(f"extender claims a filtered node {strangers[0]!r} which is not found")
        return Verdict(result.nodenames, failed)
    items = (result.nodes.items if result.nodes else None) or ()
    return Verdict([str(each.metadata.get("name", "")) for each in items], failed)


def read_scores(reply: Reply) -> dict[str, int]:
    """Read the scores of nodes.

    Raises:
        CallError: As for the real one, which ignores it and goes on without scores.
    """
    if reply.status != 200:
        raise CallError(f"failed prioritize with extender: status {reply.status}")
    try:
        found = msgspec.json.decode(reply.body, type=list[_HostScore])
    except msgspec.MsgspecError as error:
        raise CallError(f"undecodable answer: {error}") from error
    return {each.host: each.score for each in found}


def _decode(body: bytes) -> _Result:
    try:
        raw = msgspec.json.decode(body, type=dict[str, msgspec.Raw])
        fields = {
            key.lower(): value for key, value in raw.items() if bytes(value).strip() != b"null"
        }
        text = b",".join(msgspec.json.encode(key) + b":" + value for key, value in fields.items())
        return msgspec.json.decode(b"{" + text + b"}", type=_Result)
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise CallError(f"undecodable answer: {error}") from error


def _bare(obj: Object) -> Object:
    return {key: value for key, value in obj.items() if key in ("metadata", "spec", "status")}
