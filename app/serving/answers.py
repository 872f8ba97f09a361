"""Answers that are parts of the request's body, and sent without a copy of them all."""

from collections.abc import Iterator, Sequence
from contextlib import ExitStack

from fastapi import Response
from msgspec import Raw
from starlette.types import Receive, Scope, Send

from app.process.health import JSON

PIECE_BYTES = 512 * 2**10
"""At most so much is sent at once."""


class Holding(Response):
    """An answer, and what it needs until it is sent."""

    def __init__(self, answer: Response, held: ExitStack) -> None:
        self._answer = answer
        self._held = held

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send the answer."""
        with self._held:
            await self._answer(scope, receive, send)


class InPieces(Response):
    """An answer of many parts, of which the next are put together when the client has taken others.

    As one it would take as much memory again as the body that the parts are of.
    """

    def __init__(self, parts: Sequence[bytes | Raw | memoryview], status: int) -> None:
        self._sizes = [memoryview(part).nbytes for part in parts]
        headers = {"Content-Length": str(sum(self._sizes))}
        super().__init__(None, status, headers, media_type=JSON)
        self._parts = parts

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:  # noqa: ARG002
        """Send the pieces; each *send* waits until the client has taken most of those before."""
        head = {"type": "http.response.start", "status": self.status_code}
        await send({**head, "headers": self.raw_headers})
        for piece in pieces(self._parts, self._sizes):
            await send({"type": "http.response.body", "body": piece, "more_body": True})
        await send({"type": "http.response.body", "body": b"", "more_body": False})


def response_of(answer: bytes | Sequence[bytes | Raw | memoryview], status: int = 200) -> Response:
    """Return an answer in JSON, which may have many parts."""
    parts = [answer] if isinstance(answer, bytes) else answer
    if len(parts) > 1 and sum(memoryview(part).nbytes for part in parts) > PIECE_BYTES:
        return InPieces(parts, status)
    return Response(b"".join(parts), status, media_type=JSON)


def pieces(parts: Sequence[bytes | Raw | memoryview], sizes: Sequence[int]) -> Iterator[bytes]:
    """Put together what is to be sent at once.

    Args:
        parts: The answer.
        sizes: Of each part, in bytes.
    """
    gathered: list[bytes | Raw | memoryview] = []
    size_bytes = 0
    for part, part_bytes in zip(parts, sizes, strict=True):
        if size_bytes + part_bytes > PIECE_BYTES:
            if gathered:
                yield b"".join(gathered)
            gathered, size_bytes = [], 0
            if part_bytes > PIECE_BYTES:
                whole = memoryview(part)
                for start in range(0, part_bytes, PIECE_BYTES):
                    yield bytes(whole[start : start + PIECE_BYTES])
                continue
        gathered.append(part)
        size_bytes += part_bytes
    if gathered:
        yield b"".join(gathered)
