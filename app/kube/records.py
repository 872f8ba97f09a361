"""From objects as they stand in JSON to the records that decisions work on."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import msgspec

from app.errors import BrokenObjectError
from app.kube import objects
from app.quantity import parse_bytes
from extender import (
    BackingImage,
    Claim,
    ClaimKey,
    Disk,
    DiskId,
    DiskName,
    Locality,
    Node,
    NodeName,
    PersistentVolume,
    PodRef,
    Replica,
    ReplicaName,
    StorageClass,
    TopologyTerm,
    Volume,
    VolumeName,
)


class Setting(msgspec.Struct, frozen=True, kw_only=True):
    """A Longhorn Setting."""

    name: str
    value: str


class KubernetesNode(msgspec.Struct, frozen=True, kw_only=True):
    """A Kubernetes Node; only its name matters, as that of a candidate."""

    name: NodeName


AnyRecord = (
    BackingImage
    | Claim
    | KubernetesNode
    | Node
    | PersistentVolume
    | PodRef
    | Replica
    | Setting
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


def pod_ref(pod: objects.Pod) -> PodRef:
    """Name the claims of *pod*: those it names, and those made for its ephemeral volumes."""
    namespace = pod.metadata.namespace or "default"
    volumes = (pod.spec.volumes if pod.spec else None) or ()
    claims = []
    for volume in volumes:
        if volume.persistent_volume_claim is not None:
            claims.append(volume.persistent_volume_claim.claim_name or "")
        elif volume.ephemeral is not None:
            claims.append(f"{pod.metadata.name}-{volume.name or ''}")
    return PodRef(
        namespace=namespace,
        name=pod.metadata.name,
        uid=pod.metadata.uid or "",
        claims=tuple(ClaimKey(f"{namespace}/{claim}") for claim in dict.fromkeys(claims)),
    )


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
    elif kind == "Node" and document["apiVersion"] != "v1":
        nodes = [name]
    return Unreadable(
        kind=kind,
        name=name,
        why=why,
        nodes=tuple(NodeName(node) for node in nodes if isinstance(node, str) and node),
        volume=VolumeName(volume if isinstance(volume, str) else ""),
    )


def _claim(claim: objects.PersistentVolumeClaim) -> Claim:
    spec = claim.spec or objects.ClaimSpec()
    requests = spec.resources.requests if spec.resources else None
    storage = requests.storage if requests else None
    return Claim(
        key=ClaimKey(f"{claim.metadata.namespace or 'default'}/{claim.metadata.name}"),
        uid=claim.metadata.uid or "",
        persistent_volume=spec.volume_name or "",
        storage_class=spec.storage_class_name or "",
        requested_bytes=0 if storage is None else parse_bytes(str(storage)),
        read_write_many="ReadWriteMany" in (spec.access_modes or ()),
        deleting=bool(claim.metadata.deletion_timestamp),
    )


def _persistent_volume(volume: objects.PersistentVolume) -> PersistentVolume:
    csi = volume.spec.csi if volume.spec else None
    return PersistentVolume(
        name=volume.metadata.name,
        driver=(csi.driver if csi else None) or "",
        volume_handle=(csi.volume_handle if csi else None) or "",
    )


def _storage_class(storage_class: objects.StorageClass) -> StorageClass:
    return StorageClass(
        name=storage_class.metadata.name,
        provisioner=storage_class.provisioner or "",
        parameters={k: v or "" for k, v in (storage_class.parameters or {}).items()},
    )


def _kubernetes_node(node: objects.KubernetesNode) -> KubernetesNode:
    return KubernetesNode(name=NodeName(node.metadata.name))


def _node(node: objects.LonghornNode) -> Node:
    spec, status = node.spec or objects.NodeSpec(), node.status or objects.NodeStatus()
    disk_statuses = status.disk_status or {}
    return Node(
        name=NodeName(node.metadata.name),
        zone=status.zone or "",
        region=status.region or "",
        tags=frozenset(spec.tags or ()),
        allow_scheduling=bool(spec.allow_scheduling),
        evicting=bool(spec.eviction_requested),
        ready=_is_true(status.conditions, "Ready"),
        schedulable=_is_true(status.conditions, "Schedulable"),
        deleting=bool(node.metadata.deletion_timestamp),
        disks=tuple(
            _disk(name, disk_spec, disk_statuses[name] or objects.DiskStatus())
            for name, disk_spec in sorted((spec.disks or {}).items())
            if disk_spec is not None and name in disk_statuses
        ),
    )


def _disk(name: str, spec: objects.DiskSpec, status: objects.DiskStatus) -> Disk:
    return Disk(
        name=DiskName(name),
        id=DiskId(status.disk_uuid or ""),
        type=spec.disk_type or "filesystem",
        filesystem=status.filesystem_type or "",
        tags=frozenset(spec.tags or ()),
        allow_scheduling=bool(spec.allow_scheduling),
        evicting=bool(spec.eviction_requested),
        ready=_is_true(status.conditions, "Ready"),
        schedulable=_is_true(status.conditions, "Schedulable"),
        maximum_bytes=_bytes(status.storage_maximum),
        reserved_bytes=_bytes(spec.storage_reserved),
        available_bytes=_bytes(status.storage_available),
        scheduled_bytes=_bytes(status.storage_scheduled),
        listed={name: _bytes(size) for name, size in (status.scheduled_replica or {}).items()},
    )


def _volume(volume: objects.Volume) -> Volume:
    spec, status = volume.spec or objects.VolumeSpec(), volume.status or objects.VolumeStatus()
    return Volume(
        name=VolumeName(volume.metadata.name),
        size_bytes=_bytes(spec.size),
        actual_bytes=_bytes(status.actual_size),
        locality=_LOCALITIES.get(spec.data_locality or "", Locality.DISABLED),
        disk_type="block" if spec.data_engine == "v2" else "filesystem",
        node_selector=tuple(spec.node_selector or ()),
        disk_selector=tuple(spec.disk_selector or ()),
        backing_image=spec.backing_image or "",
        topology=tuple(
            TopologyTerm(zone=term.zone or "", region=term.region or "")
            for term in spec.topology_requirement or ()
        ),
        shared=spec.access_mode == "rwx" and not spec.migratable,
        standby=bool(spec.standby or status.is_standby),
        sharded=spec.data_layout is not None and spec.data_layout.type == "sharded",
        deleting=bool(volume.metadata.deletion_timestamp),
    )


def _replica(replica: objects.Replica) -> Replica:
    spec, status = replica.spec or objects.ReplicaSpec(), replica.status or objects.ReplicaStatus()
    return Replica(
        name=ReplicaName(replica.metadata.name),
        volume=VolumeName(spec.volume_name or ""),
        size_bytes=_bytes(spec.volume_size),
        node=NodeName(spec.node_id or ""),
        disk=DiskId(spec.disk_id or ""),
        hard_node_affinity=NodeName(spec.hard_node_affinity or ""),
        active=bool(spec.active),
        evicting=bool(spec.eviction_requested),
        deleting=bool(replica.metadata.deletion_timestamp),
        failed=bool(spec.failed_at),
        healthy_once=bool(spec.healthy_at),
        started=bool(status.started),
        rebuild_retries=spec.rebuild_retry_count or 0,
    )


def _backing_image(image: objects.BackingImage) -> BackingImage:
    spec = image.spec or objects.BackingImageSpec()
    return BackingImage(
        name=image.metadata.name,
        node_selector=tuple(spec.node_selector or ()),
        disk_selector=tuple(spec.disk_selector or ()),
    )


def _setting(setting: objects.Setting) -> Setting:
    return Setting(name=setting.metadata.name, value=setting.value or "")


def _is_true(conditions: Iterable[objects.Condition] | None, type_: str) -> bool:
    """Whether the first condition of the type says True (longhorn-manager types/condition.go)."""
    first = next((c for c in conditions or () if c.type == type_), None)
    return first is not None and first.status == "True"


def _bytes(size: int | str | None) -> int:
    """Read a size that Longhorn writes as a number or as a string of digits; absent is zero."""
    if isinstance(size, str):
        if not size:
            return 0
        if not (size.isascii() and size.isdigit()) or int(size) >= 2**63:
            raise ValueError(f"{size[:60]!r} is not a size in bytes")
        return int(size)
    return size or 0


_LOCALITIES: Mapping[str, Locality] = {locality.value: locality for locality in Locality}
_GROUP_ALIASES = {"longhorn.rancher.io": "longhorn.io"}
_SUPPORTED: Mapping[tuple[str, str], tuple[str, type[Any], Callable[[Any], AnyRecord]]] = {
    ("", "PersistentVolumeClaim"): ("v1", objects.PersistentVolumeClaim, _claim),
    ("", "PersistentVolume"): ("v1", objects.PersistentVolume, _persistent_volume),
    ("", "Node"): ("v1", objects.KubernetesNode, _kubernetes_node),
    ("", "Pod"): ("v1", objects.Pod, pod_ref),
    ("storage.k8s.io", "StorageClass"): (
        "storage.k8s.io/v1",
        objects.StorageClass,
        _storage_class,
    ),
    ("longhorn.io", "Node"): ("longhorn.io/v1beta2", objects.LonghornNode, _node),
    ("longhorn.io", "Volume"): ("longhorn.io/v1beta2", objects.Volume, _volume),
    ("longhorn.io", "Replica"): ("longhorn.io/v1beta2", objects.Replica, _replica),
    ("longhorn.io", "BackingImage"): (
        "longhorn.io/v1beta2",
        objects.BackingImage,
        _backing_image,
    ),
    ("longhorn.io", "Setting"): ("longhorn.io/v1beta2", objects.Setting, _setting),
}
"""Group and kind: the one version we read, its structure, and its translation."""
