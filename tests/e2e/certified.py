"""The service over HTTPS, for clients that it knows by name: certificates, and who has which."""

import ssl
from pathlib import Path
from typing import Any

import trustme
import yaml

from tests.e2e.extender import Extender
from tests.e2e.installation import MANIFESTS
from tests.pod_process import Settings
from tests.ports import free_ports

[_ENTRY] = yaml.safe_load((MANIFESTS / "scheduler" / "kubeadm.yaml").read_text())["extenders"]
SHIPPED = {name: _ENTRY[name] for name in ("enableHTTPS", "tlsConfig")}
"""The lines for kube-scheduler that are about HTTPS."""


class Certificates:
    """A folder for each side, as its Secret holds it, and the CA that has signed both.

    Attributes:
        ca: Signs for others, too.
        service: The folder of the service.
        client: The folder of kube-scheduler.
    """

    def __init__(self, folder: Path, *, client_name: str) -> None:
        self.ca = trustme.CA()
        server_name = SHIPPED["tlsConfig"]["serverName"]
        self.service = write(folder / "service", self.ca.issue_cert(server_name), self.ca)
        issued = self.ca.issue_cert(common_name=client_name)
        self.client = write(folder / "client", issued, self.ca)

    def settings(self) -> dict[str, str]:
        """Return the settings of the service."""
        return {
            "tls_cert_file": str(self.service / "tls.crt"),
            "tls_private_key_file": str(self.service / "tls.key"),
            "client_ca_file": str(self.service / "ca.crt"),
        }

    def context(self, client: trustme.LeafCert | None = None) -> ssl.SSLContext:
        """Return how to call with kube-scheduler's certificate, or with another one."""
        context = ssl.create_default_context()
        # What is called is at an address of this machine, which the certificate does not have.
        context.check_hostname = False
        self.ca.configure_trust(context)
        if client is None:
            context.load_cert_chain(self.client / "tls.crt", self.client / "tls.key")
        else:
            client.configure_cert(context)
        return context


def named(certificates: Certificates, name: str) -> dict[str, Any]:
    """Return what a world is made with, so that only kube-scheduler under a name is answered."""
    return {
        "settings": {"client_names": name},
        "make_extender": certified(certificates),
        **scheduler(certificates.client),
    }


def certified(certificates: Certificates) -> type[Extender]:
    """Return instances that answer only clients with a certificate.

    The metrics of each have a port of its own.
    """

    class Certified(Extender):
        def __init__(self, *arguments: Any, **options: Any) -> None:
            super().__init__(*arguments, **options)
            self.url = self.url.replace("http:", "https:")
            self._tls = certificates.context()

        def _settings_of_instance(self) -> Settings:
            [metrics_port] = free_ports(1)
            own = {**certificates.settings(), "metrics_port": metrics_port}
            return {**self._settings, **own}

    return Certified


def write(folder: Path, issued: trustme.LeafCert, trusted: trustme.CA) -> Path:
    """Write what a Secret holds: a certificate, its key, and who must have signed the other's."""
    folder.mkdir(parents=True)
    issued.cert_chain_pems[0].write_to_path(folder / "tls.crt")
    issued.private_key_pem.write_to_path(folder / "tls.key")
    trusted.cert_pem.write_to_path(folder / "ca.crt")
    return folder


def scheduler(folder: Path) -> dict[str, Any]:
    """Return the shipped lines with the paths of this machine, without the address."""
    tls = {
        key: str(folder / Path(value).name) if key.endswith("File") else value
        for key, value in SHIPPED["tlsConfig"].items()
    }
    return {**SHIPPED, "tlsConfig": tls}
