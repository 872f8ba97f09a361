"""The real process over HTTPS: who is let in, also while the certificate's files are replaced."""

import signal
import socket
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from threading import Event

import httpx
import pytest
import trustme

from tests.admission import new_pod, of_claim, review
from tests.certificates import HOST, Authority
from tests.integration.server import (
    PATIENCE_SECONDS,
    Server,
    by_names,
    pods,
    receive_all,
    serving,
)

NODES = ("node-1", "node-2", "node-3", "node-4")
_PACE_SECONDS = 0.02
"""Between two requests of a client that goes on and on, so that the server has a core to itself."""


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    return Authority.in_folder(tmp_path_factory.mktemp("tls"))


@pytest.fixture(scope="module")
def https(authority: Authority) -> Iterator[Server]:
    with serving("goal2", **authority.settings(client_ca=False)) as server:
        yield server


@pytest.fixture(scope="module")
def mutual(authority: Authority) -> Iterator[Server]:
    """Run one that wants certificates of its clients, and of those of its webhook."""
    settings = authority.settings(client_ca=True)
    webhook = {
        **webhook_files(settings),
        "EXTENDER_WEBHOOK_CLIENT_CA_FILE": settings["EXTENDER_CLIENT_CA_FILE"],
    }
    with serving("goal2", **settings, **webhook) as server:
        yield server


@pytest.fixture(scope="module")
def named(authority: Authority) -> Iterator[Server]:
    """Run one that lets two names in; its webhook has the same certificate."""
    settings = authority.settings(client_ca=True)
    with serving(
        "goal2",
        **settings,
        **webhook_files(settings),
        EXTENDER_CLIENT_NAMES="other, kube-scheduler",
    ) as server:
        yield server


def webhook_files(settings: dict[str, str]) -> dict[str, str]:
    """Return the settings of a webhook with the certificate of the service."""
    return {
        "EXTENDER_WEBHOOK_PORT": "0",
        "EXTENDER_WEBHOOK_CERT_FILE": settings["EXTENDER_TLS_CERT_FILE"],
        "EXTENDER_WEBHOOK_PRIVATE_KEY_FILE": settings["EXTENDER_TLS_PRIVATE_KEY_FILE"],
    }


def issue(
    ca: trustme.CA, *, identities: Sequence[str] = (), common_name: str | None = None
) -> trustme.LeafCert:
    return ca.issue_cert(*identities, common_name=common_name)


def accepted(client: httpx.Client, server: Server) -> list[str]:
    request = by_names(pods("goal2")["quad"], *NODES)
    response = client.post(f"https://{HOST}:{server.port}/filter", json=request)
    assert response.status_code == 200
    nodes: list[str] = response.json()["NodeNames"]
    return nodes


def served_certificate(client: httpx.Client, server: Server) -> bytes:
    """Return what a new connection is given."""
    with client.stream("GET", f"https://{HOST}:{server.port}/healthz") as response:
        connection = response.extensions["network_stream"].get_extra_info("ssl_object")
        certificate: bytes = connection.getpeercert(True)  # noqa: FBT003 (its only form)
    return certificate


def test_plain_http_is_refused_on_the_port_of_https(https):
    with https.connect() as plain:
        plain.sendall(b"GET /healthz HTTP/1.1\r\nhost: x\r\n\r\n")
        answer = receive_all(plain)

    assert answer.startswith(b"HTTP/1.1 400 ")
    assert b"this port is for HTTPS" in answer

    assert https.call("GET", "/healthz", port=https.metrics_port)[0] == 200


@pytest.mark.parametrize("certificate", [None, trustme.CA().issue_cert("kube-scheduler")])
def test_a_client_without_or_with_a_wrong_certificate_is_not(mutual, authority, certificate):
    failed = 'connections_ended_total{cause="handshake_failed"}'
    before = mutual.metric("request_bytes_count"), mutual.metric(failed)

    with authority.client(certificate) as client, pytest.raises(httpx.TransportError):
        accepted(client, mutual)

    assert (mutual.metric("request_bytes_count"), mutual.metric(failed) - 1) == before


NAMED = {"common-name": {"common_name": "kube-scheduler"},
    "alternative-name": {"identities": ["kube-scheduler"]}}  # fmt: skip


