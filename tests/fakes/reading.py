"""Lists: which version they show, pages, continue tokens.

Follows https://kubernetes.io/docs/reference/using-api/api-concepts/ (resource versions, retrieving
large results in chunks) and k8s.io/apiserver `pkg/storage/etcd3/store.go` (`GetList`),
`pkg/storage/continue.go`, apimachinery `pkg/apis/meta/internalversion/validation`.
"""

import base64
from collections.abc import Mapping
from typing import Any

import msgspec

from tests.fakes.resources import Object, Resource
from tests.fakes.selection import Selection
from tests.fakes.status import (
    LOST_PAGE,
    Cause,
    bad_request,
    expired,
    forbidden_field,
    invalid,
    too_large,
)
from tests.fakes.storage import Storage

INCONSISTENT = -1
"""The version in the token that an expired list offers: go on with whatever is there now."""


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
    *,
    cached_version: int,
) -> dict[str, Any]:
    """Build the list a request asks for; *cached_version* is what "0" is answered with.

    Raises:
        StatusError: 400 or 422 for parameters that do not go together, 410 for a version that is
            compacted, 504 for one that is still to come.
    """
    check_list_options(query)
    limit = 0 if query.get("resourceVersion") == "0" else int(query.get("limit") or 0)
    start = ""
    if token := query.get("continue"):
        version, start = _read_token(storage, token)
    else:
        version = _list_version(storage, query, cached_version)
    found = [
        (key.path, obj)
        for key, obj in storage.at(resource, version).items()
        if key.path > start and selection.matches(obj)
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


def check_list_options(query: Mapping[str, str]) -> None:
    """Refuse list parameters that do not go together (`validateListOptions`)."""
    match = query.get("resourceVersionMatch")
    version = query.get("resourceVersion")
    field = "resourceVersionMatch"
    causes: list[Cause] = []
    if match and query.get("continue"):
        causes.append(forbidden_field(field, f"{field} is forbidden when continue is provided"))
    if match and not version:
        why = f"{field} is forbidden unless resourceVersion is provided"
        causes.append(forbidden_field(field, why))
    if match == "Exact" and version == "0":
        why = f'{field} "Exact" is forbidden for resourceVersion "0"'
        causes.append(forbidden_field(field, why))
    if match and match not in ("Exact", "NotOlderThan"):
        text = f'Unsupported value: "{match}": supported values: "Exact", "NotOlderThan"'
        causes.append(Cause(field, "FieldValueNotSupported", text))
    if query.get("sendInitialEvents"):
        field = "sendInitialEvents"
        causes.append(forbidden_field(field, f"{field} is forbidden for list"))
    if causes:
        raise invalid("ListOptions.meta.k8s.io", "", causes)


def _list_version(storage: Storage, query: Mapping[str, str], cached_version: int) -> int:
    wanted = requested_version(query)
    if wanted is None:
        return storage.version
    if wanted == 0:
        return cached_version
    if wanted > storage.version:
        raise too_large(wanted, storage.version)
    legacy_exact = "limit" in query and "resourceVersionMatch" not in query
    if query.get("resourceVersionMatch") != "Exact" and not legacy_exact:
        return storage.version
    if wanted < storage.compacted:
        raise expired("The resourceVersion for the provided list is too old.")
    return wanted


def _token(version: int, last: str) -> str:
    token = _Token("meta.k8s.io/v1", version, last)
    return base64.urlsafe_b64encode(msgspec.json.encode(token)).decode().rstrip("=")


def _read_token(storage: Storage, text: str) -> tuple[int, str]:
    try:
        padded = text + "=" * (-len(text) % 4)
        token = msgspec.json.decode(base64.urlsafe_b64decode(padded), type=_Token)
    except (ValueError, msgspec.DecodeError) as error:
        raise bad_request(f"continue key is not valid: {error}") from error
    if token.rv == INCONSISTENT:
        return storage.version, token.start
    if token.rv < storage.compacted:
        raise expired(LOST_PAGE, metadata={"continue": _token(INCONSISTENT, token.start)})
    return token.rv, token.start
