"""The real process and clients that are slow, many or greedy: others are served meanwhile."""

import contextlib
import http.client
import json
import socket
from collections.abc import Iterator

import pytest

from app.serving.arguments import MOST_NODES
from tests.integration.server import (
    PATIENCE_SECONDS,
    Server,
    by_names,
    pods,
    receive_all,
    serving,
)

LIMIT = 10
NODES = ("node-1", "node-2", "node-3", "node-4")
HEAD = b"POST /filter HTTP/1.1\r\nhost: x\r\n"
MIB = 2**20


@pytest.fixture(scope="module")
def crowded() -> Iterator[Server]:
    with serving("goal2", EXTENDER_CONNECTION_LIMIT=str(LIMIT)) as server:
        yield server


@pytest.fixture(scope="module")
def impatient() -> Iterator[Server]:
    with serving(
        "goal2",
        EXTENDER_BODY_TIMEOUT_SECONDS="0.5",
        EXTENDER_ANSWER_TIMEOUT_SECONDS="0.5",
        EXTENDER_METRICS_PORT="0",
    ) as server:
        yield server


@pytest.fixture(scope="module")
def patient() -> Iterator[Server]:
    with serving("goal2", EXTENDER_ANSWER_TIMEOUT_SECONDS="300") as server:
        yield server


@contextlib.contextmanager
def connected(server: Server, *sent: bytes) -> Iterator[list[socket.socket]]:
    """Open a connection for each of *sent*, and send it."""
    with contextlib.ExitStack() as stack:
        connections = []
        for each in sent:
            connections.append(stack.enter_context(server.connect()))
            connections[-1].sendall(each)
        yield connections


def is_answered(server: Server) -> bool:
    answer = server.filter(by_names(pods("goal2")["quad"], *NODES))
    return bool(answer["NodeNames"] == ["node-4"])


def ended(server: Server, cause: str) -> float:
    """Return how many connections have ended for a cause so far, of all tests."""
    return server.metric(f'connections_ended_total{{cause="{cause}"}}')


@pytest.mark.parametrize(
    "sent",
    [
        pytest.param(b"", id="nothing"),
        pytest.param(HEAD, id="some headers"),
        pytest.param(HEAD + b"content-length: 100\r\n\r\nx", id="some of a body"),
        pytest.param(b"GET /healthz HTTP/1.1\r\nhost: x\r\n\r\n", id="a request, and no other"),
    ],
)
def test_beyond_the_limit_the_connection_that_waits_longest_gives_way(crowded, sent):
    before = ended(crowded, "displaced")
    with connected(crowded, *[sent] * 3 * LIMIT) as connections:
        assert is_answered(crowded)
        for given_way in connections[: 2 * LIMIT]:
            receive_all(given_way)

        crowded.wait_for(lambda: ended(crowded, "displaced") >= before + 2 * LIMIT)
        crowded.wait_for(lambda: crowded.metric("connections") <= LIMIT)


def test_an_idle_connection_of_kube_scheduler_is_used_on_under_the_limit(crowded):
    used = http.client.HTTPConnection("127.0.0.1", crowded.port, timeout=PATIENCE_SECONDS)
    body = json.dumps(by_names(pods("goal2")["quad"], *NODES)).encode()
    with contextlib.closing(used), connected(crowded, *[HEAD] * (LIMIT - 1)):
        for _ in range(3):
            used.request("POST", "/filter", body)
            assert used.getresponse().read()
            with crowded.connect() as newest:  # displaces one of the others: they wait longer
                newest.sendall(HEAD)


@pytest.mark.parametrize(
    "trickle",
    [
        pytest.param(b"x-slow: ", id="one header without an end"),
        pytest.param(b"a: b\r\n", id="ever more headers"),
    ],
)
def test_headers_have_a_deadline_however_many_bytes_come(impatient, trickle):
    before = ended(impatient, "headers_late")
    with impatient.connect() as slow:
        slow.sendall(HEAD + trickle)
        slow.settimeout(0.05)
        for byte in trickle * 1_000:
            try:
                slow.sendall(bytes([byte]))
                if slow.recv(1) == b"":
                    break
            except TimeoutError:
                continue
            except OSError:
                break
        else:
            pytest.fail("the server has gone on reading")

    impatient.wait_for(lambda: ended(impatient, "headers_late") == before + 1)
    assert is_answered(impatient)


