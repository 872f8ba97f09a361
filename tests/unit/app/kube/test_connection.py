"""Every request ends in time, and with an error of ours that names the matter."""

import asyncio
import random
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
from kubernetes_asyncio.client import ApiClient
from kubernetes_asyncio.config import ConfigException

from app.errors import InputError
from app.kube.connecting import connect, follow_token
from app.kube.connection import Connection, refusal_of
from app.kube.connection import Status as StatusObject
from app.kube.errors import ApiError, ExpiredError, MalformedError, StatusError, UnreachableError
from tests.fakes import (
    Answer,
    CutAnswer,
    FakeApiServer,
    Fault,
    Hang,
    LostAnswer,
    Refused,
    WatchCut,
    WatchHang,
)
from tests.unit.app.kube.following import failure, put

PATH = "/apis/longhorn.io/v1beta2/namespaces/longhorn-system/volumes"
WATCH = [("watch", "1")]


@pytest.fixture
def server() -> FakeApiServer:
    server = FakeApiServer(random.Random(3), chop=0.3)
    put(server, "a")
    return server


@pytest.fixture
async def client(server: FakeApiServer) -> AsyncIterator[ApiClient]:
    async with server.client("us") as client:
        yield client


@pytest.fixture
def connection(client: ApiClient) -> Connection:
    return Connection(client)


def status(code: int, reason: str = "", message: str = "") -> bytes:
    return msgspec.json.encode(failure(code, reason, message))


@pytest.mark.looptime
async def test_a_request_has_credentials_and_asks_for_plain_json(server, connection):
    content = await connection.request("GET", PATH, query=[("limit", "5")], deadline_seconds=5)

    headers, query = server.calls[0].headers, server.calls[0].query
    assert [each["metadata"]["name"] for each in msgspec.json.decode(content)["items"]] == ["a"]
    assert headers["authorization"] == "Bearer us"
    assert (headers["Accept"], headers["Accept-Encoding"]) == ("application/json", "identity")
    assert query == {"limit": "5"}


@pytest.mark.looptime
@pytest.mark.parametrize(
    "kind", [Hang(), LostAnswer(hang=True), None], ids=["hang", "lost", "slow"]
)
@pytest.mark.parametrize("method", ["GET", "POST"])
async def test_requests_end_at_their_deadline(server, connection, kind, method):
    server.latency = lambda _: (2.0, 2.0)
    server.faults += [Fault(kind)] if kind else []
    loop = asyncio.get_running_loop()
    started = loop.time()

    with pytest.raises(UnreachableError, match=r"did not answer within 2\.5 s"):
        await connection.request(method, PATH, body={"metadata": {}}, deadline_seconds=2.5)

    assert loop.time() - started == pytest.approx(2.5)


@pytest.mark.looptime
@pytest.mark.parametrize(
    ("kind", "expected", "text"),
    [
        (Refused(), UnreachableError, "cannot be reached"),
        (CutAnswer(), UnreachableError, "cannot be reached"),
        (Answer(410, status(410, "Expired", "token expired")), ExpiredError, "410: token expired"),
        (
            Answer(403, status(403, "Forbidden", "pods is forbidden")),
            StatusError,
            "403: pods is forbidden",
        ),
        (Answer(502, b"<html>bad gateway</html>"), StatusError, "502: <html>bad gateway</html>"),
        (Answer(500), StatusError, "500: no reason given"),
        (Answer(500, b"\xff\xfe"), StatusError, "500: \ufffd\ufffd"),
        (Answer(500, b'{"message": 5}'), StatusError, '500: {"message": 5}'),
        (Answer(500, b"[" * 50_000), StatusError, "500: [[["),
    ],
)
async def test_what_went_wrong_is_told(server, connection, kind, expected, text):
    server.faults.append(Fault(kind))

    with pytest.raises(ApiError) as caught:
        await connection.request("GET", PATH, deadline_seconds=5)

    assert type(caught.value) is expected
    assert text in str(caught.value)
    assert len(str(caught.value)) < 400


