"""The real process: the charter's answers, bad clients, signals and wrong starts."""

import contextlib
import http.client
import json
import shlex
import signal
import socket
import struct
import subprocess
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.integration.server import (
    PATIENCE_SECONDS,
    Server,
    by_names,
    command,
    pods,
    receive_all,
    serving,
)
from tests.pod_process import ROOT

NODES = ("node-1", "node-2", "node-3", "node-4")
MIB = 2**20
TOGETHER = (
    "the {} volumes the pod needs here ({} GiB in all) "
    "do not fit together on the disks of the Longhorn node"
)


@pytest.fixture(scope="module")
def goal2() -> Iterator[Server]:
    with serving("goal2") as server:
        yield server


@pytest.fixture(scope="module")
def impatient() -> Iterator[Server]:
    with serving("goal2", EXTENDER_BODY_TIMEOUT_SECONDS="0.3") as server:
        yield server


def verdicts(server: Server, request: object) -> tuple[list[str], dict[str, str]]:
    answer = server.filter(request)
    assert (answer["Nodes"], answer["FailedNodes"], answer["Error"]) == (None, {}, "")
    return answer["NodeNames"], answer["FailedAndUnresolvableNodes"]


def test_what_it_says_to_try_is_answered(goal2):
    assert goal2.is_ready()
    [command] = [line for line in goal2.lines() if line.startswith("try: curl ")]

    *_, url, _, request = shlex.split(command)

    assert url == f"http://127.0.0.1:{goal2.port}/filter"
    assert verdicts(goal2, json.loads(request)) == ([*NODES], {})


@pytest.mark.parametrize(
    ("pod", "accepted", "rejected"),
    [
        ("quad", ["node-4"], dict.fromkeys(NODES[:3], TOGETHER.format(4, 400))),
        ("pair", ["node-2", "node-3", "node-4"], {"node-1": TOGETHER.format(2, 200)}),
        ("single", list(NODES), {}),
    ],
)
def test_goal_2_several_claims_of_a_pod_must_fit_together(goal2, pod, accepted, rejected):
    assert verdicts(goal2, by_names(pods("goal2")[pod], *NODES)) == (accepted, rejected)


def test_metrics_tell_of_the_process_too(goal2):
    status, text = goal2.call("GET", "/metrics")

    assert (status, b"\nprocess_resident_memory_bytes " in text) == (200, True)
    assert b"\nlonghorn_scheduler_extender_filter_duration_seconds_count " in text


def test_the_lag_of_the_event_loop_is_watched(goal2):
    deadline = time.monotonic() + PATIENCE_SECONDS
    while not goal2.metric("event_loop_lag_seconds_count"):
        assert time.monotonic() < deadline


def test_one_connection_serves_many_requests(goal2):
    body = json.dumps(by_names(pods("goal2")["single"], *NODES))
    claim = {"name": "data", "persistentVolumeClaim": {"claimName": "gone"}}
    pod = {"metadata": {"name": "lost"}, "spec": {"volumes": [claim]}}
    lost = json.dumps(by_names(pod, *NODES))
    connection = http.client.HTTPConnection("127.0.0.1", goal2.port, timeout=PATIENCE_SECONDS)

    with contextlib.closing(connection):
        connection.connect()
        first_socket = connection.sock
        answers = []
        for path, sent in (
            ("/filter", body),
            ("/prioritize", body),
            ("/filter", "{}"),
            ("/prioritize", lost),
            ("/filter", body),
        ):
            connection.request("POST", path, sent)
            response = connection.getresponse()
            answers.append((response.status, response.headers["Connection"]))
            response.read()
        same = connection.sock is first_socket

    assert answers == [(status, None) for status in (200, 200, 400, 422, 200)]
    assert same


def message(body: bytes, path: str = "/filter") -> bytes:
    head = f"POST {path} HTTP/1.1\r\nHost: extender\r\nContent-Length: {len(body)}\r\n\r\n"
    return head.encode() + body


