"""The HTTP side of the in-memory API server: an ApiClient whose session opens no socket.

Everything above `aiohttp.ClientSession.request` is the library's own code, so URLs, queries,
headers and bodies are built as in production.
"""

import asyncio
import random
from collections.abc import Awaitable, Callable, Mapping
from http import HTTPStatus
from typing import Any, Protocol

import aiohttp
import msgspec
from kubernetes_asyncio.client import ApiClient, Configuration
from kubernetes_asyncio.client.rest import RESTClientObject
from multidict import CIMultiDict
from yarl import URL

from tests.fakes.resources import Object
from tests.fakes.status import StatusError

HOST = "http://fake"
JSON = {"Content-Type": "application/json"}


class Request(msgspec.Struct, frozen=True):
    """A request as it would go over the wire; the query and the path are decoded."""

    method: str
    path: str
    query: Mapping[str, str]
    headers: Mapping[str, str]
    data: bytes


class Content(Protocol):
    """The part of `aiohttp.StreamReader` that clients use."""

    @property
    def finished(self) -> bool: ...

    async def readany(self) -> bytes: ...

    def close(self) -> None: ...


class Body:
    """A body that is there already; it may arrive in two pieces, or break off half way."""

    def __init__(self, data: bytes, *, rng: random.Random, chop: float, cut: bool) -> None:
        half = len(data) // 2
        size = rng.randrange(len(data)) if data and rng.random() < chop else len(data)
        pieces = [data[:half]] if cut else [data[:size], data[size:]]
        self._pieces = [piece for piece in pieces if piece]
        self._cut = cut
        self._closed = False

    @property
    def finished(self) -> bool:
        return self._closed or not (self._pieces or self._cut)

    async def readany(self) -> bytes:
        await asyncio.sleep(0)
        if self._closed:
            raise aiohttp.ClientConnectionError("Connection closed")
        if self._pieces:
            return self._pieces.pop(0)
        if self._cut:
            raise aiohttp.ClientPayloadError("Response payload is not completed")
        return b""

    def close(self) -> None:
        self._closed = True


class Response:
    """The part of `aiohttp.ClientResponse` that clients use."""

    connection = None

    def __init__(self, status: int, headers: Mapping[str, str], content: Content) -> None:
        self.status = status
        self.reason = HTTPStatus(status).phrase
        self.headers = CIMultiDict(headers)
        self.content = content
        self._read: bytes | None = None

    async def read(self) -> bytes:
        if self._read is None:
            pieces = []
            while piece := await self.content.readany():
                pieces.append(piece)
            self._read = b"".join(pieces)
        return self._read

    def close(self) -> None:
        self.content.close()

    def release(self) -> None:
        self.content.close()


class Session:
    """The part of `aiohttp.ClientSession` that kubernetes_asyncio uses."""

    def __init__(self, answer: Callable[[Request], Awaitable[Response]]) -> None:
        self._answer = answer
        self._open: list[Response] = []
        self._closed = False

    async def request(
        self, *, method: str, url: str, headers: Mapping[str, str], data: Any = None, **_: object
    ) -> Response:
        if self._closed:
            raise RuntimeError("Session is closed")
        parsed = URL(url)
        body = data.encode() if isinstance(data, str) else data or b""
        request = Request(method, parsed.path, dict(parsed.query), CIMultiDict(headers), body)
        response = await self._answer(request)
        self._open = [each for each in self._open if not each.content.finished]
        self._open.append(response)
        return response

    async def close(self) -> None:
        """Break what is still being read, as a closed connector does."""
        self._closed = True
        for response in self._open:
            response.close()
        await asyncio.sleep(0)


class ResponseMaker:
    """Makes responses whose bodies arrive as the server's chance wants it."""

    def __init__(self, rng: random.Random, chop: float) -> None:
        self._rng = rng
        self._chop = chop

    def plain(
        self, status: int, headers: Mapping[str, str], body: bytes, *, cut: bool = False
    ) -> Response:
        return Response(status, headers, Body(body, rng=self._rng, chop=self._chop, cut=cut))

    def json(self, status: int, body: Object, *, cut: bool = False) -> Response:
        return self.plain(status, JSON, msgspec.json.encode(body), cut=cut)

    def refusal(self, error: StatusError) -> Response:
        return self.json(error.code, error.body())

    def no_such_page(self) -> Response:
        """Answer for a path that is not served, as Go's `http.NotFound` does."""
        headers = {"Content-Type": "text/plain; charset=utf-8", "X-Content-Type-Options": "nosniff"}
        return self.plain(404, headers, b"404 page not found\n")


class _RestClient(RESTClientObject):
    """The library's REST client without its TLS context and connector."""

    def __init__(self, configuration: Any, session: Any) -> None:
        self.server_hostname = configuration.tls_server_name
        self.proxy = configuration.proxy
        self.proxy_headers = configuration.proxy_headers
        self.pool_manager = session


class _Client(ApiClient):
    """The library's client around our session; the fields are those its own constructor sets."""

    def __init__(self, configuration: Configuration, session: Session) -> None:
        self.configuration = configuration
        self.pool_threads = 1
        self.rest_client = _RestClient(configuration, session)
        self.default_headers: dict[str, str] = {}
        self.cookie = None  # type: ignore[assignment]  # as the library does
        self.user_agent = "fake"
        self.client_side_validation = configuration.client_side_validation


def build_client(token: str, answer: Callable[[Request], Awaitable[Response]]) -> ApiClient:
    """Build a client that sends *token* and is answered by *answer*."""
    configuration = Configuration(host=HOST)
    configuration.api_key["BearerToken"] = f"Bearer {token}"
    return _Client(configuration, Session(answer))
