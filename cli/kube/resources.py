"""The kinds of objects that commands read, beside those of the service or with more fields."""

from collections.abc import Callable, Mapping
from typing import Any

from msgspec import structs

from app.kube import resources
from app.kube.longhorn.resources import LONGHORN_RESOURCES, NODES, VOLUMES
from app.kube.resource import AnyRecord, Kinds, Resource
from app.kube.resources import CLAIMS, CLUSTER_RESOURCES, PERSISTENT_VOLUMES, STORAGE_CLASSES
from cli.kube import attachments, placement, planned, said, storage_capacity, workloads
from cli.kube.planned_pods import PlannedPod
from cli.kube.pods import Pod
from planner.records import Budget, KubernetesNode, Service
from planner.workloads import (
    CRON_JOB,
    DAEMON_SET,
    DEPLOYMENT,
    JOB,
    REPLICA_SET,
    STATEFUL_SET,
    NewClaim,
    Workload,
)


def _by_kind(*kinds: Resource) -> Kinds:
    return {(each.group, each.kind): each for each in kinds}


def _workload(
    kind: str, structure: type[Any], record_of: Callable[[Any], AnyRecord], group: str = "apps"
) -> Resource:
    return Resource(
        group=group,
        plural=f"{kind.lower()}s",
        kind=kind,
        structure=structure,
        record=Workload,
        record_of=record_of,
        has_namespaces=True,
    )


KUBERNETES_NODES = Resource(
    plural="nodes",
    kind="Node",
    structure=placement.KubernetesNode,
    record=KubernetesNode,
    record_of=placement.kubernetes_node_record,
)
PODS = structs.replace(
    resources.PODS, structure=placement.WholePod, record=Pod, record_of=placement.whole_pod_record
)
SAID_NODES = structs.replace(NODES, structure=said.SaidNode, record_of=said.said_node_record)
SAID_VOLUMES = structs.replace(
    VOLUMES, structure=said.SaidVolume, record_of=said.said_volume_record
)
WHOLE_PERSISTENT_VOLUMES = structs.replace(
    PERSISTENT_VOLUMES,
    structure=placement.WholePersistentVolume,
    record_of=placement.whole_persistent_volume_record,
)
WHOLE_STORAGE_CLASSES = structs.replace(
    STORAGE_CLASSES,
    structure=placement.WholeStorageClass,
    record_of=placement.whole_storage_class_record,
)
IN_FILES = _by_kind(
    *CLUSTER_RESOURCES,
    *LONGHORN_RESOURCES,
    PODS,
    KUBERNETES_NODES,
    SAID_NODES,
    WHOLE_PERSISTENT_VOLUMES,
    WHOLE_STORAGE_CLASSES,
)
"""What the service reads, with what commands explain besides. Not ConfigMaps: of many in a file,
only ours has a meaning."""
CSI_DRIVERS = Resource(
    group="storage.k8s.io",
    plural="csidrivers",
    kind="CSIDriver",
    structure=storage_capacity.CsiDriverObject,
    record=storage_capacity.CsiDriver,
    record_of=storage_capacity.driver_record,
)
STORAGE_CAPACITIES = Resource(
    group="storage.k8s.io",
    plural="csistoragecapacities",
    kind="CSIStorageCapacity",
    structure=storage_capacity.StorageCapacityObject,
    record=storage_capacity.StorageCapacity,
    record_of=storage_capacity.capacity_record,
    has_namespaces=True,
)
ATTACHMENTS = Resource(
    group="longhorn.io",
    version="v1beta2",
    plural="volumeattachments",
    kind="VolumeAttachment",
    structure=attachments.AttachmentObject,
    record=attachments.Attachment,
    record_of=attachments.attachment_record,
)
DRIVER_ATTACHMENTS = Resource(
    group="storage.k8s.io",
    plural="volumeattachments",
    kind="VolumeAttachment",
    structure=attachments.DriverAttachmentObject,
    record=attachments.DriverAttachment,
    record_of=attachments.driver_attachment_record,
)
ASKED: Kinds = {
    **IN_FILES,
    **_by_kind(SAID_VOLUMES, CSI_DRIVERS, STORAGE_CAPACITIES, ATTACHMENTS, DRIVER_ATTACHMENTS),
}
"""The same, with what volumes say of themselves, who wants them attached, and what Kubernetes is
told of room for new ones."""

PLANNED_PODS = structs.replace(PODS, structure=PlannedPod, record_of=planned.planned_pod_record)
PLANNED_NODES = structs.replace(
    KUBERNETES_NODES, structure=planned.PlannedNode, record_of=planned.planned_node_record
)
"""The same kinds with still more of their fields, for plans."""
SERVICES = Resource(
    plural="services",
    kind="Service",
    structure=planned.ServiceObject,
    record=Service,
    record_of=planned.service_record,
    has_namespaces=True,
)
BUDGETS = Resource(
    group="policy",
    plural="poddisruptionbudgets",
    kind="PodDisruptionBudget",
    structure=planned.PodDisruptionBudget,
    record=Budget,
    record_of=planned.budget_record,
    has_namespaces=True,
)
WORKLOADS = (
    _workload(STATEFUL_SET, workloads.StatefulSet, workloads.stateful_set_record),
    _workload(DEPLOYMENT, workloads.WorkloadObject, workloads.deployment_record),
    _workload(REPLICA_SET, workloads.WorkloadObject, workloads.replica_set_record),
    _workload(DAEMON_SET, workloads.WorkloadObject, workloads.daemon_set_record),
    _workload(JOB, workloads.Job, workloads.job_record, group="batch"),
)
CRON_JOBS = _workload(CRON_JOB, workloads.CronJob, workloads.cron_job_record, group="batch")
"""Plans do not place their pods: when these run is not known."""
BARE_PODS = structs.replace(
    PODS, structure=PlannedPod, record=Workload, record_of=workloads.bare_pod_record
)
PODS_VOLUMES = structs.replace(BARE_PODS, record_of=workloads.pod_volumes_record)
"""Of pods in files only what claims they make for themselves."""
NEW_CLAIMS = structs.replace(CLAIMS, record=NewClaim, record_of=workloads.new_claim_record)
"""Pods and claims in files of what is yet to be created."""

PLANNED: Kinds = {
    **IN_FILES,
    **_by_kind(PLANNED_PODS, PLANNED_NODES, SERVICES, BUDGETS, *WORKLOADS),
}
"""What plans rest on."""
PLACED = _by_kind(
    BARE_PODS,
    NEW_CLAIMS,
    WHOLE_PERSISTENT_VOLUMES,
    WHOLE_STORAGE_CLASSES,
    SERVICES,
    BUDGETS,
    *WORKLOADS,
)
"""What a plan can add to a cluster."""
MAKERS: Mapping[str, Resource] = {each.kind: each for each in (*WORKLOADS, CRON_JOBS)}
"""By kind, what makes pods."""
WRITTEN: Kinds = {**PLACED, **_by_kind(CRON_JOBS)}
"""What manifests have that people ask about before it is created."""
