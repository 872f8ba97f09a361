"""The fields of objects that `may-drain` alone reads, as they are in JSON, and their records."""

from collections.abc import Sequence

import msgspec

from app.kube.objects import Condition, Integer, KubeStruct, Metadata, Text
from cli.kube.draining.records import Copy, Guard, Guest, Host, Manager, Use
from cli.kube.placement import Owner, owner_of
from cli.kube.planned import BudgetSpec
from cli.kube.planned_pods import EmptyDir
from cli.kube.planned_rules import selector_of
from longhorn import NodeName, VolumeName

_NODE_LABEL = "longhornnode"
_MIRROR = "kubernetes.io/config.mirror"
_NO_NAMESPACE = "default"


class HostSpec(KubeStruct, frozen=True):
    unschedulable: bool | None = None


class HostStatus(KubeStruct, frozen=True):
    conditions: Sequence[Condition] | None = None


class HostObject(KubeStruct, frozen=True):
    metadata: Metadata
    spec: HostSpec | None = None
    status: HostStatus | None = None


class ManagerSpec(KubeStruct, frozen=True):
    node_id: Text = msgspec.field(default=None, name="nodeID")
    type: Text = None
    data_engine: Text = None
    image: Text = None


class Instance(KubeStruct, frozen=True):
    """A process; only its name matters."""


Instances = dict[str, Instance | None] | None


class ManagerStatus(KubeStruct, frozen=True):
    current_state: Text = None
    instance_engines: Instances = None
    instance_engine_frontends: Instances = None
    instance_replicas: Instances = None
    instances: Instances = None


class ManagerObject(KubeStruct, frozen=True):
    metadata: Metadata
    spec: ManagerSpec | None = None
    status: ManagerStatus | None = None


class LabelledMetadata(Metadata, frozen=True, rename="camel"):
    labels: dict[str, Text] | None = None


class CopySpec(KubeStruct, frozen=True):
    volume_name: Text = None
    node_id: Text = msgspec.field(default=None, name="nodeID")
    data_engine: Text = None
    healthy_at: Text = None
    failed_at: Text = None
    desire_state: Text = None


class CopyStatus(KubeStruct, frozen=True):
    current_state: Text = None
    instance_manager_name: Text = None


class CopyObject(KubeStruct, frozen=True):
    metadata: LabelledMetadata
    spec: CopySpec | None = None
    status: CopyStatus | None = None


class Layout(KubeStruct, frozen=True):
    type: Text = None
    data_chunks: Integer | None = None
    parity_chunks: Integer | None = None


class UseSpec(KubeStruct, frozen=True):
    access_mode: Text = None
    migratable: bool | None = None
    data_layout: Layout | None = None
    data_locality: Text = None


class KubernetesStatus(KubeStruct, frozen=True):
    namespace: Text = None
    pvc_name: Text = None
    last_pvc_ref_at: Text = msgspec.field(default=None, name="lastPVCRefAt")


class UseStatus(KubeStruct, frozen=True):
    kubernetes_status: KubernetesStatus | None = None


class UseObject(KubeStruct, frozen=True):
    metadata: Metadata
    spec: UseSpec | None = None
    status: UseStatus | None = None


class GuardSpec(BudgetSpec, frozen=True, rename="camel"):
    unhealthy_pod_eviction_policy: Text = None


class GuardStatus(KubeStruct, frozen=True):
    disruptions_allowed: Integer | None = None
    current_healthy: Integer | None = None
    expected_pods: int | None = None
    desired_healthy: Integer | None = None


class GuardObject(KubeStruct, frozen=True):
    metadata: Metadata
    spec: GuardSpec | None = None
    status: GuardStatus | None = None


class ClaimSource(KubeStruct, frozen=True):
    claim_name: Text = None


class EphemeralSource(KubeStruct, frozen=True):
    """A claim that the pod brings along."""


class GuestVolume(KubeStruct, frozen=True):
    name: Text = None
    empty_dir: EmptyDir | None = None
    persistent_volume_claim: ClaimSource | None = None
    ephemeral: EphemeralSource | None = None


class GuestMetadata(LabelledMetadata, frozen=True, rename="camel"):
    annotations: dict[str, Text] | None = None
    owner_references: list[Owner] | None = None


class GuestSpec(KubeStruct, frozen=True):
    node_name: Text = None
    volumes: list[GuestVolume] | None = None


class GuestStatus(KubeStruct, frozen=True):
    phase: Text = None
    conditions: Sequence[Condition] | None = None


class GuestObject(KubeStruct, frozen=True):
    metadata: GuestMetadata
    spec: GuestSpec | None = None
    status: GuestStatus | None = None


