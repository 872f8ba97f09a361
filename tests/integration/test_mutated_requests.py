"""Whatever is sent, there is an answer with one of a few statuses, and the process goes on.

`benchmarks/mutated.py` sends a million to an instance on a live cluster.
"""

import http.client
import ssl
from collections import Counter
from collections.abc import Iterator
from random import Random

import pytest
import trustme

from tests.certificates import HOST, webhook_settings
from tests.integration.server import PATIENCE_SECONDS, Server, by_names, pods, serving
from tests.mutations import STATUSES, VERBS, mutated, recorded

REQUESTS = 500


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    certified = webhook_settings(trustme.CA(), tmp_path_factory.mktemp("tls"))
    with serving("goal2", **certified) as server:
        yield server


def connected(server: Server, verb: str) -> http.client.HTTPConnection:
    if verb != "mutate":
        return http.client.HTTPConnection(HOST, server.port, timeout=PATIENCE_SECONDS)
    anything = ssl._create_unverified_context()  # noqa: S323, SLF001 (the certificate is not tested)
    return http.client.HTTPSConnection(
        HOST, server.webhook_port, timeout=PATIENCE_SECONDS, context=anything
    )


@pytest.mark.parametrize("verb", VERBS)
def test_mutated_requests_are_answered_and_the_process_goes_on(server, verb):
    random, bodies, seen = Random(1), recorded(verb), Counter[int]()
    connection = connected(server, verb)

    for _ in range(REQUESTS):
        body = mutated(random.choice(bodies), bodies, random)
        connection.request("POST", f"/{verb}", body)
        with connection.getresponse() as response:
            seen[response.status] += 1
            response.read()
    connection.close()

    assert STATUSES.issuperset(seen), seen
    assert len(seen) > 1
    assert server.filter(by_names(pods("goal2")["pair"], "node-2"))["NodeNames"] == ["node-2"]


def test_unchanged_ones_are_understood():
    """Or the changes would tell little."""
    assert all(recorded(verb) for verb in VERBS)
