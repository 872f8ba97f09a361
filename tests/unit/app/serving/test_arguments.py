"""Large calls are read like small ones, and no body takes many times its own size."""

import json
import tracemalloc
from contextlib import suppress
from random import Random
from typing import Any

import pytest

from app.errors import BadRequestError
from app.serving.arguments import MOST_NODES, Arguments, arguments_of, names_of
from app.serving.body import SMALL_BYTES
from longhorn import NodeName
from tests.mutations import mutated, recorded

MIB = 2**20
POD: dict[str, Any] = {"metadata": {"name": "pod"}}
LARGE_POD: dict[str, Any] = {"metadata": {"name": "pod", "annotations": {"x": "x" * SMALL_BYTES}}}
POD_AND = b'{"Pod":' + json.dumps(POD).encode()


def nodes(*names: str) -> dict[str, Any]:
    return {"items": [{"metadata": {"name": name}, "x": [1, {}]} for name in names]}


def call(pod: object = LARGE_POD, **candidates: object) -> bytes:
    return json.dumps({"Pod": pod, "Nodes": None, "NodeNames": None, **candidates}).encode()


def lower(body: bytes) -> bytes:
    for key in (b'"Pod"', b'"Nodes"', b'"NodeNames"'):
        body = body.replace(key, key.lower())
    return body


def read(body: bytes) -> Arguments:
    """Read all of a call."""
    found = arguments_of(body)
    names_of(found.names)
    return found


def seen(
    found: Arguments,
) -> tuple[str, list[NodeName], list[NodeName] | None, dict[NodeName, Any]]:
    """Return the pod, the names, those of the nodes, and the nodes by them."""
    whole, names = found.nodes, names_of(found.names)
    if whole is None:
        return found.pod.metadata.name, names, None, {}
    items = {name: json.loads(bytes(item)) for name, item in whole.by_name().items()}
    return found.pod.metadata.name, names, whole.names, items


@pytest.mark.parametrize("pod", [POD, LARGE_POD], ids=["small", "large"])
@pytest.mark.parametrize("cased", [bytes, lower], ids=["as-in-go", "lower-case"])
@pytest.mark.parametrize(
    "candidates",
    [
        {"NodeNames": ["b", "a", "b"]},
        {"Nodes": nodes("b", "a", "b")},
        {"Nodes": nodes("b"), "NodeNames": ["a"]},
        {"Nodes": {"items": None}},
        {"Nodes": {}},
        {},
    ],
    ids=["names", "nodes", "both", "items-null", "no-items", "none"],
)
def test_a_call_of_any_size_is_read(pod, candidates, cased):
    found = arguments_of(cased(call(pod, **candidates)))

    whole = candidates.get("Nodes")
    items = None if whole is None else whole.get("items") or []
    named = None if items is None else [each["metadata"]["name"] for each in items]
    by_name = dict(zip(named or (), items or (), strict=True))
    assert seen(found) == ("pod", candidates.get("NodeNames", []), named, by_name)


@pytest.mark.parametrize(
    ("body", "why"),
    [
        pytest.param(call(None, X="x" * SMALL_BYTES), "no Pod", id="pod-null"),
        pytest.param(call(Nodes=[]), "$.Nodes", id="nodes-list"),
        pytest.param(call(Nodes=nodes("a", "")), "`Nodes.items[1].metadata.name`", id="no-name"),
        pytest.param(call(Nodes={"items": [{}]}), "$.Nodes.items[0]", id="no-metadata"),
        pytest.param(call(NodeNames=["a", 5]), "`$[1]` in `NodeNames`", id="number"),
        pytest.param(call({**LARGE_POD, "spec": 1}), "`$.spec` in `Pod`", id="no-spec"),
        pytest.param(call().replace(b'"Pod"', b'"pOd"'), "must have the keys", id="other-case"),
        pytest.param(call()[:-1], "cannot be decoded", id="cut-off"),
        pytest.param(
            json.dumps({"Pod": LARGE_POD, "nodenames": ["a"]}).encode(),
            "must have the keys",
            id="mixed-case",
        ),
    ],
)
def test_a_large_call_that_is_wrong_is_refused_with_the_place(body, why):
    with pytest.raises(BadRequestError) as caught:
        read(body)

    assert why in str(caught.value)


