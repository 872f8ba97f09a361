"""The command that `serve --cluster-file` prints asks a question that can be answered."""

import json
import shlex
from typing import Any

import msgspec
import pytest

from cli.kube.cluster_objects import ClusterObjects
from cli.kube.view import build_view
from cli.sample import sample_request
from tests.builders import claim, node


def asked(*records: msgspec.Struct, host: str = "::") -> tuple[str, dict[str, Any]]:
    """Return the URL and the request of a cluster's command, as a shell takes them."""
    cluster = ClusterObjects()
    for each in records:
        cluster.add(each)
    curl, _, url, _, request = shlex.split(sample_request(build_view(cluster), host, 9504))
    assert curl == "curl"
    return url, json.loads(request)


@pytest.mark.parametrize(
    ("host", "address"),
    [
        ("::", "127.0.0.1"),
        ("0.0.0.0", "127.0.0.1"),  # noqa: S104 (not bound)
        ("127.0.0.2", "127.0.0.2"),
        ("::1", "[::1]"),
        ("localhost", "localhost"),
    ],
)
def test_the_address_is_one_that_can_be_called(host, address):
    assert asked(host=host)[0] == f"http://{address}:9504/filter"


def test_a_claim_of_the_cluster_is_asked_about():
    _, request = asked(node("node-1"), claim("it's"))

    assert request == {
        "Pod": {
            "metadata": {"name": "sample", "namespace": "default"},
            "spec": {"volumes": [{"name": "data", "persistentVolumeClaim": {"claimName": "it's"}}]},
        },
        "NodeNames": ["node-1"],
    }


def test_of_a_large_cluster_some_nodes_are_asked_about():
    _, request = asked(*(node(f"node-{number}") for number in range(50)))

    assert (len(request["NodeNames"]), request["Pod"]["spec"]["volumes"]) == (10, [])