def host_record(host: HostObject) -> Host:
    """Translate a Kubernetes Node."""
    return Host(
        name=NodeName(host.metadata.name),
        cordoned=bool(host.spec and host.spec.unschedulable),
        ready=_state(host.status.conditions if host.status else None) in ("", "True"),
    )


def manager_record(manager: ManagerObject) -> Manager:
    """Translate an InstanceManager."""
    spec, status = manager.spec or ManagerSpec(), manager.status or ManagerStatus()
    running = (status.instance_engines, status.instance_engine_frontends, status.instances)
    return Manager(
        namespace=manager.metadata.namespace or _NO_NAMESPACE,
        name=manager.metadata.name,
        node=NodeName(spec.node_id or ""),
        type=spec.type or "",
        is_v2=spec.data_engine == "v2",
        image=spec.image or "",
        state=status.current_state or "",
        deleting=bool(manager.metadata.deletion_timestamp),
        engines=tuple(sorted({name for names in running for name in names or ()})),
        replicas=tuple(sorted(status.instance_replicas or ())),
    )


def copy_record(copy: CopyObject) -> Copy:
    """Translate a Replica."""
    spec, status = copy.spec or CopySpec(), copy.status or CopyStatus()
    node = spec.node_id or ""
    listed_on = (copy.metadata.labels or {}).get(_NODE_LABEL)
    return Copy(
        name=copy.metadata.name,
        volume=VolumeName(spec.volume_name or ""),
        node=NodeName(node),
        listed_on=NodeName(node if listed_on is None else listed_on),
        is_v2=spec.data_engine == "v2",
        healthy_once=bool(spec.healthy_at),
        failed=bool(spec.failed_at),
        stopped=spec.desire_state == status.current_state == "stopped",
        manager=status.instance_manager_name or "",
    )


def use_record(volume: UseObject) -> Use:
    """Translate a Volume."""
    spec, status = volume.spec or UseSpec(), volume.status or UseStatus()
    claim = status.kubernetes_status or KubernetesStatus()
    is_there = claim.namespace and claim.pvc_name and not claim.last_pvc_ref_at
    layout = spec.data_layout or Layout()
    is_sharded = layout.type == "sharded"
    spare = max(0, layout.parity_chunks or 0) if is_sharded else 0
    return Use(
        name=VolumeName(volume.metadata.name),
        claim=f"{claim.namespace}/{claim.pvc_name}" if is_there else "",
        shared=spec.access_mode == "rwx" and not spec.migratable,
        shards=spare + max(1, layout.data_chunks or 0) if is_sharded else 0,
        spare_shards=spare,
        is_strict=spec.data_locality == "strict-local",
    )


def guard_record(guard: GuardObject) -> Guard:
    """Translate a PodDisruptionBudget."""
    spec, status = guard.spec or GuardSpec(), guard.status or GuardStatus()
    desired = status.desired_healthy or 0
    return Guard(
        namespace=guard.metadata.namespace or _NO_NAMESPACE,
        name=guard.metadata.name,
        selector=None if spec.selector is None else selector_of(spec.selector),
        allowed=status.disruptions_allowed,
        has_pods=bool(status.expected_pods),
        is_met=(status.current_healthy or 0) >= desired > 0,
        spares_unready=spec.unhealthy_pod_eviction_policy == "AlwaysAllow",
    )


def guest_record(pod: GuestObject) -> Guest:
    """Translate a Pod."""
    metadata, spec, status = pod.metadata, pod.spec or GuestSpec(), pod.status or GuestStatus()
    namespace, volumes = metadata.namespace or _NO_NAMESPACE, spec.volumes or ()
    claims = [
        each.persistent_volume_claim.claim_name
        for each in volumes
        if each.persistent_volume_claim is not None
    ]
    claims += [f"{metadata.name}-{each.name}" for each in volumes if each.ephemeral is not None]
    return Guest(
        namespace=namespace,
        name=metadata.name,
        node=NodeName(spec.node_name or ""),
        labels={name: value or "" for name, value in (metadata.labels or {}).items()},
        owner=owner_of(metadata.owner_references),
        is_static=_MIRROR in (metadata.annotations or {}),
        has_local_data=any(each.empty_dir is not None for each in volumes),
        phase=status.phase or "",
        ready=_state(status.conditions) == "True",
        deleting=bool(metadata.deletion_timestamp),
        claims=tuple(f"{namespace}/{name}" for name in claims if name),
    )


def _state(conditions: Sequence[Condition] | None) -> str:
    """Return the status of condition Ready, "" if there is none."""
    return next((each.status or "" for each in conditions or () if each.type == "Ready"), "")
