"""Create, update, patch and delete, with their refusals in the order of the real server.

Follows k8s.io/apiserver `pkg/registry/generic/registry/store.go` (`Update`: uid, existence,
version, validation), `pkg/registry/rest/{create,update,delete}.go`, and the admission plugin
NamespaceLifecycle for objects in a namespace that does not exist.
"""

import random
import uuid
from collections.abc import Callable, Mapping
from typing import Any

from tests.fakes.binding import bound
from tests.fakes.resources import Object, Resource
from tests.fakes.status import (
    MODIFIED,
    StatusError,
    already_exists,
    bad_request,
    conflict,
    invalid,
    invalid_value,
    not_found,
    required,
    wrong_uid,
)
from tests.fakes.storage import Key, Storage
from tests.fakes.validation import normalise, validate


class Writer:
    """The write side of a storage; *timestamp* gives the time of creation."""

    def __init__(
        self,
        storage: Storage,
        rng: random.Random,
        *,
        namespaces: Resource,
        timestamp: Callable[[], str],
    ) -> None:
        self._storage = storage
        self._rng = rng
        self._namespaces = namespaces
        self._timestamp = timestamp

    def create(self, resource: Resource, namespace: str, body: object) -> Object:
        _check_kind(resource, body)
        obj = _received(resource, namespace, body)
        metadata = obj["metadata"]
        name = metadata.get("name", "")
        if metadata.get("resourceVersion"):
            raise StatusError(500, "", "resourceVersion should not be set on objects to be created")
        self._require_namespace(namespace)
        if not name:
            cause = required("metadata.name", "name or generateName is required")
            raise invalid(resource.kind_key, "", [cause])
        validate(resource, obj, None)
        if self._storage.get(resource, Key.of(namespace, name)) is not None:
            raise already_exists(resource, name)
        return self._add(resource, _with_status_of({}, obj) if resource.splits_status else obj)

    def update(
        self, resource: Resource, namespace: str, name: str, body: object
    ) -> tuple[Object, bool]:
        """Replace an object; tell whether it was created instead."""
        _check_kind(resource, body)
        obj = _received(resource, namespace, body)
        metadata = obj["metadata"]
        if metadata.get("name") != name:
            raise bad_request(
                f"the name of the object ({metadata.get('name', '')}) does not match "
                f"the name on the URL ({name})"
            )
        old = self._storage.get(resource, Key.of(namespace, name))
        if old is None and not resource.create_on_update:
            raise not_found(resource, name)
        found_uid = old["metadata"]["uid"] if old else ""
        if metadata.get("uid") and metadata["uid"] != found_uid:
            raise wrong_uid(resource, name, metadata["uid"], found_uid)
        if old is None:
            return self._create_on_update(resource, namespace, obj), True
        _check_version(resource, name, metadata.get("resourceVersion"), old)
        validate(resource, obj, old)
        if resource.splits_status:
            obj = _with_status_of(old, obj)
        return self._replace(resource, old, obj), False

    def patch(self, resource: Resource, namespace: str, name: str, body: object) -> Object:
        """Apply a JSON merge patch (RFC 7396)."""
        old = self._existing(resource, namespace, name)
        if not isinstance(body, dict):
            raise bad_request("the patch is not a JSON object")
        obj = _received(resource, namespace, _merged(old, body))
        if obj["metadata"].get("name") != name:
            cause = invalid_value("metadata.name", obj["metadata"].get("name"), "is immutable")
            raise invalid(resource.kind_key, name, [cause])
        if obj["metadata"].get("uid") not in (None, old["metadata"]["uid"]):
            cause = invalid_value("metadata.uid", obj["metadata"]["uid"], "field is immutable")
            raise invalid(resource.kind_key, name, [cause])
        _check_version(resource, name, obj["metadata"].get("resourceVersion"), old)
        validate(resource, obj, old)
        if resource.splits_status:
            obj = _with_status_of(old, obj)
        return self._replace(resource, old, obj)

    def update_status(self, resource: Resource, namespace: str, name: str, body: object) -> Object:
        """Replace the status alone, as apiextensions-apiserver customresource `statusStrategy`."""
        _check_kind(resource, body)
        return self._store_status(resource, name, _received(resource, namespace, body))

    def patch_status(self, resource: Resource, namespace: str, name: str, body: object) -> Object:
        """Apply a merge patch but for its spec, as pkg/registry/core/pod `podStatusStrategy`."""
        if resource.splits_status:
            old = self._existing(resource, namespace, name)
            return self._store_status(
                resource, name, _received(resource, namespace, _merged(old, body))
            )
        if isinstance(body, dict):
            body = {field: value for field, value in body.items() if field != "spec"}
        return self.patch(resource, namespace, name, body)

    def bind(self, resource: Resource, namespace: str, name: str, body: object) -> Object:
        """Put a pod on a node."""
        binding = _received(resource, namespace, body)
        old = self._existing(resource, namespace, name)
        return self._replace(resource, old, bound(resource, old, binding, self._timestamp()))

    def delete(self, resource: Resource, namespace: str, name: str, body: object) -> Object:
        """Delete at once, without grace period or finalizers; give back the last object."""
        old = self._existing(resource, namespace, name)
        options = body if isinstance(body, dict) else {}
        for field, wanted in (options.get("preconditions") or {}).items():
            found = old["metadata"].get(field)
            if wanted is not None and wanted != found:
                raise conflict(resource, name, _failed_precondition(field, wanted, found))
        return self._storage.write(resource, Key.of(namespace, name), None)

    def put(self, resource: Resource, obj: Mapping[str, Any]) -> Object:
        """Create or replace without asking for versions, as another client would in two steps."""
        metadata = obj["metadata"]
        namespace = metadata.get("namespace", "")
        fields = {"resourceVersion": None, "uid": None}
        body = {**obj, "metadata": {**metadata, **fields}}
        if namespace and self._storage.get(self._namespaces, Key.of("", namespace)) is None:
            self.put(self._namespaces, {"metadata": {"name": namespace}})
        received = _received(resource, namespace, body)
        old = self._storage.get(resource, Key.of(namespace, metadata["name"]))
        validate(resource, received, old)
        if old is None:
            return self._add(resource, received)
        return self._replace(resource, old, received)

    def _store_status(self, resource: Resource, name: str, obj: Object) -> Object:
        metadata = obj["metadata"]
        old = self._existing(resource, metadata.get("namespace", ""), name)
        found_uid = old["metadata"]["uid"]
        if metadata.get("uid", found_uid) != found_uid:
            raise wrong_uid(resource, name, metadata["uid"], found_uid)
        _check_version(resource, name, metadata.get("resourceVersion"), old)
        return self._replace(resource, old, _with_status_of(obj, old))

    def _existing(self, resource: Resource, namespace: str, name: str) -> Object:
        old = self._storage.get(resource, Key.of(namespace, name))
        if old is None:
            raise not_found(resource, name)
        return old

    def _require_namespace(self, namespace: str) -> None:
        if namespace and self._storage.get(self._namespaces, Key.of("", namespace)) is None:
            raise not_found(self._namespaces, namespace)

    def _create_on_update(self, resource: Resource, namespace: str, obj: Object) -> Object:
        self._require_namespace(namespace)
        validate(resource, obj, None)
        return self._add(resource, obj)

    def _add(self, resource: Resource, obj: Object) -> Object:
        identity = {
            "uid": str(uuid.UUID(int=self._rng.getrandbits(128), version=4)),
            "creationTimestamp": self._timestamp(),
        }
        metadata = {**obj["metadata"], **identity}
        return self._storage.write(resource, _key(obj), {**obj, "metadata": metadata})

    def _replace(self, resource: Resource, old: Object, obj: Object) -> Object:
        """Store the new content; the same content again takes no new version."""
        kept = ("uid", "creationTimestamp", "resourceVersion")
        metadata = {**obj["metadata"], **{field: old["metadata"][field] for field in kept}}
        new = {**obj, "metadata": metadata}
        if new == old:
            return old
        return self._storage.write(resource, _key(obj), new)