def test_a_request_before_the_last_is_answered_ends_the_connection(goal2):
    sent = message(json.dumps(by_names(pods("goal2")["quad"], *NODES)).encode())
    before = goal2.metric('connections_ended_total{cause="not_its_turn"}')

    with goal2.connect() as connection:
        connection.sendall(5 * sent)
        received = receive_all(connection)

    assert received.count(b"HTTP/1.1 200") <= 1
    ended = 'connections_ended_total{cause="not_its_turn"}'
    goal2.wait_for(lambda: goal2.metric(ended) == before + 1)


@pytest.mark.parametrize("path", ["/filter", "/healthz"])
def test_a_body_in_chunks_is_refused_before_any_of_it_is_read(goal2, path):
    head = f"POST {path} HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n"
    with goal2.connect() as connection:
        connection.sendall(head.encode() + b"1\r\n \r\n" * 1_000)
        received = receive_all(connection)

    assert received.startswith(b"HTTP/1.1 411 ")
    assert b"\r\nconnection: close\r\n" in received


HEADERS = {
    "many": b"a: b\r\n" * 101,
    "long, without an end": b"a: " + 70_000 * b"x",
    "long": b"a: " + 10 * MIB * b"x" + b"\r\n",
}


@pytest.mark.parametrize("headers", HEADERS.values(), ids=HEADERS)
def test_headers_are_bounded(goal2, headers):
    with goal2.connect() as connection:
        with contextlib.suppress(ConnectionError):
            connection.sendall(b"GET /healthz HTTP/1.1\r\nHost: x\r\n" + headers)
        received = receive_all(connection)

    assert received.startswith((b"HTTP/1.1 431 ", b""))
    assert b"200" not in received[:20]


def test_concurrent_requests_are_each_answered_as_alone(goal2):
    asked = ["quad", "single", "pair"] * 40

    with ThreadPoolExecutor(16) as pool:
        accepted = [
            len(answer["NodeNames"])
            for answer in pool.map(
                goal2.filter, [by_names(pods("goal2")[pod], *NODES) for pod in asked]
            )
        ]

    assert accepted == [1, 4, 3] * 40


def test_five_thousand_whole_nodes_go_back_byte_for_byte(goal2):
    padding = json.dumps([{"names": [f"registry/image@sha256:{n:064}"]} for n in range(115)])
    nodes = [
        f'{{"metadata": {{"name":"node-{n:05}" }},"status":{{"images":{padding}}}}}'.encode()
        for n in range(5_000)
    ]
    head = b'{"Pod":{"metadata":{"name":"pod"}},"Nodes":{"metadata":{},"items":['
    body = head + b",".join(nodes) + b']},"NodeNames":null}'
    assert len(body) > 50_000_000

    status, answer = goal2.call("POST", "/filter", body)

    assert (status, b'"items":[' + b",".join(nodes) + b"]" in answer) == (200, True)
    assert len(answer) < len(body) + 1_000


def test_a_body_of_300_mb_is_413_which_the_client_can_read(goal2):
    chunk = bytes(MIB)

    def send(connection: socket.socket) -> None:
        with contextlib.suppress(ConnectionError):
            for _ in range(300):
                connection.sendall(chunk)

    with goal2.connect() as connection:
        connection.sendall(b"POST /filter HTTP/1.1\r\nHost: x\r\nContent-Length: 314572800\r\n\r\n")
        sender = threading.Thread(target=send, args=(connection,))
        sender.start()
        received = receive_all(connection)
        sender.join()

    head, _, body = received.partition(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 413 ")
    assert b"\r\nconnection: close" in head.lower()
    assert json.loads(body) == {
        "error": "the body is larger than the 134217728 B of EXTENDER_BODY_LIMIT_BYTES"
    }
    assert goal2.call("GET", "/healthz") == (200, b"ok")


def test_a_client_that_asks_first_is_told_413_before_it_sends(goal2):
    with goal2.connect() as connection:
        connection.sendall(
            b"POST /filter HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\n"
            b"Content-Length: 314572800\r\n\r\n"
        )
        received = receive_all(connection)

    assert received.startswith(b"HTTP/1.1 413 ")


def test_a_slow_body_is_408_and_others_are_answered_meanwhile(impatient):
    with impatient.connect() as slow:
        slow.sendall(b"POST /filter HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\n{")
        quick = impatient.filter(by_names(pods("goal2")["single"], *NODES))
        received = receive_all(slow)

    head, _, body = received.partition(b"\r\n\r\n")
    assert quick["NodeNames"] == list(NODES)
    assert head.startswith(b"HTTP/1.1 408 ")
    assert b"\r\nconnection: close" in head.lower()
    assert json.loads(body) == {"error": "the body did not arrive within 0.3 s"}


@pytest.mark.parametrize("linger", ["closes", "resets"])
def test_a_client_that_leaves_in_mid_body_harms_nothing(goal2, linger):
    for _ in range(20):
        with goal2.connect() as connection:
            connection.sendall(b"POST /filter HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\n{")
            if linger == "resets":
                connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))

    answer = goal2.filter(by_names(pods("goal2")["single"], *NODES))
    assert answer["NodeNames"] == list(NODES)


