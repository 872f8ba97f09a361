"""Reads the bodies of requests: UTF-8, within a size and a time, and all within a memory limit."""

import asyncio
from codecs import utf_8_decode
from collections.abc import Awaitable, Callable
from typing import Self

from fastapi import Request
from starlette.requests import ClientDisconnect

from app.settings import Settings

Content = bytes | bytearray | memoryview
"""What has arrived of a body."""
SMALL_BYTES = 256 * 2**10
"""A body up to this size is read whatever else is in memory, so that large ones do not keep it out.
A pod and the names of 5,000 nodes are about 150 kB. The limit on connections bounds their sum."""


KEPT_BYTES = 64 * 2**20
"""The largest buffer that is kept for the next body. 5,000 whole nodes are about 60 MB."""


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

    Attributes:
        limit_bytes: Of one, and of all together.
        timeout_seconds: How long all of one may take to arrive.

    FastAPI's own limit on bodies is of no use here: if Content-Length exceeds it, FastAPI sends
    plain text in place of our answer and leaves the connection open.
    """

    def __init__(self, settings: Settings) -> None:
        self.limit_bytes = settings.body_limit_bytes
        self.timeout_seconds = settings.body_timeout_seconds
        self._held_bytes = 0
        self._kept: bytearray | None = None
        """A buffer that nobody uses. To have the kernel clear the pages of a new one takes longer
        than to decode what is in it."""

    def take_buffer(self, size_bytes: int) -> bytearray:
        """Return a buffer of at least this size."""
        kept, self._kept = self._kept, None
        return kept if kept is not None and 0 < size_bytes <= len(kept) else bytearray(size_bytes)

    def give_back(self, buffer: bytearray) -> None:
        """Keep a buffer for another body, if it is larger than the one that is kept."""
        if len(self._kept or b"") < len(buffer) <= KEPT_BYTES:
            self._kept = buffer

    def body(self, most_bytes: int | None = None) -> "Body":
        """Return a body to be read.

        Args:
            most_bytes: The largest that is taken, if it is less than the setting.
        """
        return Body(self, min(self.limit_bytes, most_bytes or self.limit_bytes))

    def count(self, more_bytes: int, body_bytes: int) -> None:
        """Count so much more for a body that has *body_bytes* then.

        Raises:
            UnreadableBodyError: That is too much beside the others.
        """
        held_bytes = self._held_bytes + more_bytes
        if body_bytes > SMALL_BYTES and held_bytes > self.limit_bytes:
            raise UnreadableBodyError(503, "too many large requests at once; try again")
        self._held_bytes = held_bytes

    def drop(self, counted_bytes: int) -> None:
        """Count no longer what a body counted as."""
        self._held_bytes -= counted_bytes


class Body:
    """The body of one request, and what was made of it. It counts until its context ends.

    Attributes:
        content: What has arrived of it.
        counted_bytes: What it counts as.
    """

    def __init__(self, bodies: Bodies, limit_bytes: int) -> None:
        self.content = memoryview(b"")
        self.counted_bytes = 0
        self._bodies = bodies
        self._limit_bytes = limit_bytes
        self._buffer = bytearray()
        self._read_bytes = 0
        self._utf8 = _Utf8Check()
        self._error: UnreadableBodyError | None = None

    def __enter__(self) -> Self:
        """Let it count."""
        return self

    def __exit__(self, *_: object) -> None:
        """Let it no longer count. Nobody may use its content any more."""
        self._bodies.drop(self.counted_bytes)
        self._bodies.give_back(self._buffer)
        self.content, self._buffer = memoryview(b""), bytearray()

    async def read(self, request: Request) -> None:
        """Read all of it.

        Raises:
            UnreadableBodyError: It is too large, too slow, too much beside the others, or not
                UTF-8.
            ClientDisconnect: The client has closed the connection.
        """
        timeout_seconds = self._bodies.timeout_seconds
        size_bytes = int(request.headers.get("content-length", 0))
        if size_bytes > self._limit_bytes:
            raise self._too_large()
        self._buffer = self._bodies.take_buffer(size_bytes)
        try:
            async with asyncio.timeout(timeout_seconds):
                await self._read(request)
        except TimeoutError:
            text = f"the body did not arrive within {timeout_seconds:g} s"
            raise UnreadableBodyError(408, text) from None
        if wrong := self._utf8.wrong():
            raise UnreadableBodyError(400, f"the request is not UTF-8: {wrong}")
        self.content = memoryview(self._buffer)[: self._read_bytes]

    async def _read(self, request: Request) -> None:
        """Take what has arrived, and have the connection add the rest as it comes."""
        rest: Callable[[Callable[[bytes], bool]], Awaitable[bool]] | None
        rest = request.scope.get("extensions", {}).get("rest_of_body")
        is_whole = False
        while not is_whole:
            message = await request.receive()
            if message["type"] == "http.disconnect":
                raise ClientDisconnect
            is_whole = not (self._add(message.get("body", b"")) and message.get("more_body"))
            if not is_whole and rest is not None:
                if not await rest(self._add):
                    raise ClientDisconnect
                is_whole = True
        if self._error is not None:
            raise self._error

    def _add(self, part: bytes) -> bool:
        """Add what has arrived; return whether more may come."""
        end = self._read_bytes + len(part)
        try:
            if end > self._limit_bytes:
                raise self._too_large()
            self.count(len(part))
        except UnreadableBodyError as error:
            self._error = error
            return False
        if end > len(self._buffer):  # only without Content-Length, which no connection lets in
            self._buffer += bytes(end - len(self._buffer))
        self._buffer[self._read_bytes : end] = part
        self._read_bytes = end
        self._utf8.add(part)
        return True

    def count(self, more_bytes: int) -> None:
        """Count so much more for it: another part, or what was made of it and is kept beside it.

        Raises:
            UnreadableBodyError: That is too much beside the others.
        """
        self._bodies.count(more_bytes, self.counted_bytes + more_bytes)
        self.counted_bytes += more_bytes

    def _too_large(self) -> UnreadableBodyError:
        is_set = self._limit_bytes == self._bodies.limit_bytes
        whose = "of EXTENDER_BODY_LIMIT_BYTES" if is_set else "that it may have"
        text = f"the body is larger than the {self._limit_bytes} B {whose}"
        return UnreadableBodyError(413, text)


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
