"""Raw objects at an API server: how the actors read, write and follow them.

Built on the library's `ApiClient`, so that the same actors run against a real server and, under
virtual time, against the one in memory. Like every controller they wait out an API server that is
away: a request is sent again until the server answers.
"""

import asyncio
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple, NoReturn

import aiohttp
import msgspec
from kubernetes_asyncio.client import ApiClient

Object = dict[str, Any]
"""An object as JSON; one that an informer keeps is never changed in place."""

_MERGE_PATCH = "application/merge-patch+json"
_ANSWER_SECONDS = 10.0
_RETRY_SECONDS = 0.2
_WATCH_SECONDS = 300


class Kind(NamedTuple):
    """Where a kind is served."""

    api_version: str
    plural: str
    kind: str
    namespaced: bool = True

    def path(self, namespace: str = "", name: str = "", subresource: str = "") -> str:
        root = (
            f"/apis/{self.api_version}" if "/" in self.api_version else f"/api/{self.api_version}"
        )
        within = f"/namespaces/{namespace}" if namespace and self.namespaced else ""
        parts = [f"{root}{within}/{self.plural}", name, subresource]
        return "/".join(part for part in parts if part)


NAMESPACES = Kind("v1", "namespaces", "Namespace", namespaced=False)
SERVICES = Kind("v1", "services", "Service")
PODS = Kind("v1", "pods", "Pod")
CONFIG_MAPS = Kind("v1", "configmaps", "ConfigMap")
CLAIMS = Kind("v1", "persistentvolumeclaims", "PersistentVolumeClaim")
PERSISTENT_VOLUMES = Kind("v1", "persistentvolumes", "PersistentVolume", namespaced=False)
KUBERNETES_NODES = Kind("v1", "nodes", "Node", namespaced=False)
STORAGE_CLASSES = Kind("storage.k8s.io/v1", "storageclasses", "StorageClass", namespaced=False)
CSI_DRIVERS = Kind("storage.k8s.io/v1", "csidrivers", "CSIDriver", namespaced=False)
CSI_STORAGE_CAPACITIES = Kind("storage.k8s.io/v1", "csistoragecapacities", "CSIStorageCapacity")
ENDPOINT_SLICES = Kind("discovery.k8s.io/v1", "endpointslices", "EndpointSlice")
LEASES = Kind("coordination.k8s.io/v1", "leases", "Lease")
PRIORITY_CLASSES = Kind(
    "scheduling.k8s.io/v1", "priorityclasses", "PriorityClass", namespaced=False
)
STATEFUL_SETS = Kind("apps/v1", "statefulsets", "StatefulSet")
LONGHORN_NODES = Kind("longhorn.io/v1beta2", "nodes", "Node")
VOLUMES = Kind("longhorn.io/v1beta2", "volumes", "Volume")
REPLICAS = Kind("longhorn.io/v1beta2", "replicas", "Replica")
SETTINGS = Kind("longhorn.io/v1beta2", "settings", "Setting")
BACKING_IMAGES = Kind("longhorn.io/v1beta2", "backingimages", "BackingImage")
ENGINE_IMAGES = Kind("longhorn.io/v1beta2", "engineimages", "EngineImage")
INSTANCE_MANAGERS = Kind("longhorn.io/v1beta2", "instancemanagers", "InstanceManager")
CSI_NODES = Kind("storage.k8s.io/v1", "csinodes", "CSINode", namespaced=False)
SHARDS = Kind("longhorn.io/v1beta2", "shards", "Shard")
UPGRADES = Kind("longhorn.io/v1beta2", "instancemanagerupgrades", "InstanceManagerUpgrade")
LONGHORN_ATTACHMENTS = Kind("longhorn.io/v1beta2", "volumeattachments", "VolumeAttachment")
DAEMON_SETS = Kind("apps/v1", "daemonsets", "DaemonSet")
BUDGETS = Kind("policy/v1", "poddisruptionbudgets", "PodDisruptionBudget")
DISK_SCHEDULES = Kind("longhorn.io/v1beta2", "diskschedules", "DiskSchedule")


