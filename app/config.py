"""The settings that every process has, and how they are read once from the environment."""

import re
from collections.abc import Mapping
from typing import Annotated, Literal, TypeVar

import msgspec
from msgspec import Meta
from msgspec.inspect import EnumType, LiteralType, StructType, type_info

from app.errors import InputError

NAME = "longhorn-scheduler-extender"
"""Of the distribution and its command, and in the cluster of the Service, Lease and ConfigMap."""
OWN_NAMESPACE = "longhorn-scheduler"
"""Where the manifests install it, apart from Longhorn's, which has objects of the same names."""
CONTROLLER_NAME = "longhorn-disk-schedule-controller"
"""Of the controller of DiskSchedules: its Deployment, ServiceAccount and Lease."""
RESOURCE = "longhorn.io/scheduler-extender"
"""What a pod asks for to be sent to the extender."""
ANY_ADDRESS = "::"
"""All addresses of the pod, of both families."""
PREFIX = "EXTENDER_"
_CLIENT_IDLE_SECONDS = 90
"""kube-scheduler keeps an idle connection this long; a server that closes it first breaks calls."""

SILENCE_SECONDS = 90.0
"""Bookmarks come every 60 s, so that a watch that is silent for longer may be dead: it is
started again over another connection, from the same version. The API server sends no bookmarks for
a kind of which it has seen no event since its own start (its Cacher.dispatchEvents); such a watch
is started again for nothing, which costs little."""

Name = Annotated[str, Meta(pattern=r"^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$")]
Positive = Annotated[int, Meta(ge=1)]
Port = Annotated[int, Meta(ge=0, le=65535)]
Deadline = Annotated[float, Meta(gt=0, le=300)]


class ProcessSettings(msgspec.Struct, frozen=True, kw_only=True):
    """What every process has that serves and may lead."""

    host: str = ANY_ADDRESS
    port: Port = 9504
    connection_limit: Annotated[int, Meta(ge=10, le=100_000)] = 500
    address_limit: Annotated[int, Meta(ge=10, le=100_000)] = 100
    body_timeout_seconds: Deadline = 10.0
    answer_timeout_seconds: Deadline = 10.0
    keep_alive_seconds: Positive = 120
    namespace: Name = OWN_NAMESPACE
    longhorn_namespace: Name = "longhorn-system"
    pod_name: Annotated[str, Meta(max_length=253)] = ""
    node_name: Annotated[str, Meta(max_length=253)] = ""
    lease_duration_seconds: Annotated[int, Meta(ge=1, le=300)] = 8
    renew_deadline_seconds: Deadline = 6.5
    retry_period_seconds: Deadline = 1.0
    view_age_limit_seconds: Deadline = 120.0
    log_level: Literal["debug", "info", "warning", "error"] = "info"

    def __post_init__(self) -> None:
        """Check what the types cannot say."""
        if self.keep_alive_seconds <= _CLIENT_IDLE_SECONDS:
            raise ValueError(
                f"EXTENDER_KEEP_ALIVE_SECONDS is {self.keep_alive_seconds}, but must exceed the "
                f"{_CLIENT_IDLE_SECONDS} s for which kube-scheduler keeps a connection"
            )
        if self.view_age_limit_seconds <= SILENCE_SECONDS:
            raise ValueError(
                f"EXTENDER_VIEW_AGE_LIMIT_SECONDS is {self.view_age_limit_seconds:g}, but must "
                f"exceed the {SILENCE_SECONDS:g} s for which the API server may send nothing"
            )
        retry = self.retry_period_seconds
        if not self.lease_duration_seconds > self.renew_deadline_seconds > 2 * retry:
            raise ValueError(
                f"EXTENDER_LEASE_DURATION_SECONDS ({self.lease_duration_seconds}) must exceed "
                f"EXTENDER_RENEW_DEADLINE_SECONDS ({self.renew_deadline_seconds:g}), and that "
                f"twice EXTENDER_RETRY_PERIOD_SECONDS ({retry:g})"
            )


Process = TypeVar("Process", bound=ProcessSettings)


def load(environ: Mapping[str, str], kind: type[Process]) -> Process:
    """Read the variables that begin with EXTENDER_; the rest have their defaults.

    Raises:
        InputError: A variable is unknown or its value is wrong; the text names it.
    """
    names = {name: name.removeprefix(PREFIX).lower() for name in environ if name.startswith(PREFIX)}
    for name, field in names.items():
        if field not in kind.__struct_fields__:
            raise InputError(f"there is no setting {name!r}; docs/settings.md lists them")
    try:
        values = {field: environ[name] for name, field in names.items()}
        return msgspec.convert(values, kind, strict=False)
    except (msgspec.ValidationError, ValueError) as error:
        text = re.sub(r"`?\$\.(\w+)`?", lambda match: _named(match[1], kind), str(error))
        raise InputError(f"a setting has a wrong value: {text}") from error


def _named(field: str, kind: type[ProcessSettings]) -> str:
    """Return the variable of *field*, with its values if there are only some."""
    types = type_info(kind)
    assert isinstance(types, StructType)
    name = PREFIX + field.upper()
    match next(each.type for each in types.fields if each.name == field):
        case EnumType(cls):
            return f"{name} (one of {', '.join(cls)})"
        case LiteralType(values):
            return f"{name} (one of {', '.join(map(str, values))})"
    return name
