"""The certificates of a cluster, and kubeconfigs with them: all of one authority."""

import base64
from pathlib import Path
from typing import Any

import trustme
import yaml


class Certificates:
    """Makes certificates in a folder.

    Attributes:
        authority: The file with the certificate of the authority.
    """

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True)
        self._folder = folder
        self._ca = trustme.CA()
        self.authority = folder / "ca.crt"
        self._ca.cert_pem.write_to_path(self.authority)

    def issue(self, user: str, group: str, *names: str) -> tuple[Path, Path]:
        """Issue a certificate for a user, and a server of these names; return it and its key."""
        made = self._ca.issue_cert(*names, common_name=user, organization_name=group)
        certificate = self._folder / f"{user.replace(':', '_')}.crt"
        key = certificate.with_suffix(".key")
        made.cert_chain_pems[0].write_to_path(certificate)
        made.private_key_pem.write_to_path(key)
        return certificate, key

    def kubeconfig(self, server: str, user: str, group: str) -> Path:
        """Write the kubeconfig of a user."""
        path = self._folder / f"{user.replace(':', '_')}.kubeconfig"
        certificate, key = (file.read_bytes() for file in self.issue(user, group, "nobody.example"))
        path.write_text(
            yaml.safe_dump(
                {
                    "apiVersion": "v1",
                    "kind": "Config",
                    "clusters": [{"name": "it", "cluster": self._cluster(server)}],
                    "users": [{"name": "it", "user": _user(certificate, key)}],
                    "contexts": [{"name": "it", "context": {"cluster": "it", "user": "it"}}],
                    "current-context": "it",
                }
            ),
            encoding="utf-8",
        )
        return path

    def _cluster(self, server: str) -> dict[str, Any]:
        return {"server": server, "certificate-authority-data": _data(self.authority.read_bytes())}


def _user(certificate: bytes, key: bytes) -> dict[str, Any]:
    return {"client-certificate-data": _data(certificate), "client-key-data": _data(key)}


def _data(content: bytes) -> str:
    return base64.b64encode(content).decode()
