"""Decodes any object: its record, or what is still known of one that cannot be read."""

from functools import cache
from typing import Any

import msgspec

from app.errors import BrokenObjectError
from app.kube.records import unreadable
from app.kube.resource import AnyRecord, Kinds, Resource
from cli.documents import Undecoded
from cli.kube.resources import IN_FILES
from cli.loader import number
from longhorn import Unreadable

_GROUP_ALIASES = {"longhorn.rancher.io": "longhorn.io"}


class _Head(msgspec.Struct, rename="camel"):
    """What says of which kind an object is."""

    api_version: str | None = None
    kind: str | None = None


_HEAD = msgspec.json.Decoder(_Head)


def read_object(document: object, kinds: Kinds = IN_FILES) -> AnyRecord | Unreadable | None:
    """Return the record of one object, None if it is of none of *kinds*.

    Raises:
        BrokenObjectError: It is not an object, or has no name to report.
        InputError: It cannot be parsed.
    """
    if isinstance(document, Undecoded):
        try:
            return _read_json(document, kinds)
        except (msgspec.DecodeError, ValueError):
            document = document.decoded()
    if not isinstance(document, dict):
        raise BrokenObjectError(f"is {type(document).__name__}, not an object")
    api_version, kind = document.get("apiVersion"), document.get("kind")
    if not isinstance(api_version, str) or not isinstance(kind, str):
        raise BrokenObjectError("has no apiVersion or no kind")
    resource = _resource(api_version, kind, kinds)
    if resource is None:
        return None
    if api_version != resource.api_version:
        why = f"apiVersion {api_version} is not supported, only {resource.api_version}"
        return unreadable(document, resource, why)
    try:
        return resource.record_of(msgspec.convert(document, resource.structure))
    except (msgspec.ValidationError, ValueError) as error:
        return unreadable(document, resource, str(error))


def _read_json(document: Undecoded, kinds: Kinds) -> AnyRecord | None:
    """Read an object whose kind and fields are as they should be, or that is not asked for.

    Raises:
        ValueError: They are not, or it has a number that only Python's reader takes.
    """
    head = _HEAD.decode(document.text)
    api_version = head.api_version or document.inherited.get("apiVersion")
    kind = head.kind or document.inherited.get("kind")
    resource = _resource(api_version, kind, kinds) if api_version and kind else None
    if resource is None and api_version and kind:
        return None
    if resource is None or api_version != resource.api_version:
        raise ValueError
    return resource.record_of(_decoder(resource).decode(document.text))


def _resource(api_version: str, kind: str, kinds: Kinds) -> Resource | None:
    group = api_version.rpartition("/")[0]
    return kinds.get((_GROUP_ALIASES.get(group, group), kind))


@cache
def _decoder(resource: Resource) -> msgspec.json.Decoder[Any]:
    return msgspec.json.Decoder(resource.structure, float_hook=number)
