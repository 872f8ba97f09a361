"""What an installation of the service has in the API server beside its process."""

from typing import Any

from app.config import NAME, OWN_NAMESPACE
from tests.fakes.resources import Object

NAMESPACE = OWN_NAMESPACE
LONGHORN = "longhorn-system"
"""The namespace of Longhorn's objects."""


def ipv4(number: int) -> str:
    return f"10.42.0.{number + 1}"


def ipv6(number: int) -> str:
    return f"fd00::{number + 1:x}"


def service(*families: str, **spec: Any) -> Object:
    """Build the Service of the manifests, as the API server completes it."""
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": NAME, "namespace": NAMESPACE},
        "spec": {
            "type": "ClusterIP",
            "ipFamilies": list(families) or ["IPv4"],
            "ports": [{"name": "http", "port": 9504, "protocol": "TCP", "targetPort": 9504}],
            **spec,
        },
    }


def instance_pod(number: int, *, addresses: tuple[str, ...] | None = None) -> Object:
    """Build the pod of an instance."""
    given = (ipv4(number), ipv6(number)) if addresses is None else addresses
    status = {"podIP": given[0], "podIPs": [{"ip": each} for each in given]} if given else {}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": f"extender-{number}", "namespace": NAMESPACE},
        "spec": {"nodeName": f"node-{number + 1}"},
        "status": status,
    }


def config_map(**data: str) -> Object:
    """Build our ConfigMap; underscores in the names of settings stand for hyphens."""
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": NAME, "namespace": NAMESPACE},
        "data": {key.replace("_", "-"): value for key, value in data.items()},
    }


def kubeconfig(port: int, user: str) -> Object:
    """Build the configuration of a client of the server at *port*; its name is its token."""
    return {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": "it", "cluster": {"server": f"http://127.0.0.1:{port}"}}],
        "users": [{"name": "it", "user": {"token": user}}],
        "contexts": [{"name": "it", "context": {"cluster": "it", "user": "it"}}],
        "current-context": "it",
    }
