"""The API proper: from a request's path and verb to the answer, without any network."""

import random
import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import msgspec

from tests.fakes.faults import Call
from tests.fakes.reading import list_objects, present
from tests.fakes.resources import Object, Resource
from tests.fakes.selection import select, selected_name
from tests.fakes.status import StatusError, forbidden, method_not_allowed, not_found
from tests.fakes.storage import Key, Storage
from tests.fakes.transport import Request
from tests.fakes.watching import Conditions, WatchStream, is_true, plan_watch
from tests.fakes.writing import Writer

NAMESPACES = "namespaces"
MERGE_PATCH = "application/merge-patch+json"
PATH = re.compile(
    r"/(?:api|apis/(?P<group>[^/]+))/(?P<version>[^/]+)"
    r"(?:/namespaces/(?P<namespace>[^/]+)(?=/.))?"
    r"/(?P<plural>[^/]+)(?:/(?P<name>[^/]+)(?:/(?P<subresource>status|binding))?)?"
)
VERSION_PATH = re.compile(r"/(?:api|apis/(?P<group>[^/]+))/(?P<version>[^/]+)")
_STATUS = {"kind": "Status", "apiVersion": "v1", "metadata": {}}
WRITES = {"POST": "create", "PUT": "update", "PATCH": "patch", "DELETE": "delete"}


class Target(msgspec.Struct, frozen=True, kw_only=True):
    """What a path points at, whether or not it is served.

    Without *plural* it is the version itself: discovery of its kinds, or of Kubernetes'.
    """

    group: str
    version: str
    plural: str
    namespace: str
    name: str
    subresource: str

    @property
    def resource(self) -> str:
        """Name it as RBAC does."""
        return f"{self.plural}/{self.subresource}" if self.subresource else self.plural


OF_KUBERNETES = Target(group="", version="", plural="", namespace="", name="", subresource="")
"""The path /version."""
KUBERNETES_VERSION = "v1.36.2"


class Answered(msgspec.Struct, frozen=True):
    """A status and what to send with it."""

    status: int
    body: Object


class Api:
    """The resources that are served, and what is stored of them."""

    def __init__(
        self, resources: Iterable[Resource], rng: random.Random, timestamp: Callable[[], str]
    ) -> None:
        self.resources = {resource.key: resource for resource in resources}
        self.storage = Storage()
        self.writer = Writer(
            self.storage, rng, namespaces=self.resources[NAMESPACES], timestamp=timestamp
        )
        self.streaming_lists = True
        self._rng = rng

    def find(self, target: Target) -> Resource | None:
        """Return the resource a path points at, or None where the real server says 404."""
        key = f"{target.plural}.{target.group}" if target.group else target.plural
        resource = self.resources.get(key)
        if resource is None or resource.version != target.version:
            return None
        if target.namespace and not resource.namespaced:
            return None
        if target.subresource and not resource.has(target.subresource):
            return None
        return None if resource.namespaced and target.name and not target.namespace else resource

    def discover(self, target: Target) -> Object | None:
        """List the kinds of a version; None if it has none, as the real server says 404 then."""
        if target == OF_KUBERNETES:
            return {"gitVersion": KUBERNETES_VERSION}
        kinds = [
            {"name": each.plural, "namespaced": each.namespaced, "kind": each.kind}
            for each in self.resources.values()
            if (each.group, each.version) == (target.group, target.version)
        ]
        version = f"{target.group}/{target.version}".removeprefix("/")
        listed = {"kind": "APIResourceList", "groupVersion": version, "resources": kinds}
        return listed if kinds else None

    def answer(self, call: Call, resource: Resource) -> Answered:
        """Carry out anything but a watch.

        Raises:
            StatusError: The request is refused.
        """
        match call.verb:
            case "list":
                selection = select(resource, call.namespace, call.query)
                return Answered(200, list_objects(self.storage, resource, selection, call.query))
            case "get":
                return Answered(200, self._get(call, resource))
            case _:
                return self._write(call, resource)

    def watch(self, call: Call, resource: Resource, conditions: Conditions) -> WatchStream:
        """Begin a watch.

        Raises:
            StatusError: The request is refused before the stream begins.
        """
        selection = select(resource, call.namespace, call.query)
        plan = plan_watch(
            self.storage,
            resource,
            selection,
            call.query,
            streaming_lists=self.streaming_lists,
            rng=self._rng,
        )
        return WatchStream(self.storage, resource, selection, call.query, plan, conditions)

    def _get(self, call: Call, resource: Resource) -> Object:
        if call.resource == f"{resource.plural}/binding":
            raise method_not_allowed()
        obj = self.storage.get(resource, Key.of(call.namespace, call.name))
        if obj is None:
            raise not_found(resource, call.name)
        return present(resource, obj)

    def _write(self, call: Call, resource: Resource) -> Answered:
        if call.resource == f"{resource.plural}/binding":
            return self._bind(call, resource)
        in_place = bool(call.namespace) == resource.namespaced
        if not in_place or bool(call.name) == (call.verb == "create"):
            raise method_not_allowed()
        place = (resource, call.namespace)
        if call.resource != resource.plural:
            return Answered(200, present(resource, self._write_status(call, resource)))
        match call.verb:
            case "create":
                return Answered(201, present(resource, self.writer.create(*place, call.body)))
            case "update":
                stored, created = self.writer.update(*place, call.name, call.body)
                return Answered(201 if created else 200, present(resource, stored))
            case "patch":
                _require_merge_patch(call)
                stored = self.writer.patch(*place, call.name, call.body)
                return Answered(200, present(resource, stored))
            case _:
                deleted = self.writer.delete(*place, call.name, call.body)
                return Answered(200, _success(resource, deleted))

    def _bind(self, call: Call, resource: Resource) -> Answered:
        if call.verb != "create":
            raise method_not_allowed()
        self.writer.bind(resource, call.namespace, call.name, call.body)
        return Answered(201, {**_STATUS, "status": "Success", "code": 201})

    def _write_status(self, call: Call, resource: Resource) -> Object:
        place = (resource, call.namespace, call.name)
        if call.verb == "update" and resource.splits_status:
            return self.writer.update_status(*place, call.body)
        if call.verb != "patch":
            raise method_not_allowed()
        _require_merge_patch(call)
        return self.writer.patch_status(*place, call.body)


