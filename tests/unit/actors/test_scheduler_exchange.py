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


@pytest.mark.parametrize(
    ("body", "by_name", "expected"),
    [
        pytest.param({"nodenames": ["b"], "ERROR": ""}, True, ["b"], id="any-letter-case"),
        pytest.param({}, True, [], id="nothing-said"),
        pytest.param({"Nodes": node_list("a")}, True, ["a"], id="nodes-instead"),
        pytest.param({"NodeNames": ["a"], "FailedNodes": {"a": "full"}}, True, ["a"], id="twice"),
        pytest.param({"Nodes": node_list("b")}, False, ["b"], id="nodes"),
        pytest.param({"NodeNames": ["a"]}, False, [], id="names-are-not-read"),
    ],
)
def test_who_passes(body, expected, *, by_name):
    verdict = read(reply(body), CANDIDATES, node_cache_capable=by_name)

    assert verdict.accepted == expected


@pytest.mark.parametrize(
    ("answer", "why"),
    [
        pytest.param(reply({"NodeNames": ["a"], "Error": "not now"}), "not now", id="error"),
        pytest.param(reply({"NodeNames": ["a"]}, 204), "status 204", id="not-200"),
        pytest.param(reply({"NodeNames": ["stranger"]}), "not found", id="no-candidate"),
        pytest.param(reply(b""), "undecodable", id="empty"),
        pytest.param(reply({"FailedNodes": {"a": 1}}), "undecodable", id="wrong-type"),
    ],
)
def test_what_fails_the_call(answer, why):
    with pytest.raises(CallError, match=why):
        read(answer, CANDIDATES, node_cache_capable=True)