def _with_status_of(source: Object, obj: Object) -> Object:
    """Give *obj* the status of *source*, or none."""
    rest = {field: value for field, value in obj.items() if field != "status"}
    return {**rest, "status": source["status"]} if "status" in source else rest


def _key(obj: Object) -> Key:
    return Key.of(obj["metadata"].get("namespace", ""), obj["metadata"]["name"])


def _received(resource: Resource, namespace: str, body: object) -> Object:
    """Read a request's object; the result is without kind."""
    if not isinstance(body, dict):
        raise bad_request("the object provided is not a JSON object")
    metadata = {key: value for key, value in (body.get("metadata") or {}).items() if value}
    if metadata.get("namespace", namespace) != namespace:
        raise bad_request(
            "the namespace of the provided object does not match the namespace sent on the request"
        )
    if namespace:
        metadata["namespace"] = namespace
    rest = {key: value for key, value in body.items() if key not in ("kind", "apiVersion")}
    return normalise(resource, {**rest, "metadata": metadata})


def _check_kind(resource: Resource, body: object) -> None:
    """Refuse another kind; one may be left out, but not for custom resources."""
    kind, api_version = None, None
    if isinstance(body, dict):
        kind, api_version = body.get("kind"), body.get("apiVersion")
    if resource.custom and not kind:
        raise bad_request("Object 'Kind' is missing")
    if kind not in (None, resource.kind) or api_version not in (None, resource.api_version):
        raise bad_request(
            f"the API version and kind in the data ({api_version}, Kind={kind}) do not match "
            f"the expected ones ({resource.api_version}, Kind={resource.kind})"
        )


def _check_version(resource: Resource, name: str, version: str | None, old: Object) -> None:
    if version in (None, "", "0"):
        if resource.unconditional_update:
            return
        cause = invalid_value("metadata.resourceVersion", 0, "must be specified for an update")
        raise invalid(resource.key, name, [cause])
    if version != old["metadata"]["resourceVersion"]:
        raise conflict(resource, name, MODIFIED)


def _failed_precondition(field: str, wanted: str, found: str) -> str:
    if field == "uid":
        return (
            f"the UID in the precondition ({wanted}) does not match the UID in record ({found}). "
            "The object might have been deleted and then recreated"
        )
    return (
        f"the ResourceVersion in the precondition ({wanted}) does not match the ResourceVersion "
        f"in record ({found}). The object might have been modified"
    )


def _merged(target: object, patch: object) -> object:
    if not isinstance(patch, dict):
        return patch
    base = dict(target) if isinstance(target, dict) else {}
    for key, value in patch.items():
        if value is None:
            base.pop(key, None)
        else:
            base[key] = _merged(base.get(key), value)
    return base
