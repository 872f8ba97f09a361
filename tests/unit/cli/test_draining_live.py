"""`may-drain` on a live cluster: a real client, and real HTTP to the API server in memory."""

import pytest

from cli.kube.draining.kinds import DRAINED
from tests.unit.cli.drained import Document, node, pod, replica, settings, volume
from tests.unit.cli.live import put
from tests.unit.cli.plans import Run, write

DOCUMENTS = [*node(), *node("node-2"), volume(), replica(), replica("node-2"), pod(), *settings()]


def without(kind: str) -> list[Document]:
    return [each for each in DOCUMENTS if each["kind"] != kind]


@pytest.fixture
def drain(config: str, called: Run) -> Run:
    """Ask the command about the cluster."""
    return lambda *arguments: called("may-drain", *arguments, "--kubeconfig", config)


def test_a_live_cluster_is_answered_as_its_objects_in_a_file(drain, server, tmp_path, called):
    """Also of a Longhorn of an older version, which has no shards."""
    put(server, DOCUMENTS)
    file = write(tmp_path / "cluster.json", *DOCUMENTS)

    live = drain("node-1")
    server.remove_resource("longhorn.io", "shards")

    assert live == drain("node-1") == called("may-drain", "node-1", "--cluster-file", file)
    assert live[0] == 0


def test_the_pods_of_all_nodes_in_question_are_read(drain, server):
    put(server, [*without("Pod"), replica("node-3"), *node("node-3")])
    assert drain("node-1", "node-3")[0] == 0

    put(server, [pod(), pod("b", "node-2", owner=None)])
    assert drain("node-1", "node-3")[0] == 0
    assert drain("node-1", "node-2")[0] == 1
    assert "Pod default/b has no controller" in drain("--next", "node-1", "node-2")[1]


@pytest.mark.parametrize("resource", DRAINED.values(), ids=lambda resource: resource.name)
def test_what_may_not_be_listed_is_an_error_that_names_it(drain, server, resource):
    put(server, DOCUMENTS)
    refused = (resource.group, resource.plural)
    server.authorize = lambda call: (call.group, call.resource) != refused

    status, out, err = drain("node-1")

    assert (status, out) == (2, "")
    assert f"error: {resource.name} cannot be listed" in err


def test_the_wrong_namespace_is_no_yes(drain, server, monkeypatch):
    put(server, DOCUMENTS, namespace="storage")

    status, out, err = drain("node-1")

    assert (status, out) == (2, "")
    assert "name its namespace in EXTENDER_LONGHORN_NAMESPACE" in err

    monkeypatch.setenv("EXTENDER_LONGHORN_NAMESPACE", "storage")
    assert drain("node-1")[0] == 0


def test_a_watch_that_is_over_at_once_asks_once_and_tells_so(drain, server):
    put(server, without("Setting"))

    status, out, err = drain("node-1", "--watch", "--timeout", "0")

    assert status == 1
    assert out.startswith("node-1: not yet")
    assert "1. Setting node-drain-policy is missing or has no value" in out
    assert err.count("\n") == 1
    assert "node-1: not yet, Setting node-drain-policy is missing" in err


def test_a_watch_ends_with_a_yes(drain, server):
    put(server, DOCUMENTS)

    status, out, err = drain("node-1", "--watch")

    assert (status, out.startswith("node-1: yes"), "node-1: yes" in err) == (0, True, True)
