"""The control plane of the end-to-end tests, for real nodes: nothing is left out of it."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from tests.cluster import addresses
from tests.cluster.certificates import Certificates
from tests.e2e.control_plane import ControlPlane

PORT = 6443
_REPLACED = ("--bind-address=", "--advertise-address=", "--authorization-mode=")
_WITHOUT_NODES = ("--endpoint-reconciler-type=", "--disable-admission-plugins=")
_NAMES = ("kubernetes.default.svc", "localhost", "127.0.0.1")
_LEFT_OUT = "persistentvolume-attach-detach-controller"
"""Longhorn's volumes are played, and its CSIDriver says that it attaches nothing."""


class NodesControlPlane(ControlPlane):
    """Its API server serves nodes, with the Node authorizer and accounts for pods.

    Args:
        programs: Their files.
        folder: For everything; it must be there.
        certificates: Of the cluster.
        flags: More flags of kube-apiserver.
    """

    def __init__(
        self,
        programs: Mapping[str, Path],
        folder: Path,
        certificates: Certificates,
        flags: Sequence[str],
    ) -> None:
        self._flags = flags
        self._certificates = certificates
        super().__init__(programs, folder)

    @property
    def url(self) -> str:
        return f"https://{addresses.CONTROL_PLANE}:{PORT}"

    def _api_server_flags(self) -> list[str]:
        names = (*_NAMES, addresses.CONTROL_PLANE, addresses.KUBERNETES)
        serving, serving_key = self._certificates.issue("kube-apiserver", "", *names)
        client, client_key = self._certificates.issue(
            "kube-apiserver-kubelet-client", "system:masters", "nobody.example"
        )
        kept = [
            flag
            for flag in super()._api_server_flags()
            if not flag.startswith((*_REPLACED, *_WITHOUT_NODES, "--secure-port="))
        ]
        return [
            *kept,
            "--bind-address=0.0.0.0",
            f"--secure-port={PORT}",
            f"--advertise-address={addresses.CONTROL_PLANE}",
            "--authorization-mode=Node,RBAC",
            # By default a token that is not renewed goes on for a year.
            "--service-account-extend-token-expiration=false",
            "--enable-admission-plugins=NodeRestriction",
            f"--client-ca-file={self._certificates.authority}",
            f"--tls-cert-file={serving}",
            f"--tls-private-key-file={serving_key}",
            f"--kubelet-client-certificate={client}",
            f"--kubelet-client-key={client_key}",
            "--kubelet-preferred-address-types=InternalIP",
            *self._flags,
        ]

    def _controller_manager_flags(self) -> list[str]:
        kept = [
            flag
            for flag in super()._controller_manager_flags()
            if not flag.startswith("--controllers=")
        ]
        return [
            *kept,
            f"--controllers=*,-{_LEFT_OUT}",
            f"--root-ca-file={self._certificates.authority}",
        ]
