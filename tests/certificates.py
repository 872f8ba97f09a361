"""Certificates for servers of tests, as the files that they read."""

import ssl
import tempfile
from pathlib import Path
from typing import NamedTuple

import httpx
import trustme

HOST = "127.0.0.1"
_PATIENCE_SECONDS = 60.0


class Authority(NamedTuple):
    """Who signs, and the folder that the server reads."""

    ca: trustme.CA
    folder: Path

    @classmethod
    def in_folder(cls, folder: Path) -> "Authority":
        """Make one, and the server's first certificate."""
        made = cls(trustme.CA(), folder)
        made.write()
        return made

    def write(self) -> None:
        """Give the server a new certificate, as kubelet does: all files change at one moment."""
        issued = self.ca.issue_cert(HOST)
        version = Path(tempfile.mkdtemp(dir=self.folder))
        (version / "tls.crt").write_bytes(b"".join(each.bytes() for each in issued.cert_chain_pems))
        (version / "tls.key").write_bytes(issued.private_key_pem.bytes())
        (version / "ca.crt").write_bytes(self.ca.cert_pem.bytes())
        link = self.folder / "..data_tmp"
        link.symlink_to(version.name)
        link.rename(self.folder / "..data")

    def settings(self, *, client_ca: bool) -> dict[str, str]:
        data = self.folder / "..data"
        settings = {
            "EXTENDER_TLS_CERT_FILE": str(data / "tls.crt"),
            "EXTENDER_TLS_PRIVATE_KEY_FILE": str(data / "tls.key"),
            "EXTENDER_METRICS_PORT": "0",
        }
        return settings | ({"EXTENDER_CLIENT_CA_FILE": str(data / "ca.crt")} if client_ca else {})

    def client(self, certificate: trustme.LeafCert | None = None) -> httpx.Client:
        context = ssl.create_default_context()
        self.ca.configure_trust(context)
        if certificate is not None:
            certificate.configure_cert(context)
        return httpx.Client(verify=context, timeout=_PATIENCE_SECONDS)


def write_certificate(ca: trustme.CA, folder: Path, name: str = "tls") -> tuple[str, str]:
    """Write a certificate of our address; return the files of its chain and of its key."""
    chain, key = folder / f"{name}.crt", folder / f"{name}.key"
    issued = ca.issue_cert(HOST)
    issued.cert_chain_pems[0].write_to_path(chain)
    issued.private_key_pem.write_to_path(key)
    return str(chain), str(key)


def webhook_settings(ca: trustme.CA, folder: Path) -> dict[str, str]:
    """Return the variables of a webhook on a port of its choice, with such a certificate."""
    chain, key = write_certificate(ca, folder)
    return {
        "EXTENDER_WEBHOOK_PORT": "0",
        "EXTENDER_WEBHOOK_CERT_FILE": chain,
        "EXTENDER_WEBHOOK_PRIVATE_KEY_FILE": key,
    }
