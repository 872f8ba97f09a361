"""What is installed before a test: Longhorn's kinds, and our manifests.

The CustomResourceDefinitions are as small as the API server takes them. Longhorn's own have schemas
and a status subresource; here every field is kept and each object is written as a whole, so that a
test can put anything a cluster might hold.
"""

from collections.abc import Iterator
from pathlib import Path

import yaml

from tests.actors.api import NAMESPACES, Api, Kind, Object
from tests.actors.longhorn import NAMESPACE

MANIFESTS = Path(__file__).parents[2] / "manifests"
_GROUP, _VERSION = "longhorn.io", "v1beta2"
_LONGHORN_KINDS = {
    "nodes": "Node",
    "volumes": "Volume",
    "replicas": "Replica",
    "settings": "Setting",
    "backingimages": "BackingImage",
}
LONGHORN_PATHS = [f"/apis/{_GROUP}/{_VERSION}/{plural}" for plural in _LONGHORN_KINDS]
"""Answered once the definitions have taken effect."""

DEFINITIONS = Kind(
    "apiextensions.k8s.io/v1",
    "customresourcedefinitions",
    "CustomResourceDefinition",
    namespaced=False,
)
_SHIPPED_KINDS = {
    kind.kind: kind
    for kind in (
        Kind("v1", "serviceaccounts", "ServiceAccount"),
        Kind("v1", "services", "Service"),
        Kind("v1", "configmaps", "ConfigMap"),
        Kind("rbac.authorization.k8s.io/v1", "roles", "Role"),
        Kind("rbac.authorization.k8s.io/v1", "rolebindings", "RoleBinding"),
        Kind("rbac.authorization.k8s.io/v1", "clusterroles", "ClusterRole", namespaced=False),
        Kind(
            "rbac.authorization.k8s.io/v1",
            "clusterrolebindings",
            "ClusterRoleBinding",
            namespaced=False,
        ),
    )
}
"""What the manifests install that these tests need; the Deployment is played by processes."""


async def install_disk_schedules(api: Api) -> None:
    """Install the one kind of Longhorn's that clusters may do without."""
    await api.ensure(_definition("diskschedules", "DiskSchedule"), DEFINITIONS)


async def install(api: Api, *, with_service: bool = True) -> None:
    """Install everything; what is there already stays as it is.

    Args:
        api: Of an administrator.
        with_service: Whether what the service needs is installed, or Longhorn's kinds alone.
    """
    for definition in _definitions():
        await api.ensure(definition, DEFINITIONS)
    await api.ensure({"metadata": {"name": NAMESPACE}}, NAMESPACES)
    for obj in _shipped_objects() if with_service else ():
        await api.ensure(obj, _SHIPPED_KINDS[obj["kind"]])


def _shipped_objects() -> Iterator[Object]:
    """Read what the manifests install, as it is after kustomize has set the namespace."""
    for path in sorted((MANIFESTS / "base").glob("*.yaml")):
        for obj in yaml.safe_load_all(path.read_text()):
            if obj["kind"] in _SHIPPED_KINDS:
                metadata = dict(obj["metadata"])
                if _SHIPPED_KINDS[obj["kind"]].namespaced:
                    metadata["namespace"] = NAMESPACE
                yield {**obj, "metadata": metadata}


def _definitions() -> list[Object]:
    return [_definition(plural, kind) for plural, kind in _LONGHORN_KINDS.items()]


def _definition(plural: str, kind: str) -> Object:
    return {
        "metadata": {"name": f"{plural}.{_GROUP}"},
        "spec": {
            "group": _GROUP,
            "scope": "Namespaced",
            "names": {"plural": plural, "singular": kind.lower(), "kind": kind},
            "versions": [
                {
                    "name": _VERSION,
                    "served": True,
                    "storage": True,
                    "schema": {
                        "openAPIV3Schema": {
                            "type": "object",
                            "x-kubernetes-preserve-unknown-fields": True,
                        }
                    },
                }
            ],
        },
    }