class Key(NamedTuple):
    """Names an object of a kind."""

    namespace: str
    name: str


def key_of(obj: Object) -> Key:
    return Key(obj["metadata"].get("namespace", ""), obj["metadata"]["name"])


class RefusedError(Exception):
    """The API server refused a request for good: anything but 404, 429 and 5xx."""

    def __init__(self, method: str, path: str, status: int, message: str) -> None:
        super().__init__(f"{method} {path}: {status} {message}")
        self.status = status


class Api:
    """Requests of one component. Objects carry their namespace; what is missing comes as None."""

    def __init__(self, client: ApiClient) -> None:
        self._client = client

    async def close(self) -> None:
        await self._client.close()

    async def get(self, kind: Kind, name: str, namespace: str = "") -> Object | None:
        return await self._ask("GET", kind.path(namespace, name))

    async def list(self, kind: Kind, namespace: str = "", **query: str) -> list[Object]:
        """List objects; *query* holds `labelSelector` and the like."""
        return (await self.listing(kind, namespace, **query))["items"] or []

    async def listing(self, kind: Kind, namespace: str = "", **query: str) -> Object:
        """List objects, with the list's own metadata."""
        listed = await self._ask("GET", kind.path(namespace), query=query)
        assert listed is not None, f"{kind.plural} are not served"
        return listed

    async def create(self, obj: Object, kind: Kind) -> Object:
        """Create an object; one that is there already raises `RefusedError` (409)."""
        path = kind.path(obj["metadata"].get("namespace", ""))
        created = await self._ask("POST", path, body=_complete(obj, kind))
        assert created is not None, f"{path} is not served"
        return created

    async def create_in(self, kind: Kind, key: Key, subresource: str, obj: Object) -> Object | None:
        """Create what belongs to an object: its eviction, its binding."""
        return await self._ask("POST", kind.path(*key, subresource), body=obj)

    async def ensure(self, obj: Object, kind: Kind) -> None:
        """Create an object unless there is one of its name."""
        try:
            await self.create(obj, kind)
        except RefusedError as error:
            if error.status != 409:
                raise

    async def replace(self, obj: Object, kind: Kind, subresource: str = "") -> Object | None:
        """Replace an object; a version that is not the newest raises `RefusedError` (409)."""
        path = kind.path(*key_of(obj), subresource)
        return await self._ask("PUT", path, body=_complete(obj, kind))

    async def patch(
        self, kind: Kind, key: Key, changes: Mapping[str, Any], subresource: str = ""
    ) -> Object | None:
        """Merge *changes* into an object; lists are replaced, null removes a field."""
        path = kind.path(*key, subresource)
        return await self._ask("PATCH", path, body=dict(changes), content_type=_MERGE_PATCH)

    async def delete(
        self, kind: Kind, key: Key, *, at_once: bool = False, uid: str | None = None
    ) -> None:
        """Delete an object, without any grace period if *at_once*.

        With *uid* another object of the same name raises `RefusedError` (409).
        """
        options: Object = {}
        if at_once:
            options["gracePeriodSeconds"] = 0
        if uid is not None:
            options["preconditions"] = {"uid": uid}
        await self._ask("DELETE", kind.path(*key), body=options or None)

    async def watch(
        self, kind: Kind, namespace: str, version: str, on_event: Callable[[str, Object], None]
    ) -> None:
        """Hand on events until the server ends the watch or the connection breaks off."""
        query = {
            "watch": "1",
            "resourceVersion": version,
            "allowWatchBookmarks": "true",
            "timeoutSeconds": str(_WATCH_SECONDS),
        }
        async with asyncio.timeout(_ANSWER_SECONDS):
            response = await self._send("GET", kind.path(namespace), query, None, None)
        try:
            rest = b""
            while response.status == 200 and (piece := await response.content.readany()):
                *lines, rest = (rest + piece).split(b"\n")
                for line in lines:
                    event = msgspec.json.decode(line)
                    if event["type"] == "ERROR":
                        return
                    on_event(event["type"], event["object"])
        finally:
            response.close()

    async def _ask(
        self,
        method: str,
        path: str,
        *,
        query: Mapping[str, str] | None = None,
        body: object = None,
        content_type: str | None = None,
    ) -> Object | None:
        while True:
            try:
                async with asyncio.timeout(_ANSWER_SECONDS):
                    response = await self._send(method, path, query or {}, body, content_type)
                    data = await response.read()
            except (aiohttp.ClientError, OSError):  # TimeoutError is an OSError
                await asyncio.sleep(_RETRY_SECONDS)
                continue
            if response.status == 429 or response.status >= 500:
                await asyncio.sleep(_RETRY_SECONDS)
            elif response.status == 404:
                return None
            elif response.status >= 300:
                raise RefusedError(method, path, response.status, data.decode(errors="replace"))
            else:
                decoded: Object = msgspec.json.decode(data)
                return decoded

    async def _send(
        self,
        method: str,
        path: str,
        query: Mapping[str, str],
        body: object,
        content_type: str | None,
    ) -> Any:
        return await self._client.call_api(
            path,
            method,
            query_params=list(query.items()),
            header_params={"Content-Type": content_type} if content_type else {},
            body=body,
            auth_settings=["BearerToken"],
            _preload_content=False,
        )