POST = b"POST /filter HTTP/1.1\r\n"
NO_HTTP = {
    "garbage": b"garbage\r\n\r\n",
    "tls": b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
    "http-2": b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
    "length": POST + b"Content-Length: -1\r\n\r\n",
    "two": POST + b"Content-Length: 1\r\nContent-Length: 2\r\n\r\n",
    "chunk": POST + b"Transfer-Encoding: chunked\r\n\r\nZZ\r\n",
}


@pytest.mark.parametrize("sent", NO_HTTP.values(), ids=NO_HTTP)
def test_what_is_no_http_is_refused_and_the_connection_closed(goal2, sent):
    with goal2.connect() as connection:
        connection.sendall(sent)
        received = receive_all(connection)

    assert received.startswith(b"HTTP/1.1 4")


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_the_server_in_good_order(number):
    with serving("goal2") as server, server.connect() as idle, server.connect() as beginning:
        beginning.sendall(b"POST /filter HTT")
        idle.sendall(message(b"{}"))
        assert idle.recv(2**16)

        assert server.end(number, within_seconds=2) == (0, [])


def test_sigterm_waits_for_no_slow_client():
    with serving("goal2") as server, server.connect() as slow:
        slow.sendall(b"POST /filter HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\n{")
        assert server.call("GET", "/healthz") == (200, b"ok")

        assert server.end(signal.SIGTERM, within_seconds=5) == (0, [])


def test_sigterm_waits_for_no_client_that_does_not_read():
    items = ",".join(f'{{"metadata":{{"name":"{n}{"x" * 200}"}}}}' for n in range(50_000))
    body = f'{{"Pod":{{"metadata":{{"name":"p"}}}},"Nodes":{{"items":[{items}]}}}}'.encode()
    with serving("goal2") as server, server.connect() as deaf:
        deaf.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4_096)
        deaf.sendall(message(body))
        assert deaf.recv(1)

        assert server.end(signal.SIGTERM, within_seconds=5) == (0, [])


def test_a_port_in_use_is_an_error_of_one_line(goal2):
    ended = subprocess.run(
        command("goal2", "--port", str(goal2.port)),
        cwd=ROOT,
        env={},
        capture_output=True,
        text=True,
        timeout=PATIENCE_SECONDS,
        check=False,
    )

    assert (ended.returncode, ended.stdout, ended.stderr.count("\n")) == (2, "", 1)
    assert ended.stderr.startswith(f"error: cannot listen on 127.0.0.1 port {goal2.port}: ")


def test_the_picture_of_a_file_is_served_if_it_is_wanted(goal2):
    with serving("goal2", EXTENDER_DEBUG="true") as server:
        status, page = server.call("GET", "/")

    assert status == 200
    assert f"{ROOT / 'examples' / 'goal2'}; 0 holds, 0 pods wait" in page.decode()
    assert all(f'"name":"{node}"' in page.decode() for node in NODES)
    assert goal2.call("GET", "/")[0] == 404
