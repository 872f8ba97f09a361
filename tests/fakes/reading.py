"""Lists: the newest version of it all, in pages.

Follows https://kubernetes.io/docs/reference/using-api/api-concepts/ (retrieving large results in
chunks) and k8s.io/apiserver `pkg/storage/etcd3/store.go` (`GetList`), `pkg/storage/continue.go`.
"""

import base64
from collections.abc import Mapping
from typing import Any

import msgspec

from tests.fakes.resources import Object, Resource
from tests.fakes.selection import Selection
from tests.fakes.status import bad_request, expired
from tests.fakes.storage import Storage

_KNOWN = {"limit", "continue", "labelSelector", "fieldSelector"}


class _Token(msgspec.Struct):
    v: str
    rv: int
    start: str


def present(resource: Resource, obj: Object) -> Object:
    """Return an object as a single read or a watch shows it, with its kind."""
    return {"kind": resource.kind, "apiVersion": resource.api_version, **obj}


def list_objects(
    storage: Storage,
    resource: Resource,
    selection: Selection,
    query: Mapping[str, str],
) -> dict[str, Any]:
    """Build the list a request asks for.

    Raises:
        StatusError: 400 for a parameter that this server lacks, 410 for a page of a version that is
            compacted.
    """
    if unknown := query.keys() - _KNOWN:
        raise bad_request(f"the fake API server does not know {sorted(unknown)} of lists")
    limit = int(query.get("limit") or 0)
    version, start = storage.version, ""
    if token := query.get("continue"):
        version, start = _read_token(storage, token)
    found = [
        (key.path, obj)
        for key, obj in storage.at(resource, version).items()
        if selection.matches(obj) and key.path > start
    ]
    page = found[:limit] if limit else found
    metadata: dict[str, Any] = {"resourceVersion": str(version)}
    if len(page) < len(found):
        metadata["continue"] = _token(version, page[-1][0])
        if not selection.selective:
            metadata["remainingItemCount"] = len(found) - len(page)
    elif resource.custom:
        metadata["continue"] = ""
    return {
        "kind": f"{resource.kind}List",
        "apiVersion": resource.api_version,
        "metadata": metadata,
        "items": [present(resource, obj) if resource.custom else obj for _, obj in page],
    }


def requested_version(query: Mapping[str, str]) -> int | None:
    """Read resourceVersion; None if it is unset.

    Raises:
        StatusError: 400 if it is no number.
    """
    text = query.get("resourceVersion") or ""
    if not text:
        return None
    if not text.isdecimal():
        raise bad_request(f'resourceVersion: Invalid value: "{text}": strconv.ParseUint')
    return int(text)


def _token(version: int, last: str) -> str:
    token = _Token("meta.k8s.io/v1", version, last)
    return base64.urlsafe_b64encode(msgspec.json.encode(token)).decode().rstrip("=")


def _read_token(storage: Storage, text: str) -> tuple[int, str]:
    try:
        padded = text + "=" * (-len(text) % 4)
        token = msgspec.json.decode(base64.urlsafe_b64decode(padded), type=_Token)
    except (ValueError, msgspec.DecodeError) as error:
        raise bad_request(f"continue key is not valid: {error}") from error
    if token.rv < storage.compacted:
        raise expired("The provided continue parameter is too old to display a consistent list.")
    return token.rv, token.start
