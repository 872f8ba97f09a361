"""Refusals of the API server, with the Status bodies it gives them.

Texts follow k8s.io/apimachinery `pkg/api/errors/errors.go`, those of list and watch
k8s.io/apiserver `pkg/storage/errors.go` and `pkg/storage/etcd3/errors.go`.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from tests.fakes.resources import Resource

MODIFIED = (
    "the object has been modified; please apply your changes to the latest version and try again"
)


class StatusError(Exception):
    """The request is refused; the front end answers with the body, or a watch with an event."""

    def __init__(
        self,
        code: int,
        reason: str,
        message: str,
        *,
        details: Mapping[str, Any] | None = None,
    ) -> None:
        super().__init__(message)
        self.code = code
        self.reason = reason
        self.details = dict(details or {})

    def body(self) -> dict[str, Any]:
        """Build the Status; Go leaves out empty details and an unknown reason."""
        optional = {"reason": self.reason, "details": self.details}
        return {
            "kind": "Status",
            "apiVersion": "v1",
            "metadata": {},
            "status": "Failure",
            "message": str(self),
            **{key: value for key, value in optional.items() if value},
            "code": self.code,
        }


class Cause(msgspec.Struct, frozen=True):
    """One field that is wrong; *reason* is a `metav1.CauseType`."""

    field: str
    reason: str
    message: str


def required(field: str, message: str = "") -> Cause:
    return Cause(field, "FieldValueRequired", f"Required value: {message}".removesuffix(": "))


def invalid_value(field: str, value: object, message: str) -> Cause:
    shown = msgspec.json.encode(value).decode()
    return Cause(field, "FieldValueInvalid", f"Invalid value: {shown}: {message}")


def forbidden_field(field: str, message: str) -> Cause:
    return Cause(field, "FieldValueForbidden", f"Forbidden: {message}")


def invalid(kind_key: str, name: str, causes: Sequence[Cause]) -> StatusError:
    """Refuse an object (or list options) whose fields are wrong, 422."""
    kind, _, group = kind_key.partition(".")
    texts = [f"{cause.field}: {cause.message}" for cause in causes]
    text = texts[0] if len(texts) == 1 else f"[{', '.join(texts)}]"
    listed = [{"reason": c.reason, "message": c.message, "field": c.field} for c in causes]
    details = {**_named(name, group, kind), "causes": listed}
    return StatusError(422, "Invalid", f'{kind_key} "{name}" is invalid: {text}', details=details)


def bad_request(message: str) -> StatusError:
    return StatusError(400, "BadRequest", message)


def not_found(resource: Resource, name: str) -> StatusError:
    return StatusError(
        404, "NotFound", f'{resource.key} "{name}" not found', details=_about(resource, name)
    )


def already_exists(resource: Resource, name: str) -> StatusError:
    message = f'{resource.key} "{name}" already exists'
    return StatusError(409, "AlreadyExists", message, details=_about(resource, name))


def conflict(resource: Resource, name: str, why: str) -> StatusError:
    message = f'Operation cannot be fulfilled on {resource.key} "{name}": {why}'
    return StatusError(409, "Conflict", message, details=_about(resource, name))


def wrong_uid(resource: Resource, name: str, wanted: str, found: str) -> StatusError:
    """Refuse an update whose uid is not the stored one, which is "" for a missing object."""
    return conflict(
        resource,
        name,
        "StorageError: invalid object, Code: 4, ResourceVersion: 0, AdditionalErrorMessage: "
        f"Precondition failed: UID in precondition: {wanted}, UID in object meta: {found}",
    )


def method_not_allowed() -> StatusError:
    message = "the server does not allow this method on the requested resource"
    return StatusError(405, "MethodNotAllowed", message)


def expired(message: str) -> StatusError:
    return StatusError(410, "Expired", message)


def forbidden(resource: Resource, name: str, verb: str, user: str, scope: str) -> StatusError:
    """Refuse what no role allows; *scope* is a namespace, or "" for the whole cluster."""
    place = f'in the namespace "{scope}"' if scope else "at the cluster scope"
    subject = f'{resource.key} "{name}"' if name else resource.key
    return StatusError(
        403,
        "Forbidden",
        f'{subject} is forbidden: User "{user}" cannot {verb} resource "{resource.plural}" '
        f'in API group "{resource.group}" {place}',
        details=_about(resource, name),
    )


def _about(resource: Resource, name: str) -> dict[str, str]:
    return _named(name, resource.group, resource.plural)


def _named(name: str, group: str, kind: str) -> dict[str, str]:
    parts = {"name": name, "group": group, "kind": kind}
    return {key: value for key, value in parts.items() if value}