@pytest.mark.parametrize(
    ("count", "is_read"), [(MOST_NODES, True), (MOST_NODES + 1, False)], ids=["most", "more"]
)
@pytest.mark.parametrize("pod", [POD, LARGE_POD], ids=["small", "large"])
@pytest.mark.parametrize("key", ["NodeNames", "Nodes"])
def test_there_are_so_many_candidates_and_no_more(key, pod, count, *, is_read):
    names = [f"{number:05}" for number in range(count)]
    body = call(pod, **{key: nodes(*names) if key == "Nodes" else names})
    if is_read:
        _, found, whole, _ = seen(read(body))
        assert found + (whole or []) == names
    else:
        with pytest.raises(BadRequestError, match="more than 20000 candidates"):
            read(body)


WIDE = "\U0001f600".encode()
"""Beside it each character takes four bytes in Python."""
SWELLING = {
    "names": (POD_AND + b',"Nodes":null,"NodeNames":[', b'"a",', b"]}"),
    "nodes": (POD_AND + b',"Nodes":{"items":[', b'{"metadata":{"name":1}},', b"]}}"),
    "numbers-for-nodes": (POD_AND + b',"Nodes":{"items":[', b"1,", b"]}}"),
    "volumes": (b'{"Pod":{"spec":{"volumes":[', b"{},", b']}},"NodeNames":[]}'),
    "conditions": (b'{"Pod":{"status":{"conditions":[', b"{},", b']}},"NodeNames":[]}'),
    "keys": (b"{", b'"x":1,', b"}"),
    "wide-name": (b'{"Pod":{"metadata":{"name":"' + WIDE, b"x", b'"}},"NodeNames":[]}'),
    "wide-node": (POD_AND + b',"Nodes":{"items":[{"metadata":{"name":"' + WIDE, b"x", b'"}}]}}'),
    "wide-names": (POD_AND + b',"NodeNames":["' + WIDE, b"x", b'"]}'),
}


@pytest.mark.parametrize(("before", "piece", "after"), SWELLING.values(), ids=SWELLING.keys())
def test_nothing_that_is_sent_swells(before, piece, after):
    many = (piece * (8 * MIB // len(piece))).removesuffix(b",")
    body = before + many + after
    tracemalloc.start()
    try:
        with pytest.raises(BadRequestError):
            read(body)
        peak_bytes = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()

    assert peak_bytes < 8 * MIB


NODES_SENT = ["null", "{}", '{"items":null}', '{"items":[]}', json.dumps(nodes("a", "b"))]


@pytest.mark.parametrize("change", [bytes, lower])
@pytest.mark.parametrize("first", NODES_SENT)
@pytest.mark.parametrize("second", NODES_SENT)
def test_of_two_values_of_nodes_the_second_counts_in_both_scans(first, second, change):
    body = POD_AND + f',"Nodes":{first},"Nodes":{second},"NodeNames":["c"]}}'.encode()

    found = seen(arguments_of(change(body)))

    alone = POD_AND + f',"Nodes":{second},"NodeNames":["c"]}}'.encode()
    assert found == seen(arguments_of(alone))


def test_whole_nodes_are_found_in_each_call_that_is_read():
    random, bodies = Random(1), recorded("filter")
    bodies = [body for body in bodies if b'"items"' in body]
    read_with_nodes = 0
    for _ in range(3_000):
        with suppress(BadRequestError, UnicodeDecodeError):
            body = mutated(random.choice(bodies), bodies, random)
            body.decode()  # as app/serving/body.py does
            found = arguments_of(body)
            if found.nodes:
                read_with_nodes += 1
                assert found.nodes.by_name().keys() == {*found.nodes.names}
    assert read_with_nodes > 300
