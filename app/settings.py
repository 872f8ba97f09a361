"""The settings of the service."""

from collections.abc import Mapping
from datetime import datetime
from ipaddress import ip_address
from typing import Annotated

from msgspec import Meta

from app import config
from app.config import Port, Positive, ProcessSettings
from app.errors import InputError
from extender import Balance, Mode, StepLimits
from packing import DEFAULT_STEP_LIMIT

TaintKey = Annotated[
    str,
    Meta(max_length=317, pattern=r"^(([-a-z0-9.]+/)?[A-Za-z0-9]([-._A-Za-z0-9]*[A-Za-z0-9])?)?$"),
]


class Settings(ProcessSettings, frozen=True, kw_only=True):
    """What can be set of the service; docs/settings.md has a row for each."""

    metrics_port: Port | None = None
    tls_cert_file: str = ""
    tls_private_key_file: str = ""
    client_ca_file: str = ""
    client_names: Annotated[str, Meta(max_length=4096)] = ""
    insecure: bool = False
    plain_until: Annotated[datetime, Meta(tz=True)] | None = None
    webhook_port: Port | None = None
    webhook_cert_file: str = ""
    webhook_private_key_file: str = ""
    webhook_client_ca_file: str = ""
    webhook_scheduler_name: Annotated[str, Meta(max_length=253)] = ""
    body_limit_bytes: Positive = 128 * 2**20
    step_limit: Positive = DEFAULT_STEP_LIMIT
    request_step_limit: Positive = 10 * DEFAULT_STEP_LIMIT
    reservation_mode: Mode = Mode.CAPACITY
    balance: Balance = Balance.SPREAD
    filter_wait_seconds: Annotated[float, Meta(ge=0, le=60)] = 1.0
    wake_up: bool = True
    startup_taint: TaintKey = ""
    debug: bool = False

    @property
    def step_limits(self) -> StepLimits:
        """The bounds on packing."""
        return StepLimits(per_node=self.step_limit, per_request=self.request_step_limit)

    @property
    def allowed_clients(self) -> frozenset[str]:
        """The names of `client_names`; none means all that the CA has signed."""
        return frozenset(filter(None, (name.strip() for name in self.client_names.split(","))))

    def check_door(self) -> None:
        """Refuse to serve a live cluster to everybody, unless that is what is wanted.

        Raises:
            InputError: Clients need no certificate, and others than this machine could be some.
        """
        if not (self.client_ca_file or self.insecure or _is_loopback(self.host)):
            raise InputError(
                "whoever reaches the port could make pods wait: set EXTENDER_CLIENT_CA_FILE, "
                "EXTENDER_TLS_CERT_FILE and EXTENDER_TLS_PRIVATE_KEY_FILE, so that only "
                "kube-scheduler is let in (docs/tls.md); EXTENDER_INSECURE=true answers everybody"
            )

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
        if self.client_ca_file and self.insecure:
            raise ValueError(
                "EXTENDER_INSECURE answers everybody, EXTENDER_CLIENT_CA_FILE clients with a "
                "certificate alone: set one of the two"
            )
        if self.plain_until and not self.client_ca_file:
            raise ValueError(
                "EXTENDER_PLAIN_UNTIL leaves the door open for a while, which needs "
                "EXTENDER_CLIENT_CA_FILE to close it; EXTENDER_INSECURE leaves it open for good"
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
        if self.webhook_client_ca_file and not is_on:
            raise ValueError("EXTENDER_WEBHOOK_CLIENT_CA_FILE needs EXTENDER_WEBHOOK_PORT")
        if self.webhook_port and self.webhook_port in (self.port, self.metrics_port):
            raise ValueError(
                f"EXTENDER_WEBHOOK_PORT is {self.webhook_port}, as is another port: the webhook "
                "needs one of its own"
            )


def _is_loopback(host: str) -> bool:
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def load(environ: Mapping[str, str]) -> Settings:
    """Read the variables that begin with EXTENDER_; the rest have their defaults.

    Raises:
        InputError: A variable is unknown or its value is wrong; the text names it.
    """
    return config.load(environ, Settings)
