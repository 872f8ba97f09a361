"""The objects that leadership rests on, read and written over a connection."""

from collections.abc import Mapping
from typing import Any

import msgspec

from app.kube.connection import Connection
from app.kube.errors import ApiError, StatusError
from app.kube.paths import path_of
from leader import Absent, Body, Collection, Conflict, Failed, Listed, Stored

_PREFIXES = {
    Collection.LEASES: "/apis/coordination.k8s.io/v1",
    Collection.ENDPOINT_SLICES: "/apis/discovery.k8s.io/v1",
    Collection.SERVICES: "/api/v1",
    Collection.PODS: "/api/v1",
}

_JSON_ERRORS = (msgspec.MsgspecError, UnicodeDecodeError, RecursionError)


class NamespaceStore:
    """The objects of one namespace; an `ObjectStore` of `leader`."""

    def __init__(self, connection: Connection, namespace: str) -> None:
        self._connection = connection
        self._namespace = namespace

    async def read(
        self, collection: Collection, name: str, *, deadline_seconds: float
    ) -> Stored | Absent | Failed:
        """Return one object."""
        answer = await self._send("GET", collection, name, None, deadline_seconds)
        return Failed(why="conflict") if isinstance(answer, Conflict) else answer

    async def select(
        self, collection: Collection, labels: Mapping[str, str], *, deadline_seconds: float
    ) -> Listed | Failed:
        """Return the objects that have these labels."""
        selector = ",".join(f"{name}={value}" for name, value in labels.items())
        try:
            content = await self._connection.request(
                "GET",
                self._path(collection),
                query=[("labelSelector", selector)],
                deadline_seconds=deadline_seconds,
            )
            items = msgspec.json.decode(content, type=_List).items or ()
            return Listed(bodies=[_checked(item) for item in items])
        except (ApiError, *_JSON_ERRORS) as error:
            return Failed(why=f"{collection} cannot be listed: {error}")

    async def create(
        self, collection: Collection, body: Body, *, deadline_seconds: float
    ) -> Stored | Conflict | Failed:
        """Create an object."""
        answer = await self._send("POST", collection, None, body, deadline_seconds)
        return Failed(why="the namespace is gone") if isinstance(answer, Absent) else answer

    async def replace(
        self, collection: Collection, body: Body, *, deadline_seconds: float
    ) -> Stored | Absent | Conflict | Failed:
        """Replace an object, if it still has the resourceVersion that *body* has."""
        name = body["metadata"]["name"]
        return await self._send("PUT", collection, name, body, deadline_seconds)

    async def delete(
        self, collection: Collection, body: Body, *, deadline_seconds: float
    ) -> Stored | Absent | Conflict | Failed:
        """Delete an object, if it still has the resourceVersion that *body* has."""
        metadata = body["metadata"]
        options = {"preconditions": {"resourceVersion": metadata["resourceVersion"]}}
        name = metadata["name"]
        try:
            await self._connection.request(
                "DELETE",
                self._path(collection, name),
                body=options,
                deadline_seconds=deadline_seconds,
            )
        except ApiError as error:
            return _outcome(error, f"DELETE {collection} {name}")
        return Stored(body=body)

    def _path(self, collection: Collection, name: str | None = None) -> str:
        return path_of(_PREFIXES[collection], collection, namespace=self._namespace, name=name)

    async def _send(
        self,
        method: str,
        collection: Collection,
        name: str | None,
        body: Body | None,
        deadline_seconds: float,
    ) -> Stored | Absent | Conflict | Failed:
        request = f"{method} {collection} {name or ''}".rstrip()
        try:
            path = self._path(collection, name)
            content = await self._connection.request(
                method, path, body=body, deadline_seconds=deadline_seconds
            )
            return Stored(body=_checked(msgspec.json.decode(content, type=dict[str, Any])))
        except ApiError as error:
            return _outcome(error, request)
        except _JSON_ERRORS as error:
            return Failed(why=f"{request}: {error}")


def _outcome(error: ApiError, request: str) -> Absent | Conflict | Failed:
    match error:
        case StatusError(status=404):
            return Absent()
        case StatusError(status=409):
            return Conflict()
    return Failed(why=f"{request}: {error}")


class _Metadata(msgspec.Struct, frozen=True, kw_only=True):
    name: str
    resource_version: str = msgspec.field(name="resourceVersion")


class _Object(msgspec.Struct, frozen=True, kw_only=True):
    metadata: _Metadata


class _List(msgspec.Struct, frozen=True, kw_only=True):
    items: list[dict[str, Any]] | None = None


def _checked(body: dict[str, Any]) -> dict[str, Any]:
    """Return *body* if it is an object we can write back; else raise ValidationError."""
    msgspec.convert(body, _Object)
    return body
