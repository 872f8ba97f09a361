"""Decodes any object: its record, or what is still known of one that cannot be read."""

import msgspec

from app.errors import BrokenObjectError
from app.kube.records import unreadable
from app.kube.resource import AnyRecord, Kinds
from cli.kube.resources import IN_FILES
from longhorn import Unreadable

_GROUP_ALIASES = {"longhorn.rancher.io": "longhorn.io"}


def read_object(document: object, kinds: Kinds = IN_FILES) -> AnyRecord | Unreadable | None:
    """Return the record of one object, None if it is of none of *kinds*.

    Raises:
        BrokenObjectError: It is not an object, or has no name to report.
    """
    if not isinstance(document, dict):
        raise BrokenObjectError(f"is {type(document).__name__}, not an object")
    api_version, kind = document.get("apiVersion"), document.get("kind")
    if not isinstance(api_version, str) or not isinstance(kind, str):
        raise BrokenObjectError("has no apiVersion or no kind")
    group = api_version.rpartition("/")[0]
    resource = kinds.get((_GROUP_ALIASES.get(group, group), kind))
    if resource is None:
        return None
    if api_version != resource.api_version:
        why = f"apiVersion {api_version} is not supported, only {resource.api_version}"
        return unreadable(document, resource, why)
    try:
        return resource.record_of(msgspec.convert(document, resource.structure))
    except (msgspec.ValidationError, ValueError) as error:
        return unreadable(document, resource, str(error))
