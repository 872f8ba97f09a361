"""Requests as the code under test makes them: `ApiClient.call_api`, then bytes from the answer."""

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any

import msgspec
from kubernetes_asyncio.client import ApiClient

PATIENCE_SECONDS = 10.0
MERGE_PATCH = {"Content-Type": "application/merge-patch+json"}
CUSTOM = {"kind": "Setting", "apiVersion": "longhorn.io/v1beta2"}
"""What a custom resource must say of itself: one of Longhorn's settings."""


class Reply(msgspec.Struct, frozen=True):
    """A status and a whole body."""

    status: int
    content_type: str
    data: bytes

    @property
    def json(self) -> Any:
        return msgspec.json.decode(self.data)

    @property
    def version(self) -> str:
        version: str = self.json["metadata"]["resourceVersion"]
        return version

    @property
    def refusal(self) -> tuple[int, str]:
        """The code and the reason of a Status."""
        status = self.json
        assert (status["kind"], status["apiVersion"], status["status"]) == (
            "Status",
            "v1",
            "Failure",
        )
        assert status["code"] == self.status
        return self.status, status.get("reason", "")

    @property
    def wrong_fields(self) -> set[str]:
        """The fields that a refusal of an object names."""
        return {cause["field"] for cause in self.json["details"]["causes"]}


class Events:
    """The events of a watch, one at a time."""

    def __init__(self, response: Any) -> None:
        self.content_type: str = response.headers.get("content-type", "")
        self._response = response
        self._data = b""

    async def next(self, *, seconds: float = PATIENCE_SECONDS) -> dict[str, Any] | None:
        """Return the next event; None at the end of the stream."""
        async with asyncio.timeout(seconds):
            while b"\n" not in self._data:
                piece = await self._response.content.readany()
                if not piece:
                    assert not self._data, "the stream ended within an event"
                    return None
                self._data += piece
        line, self._data = self._data.split(b"\n", 1)
        event: dict[str, Any] = msgspec.json.decode(line)
        return event

    async def take(self, count: int) -> list[tuple[str, dict[str, Any]]]:
        """Return types and objects of the next events.

        A bookmark may come at any time, and is not one of them.
        """
        events: list[tuple[str, dict[str, Any]]] = []
        while len(events) < count and (event := await self.next()) is not None:
            if event["type"] != "BOOKMARK":
                events.append((event["type"], event["object"]))
        return events

    async def until_bookmark(self, *, seconds: float) -> tuple[set[str], dict[str, Any]]:
        """Return the names of objects seen before the next bookmark, and the bookmark's object."""
        names: set[str] = set()
        while (event := await self.next(seconds=seconds)) is not None:
            if event["type"] == "BOOKMARK":
                return names, event["object"]
            names.add(event["object"]["metadata"]["name"])
        raise AssertionError("the stream ended without a bookmark")


class Folder:
    """The objects of a kind in one namespace; the one that tests are about is named a.

    Attributes:
        path: Where they are.
    """

    def __init__(self, api_client: ApiClient, path: str, **fields: Any) -> None:
        """Take what each object that is created says of itself besides, in *fields*."""
        self.path = path
        self._api_client = api_client
        self._fields = fields

    def body(self, name: str = "a", *, version: str | None = None, **fields: Any) -> dict[str, Any]:
        return named(name, version=version, **self._fields, **fields)

    async def create(self, *names: str, **fields: Any) -> Reply:
        """Create objects of these names, or a; return the answer to the last."""
        replies = [await self.post(self.body(name, **fields)) for name in names or ("a",)]
        assert {reply.status for reply in replies} == {201}
        return replies[-1]

    async def post(self, body: object, name: str = "") -> Reply:
        path = f"{self.path}/{name}" if name else self.path
        return await ask(self._api_client, "POST", path, body=body)

    async def read(self, name: str = "a") -> Reply:
        return await ask(self._api_client, "GET", f"{self.path}/{name}")

    async def list(self, **query: str) -> Reply:
        return await ask(self._api_client, "GET", self.path, query=query)

    async def put(self, body: object, name: str = "a") -> Reply:
        return await ask(self._api_client, "PUT", f"{self.path}/{name}", body=body)

    async def patch(self, body: object, name: str = "a") -> Reply:
        return await ask(self._api_client, "PATCH", f"{self.path}/{name}", body=body)

    async def delete(self, name: str = "a", *, body: object = None) -> Reply:
        return await ask(self._api_client, "DELETE", f"{self.path}/{name}", body=body)

    async def write(self, name: str = "a", **fields: Any) -> str:
        """Create or overwrite an object; return its version."""
        reply = await self.post(self.body(name, **fields))
        if reply.status == 409:
            reply = await self.put(self.body(name, **fields), name)
        assert reply.status in (200, 201)
        return reply.version

    async def version(self) -> str:
        """Return the version of all of them."""
        return (await self.list()).version

    def watching(self, **query: str) -> AbstractAsyncContextManager[Events]:
        return watching(self._api_client, self.path, **query)


async def ask(
    api_client: ApiClient,
    method: str,
    path: str,
    *,
    query: Mapping[str, str] | None = None,
    body: object = None,
) -> Reply:
    """Send a request and read the answer, whatever its status."""
    async with asyncio.timeout(PATIENCE_SECONDS):
        response = await _call(api_client, method, path, query or {}, body)
        data = await response.read()
    return Reply(response.status, response.headers.get("content-type", ""), data)


@asynccontextmanager
async def watching(api_client: ApiClient, path: str, **query: str) -> AsyncIterator[Events]:
    """Watch, with query parameters as the API names them."""
    async with asyncio.timeout(PATIENCE_SECONDS):
        response = await _call(api_client, "GET", path, {"watch": "1", **query}, None)
    try:
        assert response.status == 200
        yield Events(response)
    finally:
        if response.connection is not None:
            # Closing says goodbye in TLS, and the loop may be gone before the answer has come.
            response.connection.transport.abort()
        response.close()


def named(name: str, *, version: str | None = None, **fields: Any) -> dict[str, Any]:
    """Build a body for a built-in kind; metadata can be given more in *fields*."""
    metadata = {"name": name, **fields.pop("metadata", {})}
    if version is not None:
        metadata["resourceVersion"] = version
    return {"metadata": metadata, **fields}


async def _call(
    api_client: ApiClient, method: str, path: str, query: Mapping[str, str], body: object
) -> Any:
    return await api_client.call_api(
        path,
        method,
        query_params=list(query.items()),
        header_params=dict(MERGE_PATCH) if method == "PATCH" else {},
        body=body,
        auth_settings=["BearerToken"],
        _preload_content=False,
    )
