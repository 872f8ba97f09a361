"""Reading request bodies, each within a size and a time and all within a bound on memory."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from fastapi import Request

from app.config import Settings

_BODIES_AT_ONCE = 2
"""So many bodies of the largest size may be held; kube-scheduler sends one at a time."""


class UnreadableBodyError(Exception):
    """The body does not arrive within the bounds; its connection is of no more use."""

    def __init__(self, status: int, text: str) -> None:
        super().__init__(text)
        self.status = status


class Bodies:
    """The bodies held now.

    FastAPI's own limit on bodies would not do: with a Content-Length above it, it replaces any
    answer of ours by plain text and leaves the connection open.
    """

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._held_bytes = 0

    @asynccontextmanager
    async def of(self, request: Request) -> AsyncIterator[bytearray]:
        """Read the body of *request* and hold it.

        Raises:
            UnreadableBodyError: It is too large, too slow, or too much beside the others.
            ClientDisconnect: The client is gone.
        """
        body = bytearray()
        try:
            await self._fill(body, request)
            yield body
        finally:
            self._held_bytes -= len(body)

    async def _fill(self, body: bytearray, request: Request) -> None:
        settings = self._settings
        if int(request.headers.get("content-length", 0)) > settings.body_limit_bytes:
            raise self._too_large()
        try:
            async with asyncio.timeout(settings.body_timeout_seconds):
                async for chunk in request.stream():
                    if len(body) + len(chunk) > settings.body_limit_bytes:
                        raise self._too_large()
                    if self._held_bytes + len(chunk) > _BODIES_AT_ONCE * settings.body_limit_bytes:
                        raise UnreadableBodyError(503, "too many large requests at once; try again")
                    self._held_bytes += len(chunk)
                    body += chunk
        except TimeoutError:
            text = f"the body did not arrive within {settings.body_timeout_seconds:g} s"
            raise UnreadableBodyError(408, text) from None

    def _too_large(self) -> UnreadableBodyError:
        limit = self._settings.body_limit_bytes
        return UnreadableBodyError(
            413, f"the body is larger than the {limit} B of EXTENDER_BODY_LIMIT_BYTES"
        )
