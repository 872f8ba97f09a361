"""The real process and strangers: who has no certificate, and who asks for metrics without end."""

import contextlib
import os
import signal
import socket
import time
from collections.abc import Iterator

import httpx
import pytest

from app.process.door import MOST_OF_AN_ADDRESS
from tests.certificates import Authority
from tests.fakes import in_a_thread
from tests.fakes.installed import instance_pod, service
from tests.integration.busy import CPU_SECONDS
from tests.integration.server import (
    Server,
    by_names,
    pods,
    receive_all,
    serving,
    serving_cluster,
)
from tests.integration.test_live_process import api_server

NODES = ("node-1", "node-2", "node-3", "node-4")


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    return Authority.in_folder(tmp_path_factory.mktemp("certificates"))


@pytest.fixture(scope="module")
def closed(authority: Authority) -> Iterator[Server]:
    settings = authority.settings(client_ca=True)
    with serving("goal2", **settings, EXTENDER_BODY_TIMEOUT_SECONDS="1") as server:
        yield server


def ended(server: Server, cause: str) -> float:
    return server.metric(f'connections_ended_total{{cause="{cause}"}}')


def ask(client: httpx.Client, server: Server) -> list[str]:
    url = f"https://127.0.0.1:{server.port}/filter"
    response = client.post(url, json=by_names(pods("goal2")["quad"], *NODES))
    names: list[str] = response.json()["NodeNames"]
    return names


def test_strangers_displace_strangers_alone(closed, authority):
    before = ended(closed, "displaced")
    certificate = authority.ca.issue_cert("kube-scheduler")
    with authority.client(certificate) as known, contextlib.ExitStack() as opened:
        assert ask(known, closed) == ["node-4"]
        for _ in range(3 * MOST_OF_AN_ADDRESS):
            opened.enter_context(closed.connect())
        closed.wait_for(lambda: ended(closed, "displaced") >= before + 2 * MOST_OF_AN_ADDRESS)

        assert ask(known, closed) == ["node-4"]
        with authority.client(certificate) as new:
            assert ask(new, closed) == ["node-4"]


@pytest.mark.parametrize("sent", [b"", b"\x16\x03\x01"], ids=["nothing", "the beginning of TLS"])
def test_who_says_nothing_is_sent_away(closed, sent):
    before = ended(closed, "handshake_failed")
    with closed.connect() as silent:
        silent.sendall(sent)
        assert receive_all(silent) == b""

    closed.wait_for(lambda: ended(closed, "handshake_failed") == before + 1)


@pytest.mark.parametrize(
    ("until", "status"), [("2999-12-31T00:00:00Z", 200), ("2001-01-01T00:00:00Z", 400)]
)
def test_plain_http_is_answered_until_a_time(authority, until, status):
    settings = authority.settings(client_ca=True)
    with serving("goal2", **settings, EXTENDER_PLAIN_UNTIL=until) as server:
        assert server.call("GET", "/healthz")[0] == status


def test_the_metrics_take_a_share_of_the_time_and_the_answers_the_rest():
    with serving("goal2", EXTENDER_METRICS_PORT="0") as server, contextlib.ExitStack() as opened:
        asking = [
            opened.enter_context(socket.create_connection(("127.0.0.1", server.metrics_port)))
            for _ in range(5)
        ]
        began, cpu = time.monotonic(), server.process.cpu_seconds
        while time.monotonic() < began + 2:
            for each in asking:
                each.sendall(b"GET /healthz HTTP/1.1\r\nhost: x\r\n\r\n")
            for each in asking:
                while not each.recv(2**16).endswith(b"ok"):
                    pass
        share = (server.process.cpu_seconds - cpu) / (time.monotonic() - began)
        answer = server.filter(by_names(pods("goal2")["quad"], *NODES))

    assert answer["NodeNames"] == ["node-4"]
    assert share < 0.4


def test_a_long_answer_costs_neither_the_lease_nor_the_probes(tmp_path):
    with contextlib.ExitStack() as stack:
        port = stack.enter_context(in_a_thread(api_server(service(), instance_pod(0)))).port
        settings = {
            "EXTENDER_LEASE_DURATION_SECONDS": "3",
            "EXTENDER_RENEW_DEADLINE_SECONDS": "2.5",
            "EXTENDER_RETRY_PERIOD_SECONDS": "0.3",
            "EXTENDER_METRICS_PORT": "0",
        }
        live = stack.enter_context(
            serving_cluster(tmp_path, port, module="tests.integration.busy", **settings)
        )
        live.wait_for(lambda: live.events("endpointslice.published"))
        before = live.process.cpu_seconds

        os.kill(live.process.pid, signal.SIGUSR1)
        asked = 0
        while live.process.cpu_seconds < before + CPU_SECONDS:
            assert live.call("GET", "/healthz", port=live.metrics_port) == (200, b"ok")
            asked += 1
        live.wait_for(lambda: live.call("GET", "/healthz")[0] == 200)

        assert asked > 3
        assert live.events("lease.lost") == []
