"""Reads the bodies of requests: UTF-8, within a size and a time, and all within a memory limit."""

import asyncio
from codecs import utf_8_decode
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

from fastapi import Request

from app.config import Settings

SMALL_BYTES = 256 * 2**10
"""A body up to this size is read whatever else is in memory, so that large ones do not keep it out.
A pod and the names of 5,000 nodes are about 150 kB. The limit on connections bounds their sum."""


class UnreadableBodyError(Exception):
    """The body is not UTF-8 (status 400), or it exceeds a limit (any other status).

    A limit may be exceeded before all of the body has arrived: the connection cannot be used again.
    """

    def __init__(self, status: int, text: str) -> None:
        super().__init__(text)
        self.status = status


class Bodies:
    """The bodies in memory. Except for small ones, their sum is at most the largest allowed size.

    Args:
        settings: The limits.
        unsent_bytes: Returns the size of the answers that clients do not read. They consist of
            parts of bodies, and count as bodies.

    FastAPI's own limit on bodies is of no use here: if Content-Length exceeds it, FastAPI sends
    plain text in place of our answer and leaves the connection open.
    """

    def __init__(self, settings: Settings, unsent_bytes: Callable[[], int]) -> None:
        self._settings = settings
        self._unsent_bytes = unsent_bytes
        self._held_bytes = 0

    @asynccontextmanager
    async def of(self, request: Request) -> AsyncIterator[bytearray]:
        """Read the body of *request*; count it until the context ends.

        Raises:
            UnreadableBodyError: It is too large, too slow, too much beside the others, or not
                UTF-8.
            ClientDisconnect: The client has closed the connection.
        """
        body = bytearray()
        try:
            await self._fill(body, request)
            yield body
        finally:
            self._held_bytes -= len(body)

    async def _fill(self, body: bytearray, request: Request) -> None:
        settings, check = self._settings, _Utf8Check()
        if int(request.headers.get("content-length", 0)) > settings.body_limit_bytes:
            raise self._too_large()
        try:
            async with asyncio.timeout(settings.body_timeout_seconds):
                async for chunk in request.stream():
                    if len(body) + len(chunk) > settings.body_limit_bytes:
                        raise self._too_large()
                    if self._is_too_much(len(body) + len(chunk), len(chunk)):
                        raise UnreadableBodyError(503, "too many large requests at once; try again")
                    self._held_bytes += len(chunk)
                    body += chunk
                    check.add(chunk)
        except TimeoutError:
            text = f"the body did not arrive within {settings.body_timeout_seconds:g} s"
            raise UnreadableBodyError(408, text) from None
        if wrong := check.wrong():
            raise UnreadableBodyError(400, f"the request is not UTF-8: {wrong}")

    def _is_too_much(self, body_bytes: int, chunk_bytes: int) -> bool:
        """Whether the next chunk exceeds the memory limit; with it the body has *body_bytes*."""
        if body_bytes <= SMALL_BYTES:
            return False
        held_bytes = self._held_bytes + self._unsent_bytes() + chunk_bytes
        return held_bytes > self._settings.body_limit_bytes

    def _too_large(self) -> UnreadableBodyError:
        limit = self._settings.body_limit_bytes
        return UnreadableBodyError(
            413, f"the body is larger than the {limit} B of EXTENDER_BODY_LIMIT_BYTES"
        )


class _Utf8Check:
    """Finds the first byte that is not UTF-8.

    It checks each part of a body when it arrives, while the part is in the CPU's cache. A check of
    the whole body afterwards takes ten times as long.
    """

    def __init__(self) -> None:
        self._checked_bytes = 0
        self._begun = b""
        """The beginning of a character, the rest of which is in the next part."""
        self._wrong = ""

    def add(self, part: bytes) -> None:
        """Check the next part."""
        if self._begun or not part.isascii():
            self._check(self._begun + part, is_last=False)
        else:
            self._checked_bytes += len(part)

    def wrong(self) -> str:
        """Return what is wrong with all that was added, and where; "" if nothing is."""
        self._check(self._begun, is_last=True)
        return self._wrong

    def _check(self, part: bytes, *, is_last: bool) -> None:
        if self._wrong:
            return
        try:
            _, length = utf_8_decode(part, "strict", is_last)
        except UnicodeDecodeError as error:
            self._wrong = f"{error.reason} (byte {self._checked_bytes + error.start})"
            return
        self._checked_bytes += length
        self._begun = part[length:]
