"""The extender protocol as kube-scheduler reads it."""

import json
from typing import Any

import pytest

from tests.actors.scheduler.exchange import CallError, Reply, read, request

OFFERED = ["a", "b", "c"]
POD = {
    "kind": "Pod",
    "apiVersion": "v1",
    "metadata": {"name": "web"},
    "spec": {"volumes": []},
    "status": {"phase": "Pending"},
}


def reply(body: Any, status: int = 200) -> Reply:
    return Reply(status, body if isinstance(body, bytes) else json.dumps(body).encode())


def accepted(body: Any, *, node_cache_capable: bool = True) -> list[str]:
    return read(reply(body), OFFERED, node_cache_capable=node_cache_capable).accepted


def node_list(*names: str) -> dict[str, Any]:
    return {"metadata": {}, "items": [{"metadata": {"name": name}} for name in names]}


def test_names_go_out_with_all_three_keys_and_a_pod_without_kind() -> None:
    sent = json.loads(request(POD, ["b", "a"], None))

    bare = {key: POD[key] for key in ("metadata", "spec", "status")}
    assert sent == {"Pod": bare, "Nodes": None, "NodeNames": ["b", "a"]}


def test_whole_nodes_go_out_without_kind() -> None:
    nodes = {name: {"kind": "Node", "metadata": {"name": name}} for name in OFFERED}

    sent = json.loads(request(POD, ["c", "a"], nodes))

    assert sent["NodeNames"] is None
    assert sent["Nodes"] == node_list("c", "a")


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        pytest.param({"NodeNames": ["b", "a"]}, ["b", "a"], id="names"),
        pytest.param({"nodenames": ["b"], "ERROR": ""}, ["b"], id="any-letter-case"),
        pytest.param({"NodeNames": []}, [], id="none"),
        pytest.param({"NodeNames": None, "Nodes": None}, [], id="both-null"),
        pytest.param({}, [], id="nothing-said"),
        pytest.param({"NodeNames": None, "Nodes": node_list("a")}, ["a"], id="nodes-instead"),
        pytest.param({"NodeNames": ["a"], "Stranger": 1}, ["a"], id="unknown-key"),
        pytest.param({"NodeNames": ["a"], "FailedNodes": {"a": "full"}}, ["a"], id="named-twice"),
    ],
)
def test_who_passes_by_names(body: Any, expected: list[str]) -> None:
    assert accepted(body) == expected


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        pytest.param({"Nodes": node_list("b")}, ["b"], id="nodes"),
        pytest.param({"NodeNames": ["a"]}, [], id="names-are-not-read"),
        pytest.param({"Nodes": node_list("stranger")}, ["stranger"], id="names-are-not-checked"),
    ],
)
def test_who_passes_by_whole_nodes(body: Any, expected: list[str]) -> None:
    assert accepted(body, node_cache_capable=False) == expected


@pytest.mark.parametrize(
    ("answer", "why"),
    [
        pytest.param(reply({"NodeNames": ["a"], "Error": "not now"}), "not now", id="error"),
        pytest.param(reply({"NodeNames": ["a"]}, 204), "status 204", id="not-200"),
        pytest.param(reply({"NodeNames": ["stranger"]}), "not found", id="not-offered"),
        pytest.param(reply(b""), "undecodable", id="empty"),
        pytest.param(reply([]), "undecodable", id="no-object"),
        pytest.param(reply({"FailedNodes": {"a": 1}}), "undecodable", id="wrong-type"),
    ],
)
def test_what_fails_the_call(answer: Reply, why: str) -> None:
    with pytest.raises(CallError, match=why):
        read(answer, OFFERED, node_cache_capable=True)


def test_what_is_unresolvable_goes_before_what_failed() -> None:
    body = {
        "FailedNodes": {"a": "busy", "b": "busy"},
        "FailedAndUnresolvableNodes": {"a": "full"},
    }

    verdict = read(reply(body), OFFERED, node_cache_capable=True)

    assert verdict.messages == {"a": "full", "b": "busy"}
