"""Bodies are UTF-8, held within a bound, and given back when they are done with."""

import asyncio
from collections.abc import AsyncIterator

import pytest
from starlette.requests import Request

from app.config import Settings
from app.serving.body import SMALL_BYTES, Bodies, UnreadableBodyError

LIMIT_BYTES = 4 * SMALL_BYTES
SETTINGS = Settings(body_limit_bytes=LIMIT_BYTES, body_timeout_seconds=300)
HALF, LARGEST, SMALL = (b"x" * size for size in (LIMIT_BYTES // 2, LIMIT_BYTES, SMALL_BYTES))


def bodies_beside(unsent_bytes: int = 0) -> Bodies:
    return Bodies(SETTINGS, lambda: unsent_bytes)


async def refused(bodies: Bodies, body: bytes) -> int:
    """Return the status that *body* is refused with."""
    with pytest.raises(UnreadableBodyError) as caught:
        await bodies.of(request(body)).__aenter__()
    return caught.value.status


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


async def test_large_bodies_are_held_up_to_the_largest_size_together() -> None:
    bodies = bodies_beside()

    async with bodies.of(request(HALF)), bodies.of(request(HALF)):
        assert await refused(bodies, SMALL + b"x") == 503


async def test_a_small_body_is_taken_beside_any_number_of_large_ones() -> None:
    bodies = bodies_beside()

    async with bodies.of(request(LARGEST)), bodies.of(request(SMALL)) as body:
        assert body == SMALL


async def test_bodies_still_arriving_count_too() -> None:
    bodies, arrived = bodies_beside(), asyncio.Barrier(3)

    async def hold() -> None:
        async with bodies.of(request(HALF, arrived=arrived)):
            pass

    async with asyncio.TaskGroup() as tasks:
        for _ in range(2):
            tasks.create_task(hold())
        await arrived.wait()
        assert await refused(bodies, HALF) == 503
        await arrived.wait()


async def test_answers_that_are_not_taken_count_too() -> None:
    assert await refused(bodies_beside(unsent_bytes=LIMIT_BYTES), HALF) == 503

    async with bodies_beside(unsent_bytes=LIMIT_BYTES).of(request(SMALL)) as body:
        assert body == SMALL


async def test_what_is_done_with_makes_room() -> None:
    bodies = bodies_beside()
    for _ in range(3):
        async with bodies.of(request(LARGEST)):
            pass
        assert await refused(bodies, LARGEST + b"x") == 413

    async with bodies.of(request(LARGEST)) as body:
        assert body == LARGEST


@pytest.mark.looptime
async def test_the_rest_of_a_body_is_not_waited_for_without_end() -> None:
    started = asyncio.get_running_loop().time()
    with pytest.raises(UnreadableBodyError, match="did not arrive within 300 s") as caught:
        await bodies_beside().of(request(SMALL, arrived=asyncio.Barrier(2))).__aenter__()

    assert caught.value.status == 408
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
    broken: bytes, after: bytes, size_bytes: int
) -> None:
    body = "漢字 😀".encode() + broken + after
    with pytest.raises(UnicodeDecodeError) as of_python:
        body.decode()

    with pytest.raises(UnreadableBodyError) as caught:
        await bodies_beside().of(in_parts(body, size_bytes)).__aenter__()

    reason, at = of_python.value.reason, of_python.value.start
    assert caught.value.status == 400
    assert str(caught.value) == f"the request is not UTF-8: {reason} (byte {at})"


@pytest.mark.parametrize("size_bytes", [1, 2, 3, 4, 1_000])
async def test_characters_may_arrive_in_parts(size_bytes: int) -> None:
    sent = '{"größe": "漢字 😀"}'.encode()

    async with bodies_beside().of(in_parts(sent, size_bytes)) as body:
        assert body == sent