@pytest.mark.looptime
@pytest.mark.parametrize(
    ("given", "seconds"),
    [("7", 7.0), ("0", 0.0), ("", 0.0), ("-1", 0.0), ("1.5", 0.0), ("²", 0.0), ("9" * 99, 0.0)],
)
async def test_wish_to_be_left_alone_is_read(server, connection, given, seconds):
    server.faults.append(Fault(Answer(429, b"", {"Retry-After": given})))

    with pytest.raises(StatusError) as caught:
        await connection.request("GET", PATH, deadline_seconds=5)

    assert caught.value.retry_after_seconds == seconds


@pytest.mark.looptime
async def test_stream_gives_what_arrives_and_ends(connection):
    query = [*WATCH, ("timeoutSeconds", "30")]
    received = b""
    async with connection.stream(PATH, query=query, deadline_seconds=5) as chunks:
        while chunk := await chunks.next(within_seconds=60):
            received += chunk

    assert msgspec.json.decode(received)["type"] == "ADDED"
    assert asyncio.get_running_loop().time() >= 30


@pytest.mark.looptime
async def test_silence_in_a_stream_is_told_in_time(server, connection):
    server.faults.append(Fault(WatchHang()))
    loop = asyncio.get_running_loop()
    async with connection.stream(PATH, query=WATCH, deadline_seconds=5) as chunks:
        started = loop.time()
        with pytest.raises(TimeoutError):
            await chunks.next(within_seconds=9)

    assert loop.time() - started == pytest.approx(9)


@pytest.mark.looptime
@pytest.mark.parametrize(
    ("kind", "expected", "text"),
    [
        (Hang(), UnreachableError, "within 4 s"),
        (WatchCut(), UnreachableError, "cannot be reached"),
        (Answer(410), ExpiredError, "410"),
        (Answer(403, b"no"), StatusError, "403: no"),
        (Answer(200, b"<html>", {"Content-Type": "text/html"}), MalformedError, "not JSON"),
    ],
)
async def test_stream_that_cannot_begin_or_breaks_is_told(server, connection, kind, expected, text):
    server.faults.append(Fault(kind))

    with pytest.raises(ApiError) as caught:
        async with connection.stream(PATH, query=WATCH, deadline_seconds=4) as chunks:
            await chunks.next(within_seconds=60)

    assert type(caught.value) is expected
    assert text in str(caught.value)


@pytest.mark.looptime
async def test_stream_is_closed_when_it_is_left(connection, client):
    for _ in range(3):
        async with connection.stream(PATH, query=WATCH, deadline_seconds=4) as chunks:
            await chunks.next(within_seconds=60)
    await connection.request("GET", PATH, deadline_seconds=4)

    open_ = [each for each in client.rest_client.pool_manager._open if not each.content.finished]  # noqa: SLF001
    assert len(open_) <= 1


@pytest.mark.parametrize(
    ("given", "expected", "text"),
    [
        (StatusObject(code=410, reason="Expired", message="old"), ExpiredError, "410: Expired old"),
        (StatusObject(reason="Expired"), ExpiredError, "410: Expired"),
        (StatusObject(reason="Gone"), ExpiredError, "410: Gone"),
        (StatusObject(code=500, message="boom"), StatusError, "500: boom"),
        (StatusObject(code=500), StatusError, "500: "),
        (StatusObject(message="boom"), MalformedError, "boom"),
        (StatusObject(), MalformedError, "without code"),
    ],
)
def test_status_in_a_watch_becomes_an_error(given, expected, text):
    error = refusal_of(given)

    assert type(error) is expected
    assert text in str(error)


@pytest.mark.looptime
@pytest.mark.parametrize(
    "error",
    [
        FileNotFoundError(2, "No such file"),
        ConfigException("Token file exists but empty."),
        UnicodeDecodeError("utf-8", b"\xff", 0, 1, "invalid"),
    ],
)
async def test_token_file_may_be_unreadable_for_a_while(server, client, connection, error):
    def read_token(_: object) -> None:
        raise error

    client.configuration.refresh_api_key_hook = read_token
    follow_token(client.configuration)
    with pytest.raises(UnreachableError, match="cannot be reached"):
        await connection.request("GET", PATH, deadline_seconds=5)
    assert server.calls == []

    client.configuration.refresh_api_key_hook = None
    await connection.request("GET", PATH, deadline_seconds=5)


