"""Reading any object: which kinds we use, in which version, and what broken ones are."""

from collections.abc import Callable, Mapping
from typing import Any

import msgspec

from app.errors import BrokenObjectError
from app.kube import objects, translate
from extender import (
    BackingImage,
    Claim,
    Node,
    NodeName,
    PersistentVolume,
    PodRef,
    Replica,
    StorageClass,
    Volume,
    VolumeName,
)

AnyRecord = (
    BackingImage
    | Claim
    | translate.KubernetesNode
    | Node
    | PersistentVolume
    | PodRef
    | Replica
    | translate.Setting
    | StorageClass
    | Volume
)


class Unreadable(msgspec.Struct, frozen=True, kw_only=True):
    """An object of a kind we use that could not be read."""

    kind: str
    name: str
    """As other objects refer to it: a claim's with its namespace."""
    why: str
    nodes: tuple[NodeName, ...] = ()
    """Nodes whose space it would have had a part in."""
    volume: VolumeName = VolumeName("")
    """The volume that a Replica belongs to."""


def read_object(document: object) -> AnyRecord | Unreadable | None:
    """Return the record of one object, None if it is of a kind we do not use.

    Raises:
        BrokenObjectError: It is not an object, or has no name to report it by.
    """
    if not isinstance(document, dict):
        raise BrokenObjectError(f"is {type(document).__name__}, not an object")
    api_version, kind = document.get("apiVersion"), document.get("kind")
    if not isinstance(api_version, str) or not isinstance(kind, str):
        raise BrokenObjectError("has no apiVersion or no kind")
    group = api_version.rpartition("/")[0]
    supported = _SUPPORTED.get((_GROUP_ALIASES.get(group, group), kind))
    if supported is None:
        return None
    version, type_, record_of = supported
    if api_version != version:
        return _unreadable(document, f"apiVersion {api_version} is not supported, only {version}")
    try:
        return record_of(msgspec.convert(document, type_))
    except (msgspec.ValidationError, ValueError) as error:
        return _unreadable(document, str(error))


def _unreadable(document: dict[str, Any], why: str) -> Unreadable:
    metadata, spec = document.get("metadata"), document.get("spec")
    name = metadata.get("name") if isinstance(metadata, dict) else None
    kind = document["kind"]
    if kind == "Node" and "/" not in document["apiVersion"]:
        kind = "Kubernetes Node"  # Longhorn's have the same kind and names
    if not isinstance(name, str) or not name:
        raise BrokenObjectError(f"is a {kind} without a name")
    if kind == "PersistentVolumeClaim" and isinstance(metadata, dict):
        name = f"{metadata.get('namespace') or 'default'}/{name}"
    nodes: list[object] = []
    volume = None
    if kind == "Replica":
        # Longhorn repeats the placement in labels, which may be readable where the spec is not.
        fields = spec if isinstance(spec, dict) else {}
        labels = metadata.get("labels") if isinstance(metadata, dict) else None
        labels = labels if isinstance(labels, dict) else {}
        nodes = [fields.get("nodeID"), fields.get("hardNodeAffinity"), labels.get("longhornnode")]
        volume = fields.get("volumeName") or labels.get("longhornvolume")
        volume = volume or name.rpartition("-r-")[0]  # as Longhorn names replicas
    elif kind == "Node":
        nodes = [name]
    return Unreadable(
        kind=kind,
        name=name,
        why=why,
        nodes=tuple(NodeName(node) for node in nodes if isinstance(node, str) and node),
        volume=VolumeName(volume if isinstance(volume, str) else ""),
    )


_GROUP_ALIASES = {"longhorn.rancher.io": "longhorn.io"}
_SUPPORTED: Mapping[tuple[str, str], tuple[str, type[Any], Callable[[Any], AnyRecord]]] = {
    ("", "PersistentVolumeClaim"): ("v1", objects.PersistentVolumeClaim, translate.claim_record),
    ("", "PersistentVolume"): ("v1", objects.PersistentVolume, translate.persistent_volume_record),
    ("", "Node"): ("v1", objects.KubernetesNode, translate.kubernetes_node_record),
    ("", "Pod"): ("v1", objects.Pod, translate.pod_ref),
    ("storage.k8s.io", "StorageClass"): (
        "storage.k8s.io/v1",
        objects.StorageClass,
        translate.storage_class_record,
    ),
    ("longhorn.io", "Node"): ("longhorn.io/v1beta2", objects.LonghornNode, translate.node_record),
    ("longhorn.io", "Volume"): ("longhorn.io/v1beta2", objects.Volume, translate.volume_record),
    ("longhorn.io", "Replica"): ("longhorn.io/v1beta2", objects.Replica, translate.replica_record),
    ("longhorn.io", "BackingImage"): (
        "longhorn.io/v1beta2",
        objects.BackingImage,
        translate.backing_image_record,
    ),
    ("longhorn.io", "Setting"): ("longhorn.io/v1beta2", objects.Setting, translate.setting_record),
}
"""Group and kind: the one version we read, its structure, and its translation."""
