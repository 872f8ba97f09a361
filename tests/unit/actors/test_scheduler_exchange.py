"""The played kube-scheduler is as strict with answers as the real one, which is in `tests/e2e`."""

import json
from typing import Any

import pytest

from tests.actors.scheduler.exchange import CallError, Reply, read

CANDIDATES = ["a", "b", "c"]


def reply(body: Any, status: int = 200) -> Reply:
    return Reply(status, body if isinstance(body, bytes) else json.dumps(body).encode())


def node_list(*names: str) -> dict[str, Any]:
    return {"items": [{"metadata": {"name": name}} for name in names]}


PASSES: dict[str, tuple[Any, bool, list[str]]] = {
    "any letter case": ({"nodenames": ["b"], "ERROR": ""}, True, ["b"]),
    "nothing said": ({}, True, []),
    "nodes instead": ({"Nodes": node_list("a")}, True, ["a"]),
    "twice": ({"NodeNames": ["a"], "FailedNodes": {"a": "full"}}, True, ["a"]),
    "nodes": ({"Nodes": node_list("b")}, False, ["b"]),
    "names are not read": ({"NodeNames": ["a"]}, False, []),
}


@pytest.mark.parametrize(("body", "by_name", "expected"), PASSES.values(), ids=PASSES)
def test_who_passes(body, by_name, expected):
    verdict = read(reply(body), CANDIDATES, node_cache_capable=by_name)

    assert verdict.accepted == expected


FAILS: dict[str, tuple[Reply, str]] = {
    "error": (reply({"NodeNames": ["a"], "Error": "not now"}), "not now"),
    "not 200": (reply({"NodeNames": ["a"]}, 204), "status 204"),
    "no candidate": (reply({"NodeNames": ["stranger"]}), "not found"),
    "empty": (reply(b""), "undecodable"),
    "wrong type": (reply({"FailedNodes": {"a": 1}}), "undecodable"),
}


@pytest.mark.parametrize(("answer", "why"), FAILS.values(), ids=FAILS)
def test_what_fails_the_call(answer, why):
    with pytest.raises(CallError, match=why):
        read(answer, CANDIDATES, node_cache_capable=True)
