"""Requests that are nearly right: recorded ones, with changes of bytes or of the JSON."""

import json
from collections.abc import Callable, Sequence
from copy import deepcopy
from pathlib import Path
from random import Random
from typing import Any

from tests.admission import ephemeral, new_pod, of_claim, review

WIRE = Path(__file__).parent / "data" / "wire"
VERBS = ("filter", "prioritize", "preempt", "mutate")
STATUSES = frozenset({200, 400, 408, 413, 422, 503})
"""What they are answered with."""
MOST_CHANGES = 4
DEPTH = 3_000
"""Of lists in lists: more than any parser goes down."""
LONG = 20_000
"""Characters of a text that is too long."""


class Pairs(list[tuple[str, Any]]):
    """A JSON object, in which a key may be there twice."""


class Text(str):
    """JSON as it is to be written."""

    __slots__ = ()


ODD_VALUES: Sequence[Any] = (
    None, True, False, 0, -1, 1.5, "", " ", "\0", "x", [], Pairs(), [None], [[]], ["x", 1],
    2**63, -(2**63) - 1, Text("1e400"), Text("-0"), Text("9" * 5_000), Text("NaN"),
    "9" * 5_000, str(9 * 10**18), "x" * LONG, "../../..", "a/b", "%2e%2e", "a%00b", "..", "-x",
    "x.-y", "é", "\U0001d535",
    Text('"\\ud800"'), Text('"\\u0000"'), "node-1", "default", "1", "10Gi",
    Text("[" * DEPTH + "]" * DEPTH), Text('{"a":' * DEPTH + "1" + "}" * DEPTH),
)  # fmt: skip


def recorded(verb: str) -> list[bytes]:
    """Return what is changed: requests of kube-scheduler as they were recorded, and reviews."""
    if verb != "mutate":
        return [path.read_bytes() for path in sorted(WIRE.glob(f"{verb}-*.json"))]
    pods = (new_pod(of_claim("quad-a")), new_pod(ephemeral(storageClassName="longhorn-local")))
    return [json.dumps(review(each)).encode() for each in pods]


def mutated(body: bytes, others: Sequence[bytes], random: Random) -> bytes:
    """Return a request with a few changes, of its bytes or of its structure."""
    if random.random() < 0.5:
        for _ in range(random.randint(1, MOST_CHANGES)):
            body = random.choice(BYTES)(body, random.choice([*others]), random)
        return body
    value = json.loads(body, object_pairs_hook=Pairs)
    for _ in range(random.randint(1, MOST_CHANGES)):
        _change(value, random)
    return written(value).encode("utf-8", "surrogatepass")


def _flip(body: bytes, _: bytes, random: Random) -> bytes:
    place = random.randrange(len(body) + 1)
    return body[:place] + bytes([random.randrange(256)]) + body[place + 1 :]


def _insert(body: bytes, _: bytes, random: Random) -> bytes:
    place = random.randrange(len(body) + 1)
    return body[:place] + random.randbytes(random.randint(1, 8)) + body[place:]


def _delete(body: bytes, _: bytes, random: Random) -> bytes:
    place = random.randrange(len(body) + 1)
    return body[:place] + body[place + random.randint(1, 64) :]


def _cut(body: bytes, _: bytes, random: Random) -> bytes:
    return body[: random.randrange(len(body) + 1)]


def _repeat(body: bytes, _: bytes, random: Random) -> bytes:
    place, size = random.randrange(len(body) + 1), random.randint(1, 256)
    return body[:place] + body[place : place + size] * random.randint(2, 20) + body[place:]


def _splice(body: bytes, other: bytes, random: Random) -> bytes:
    return body[: random.randrange(len(body) + 1)] + other[random.randrange(len(other)) :]


BYTES: Sequence[Callable[[bytes, bytes, Random], bytes]] = (
    _flip, _insert, _delete, _cut, _repeat, _splice,
)  # fmt: skip


def _change(value: Any, random: Random) -> None:
    """Change something somewhere in *value*."""
    while isinstance(value, list) and value:
        index = random.randrange(len(value))
        inner = value[index][1] if isinstance(value, Pairs) else value[index]
        if isinstance(inner, list) and inner and random.random() < 0.7:
            value = inner
            continue
        _change_at(value, index, random)
        return


def _change_at(value: list[Any], index: int, random: Random) -> None:
    """Change an entry of a list, or of the pairs of an object."""
    how = random.randrange(6)
    entry = value[index]
    key = entry[0] if isinstance(value, Pairs) else None
    if how == 0:
        del value[index]
    elif how == 1:
        value[index:index] = [entry] * random.choice((1, 1, 2, 200))
    elif how == 2 and key is not None:
        value[index] = (random.choice((key.upper(), key.lower(), key + "x", "", "Pod")), entry[1])
    elif how == 3:
        value[index], value[0] = value[0], value[index]
    elif key is not None:
        odd = (key, deepcopy(random.choice(ODD_VALUES)))
        value[index : index + random.randrange(2)] = [odd]
    else:
        value[index] = deepcopy(random.choice(ODD_VALUES))  # later changes may go into it


def written(value: Any) -> str:
    """Write JSON."""
    if isinstance(value, Text):
        return str(value)
    if isinstance(value, Pairs):
        return "{" + ",".join(f"{json.dumps(k)}:{written(v)}" for k, v in value) + "}"
    if isinstance(value, list):
        return "[" + ",".join(map(written, value)) + "]"
    return json.dumps(value, ensure_ascii=False)
