"""Bodies are held within a bound, and given back when they are done with."""

import asyncio
from collections.abc import AsyncIterator

import pytest
from starlette.requests import Request

from app.body import Bodies, UnreadableBodyError
from app.config import Settings

LIMIT_BYTES = 100
SETTINGS = Settings(body_limit_bytes=LIMIT_BYTES, body_timeout_seconds=300)


def request(body: bytes, arrived: asyncio.Barrier | None = None) -> Request:
    """Send *body*; its end only after two waits at *arrived*, the first once it was taken."""
    messages: AsyncIterator[dict[str, object]]

    async def send() -> AsyncIterator[dict[str, object]]:
        yield {"type": "http.request", "body": body, "more_body": True}
        if arrived:
            await arrived.wait()
            await arrived.wait()
        yield {"type": "http.request", "body": b"", "more_body": False}

    messages = send()
    return Request({"type": "http", "headers": []}, receive=messages.__anext__)


async def test_a_body_is_what_was_sent() -> None:
    async with Bodies(SETTINGS).of(request(b"x" * LIMIT_BYTES)) as body:
        assert body == b"x" * LIMIT_BYTES


async def test_two_of_the_largest_bodies_may_be_held_but_no_more() -> None:
    bodies, largest = Bodies(SETTINGS), b"x" * LIMIT_BYTES

    async with bodies.of(request(largest)), bodies.of(request(largest)):
        with pytest.raises(UnreadableBodyError) as caught:
            await bodies.of(request(b"x")).__aenter__()

    assert caught.value.status == 503


async def test_bodies_still_arriving_count_too() -> None:
    bodies, arrived = Bodies(SETTINGS), asyncio.Barrier(3)

    async def hold() -> None:
        async with bodies.of(request(b"x" * LIMIT_BYTES, arrived)):
            pass

    async with asyncio.TaskGroup() as tasks:
        for _ in range(2):
            tasks.create_task(hold())
        await arrived.wait()
        with pytest.raises(UnreadableBodyError):
            await bodies.of(request(b"x")).__aenter__()
        await arrived.wait()


async def test_what_is_done_with_makes_room() -> None:
    bodies = Bodies(SETTINGS)
    for _ in range(3):
        async with bodies.of(request(b"x" * LIMIT_BYTES)):
            pass
        with pytest.raises(UnreadableBodyError):
            await bodies.of(request(b"x" * LIMIT_BYTES + b"x")).__aenter__()

    async with bodies.of(request(b"x" * LIMIT_BYTES)) as body:
        assert len(body) == LIMIT_BYTES
