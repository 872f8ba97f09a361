"""The users of the control plane: each has a token, and RBAC says what it may do."""

import secrets
from pathlib import Path
from typing import Any

import yaml

from app.config import CONTROLLER_NAME, NAME, OWN_NAMESPACE
from tests.actors.longhorn import NAMESPACE

ADMIN = "admin"
SCHEDULER = "system:kube-scheduler"
CONTROLLER_MANAGER = "system:kube-controller-manager"
EXTENDER = f"system:serviceaccount:{OWN_NAMESPACE}:{NAME}"
CONTROLLER = f"system:serviceaccount:{OWN_NAMESPACE}:{CONTROLLER_NAME}"
LONGHORN = f"system:serviceaccount:{NAMESPACE}:longhorn-service-account"
"""May do all: this is about what it does, and not about its rights."""
_ACCOUNTS = f"system:serviceaccounts,system:serviceaccounts:{OWN_NAMESPACE}"
GROUPS = {
    ADMIN: "system:masters",
    SCHEDULER: "",
    CONTROLLER_MANAGER: "",
    EXTENDER: _ACCOUNTS,
    CONTROLLER: _ACCOUNTS,
    LONGHORN: "system:masters",
}
"""The users that tokens are made for."""


class Users:
    """Makes up tokens, and kubeconfigs with them.

    Attributes:
        tokens: The file that the API server reads.
    """

    def __init__(self, folder: Path, server: str) -> None:
        self.tokens = folder / "tokens.csv"
        self._folder = folder
        self._server = server
        self._tokens = {user: secrets.token_hex(16) for user in GROUPS}

    def token(self, user: str) -> str:
        return self._tokens[user]

    def write_tokens(self) -> None:
        lines = [f'{token},{user},{user},"{GROUPS[user]}"' for user, token in self._tokens.items()]
        self.tokens.write_text("\n".join(lines))

    def kubeconfig(self, user: str, server: str = "") -> Path:
        """Write a kubeconfig; *server* is another way to the API server."""
        suffix = server.rpartition(":")[2]
        path = self._folder / f"{user.replace(':', '_')}{suffix}.kubeconfig"
        path.write_text(yaml.safe_dump(_kubeconfig(server or self._server, self._tokens[user])))
        return path

    def kubeconfig_of(self, token: str, name: str, server: str) -> Path:
        """Write a kubeconfig with a token that the API server has issued."""
        path = self._folder / f"{name}.kubeconfig"
        path.write_text(yaml.safe_dump(_kubeconfig(server, token)))
        return path


def _kubeconfig(server: str, token: str) -> dict[str, Any]:
    cluster = {"server": server, "insecure-skip-tls-verify": True}
    return {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": "it", "cluster": cluster}],
        "users": [{"name": "it", "user": {"token": token}}],
        "contexts": [{"name": "it", "context": {"cluster": "it", "user": "it"}}],
        "current-context": "it",
    }