KUBECONFIG = """
current-context: here
contexts: [{name: here, context: {cluster: k, user: u}}, {name: there, context: {cluster: k}}]
clusters: [{name: k, cluster: {server: "http://127.0.0.1:1"}}]
users: [{name: u, user: {token: t}}]
"""


@pytest.fixture
def kubeconfig(tmp_path: Path) -> Path:
    path = tmp_path / "config"
    path.write_text(KUBECONFIG)
    return path


@pytest.mark.parametrize("context", [None, "here", "there"])
async def test_kubeconfig_leads_to_a_cluster(kubeconfig, context):
    connection = await connect(kubeconfig, context)

    with pytest.raises(UnreachableError, match=r"127\.0\.0\.1"):
        await connection.request("GET", PATH, deadline_seconds=5)
    await connection.close()


@pytest.mark.parametrize(
    ("old", "new", "why"),
    [
        (KUBECONFIG, "", "it is empty, or a field of it is "),
        (KUBECONFIG, "---\na: b\n---\na: b\n", "expected a single document"),
        (KUBECONFIG, "a: [\n", "line 2"),
        (KUBECONFIG, "[]", "it is empty, or a field of it is "),
        ("current-context: here", "current-context: nowhere", "name nowhere in"),
        ("{cluster: k, user: u}", "5", "it is empty, or a field of it is "),
        ('{server: "http://127.0.0.1:1"}', "{}", "it is empty, or a field of it is "),
        ("{token: t}", "{tokenFile: /no/such/file}", "/no/such/file"),
        (
            "{token: t}",
            "{exec: {command: /no/such/command, apiVersion: client.authentication.k8s.io/v1}}",
            "/no/such/command: No such file",
        ),
        (
            'server: "http://127.0.0.1:1"',
            'server: "https://127.0.0.1:1", certificate-authority-data: YWJj',
            "",
        ),
    ],
)
async def test_kubeconfig_that_cannot_be_used_is_told_in_one_line(kubeconfig, old, new, why):
    assert old in KUBECONFIG
    kubeconfig.write_text(KUBECONFIG.replace(old, new))

    with pytest.raises(InputError) as caught:
        await connect(kubeconfig, None)

    text = str(caught.value)
    assert text.startswith(f"cannot connect to a cluster by kubeconfig {kubeconfig}: ")
    assert "\n" not in text
    assert why in text
    assert text.endswith("; correct it, or choose another with --kubeconfig and --context")


async def test_kubeconfig_that_is_a_folder_is_told(tmp_path):
    with pytest.raises(InputError, match=f"kubeconfig {tmp_path}: {tmp_path}: Is a directory; "):
        await connect(tmp_path, None)


async def test_kubeconfig_of_the_variable_is_read(kubeconfig, monkeypatch):
    monkeypatch.setenv("KUBECONFIG", f"/no/such:{kubeconfig}")

    connection = await connect(None, None)
    await connection.close()


@pytest.mark.parametrize("port", ["443", ""])
async def test_service_account_that_is_missing_is_told(monkeypatch, port):
    monkeypatch.setenv("KUBERNETES_SERVICE_HOST", "127.0.0.1")
    monkeypatch.setenv("KUBERNETES_SERVICE_PORT", port)

    with pytest.raises(InputError, match=r"by the service account: .*[Ss]ervice"):
        await connect(None, None)


async def test_kubeconfig_that_is_asked_for_goes_before_the_service_account(
    monkeypatch, kubeconfig
):
    monkeypatch.setenv("KUBERNETES_SERVICE_HOST", "127.0.0.1")

    connection = await connect(kubeconfig, None)
    await connection.close()


class Nameless:
    """A session whose requests fail without a text."""

    async def request(self, **_: Any) -> Any:
        raise ConnectionResetError


async def test_an_error_without_a_text_is_told_by_its_name(server):
    client = server.client("us")
    session: Any = client.rest_client.pool_manager
    client.rest_client.pool_manager = Nameless()  # the part that is used

    with pytest.raises(UnreachableError, match="cannot be reached: ConnectionResetError"):
        await Connection(client).request("GET", "/api/v1/pods", deadline_seconds=1.0)

    await session.close()
