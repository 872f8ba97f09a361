"""What is no proper request or answer passes the proxy, too; recorded is what is known of it."""

import pytest

from tests.e2e.calls import Call
from tests.unit.e2e.bench import Bench, soon
from tests.unit.e2e.exchange import ASKED, ONE, failed, http_answer, http_request, untimed


@pytest.mark.parametrize(
    ("answer", "status", "error"),
    [
        pytest.param(http_answer(b"away", "503 Away"), 503, "away", id="refusal"),
        pytest.param(
            http_answer(b"{}", "100 Continue") + http_answer({"Error": "no"}), 200, "no", id="100"
        ),
        pytest.param(
            http_answer(b"[]"),
            200,
            "the answer cannot be decoded: Expected `object`, got `array`",
            id="no-answer",
        ),
    ],
)
async def test_answers_without_nodes(bench: Bench, answer: bytes, status: int, error: str) -> None:
    await bench.service(ONE, answer)
    client = await bench.connect()

    client.writer.write(ASKED)

    assert untimed(await bench.call()) == failed(error, status=status)


@pytest.mark.parametrize(
    "body",
    [
        pytest.param(b"", id="empty"),
        pytest.param(b"{", id="cut-off"),
        pytest.param(b"\xff\xfe", id="no-text"),
        pytest.param(b"[" * 100_000, id="deep"),
        pytest.param(b'{"Pod":null}', id="no-pod"),
    ],
)
async def test_a_body_that_cannot_be_read_is_recorded_with_its_answer(
    bench: Bench, body: bytes
) -> None:
    await bench.service(ONE, http_answer(b"no JSON", "400 Bad Request"))
    client = await bench.connect()

    await client.ask(http_request(body))

    expected = Call(at=0.0, seconds=0.0, backend=ONE, status=400, error="no JSON")
    assert untimed(await bench.call()) == expected


GARBAGE = [
    pytest.param(b"\x16\x03\x01\x02\x00\x01\x00\r\n\r\n", id="bytes"),
    pytest.param(b"HTTP/1.1 200\r\nContent-Length: -1\r\n\r\n", id="answer"),
    pytest.param(b"POST /filter HTTP/1.1\r\nContent-Length: x\r\n\r\n", id="request"),
    pytest.param(b"x" * 100_000, id="long"),
]


@pytest.mark.parametrize("garbage", GARBAGE)
async def test_garbage_of_a_client_passes(bench: Bench, garbage: bytes) -> None:
    service = await bench.service(ONE, hangs=True)
    client = await bench.connect()

    client.writer.write(garbage)
    client.writer.write_eof()

    assert await client.rest() == b""
    assert service.received == garbage
    assert bench.is_silent


@pytest.mark.parametrize("garbage", GARBAGE)
async def test_garbage_of_a_backend_passes_and_is_no_answer(bench: Bench, garbage: bytes) -> None:
    service = await bench.service(ONE, garbage)
    client = await bench.connect()
    client.writer.write(ASKED)
    await soon(service.heard)

    service.finish_all()

    assert await client.rest() == garbage
    assert untimed(await bench.call()) == failed("reset")


async def test_the_answer_may_come_before_the_request_is_whole(bench: Bench) -> None:
    service = await bench.service(ONE, http_answer(b"too large", "413 Too Large"))
    service.is_hasty = True
    client = await bench.connect()

    client.writer.write(ASKED[:-1])

    assert await client.answer() == service.answer
    assert (await bench.call()).status == 413
    client.writer.write(ASKED[-1:])
    await soon(service.heard)
    assert await client.ask(ASKED) == service.answer
    assert untimed(await bench.call()) == failed("too large", status=413)
    assert bench.is_silent
