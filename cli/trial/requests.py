"""What a trial reads and changes at the API server."""

import asyncio
from collections.abc import Mapping
from typing import Any, NamedTuple

import msgspec

from app.kube.connection import Connection
from app.kube.errors import StatusError, UnreachableError
from app.kube.paths import path_of
from cli.trial.manifests import Object, eviction

_REQUEST_SECONDS = 20.0
_PAUSE_SECONDS = 2.0
_ATTEMPTS = 30
"""So often is a request sent until the API server answers."""
_NOT_FOUND, _CONFLICT, _BUSY, _BROKEN = 404, 409, 429, 500


class Kind(NamedTuple):
    """Where objects of a kind are."""

    api_version: str
    plural: str
    kind: str
    is_namespaced: bool = True

    @property
    def group(self) -> str:
        """Empty for the core's."""
        return self.api_version.rpartition("/")[0]

    @property
    def root(self) -> str:
        """The path of its version."""
        return f"/{'apis' if self.group else 'api'}/{self.api_version}"


NAMESPACES = Kind("v1", "namespaces", "Namespace", is_namespaced=False)
NODES = Kind("v1", "nodes", "Node", is_namespaced=False)
PODS = Kind("v1", "pods", "Pod")
CLAIMS = Kind("v1", "persistentvolumeclaims", "PersistentVolumeClaim")
VOLUMES = Kind("v1", "persistentvolumes", "PersistentVolume", is_namespaced=False)
STATEFUL_SETS = Kind("apps/v1", "statefulsets", "StatefulSet")
DEPLOYMENTS = Kind("apps/v1", "deployments", "Deployment")
CLASSES = Kind("storage.k8s.io/v1", "storageclasses", "StorageClass", is_namespaced=False)
REPLICAS = Kind("longhorn.io/v1beta2", "replicas", "Replica")
SETTINGS = Kind("longhorn.io/v1beta2", "settings", "Setting")
REVIEWS = Kind(
    "authorization.k8s.io/v1",
    "selfsubjectaccessreviews",
    "SelfSubjectAccessReview",
    is_namespaced=False,
)


class Requests:
    """Requests of a trial. What is not there comes as None; a server that is away is waited for."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    async def read(self, kind: Kind, name: str, namespace: str = "") -> Object | None:
        """Return an object."""
        return await self._send("GET", _path(kind, namespace, name))

    async def items(self, kind: Kind, namespace: str = "", selector: str = "") -> list[Object]:
        """Return objects, those with labels that *selector* asks for."""
        query = {"labelSelector": selector} if selector else {}
        listed = await self._send("GET", _path(kind, namespace), query=query)
        return (listed or {}).get("items") or []

    async def create(self, kind: Kind, obj: Object) -> Object:
        """Create an object. One that is there after a request without an answer is taken for it.

        Raises:
            StatusError: It is refused, or there was one before.
        """
        body = {"apiVersion": kind.api_version, "kind": kind.kind, **obj}
        path = _path(kind, obj.get("metadata", {}).get("namespace", ""))
        created = await self._send("POST", path, body=body)
        if created is None:
            raise StatusError(_NOT_FOUND, f"{kind.plural} are not served, or have no namespace")
        return created

    async def change(self, kind: Kind, name: str, changes: Object, namespace: str = "") -> None:
        """Merge *changes* into an object."""
        await self._send("PATCH", _path(kind, namespace, name), body=changes)

    async def delete(self, kind: Kind, name: str, namespace: str = "") -> None:
        """Delete an object, and what it owns after it."""
        body = {"propagationPolicy": "Background"}
        await self._send("DELETE", _path(kind, namespace, name), body=body)

    async def evict(self, pod: str, namespace: str) -> None:
        """Ask for a pod to go, as `kubectl drain` does."""
        path = path_of(PODS.root, PODS.plural, namespace=namespace, name=pod, part="eviction")
        await self._send("POST", path, body=eviction(pod, namespace))

    async def text(self, path: str) -> str:
        """Return what is served at a path, read once."""
        content = await self._connection.request(
            "GET", path, accept="*/*", deadline_seconds=_REQUEST_SECONDS
        )
        return content.decode(errors="replace")

    async def _send(
        self,
        method: str,
        path: str,
        *,
        query: Mapping[str, str] | None = None,
        body: Object | None = None,
    ) -> Object | None:
        for attempt in range(_ATTEMPTS):
            try:
                content = await self._connection.request(
                    method,
                    path,
                    query=[*(query or {}).items()],
                    body=body,
                    deadline_seconds=_REQUEST_SECONDS,
                )
            except StatusError as error:
                if error.status == _NOT_FOUND:
                    return None
                if method == "POST" and attempt and error.status == _CONFLICT:
                    return {}  # the request that got no answer has done it
                if attempt + 1 == _ATTEMPTS or not _may_pass(error.status):
                    raise
            except UnreachableError:
                if attempt + 1 == _ATTEMPTS:
                    raise
            else:
                found: Any = msgspec.json.decode(content)
                return found if isinstance(found, dict) else {}
            await asyncio.sleep(_PAUSE_SECONDS)
        raise AssertionError("the last attempt returns or raises")


def _may_pass(status: int) -> bool:
    return status == _BUSY or status >= _BROKEN


def _path(kind: Kind, namespace: str = "", name: str | None = None) -> str:
    return path_of(
        kind.root, kind.plural, namespace=namespace if kind.is_namespaced else "", name=name
    )