def test_a_connection_without_a_request_stays_for_as_long_as_an_idle_one(impatient):
    with impatient.connect() as early, impatient.connect() as slow:
        slow.sendall(HEAD)
        assert receive_all(slow) == b""  # the deadline for headers has passed

        early.sendall(b"GET /healthz HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n")
        assert receive_all(early).startswith(b"HTTP/1.1 200")


def test_an_answer_that_is_not_taken_has_a_deadline(impatient):
    node = {"metadata": {"name": "node-4", "annotations": {"filler": "x" * 20 * MIB}}}
    request = {"Pod": pods("goal2")["quad"], "Nodes": {"items": [node]}, "NodeNames": None}
    body, before = json.dumps(request).encode(), ended(impatient, "answer_not_taken")
    with impatient.connect() as greedy:
        greedy.sendall(HEAD + b"content-length: %d\r\n\r\n" % len(body) + body)
        impatient.wait_for(lambda: ended(impatient, "answer_not_taken") == before + 1)

        assert len(receive_all(greedy)) < len(body)
    impatient.wait_for(lambda: impatient.metric("connections") == 0)


def test_answers_that_are_not_taken_are_kept_up_to_a_bound(patient):
    names = [f"{number:0250}" for number in range(MOST_NODES)]
    body = json.dumps(by_names(pods("goal2")["quad"], *names)).encode()
    sent = HEAD + b"content-length: %d\r\n\r\n" % len(body) + body
    with connected(patient, *[sent] * 100):  # Linux itself may keep most of each answer
        patient.wait_for(lambda: ended(patient, "answer_not_taken") > 0)

        assert is_answered(patient)


def test_a_body_that_nobody_reads_has_the_deadline_of_headers(impatient):
    before = ended(impatient, "headers_late")
    with impatient.connect() as talker:
        talker.sendall(b"GET /healthz HTTP/1.1\r\nhost: x\r\ncontent-length: 1000000000\r\n\r\nx")

        assert receive_all(talker).startswith(b"HTTP/1.1 200")
    impatient.wait_for(lambda: ended(impatient, "headers_late") == before + 1)


def test_an_answer_given_before_the_body_has_come_can_be_read_and_the_connection_used(impatient):
    connection = http.client.HTTPConnection("127.0.0.1", impatient.port, timeout=PATIENCE_SECONDS)
    with contextlib.closing(connection):
        for _ in range(3):
            connection.request("POST", "/wrong", b"x" * 3 * MIB)
            answer = connection.getresponse()
            assert (answer.status, answer.read()) == (404, b'{"error":"Not Found"}')
            kept = connection.sock
            assert kept is not None


def test_an_upgrade_to_another_protocol_is_not_taken_up(impatient):
    with impatient.connect() as client:
        client.sendall(
            b"GET /healthz HTTP/1.1\r\nhost: x\r\nconnection: upgrade, close\r\n"
            b"upgrade: websocket\r\nsec-websocket-version: 13\r\nsec-websocket-key: eA==\r\n\r\n"
        )

        assert receive_all(client).startswith(b"HTTP/1.1 200")


def test_metrics_may_have_a_port_of_their_own(impatient):
    paths = ("/healthz", "/readyz", "/metrics", "/debug/state")

    def statuses(port: int) -> list[int]:
        return [impatient.call("GET", path, port=port)[0] for path in paths]

    assert statuses(impatient.port) == [200, 200, 404, 404]
    assert statuses(impatient.metrics_port) == [200, 200, 200, 404]
    assert impatient.call("POST", "/filter", b"{}", port=impatient.metrics_port)[0] == 404
