"""The settings of the process, read once from the environment."""

import re
from collections.abc import Mapping
from typing import Annotated, Literal, TypeVar

import msgspec
from msgspec import Meta
from msgspec.inspect import EnumType, LiteralType, StructType, type_info

from app.errors import InputError
from extender import Balance, Mode, StepLimits
from packing import DEFAULT_STEP_LIMIT

NAME = "longhorn-scheduler-extender"
"""Of the distribution and its command, and in the cluster of the Service, Lease and ConfigMap."""
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
    body_timeout_seconds: Deadline = 10.0
    answer_timeout_seconds: Deadline = 10.0
    keep_alive_seconds: Positive = 120
    namespace: Name = "longhorn-system"
    longhorn_namespace: Name = "longhorn-system"
    pod_name: Annotated[str, Meta(max_length=253)] = ""
    node_name: Annotated[str, Meta(max_length=253)] = ""
    lease_duration_seconds: Annotated[int, Meta(ge=1, le=300)] = 8
    renew_deadline_seconds: Deadline = 5.0
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


class ControllerSettings(ProcessSettings, frozen=True, kw_only=True):
    """What can be set of the controller of DiskSchedules."""

    manage_objects: bool = False


class Settings(ProcessSettings, frozen=True, kw_only=True):
    """What can be set of the service; docs/settings.md has a row for each."""

    metrics_port: Port | None = None
    tls_cert_file: str = ""
    tls_private_key_file: str = ""
    client_ca_file: str = ""
    client_names: Annotated[str, Meta(max_length=4096)] = ""
    webhook_port: Port | None = None
    webhook_cert_file: str = ""
    webhook_private_key_file: str = ""
    webhook_scheduler_name: Annotated[str, Meta(max_length=253)] = ""
    body_limit_bytes: Positive = 128 * 2**20
    step_limit: Positive = DEFAULT_STEP_LIMIT
    request_step_limit: Positive = 10 * DEFAULT_STEP_LIMIT
    reservation_mode: Mode = Mode.CAPACITY
    balance: Balance = Balance.SPREAD
    filter_wait_seconds: Annotated[float, Meta(ge=0, le=60)] = 1.0
    wake_up: bool = True
    debug: bool = False

    @property
    def step_limits(self) -> StepLimits:
        """The bounds on packing."""
        return StepLimits(per_node=self.step_limit, per_request=self.request_step_limit)

    @property
    def allowed_clients(self) -> frozenset[str]:
        """The names of `client_names`; none means all that the CA has signed."""
        return frozenset(filter(None, (name.strip() for name in self.client_names.split(","))))

    def __post_init__(self) -> None:
        """Check what the types cannot say."""
        super().__post_init__()
        if bool(self.tls_cert_file) != bool(self.tls_private_key_file):
            raise ValueError(
                "EXTENDER_TLS_CERT_FILE and EXTENDER_TLS_PRIVATE_KEY_FILE go together: "
                "set both, or neither"
            )
        if self.client_ca_file and not self.tls_cert_file:
            raise ValueError(
                "EXTENDER_CLIENT_CA_FILE asks for certificates of clients, which needs "
                "EXTENDER_TLS_CERT_FILE"
            )
        if self.client_names and not (self.client_ca_file and self.allowed_clients):
            raise ValueError(
                f"EXTENDER_CLIENT_NAMES is {self.client_names!r}: it lists names of clients' "
                "certificates, with a comma between two, and needs EXTENDER_CLIENT_CA_FILE"
            )
        if self.client_ca_file and self.metrics_port is None:
            raise ValueError(
                "EXTENDER_CLIENT_CA_FILE needs EXTENDER_METRICS_PORT: the kubelet's probes and "
                "Prometheus have no certificate"
            )
        if self.metrics_port is not None and self.metrics_port == self.port != 0:
            raise ValueError(
                f"EXTENDER_METRICS_PORT and EXTENDER_PORT are both {self.port}; "
                "leave the first unset to serve everything on one port"
            )
        self._check_webhook()

    def _check_webhook(self) -> None:
        files = (self.webhook_cert_file, self.webhook_private_key_file)
        is_on = self.webhook_port is not None
        if any(files) != is_on or all(files) != is_on:
            raise ValueError(
                "EXTENDER_WEBHOOK_PORT, EXTENDER_WEBHOOK_CERT_FILE and "
                "EXTENDER_WEBHOOK_PRIVATE_KEY_FILE go together: set all three, or none"
            )
        if self.webhook_scheduler_name and not is_on:
            raise ValueError("EXTENDER_WEBHOOK_SCHEDULER_NAME needs EXTENDER_WEBHOOK_PORT")
        if self.webhook_port and self.webhook_port in (self.port, self.metrics_port):
            raise ValueError(
                f"EXTENDER_WEBHOOK_PORT is {self.webhook_port}, as is another port: the webhook "
                "needs one of its own"
            )


Process = TypeVar("Process", bound=ProcessSettings)


def load(environ: Mapping[str, str]) -> Settings:
    """Read the variables that begin with EXTENDER_; the rest have their defaults.

    Raises:
        InputError: A variable is unknown or its value is wrong; the text names it.
    """
    return _load(environ, Settings)


def load_controller(environ: Mapping[str, str]) -> ControllerSettings:
    """Read the same variables for the controller of DiskSchedules, which has fewer.

    Raises:
        InputError: As `load` does.
    """
    return _load(environ, ControllerSettings)


def _load(environ: Mapping[str, str], kind: type[Process]) -> Process:
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
