"""What is installed before a test: Longhorn's kinds, and our manifests.

The CustomResourceDefinitions are as small as the API server takes them. Longhorn's own have schemas
and a status subresource; here every field is kept and each object is written as a whole, so that a
test can put anything a cluster might hold. That of DiskSchedule is the one that we ship.
"""

from collections.abc import Iterator
from pathlib import Path

import yaml

from app.config import OWN_NAMESPACE
from tests.actors import api as kinds
from tests.actors.api import NAMESPACES, Api, Key, Kind, Object, key_of
from tests.actors.longhorn import NAMESPACE
from tests.e2e.waiting import until

MANIFESTS = Path(__file__).parents[2] / "manifests"
SERVED_SECONDS = 30.0
_GROUP, _VERSION = "longhorn.io", "v1beta2"
_LONGHORN_KINDS = {
    "nodes": "Node",
    "volumes": "Volume",
    "replicas": "Replica",
    "settings": "Setting",
    "backingimages": "BackingImage",
    "engineimages": "EngineImage",
    "instancemanagers": "InstanceManager",
    "shards": "Shard",
    "instancemanagerupgrades": "InstanceManagerUpgrade",
    "volumeattachments": "VolumeAttachment",
}
LONGHORN_PATHS = [f"/apis/{_GROUP}/{_VERSION}/{plural}" for plural in _LONGHORN_KINDS]
"""Answered once the definitions have taken effect."""

DEFINITIONS = Kind(
    "apiextensions.k8s.io/v1",
    "customresourcedefinitions",
    "CustomResourceDefinition",
    namespaced=False,
)
_ADMISSION = "admissionregistration.k8s.io/v1"
_SHIPPED_KINDS = {
    kind.kind: kind
    for kind in (
        *(
            Kind(_ADMISSION, f"validatingadmissionpolic{ending}", kind, namespaced=False)
            for ending, kind in (
                ("ies", "ValidatingAdmissionPolicy"),
                ("ybindings", "ValidatingAdmissionPolicyBinding"),
            )
        ),
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


_OF_SERVICE = ("base", "components/admission-policy")


async def install(api: Api, *, with_service: bool = True) -> None:
    """Install everything; what is there already stays as it is.

    Args:
        api: Of an administrator.
        with_service: Whether what the service needs is installed, or Longhorn's kinds alone.
    """
    for definition in _definitions():
        await api.ensure(definition, DEFINITIONS)
    for namespace in (NAMESPACE, OWN_NAMESPACE):
        await api.ensure({"metadata": {"name": namespace}}, NAMESPACES)
    for folder in _OF_SERVICE if with_service else ():
        for obj in _shipped_objects(folder):
            await api.ensure(obj, _SHIPPED_KINDS[obj["kind"]])


async def install_disk_schedules(api: Api) -> None:
    """Have the kind DiskSchedule served, which clusters may do without."""
    text = (MANIFESTS / "disk-schedule" / "crd.yaml").read_text(encoding="utf-8")
    await api.ensure(yaml.safe_load(text), DEFINITIONS)

    async def is_served() -> bool:
        return await api.get(kinds.DISK_SCHEDULES, "", NAMESPACE) is not None

    await until(is_served, within=SERVED_SECONDS, what="DiskSchedule")


async def remove_disk_schedules(api: Api) -> None:
    """Have it served no more, for tests to come. There are no objects left."""
    name = f"{kinds.DISK_SCHEDULES.plural}.{_GROUP}"
    await api.delete(DEFINITIONS, Key("", name))

    async def is_gone() -> bool:
        return await api.get(DEFINITIONS, name) is None

    await until(is_gone, within=SERVED_SECONDS, what=f"{name} is still there")


async def install_controller(api: Api, *, manage_objects: bool) -> None:
    """Install the account and the rights of the controller of DiskSchedules.

    Args:
        api: Of an administrator.
        manage_objects: Whether it may also create and delete the objects.
    """
    for obj in _shipped_objects("components/disk-schedule-controller"):
        await api.ensure(obj, _SHIPPED_KINDS[obj["kind"]])
    for obj in _shipped_objects("components/disk-schedule-objects"):
        kind = _SHIPPED_KINDS[obj["kind"]]
        if manage_objects:
            await api.ensure(obj, kind)
        else:
            await api.delete(kind, key_of(obj))


async def install_startup_taint(api: Api) -> None:
    """Let the service take the startup taint off nodes."""
    for obj in _shipped_objects("components/startup-taint"):
        await api.ensure(obj, _SHIPPED_KINDS[obj["kind"]])


async def remove_startup_taint(api: Api) -> None:
    """Take that right away, for tests to come."""
    for obj in _shipped_objects("components/startup-taint"):
        await api.delete(_SHIPPED_KINDS[obj["kind"]], key_of(obj))


def _shipped_objects(folder: str) -> Iterator[Object]:
    """Read what the manifests install, as it is after kustomize has set the namespace."""
    for path in sorted((MANIFESTS / folder).glob("*.yaml")):
        for obj in yaml.safe_load_all(path.read_text()):
            if obj["kind"] in _SHIPPED_KINDS:
                metadata = dict(obj["metadata"])
                if _SHIPPED_KINDS[obj["kind"]].namespaced:
                    metadata.setdefault("namespace", OWN_NAMESPACE)
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