@pytest.mark.parametrize("certificate", NAMED.values(), ids=NAMED)
def test_a_client_with_an_allowed_name_is_answered(named, authority, certificate):
    with authority.client(issue(authority.ca, **certificate)) as client:
        assert accepted(client, named) == ["node-4"]


@pytest.mark.parametrize("size_bytes", [0, 2**20])
def test_a_client_with_another_name_of_the_same_ca_is_refused_by_its_name(
    named, authority, size_bytes
):
    ended = 'connections_ended_total{cause="client_not_named"}'
    before = named.metric("request_bytes_count"), named.metric(ended)

    with authority.client(issue(authority.ca, common_name="grafana")) as client:
        body = b" " * size_bytes
        response = client.post(f"https://{HOST}:{named.port}/filter", content=body)

    assert response.status_code == 403
    assert response.json() == {
        "error": "the client's certificate is for grafana; EXTENDER_CLIENT_NAMES has none of it"
    }
    assert (named.metric("request_bytes_count"), named.metric(ended) - 1) == before


def test_it_is_refused_every_path(named, authority):
    with authority.client(issue(authority.ca, common_name="grafana")) as client:
        for path in ("/healthz", "/openapi.json", "/debug/state", "/"):
            assert client.get(f"https://{HOST}:{named.port}{path}").status_code == 403


def mutate(client: httpx.Client, server: Server) -> str:
    url = f"https://{HOST}:{server.webhook_port}/mutate"
    response = client.post(url, json=review(new_pod(of_claim("quad-a"))))
    return str(response.raise_for_status().json()["response"]["patchType"])


def test_the_webhook_needs_no_certificate_of_its_clients(named, authority):
    with authority.client() as client:
        assert mutate(client, named) == "JSONPatch"


def test_webhook_with_a_client_ca_takes_its_certificates_alone(mutual, authority):
    with authority.client(issue(authority.ca, common_name="apiserver")) as client:
        assert mutate(client, mutual) == "JSONPatch"
    for other in (None, issue(trustme.CA(), common_name="apiserver")):
        with authority.client(other) as client, pytest.raises(httpx.TransportError):
            mutate(client, mutual)


def test_probes_and_metrics_need_no_certificate_on_their_own_port(mutual):
    for path in ("/healthz", "/readyz", "/metrics"):
        assert mutual.call("GET", path, port=mutual.metrics_port)[0] == 200


@pytest.fixture
def new(authority: Authority) -> Iterator[Server]:
    """Run one that has only just looked at its certificate."""
    with serving("goal2", **authority.settings(client_ca=True)) as server:
        yield server


def test_no_request_fails_while_the_certificate_is_replaced(new, authority):
    certificate = authority.ca.issue_cert("kube-scheduler")
    done = Event()

    def ask_over_one_connection() -> int:
        answers = 0
        with authority.client(certificate) as client:
            while not done.wait(_PACE_SECONDS):
                assert accepted(client, new) == ["node-4"]
                answers += 1
        return answers

    def ask_over_new_connections() -> int:
        answers = 0
        while not done.wait(_PACE_SECONDS):
            with authority.client(certificate) as client:
                assert accepted(client, new) == ["node-4"]
                answers += 1
        return answers

    def replace() -> None:
        first = served()
        authority.write()
        while served() == first:
            done.wait(_PACE_SECONDS)

    def served() -> bytes:
        with authority.client(certificate) as client:
            return served_certificate(client, new)

    with ThreadPoolExecutor(3) as pool:
        asking = [pool.submit(ask_over_one_connection), pool.submit(ask_over_new_connections)]
        try:
            pool.submit(replace).result(60)
        finally:
            done.set()

    assert all(each.result() > 10 for each in asking)
    outcomes = [new.metric(f'tls_reloads_total{{outcome="{o}"}}') for o in ("loaded", "unusable")]
    assert outcomes == [1, 0]


def test_sigterm_ends_a_server_with_open_connections_in_good_order(authority):
    with (
        serving("goal2", **authority.settings(client_ca=False)) as server,
        authority.client() as client,
        socket.create_connection((HOST, server.port)),
    ):
        assert accepted(client, server) == ["node-4"]

        status, errors = server.end(signal.SIGTERM, within_seconds=PATIENCE_SECONDS)

    assert (status, errors) == (0, [])