class Informer:
    """All objects of one kind as last heard of: a cache, and as old as caches are.

    Attributes:
        objects: By key.
        handlers: Told of each change, with the object before and after it (None: not there).
    """

    def __init__(self, api: Api, kind: Kind, namespace: str = "") -> None:
        self.objects: dict[Key, Object] = {}
        self.handlers: list[Callable[[Object | None, Object | None], None]] = []
        self.synced = asyncio.Event()
        self._api = api
        self._kind = kind
        self._namespace = namespace
        self._version = ""

    def get(self, name: str, namespace: str = "") -> Object | None:
        return self.objects.get(Key(namespace, name))

    async def until(self, condition: Callable[[], bool]) -> None:
        """Wait until *condition* holds: it is looked at now, and after each change."""
        changed = asyncio.Event()

        def wake(_old: Object | None, _new: Object | None) -> None:
            changed.set()

        self.handlers.append(wake)
        try:
            while not condition():
                changed.clear()
                await changed.wait()
        finally:
            self.handlers.remove(wake)

    async def run(self) -> NoReturn:
        """Follow the objects until cancelled. Whatever ends a watch, everything is listed anew."""
        while True:
            await self._list()
            try:
                await self._api.watch(self._kind, self._namespace, self._version, self._take)
            except (aiohttp.ClientError, OSError):
                await asyncio.sleep(_RETRY_SECONDS)

    async def _list(self) -> None:
        listed = await self._api.listing(self._kind, self._namespace)
        self._version = listed["metadata"]["resourceVersion"]
        found = {key_of(obj): obj for obj in listed["items"] or ()}
        for key in [key for key in self.objects if key not in found]:
            self._put(key, None)
        for key, obj in found.items():
            self._put(key, obj)
        self.synced.set()

    def _take(self, event: str, obj: Object) -> None:
        if event != "BOOKMARK":
            self._put(key_of(obj), None if event == "DELETED" else obj)

    def _put(self, key: Key, new: Object | None) -> None:
        old = self.objects.pop(key, None)
        if new is not None:
            self.objects[key] = new
        if old is not new and (old is None or new is None or _version(old) != _version(new)):
            for handler in self.handlers:
                handler(old, new)


def _version(obj: Object) -> str:
    version: str = obj["metadata"]["resourceVersion"]
    return version


def _complete(obj: Object, kind: Kind) -> Object:
    """Say of what kind an object is, as the API server asks of who writes one."""
    return {"apiVersion": kind.api_version, "kind": kind.kind, **obj}
