"""From the fields of Kubernetes objects to the records that decisions work on."""

import re
from collections.abc import Iterable, Mapping
from hashlib import sha256

import msgspec

from app.kube import objects
from app.quantity import parse_bytes
from extender import PodRef
from extender.kubernetes import Claim, ClaimKey, GroupKey, PersistentVolume, PodStatus, StorageClass
from longhorn import (
    NodeName,
)


class ConfigMap(msgspec.Struct, frozen=True, kw_only=True):
    """A ConfigMap; ours holds the settings that change without a restart."""

    name: str
    data: Mapping[str, str]


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


def pod_group(pod: objects.Pod) -> GroupKey | None:
    """Name the PodGroup that *pod* is a member of, since Kubernetes 1.36; None if there is none."""
    group = pod.spec.scheduling_group if pod.spec else None
    if group is None or not group.pod_group_name:
        return None
    return GroupKey(f"{pod.metadata.namespace or 'default'}/{group.pod_group_name}")


class Pod(msgspec.Struct, frozen=True, kw_only=True):
    """A pod: what it asks for, and how far it has come."""

    ref: PodRef
    status: PodStatus

    @property
    def key(self) -> str:
        """Namespace and name, joined by a slash."""
        return f"{self.ref.namespace}/{self.ref.name}"


def pod_record(pod: objects.Pod) -> Pod:
    """Translate a Pod."""
    return Pod(ref=pod_ref(pod), status=pod_status(pod))


def pod_status(pod: objects.Pod) -> PodStatus:
    """Return how far *pod* has come."""
    status = pod.status or objects.PodStatus()
    node = _node_name(pod.spec.node_name if pod.spec else None)
    version = pod.metadata.resource_version or ""
    return PodStatus(
        # Comparable as numbers within one kind: k8s.io/apimachinery, util/resourceversion.
        version=int(version) if _VERSION.fullmatch(version) else 0,
        node=node,
        nominated=_node_name(status.nominated_node_name),
        refusal=_refusal(status.conditions),
        running=status.phase == "Running",
        ended=status.phase in ("Succeeded", "Failed")
        or bool(pod.metadata.deletion_timestamp and not node),
    )


def _node_name(text: str | None) -> NodeName | None:
    return NodeName(text) if text else None


def _refusal(conditions: Iterable[objects.PodCondition] | None) -> str | None:
    for condition in conditions or ():
        if condition.type == "PodScheduled" and condition.status == "False":
            parts = (condition.last_transition_time, condition.reason, condition.message)
            text = " ".join(part or "-" for part in parts)
            return text if len(text) <= _MOST_CHARACTERS else sha256(text.encode()).hexdigest()
    return None


def claim_record(claim: objects.PersistentVolumeClaim) -> Claim:
    """Translate a PersistentVolumeClaim; a size that is no quantity raises ValueError."""
    spec = claim.spec or objects.ClaimSpec()
    requests = spec.resources.requests if spec.resources else None
    storage = requests.storage if requests else None
    annotations, source = claim.metadata.annotations, spec.data_source
    namespace = claim.metadata.namespace or "default"
    is_copy = source is not None and source.kind == "PersistentVolumeClaim" and source.name
    owners, modes = claim.metadata.owner_references or (), spec.access_modes or ()
    return Claim(
        key=ClaimKey(f"{namespace}/{claim.metadata.name}"),
        uid=claim.metadata.uid or None,
        persistent_volume=spec.volume_name or None,
        storage_class=spec.storage_class_name,
        requested_bytes=0 if storage is None else parse_bytes(str(storage)),
        read_write_many="ReadWriteMany" in modes,
        read_write_once_pod="ReadWriteOncePod" in modes,
        read_only_many="ReadOnlyMany" in modes,
        is_block=spec.volume_mode == "Block",
        selected_node=_node_name(annotations.selected_node if annotations else None),
        deleting=bool(claim.metadata.deletion_timestamp),
        copy_of=ClaimKey(f"{namespace}/{source.name}") if source and is_copy else None,
        is_restored=bool(source and source.kind) and not is_copy,
        controller=next((each.uid for each in owners if each.controller), None),
    )


def persistent_volume_record(volume: objects.PersistentVolume) -> PersistentVolume:
    """Translate a PersistentVolume."""
    csi = volume.spec.csi if volume.spec else None
    return PersistentVolume(
        name=volume.metadata.name,
        driver=(csi.driver if csi else None) or None,
        volume_handle=(csi.volume_handle if csi else None) or None,
    )


def storage_class_record(storage_class: objects.StorageClass) -> StorageClass:
    """Translate a StorageClass."""
    annotations = storage_class.metadata.annotations or objects.StorageClassAnnotations()
    return StorageClass(
        name=storage_class.metadata.name,
        provisioner=storage_class.provisioner or "",
        parameters={k: v or "" for k, v in (storage_class.parameters or {}).items()},
        # Kubernetes takes either annotation: pkg/volume/util/storageclass.go IsDefaultAnnotation.
        is_default="true" in (annotations.is_default, annotations.is_beta_default),
        is_immediate=storage_class.volume_binding_mode == "Immediate",
        created=storage_class.metadata.creation_timestamp or "",
    )


def config_map_record(config_map: objects.ConfigMap) -> ConfigMap:
    """Translate a ConfigMap."""
    return ConfigMap(
        name=config_map.metadata.name,
        data={key: value or "" for key, value in (config_map.data or {}).items()},
    )


_VERSION = re.compile("[0-9]{1,20}")
_MOST_CHARACTERS = 1_000
"""Of a refusal, which is only compared with others: a longer one is told apart by its digest."""
