"""API objects of pods and their Longhorn volumes, as those who write them leave them."""

from typing import Any

from tests.builders import DRIVER, core_document, document
from tests.fakes import Object


def storage_class_object() -> Object:
    """Build the class of best-effort volumes with one replica."""
    return {
        "apiVersion": "storage.k8s.io/v1",
        "kind": "StorageClass",
        "metadata": {"name": "local"},
        "provisioner": DRIVER,
        "parameters": {"dataLocality": "best-effort", "numberOfReplicas": "1"},
    }


def pod_object(name: str, *claims: str) -> Object:
    """Build a pod that nobody has looked at yet."""
    volumes = [{"name": each, "persistentVolumeClaim": {"claimName": each}} for each in claims]
    return core_document("Pod", name, spec={"volumes": volumes}, status={"phase": "Pending"})


def claim_object(name: str, gib: int) -> Object:
    """Build a claim that waits for its first consumer."""
    spec = {
        "storageClassName": "local",
        "accessModes": ["ReadWriteOnce"],
        "resources": {"requests": {"storage": f"{gib}Gi"}},
    }
    return core_document("PersistentVolumeClaim", name, spec=spec, status={"phase": "Pending"})


def volume_name(claim: Object) -> str:
    """Return the name of a claim's volume, made or to be made."""
    return f"pvc-{claim['metadata']['uid']}"


def volume_objects(claim: Object) -> list[Object]:
    """Build the volume of a claim and its PersistentVolume."""
    name = volume_name(claim)
    spec = {"size": _size(claim), "dataLocality": "best-effort"}
    source = {"driver": DRIVER, "volumeHandle": name}
    return [
        document("Volume", name, spec=spec),
        {
            "apiVersion": "v1",
            "kind": "PersistentVolume",
            "metadata": {"name": name},
            "spec": {"csi": source},
        },
    ]


def replica_object(claim: Object, node: str, **spec: Any) -> Object:
    """Build a replica of a claim's volume, on a disk if a node is given."""
    fields = {
        "volumeName": volume_name(claim),
        "volumeSize": _size(claim),
        "nodeID": node,
        "diskID": "uuid-disk-1" if node else "",
        "active": True,
        "healthyAt": "",
        "failedAt": "",
    }
    return document("Replica", f"{volume_name(claim)}-r-1", spec={**fields, **spec})


def _size(claim: Object) -> str:
    gib = int(claim["spec"]["resources"]["requests"]["storage"].removesuffix("Gi"))
    return str(gib * 2**30)
