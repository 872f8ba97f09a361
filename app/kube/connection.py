"""Requests to the API server: each has a deadline and raises only our own errors.

The generated API classes of kubernetes_asyncio are not used: their models cost more than all the
rest of a listing. Its `ApiClient` does the connection, TLS and credentials.
"""

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

import aiohttp
import msgspec

from app.kube.errors import ApiError, ExpiredError, MalformedError, StatusError, UnreachableError

if TYPE_CHECKING:
    from kubernetes_asyncio.client import ApiClient

Query = Sequence[tuple[str, str]]

JSON = "application/json"
_HEADERS = {
    # Compressing costs more than it saves in a cluster's network.
    "Accept-Encoding": "identity",
}
_PATCH_HEADERS = {**_HEADERS, "Content-Type": "application/merge-patch+json"}
_TEXT_LENGTH = 300
_NETWORK_ERRORS = (aiohttp.ClientError, OSError, TimeoutError, ValueError)
"""Also for a token file that cannot be read, or whose content cannot be sent."""


class Status(msgspec.Struct, frozen=True, kw_only=True):
    """The Status object that comes with a refusal."""

    message: str | None = None
    reason: str | None = None
    code: int | None = None


class Connection:
    """One API server.

    Attributes:
        namespace: Of what a user names without one.
    """

    def __init__(self, api_client: "ApiClient", namespace: str = "default") -> None:
        self.namespace = namespace
        self._client = api_client

    async def request(
        self,
        method: str,
        path: str,
        *,
        query: Query = (),
        body: Mapping[str, Any] | None = None,
        accept: str = JSON,
        deadline_seconds: float,
    ) -> bytes:
        """Return the body of the answer.

        Raises:
            StatusError: The server refused.
            UnreachableError: There was no answer, or not in time. It may have been carried out.
        """
        try:
            async with asyncio.timeout(deadline_seconds):
                response = await self._send(method, path, query, body, accept)
                content: bytes = await response.read()
        except _NETWORK_ERRORS as error:
            raise _unreachable(error, deadline_seconds) from error
        if not 200 <= response.status < 300:
            raise _refusal(response.status, response.headers, content)
        return content

    @asynccontextmanager
    async def stream(
        self, path: str, *, query: Query, accept: str = JSON, deadline_seconds: float
    ) -> AsyncIterator["Chunks"]:
        """Open an answer that does not end by itself.

        Raises:
            StatusError: The server refused.
            MalformedError: It was not the API server that answered.
            UnreachableError: It did not begin to answer in time.
        """
        try:
            async with asyncio.timeout(deadline_seconds):
                response = await self._send("GET", path, query, None, accept)
                ok = response.status == 200
                content = b"" if ok else await response.read()
        except _NETWORK_ERRORS as error:
            raise _unreachable(error, deadline_seconds) from error
        try:
            if not ok:
                raise _refusal(response.status, response.headers, content)
            if not response.headers.get("Content-Type", "").startswith(JSON):
                raise MalformedError("the answer is not JSON; a proxy may have sent it")
            yield Chunks(response)
        finally:
            response.close()  # and with it the connection: more would come

    async def close(self) -> None:
        """Close all connections."""
        await self._client.close()

    async def _send(
        self, method: str, path: str, query: Query, body: Mapping[str, Any] | None, accept: str
    ) -> Any:
        headers = _PATCH_HEADERS if method == "PATCH" else _HEADERS
        return await self._client.call_api(
            path,
            method,
            query_params=list(query),
            header_params={"Accept": accept, **headers},
            body=body,
            auth_settings=["BearerToken"],
            _preload_content=False,
        )


class Chunks:
    """The bytes of an answer as they arrive."""

    def __init__(self, response: Any) -> None:
        self._content = response.content

    async def next(self, *, within_seconds: float) -> bytes:
        """Return what has arrived, nothing at the end.

        Raises:
            TimeoutError: Nothing came in time.
            UnreachableError: The connection broke off.
        """
        try:
            async with asyncio.timeout(within_seconds):
                chunk: bytes = await self._content.readany()
                return chunk
        except TimeoutError:
            raise
        except _NETWORK_ERRORS as error:
            raise _unreachable(error, within_seconds) from error


def decode_status(content: bytes) -> Status | None:
    """Read a Status, None if it is something else."""
    try:
        return msgspec.json.decode(content, type=Status)
    except (msgspec.MsgspecError, RecursionError, UnicodeDecodeError):
        return None


def refusal_of(status: Status) -> ApiError:
    """Return the error for a Status that came as an event of a watch."""
    text = f"{status.reason or ''} {status.message or ''}".strip()[:_TEXT_LENGTH]
    if status.code == 410 or status.reason in ("Expired", "Gone"):
        return ExpiredError(410, text)
    if status.code is None:
        return MalformedError(f"an error event without code: {text}")
    return StatusError(status.code, text)


def _refusal(code: int, headers: Mapping[str, str], content: bytes) -> ApiError:
    status = decode_status(content)
    message = status.message if status else None
    text = (message or content.decode(errors="replace"))[:_TEXT_LENGTH].strip() or "no reason given"
    if code == 410:
        return ExpiredError(code, text)
    return StatusError(code, text, _retry_after_seconds(headers))


def _retry_after_seconds(headers: Mapping[str, str]) -> float:
    """Read Retry-After in seconds, as the API server sends it; dates are ignored."""
    text = headers.get("Retry-After", "")
    return float(text) if text.isascii() and text.isdigit() and len(text) < 6 else 0.0


def _unreachable(error: Exception, deadline_seconds: float) -> UnreachableError:
    if isinstance(error, TimeoutError):
        return UnreachableError(f"the API server did not answer within {deadline_seconds:g} s")
    why = str(error) or type(error).__name__
    return UnreachableError(f"the API server cannot be reached: {why}")
