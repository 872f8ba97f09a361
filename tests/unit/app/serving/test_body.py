"""Bodies are UTF-8, held within a bound, and given back when they are done with."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
from starlette.requests import Request

from app.serving.body import SMALL_BYTES, Bodies, Body, UnreadableBodyError
from app.settings import Settings

LIMIT_BYTES = 4 * SMALL_BYTES
SETTINGS = Settings(body_limit_bytes=LIMIT_BYTES, body_timeout_seconds=300)
HALF, LARGEST, SMALL = (b"x" * size for size in (LIMIT_BYTES // 2, LIMIT_BYTES, SMALL_BYTES))


@asynccontextmanager
async def held(bodies: Bodies, sent: Request) -> AsyncIterator[Body]:
    """Hold a body that was read."""
    with bodies.body() as body:
        await body.read(sent)
        yield body


async def error_of(bodies: Bodies, sent: Request) -> UnreadableBodyError:
    """Return why a body is refused."""
    with pytest.raises(UnreadableBodyError) as caught:
        async with held(bodies, sent):
            pass
    return caught.value


async def refused(bodies: Bodies, body: bytes) -> int:
    """Return the status that *body* is refused with."""
    return (await error_of(bodies, request(body))).status


def request(*parts: bytes, arrived: asyncio.Barrier | None = None) -> Request:
    """Send a body; its end only after two waits at *arrived*, the first once it was taken."""
    messages: AsyncIterator[dict[str, object]]

    async def send() -> AsyncIterator[dict[str, object]]:
        for part in parts:
            yield {"type": "http.request", "body": part, "more_body": True}
        if arrived:
            await arrived.wait()
            await arrived.wait()
        yield {"type": "http.request", "body": b"", "more_body": False}

    messages = send()
    return Request({"type": "http", "headers": []}, receive=messages.__anext__)


async def test_large_bodies_are_held_up_to_the_largest_size_together():
    bodies = Bodies(SETTINGS)

    async with held(bodies, request(HALF)), held(bodies, request(HALF)):
        assert await refused(bodies, SMALL + b"x") == 503


async def test_a_small_body_is_taken_beside_any_number_of_large_ones():
    bodies = Bodies(SETTINGS)

    async with held(bodies, request(LARGEST)), held(bodies, request(SMALL)) as body:
        assert body.content == SMALL


async def test_bodies_still_arriving_count_too():
    bodies, arrived = Bodies(SETTINGS), asyncio.Barrier(3)

    async def hold() -> None:
        async with held(bodies, request(HALF, arrived=arrived)):
            pass

    async with asyncio.TaskGroup() as tasks:
        for _ in range(2):
            tasks.create_task(hold())
        await arrived.wait()
        assert await refused(bodies, HALF) == 503
        await arrived.wait()


async def test_what_is_made_of_a_body_counts_beside_it():
    bodies = Bodies(SETTINGS)

    async with held(bodies, request(SMALL)) as small, held(bodies, request(HALF)) as body:
        body.count(LIMIT_BYTES // 4)
        with pytest.raises(UnreadableBodyError) as caught:
            small.count(1)
        assert caught.value.status == 503
        assert await refused(bodies, HALF) == 503

    assert small.counted_bytes == SMALL_BYTES
    async with held(bodies, request(LARGEST)):
        pass


async def test_a_body_may_be_allowed_less():
    with (
        Bodies(SETTINGS).body(SMALL_BYTES) as body,
        pytest.raises(UnreadableBodyError, match="B that it may have") as caught,
    ):
        await body.read(request(SMALL, b"x"))

    assert caught.value.status == 413


async def test_what_is_done_with_makes_room():
    bodies = Bodies(SETTINGS)
    for _ in range(3):
        async with held(bodies, request(LARGEST)):
            pass
        assert await refused(bodies, LARGEST + b"x") == 413

    async with held(bodies, request(LARGEST)) as body:
        assert body.content == LARGEST


@pytest.mark.looptime
async def test_the_rest_of_a_body_is_not_waited_for_without_end():
    started = asyncio.get_running_loop().time()

    error = await error_of(Bodies(SETTINGS), request(SMALL, arrived=asyncio.Barrier(2)))

    assert (error.status, str(error)) == (408, "the body did not arrive within 300 s")
    assert asyncio.get_running_loop().time() == started + 300


BROKEN = {
    "no-start": b"\xff",
    "no-beginning": b"\x80",
    "latin-1": "größe".encode("latin-1"),
    "overlong": b"\xc0\xaf",
    "surrogate": b"\xed\xa0\x80",
    "beyond-unicode": b"\xf4\x90\x80\x80",
    "cut-short": "漢".encode()[:2],
    "cut-short-twice": "漢".encode()[:2] + b"\xff",
}


def in_parts(body: bytes, size_bytes: int) -> Request:
    return request(*(body[at : at + size_bytes] for at in range(0, len(body), size_bytes)))


@pytest.mark.parametrize("size_bytes", [1, 2, 3, 4, 1_000])
@pytest.mark.parametrize("after", [b"", b"{}", "é".encode()])
@pytest.mark.parametrize("broken", BROKEN.values(), ids=BROKEN.keys())
async def test_what_is_not_utf_8_is_refused_with_its_place_however_it_arrives(
    broken, after, size_bytes
):
    body = "漢字 😀".encode() + broken + after
    with pytest.raises(UnicodeDecodeError) as of_python:
        body.decode()

    error = await error_of(Bodies(SETTINGS), in_parts(body, size_bytes))

    reason, at = of_python.value.reason, of_python.value.start
    assert error.status == 400
    assert str(error) == f"the request is not UTF-8: {reason} (byte {at})"


@pytest.mark.parametrize("size_bytes", [1, 2, 3, 4, 1_000])
async def test_characters_may_arrive_in_parts(size_bytes):
    sent = '{"größe": "漢字 😀"}'.encode()

    async with held(Bodies(SETTINGS), in_parts(sent, size_bytes)) as body:
        assert body.content == sent