def parse_path(path: str) -> Target | None:
    """Read a resource path, or /version; None for anything else."""
    if path == "/version":
        return OF_KUBERNETES
    found = PATH.fullmatch(path) or VERSION_PATH.fullmatch(path)
    if found is None:
        return None
    fields = dict.fromkeys(Target.__struct_fields__, "")
    return Target(**fields | {field: text or "" for field, text in found.groupdict().items()})


def describe(request: Request, target: Target, client: str, now: float) -> Call:
    """Put a request in the words of RBAC."""
    name = target.name
    verb = WRITES.get(request.method, "get")
    if request.method == "GET" and target.plural and not name:
        verb = "watch" if is_true(request.query.get("watch")) else "list"
        name = _selected_name(request.query)
    return Call(
        verb=verb,
        group=target.group,
        resource=target.resource,
        namespace=target.namespace,
        name=name,
        client=client,
        at=now,
        query=request.query,
        headers=request.headers,
        body=decode_body(request.data),
    )


def decode_body(data: bytes) -> Any:
    """Read JSON; what is none is left to be refused as no object."""
    try:
        return msgspec.json.decode(data) if data else None
    except msgspec.DecodeError:
        return None


def refusal(call: Call, target: Target, resource: Resource | None) -> StatusError:
    """Build the refusal of what no role allows."""
    group, version, plural = target.group, target.version, target.plural
    subject = resource or Resource(group, version, plural, kind="")
    return forbidden(subject, call.name, call.verb, call.client, call.namespace)


def _selected_name(query: Mapping[str, str]) -> str:
    try:
        return selected_name(query)
    except StatusError:  # answered later, when the selector is read for what it selects
        return ""


def _require_merge_patch(call: Call) -> None:
    if call.headers.get("Content-Type") != MERGE_PATCH:
        message = f"the body of the request was in an unknown format - accepted: {MERGE_PATCH}"
        raise StatusError(415, "UnsupportedMediaType", message)


def _success(resource: Resource, deleted: Object) -> Object:
    metadata = deleted["metadata"]
    details = {"name": metadata["name"], "group": resource.group, "kind": resource.plural}
    return {
        **_STATUS,
        "status": "Success",
        "details": {**{k: v for k, v in details.items() if v}, "uid": metadata["uid"]},
    }
