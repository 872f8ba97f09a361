"""The kinds of objects we read: where they are, in which version, and what they become."""

from collections.abc import Callable, Mapping
from typing import Any

import msgspec
from msgspec import structs

from app.kube import engines, objects, placement, planned, schedules, translate, workloads
from app.kube.draining import records as draining
from app.kube.paths import path_of
from app.kube.planned_pods import PlannedPod
from extender import Claim, CsiNode, EngineOptOut, PersistentVolume, StorageClass
from longhorn import (
    BackingImage,
    DiskSchedule,
    EngineImage,
    InstanceManager,
    Node,
    Replica,
    Setting,
    Shard,
    Volume,
)
from planner.records import Budget, KubernetesNode, Service
from planner.workloads import (
    DAEMON_SET,
    DEPLOYMENT,
    JOB,
    REPLICA_SET,
    STATEFUL_SET,
    NewClaim,
    Workload,
)

AnyRecord = (
    BackingImage
    | Budget
    | Claim
    | translate.ConfigMap
    | CsiNode
    | DiskSchedule
    | draining.Record
    | EngineImage
    | EngineOptOut
    | schedules.ImageCopies
    | InstanceManager
    | KubernetesNode
    | NewClaim
    | Node
    | PersistentVolume
    | translate.Pod
    | Replica
    | Service
    | Setting
    | Shard
    | StorageClass
    | schedules.StoredSchedule
    | Volume
    | Workload
)


class Resource(msgspec.Struct, frozen=True, kw_only=True):
    """One kind, in the one version that we read."""

    group: str = ""
    version: str = "v1"
    plural: str
    kind: str
    structure: type[Any]
    """The fields of it that we read."""
    record: type[AnyRecord]
    """What an object becomes; no two kinds become the same, but for workloads."""
    record_of: Callable[[Any], AnyRecord]
    has_namespaces: bool = False
    """Whether objects of several namespaces are read: then a record has a *key* with its namespace
    and name, joined by a slash. Of all others the name alone is the key."""
    is_optional: bool = False
    """Whether clusters may do without: an API server that does not serve the kind has no objects
    of it. Of any other kind that says nothing."""
    is_metadata_alone: bool = False
    """Whether nothing else of an object is read."""
    is_advisory: bool = False
    """Whether decisions do without: a kind that is not served, or may not be read, is one without
    objects."""

    @property
    def api_version(self) -> str:
        """As it is in objects."""
        return f"{self.group}/{self.version}" if self.group else self.version

    @property
    def label(self) -> str:
        """The kind as texts for people have it: Kubernetes and Longhorn both have a Node."""
        return "Kubernetes Node" if self.kind == "Node" and not self.group else self.kind

    @property
    def name(self) -> str:
        """As kubectl and CRDs spell it: `volumes.longhorn.io`."""
        return f"{self.plural}.{self.group}" if self.group else self.plural

    def key_of(self, record: Any) -> str:
        """Return what other objects refer to *record* by."""
        key: str = record.key if self.has_namespaces else record.name
        return key

    @property
    def version_path(self) -> str:
        """The path where the API server lists the kinds of this version."""
        return f"/apis/{self.api_version}" if self.group else f"/api/{self.api_version}"

    def path(self, namespace: str = "", name: str | None = None, part: str = "") -> str:
        """Return the path of all objects, of those in *namespace*, or of one or a part of it.

        Raises:
            ImpossibleNameError: No object can have that name or namespace.
        """
        return path_of(self.version_path, self.plural, namespace=namespace, name=name, part=part)


def _longhorn(
    plural: str,
    structure: type[Any],
    record: type[AnyRecord],
    record_of: Callable[[Any], AnyRecord],
    *,
    is_optional: bool = False,
    is_advisory: bool = False,
) -> Resource:
    """Describe a kind of Longhorn's; its records have the name of the kind."""
    return Resource(
        group="longhorn.io",
        version="v1beta2",
        plural=plural,
        kind=record.__name__,
        structure=structure,
        record=record,
        record_of=record_of,
        is_optional=is_optional,
        is_advisory=is_advisory,
    )


CLAIMS = Resource(
    plural="persistentvolumeclaims",
    kind="PersistentVolumeClaim",
    structure=objects.PersistentVolumeClaim,
    record=Claim,
    record_of=translate.claim_record,
    has_namespaces=True,
)
PERSISTENT_VOLUMES = Resource(
    plural="persistentvolumes",
    kind="PersistentVolume",
    structure=objects.PersistentVolume,
    record=PersistentVolume,
    record_of=translate.persistent_volume_record,
)
STORAGE_CLASSES = Resource(
    group="storage.k8s.io",
    plural="storageclasses",
    kind="StorageClass",
    structure=objects.StorageClass,
    record=StorageClass,
    record_of=translate.storage_class_record,
)
CONFIG_MAPS = Resource(
    plural="configmaps",
    kind="ConfigMap",
    structure=objects.ConfigMap,
    record=translate.ConfigMap,
    record_of=translate.config_map_record,
)
PODS = Resource(
    plural="pods",
    kind="Pod",
    structure=objects.Pod,
    record=translate.Pod,
    record_of=translate.pod_record,
    has_namespaces=True,
)
KUBERNETES_NODES = Resource(
    plural="nodes",
    kind="Node",
    structure=objects.KubernetesNode,
    record=KubernetesNode,
    record_of=translate.kubernetes_node_record,
)
NODES = _longhorn("nodes", objects.LonghornNode, Node, translate.node_record)
VOLUMES = _longhorn("volumes", objects.Volume, Volume, translate.volume_record)
REPLICAS = _longhorn("replicas", objects.Replica, Replica, translate.replica_record)
BACKING_IMAGES = _longhorn(
    "backingimages", objects.BackingImage, BackingImage, translate.backing_image_record
)
SETTINGS = _longhorn("settings", objects.Setting, Setting, translate.setting_record)
DISK_SCHEDULES = _longhorn(
    "diskschedules",
    objects.DiskSchedule,
    DiskSchedule,
    translate.disk_schedule_record,
    is_optional=True,
)
ENGINE_IMAGES = _longhorn(
    "engineimages",
    engines.EngineImageObject,
    EngineImage,
    engines.engine_image_record,
    is_advisory=True,
)
INSTANCE_MANAGERS = _longhorn(
    "instancemanagers",
    engines.InstanceManagerObject,
    InstanceManager,
    engines.instance_manager_record,
    is_advisory=True,
)
SHARDS = _longhorn(
    "shards",
    objects.Shard,
    Shard,
    translate.shard_record,
    is_optional=True,
    is_advisory=True,
)
CSI_NODES = Resource(
    group="storage.k8s.io",
    plural="csinodes",
    kind="CSINode",
    structure=engines.CsiNodeObject,
    record=CsiNode,
    record_of=engines.csi_node_record,
    is_advisory=True,
)
OPTED_OUT_NODES = structs.replace(
    KUBERNETES_NODES,
    structure=engines.OptedOutNode,
    record=EngineOptOut,
    record_of=engines.opted_out_record,
    is_metadata_alone=True,
    is_advisory=True,
)
"""Those Kubernetes Nodes that have a label, so that the service reads no others."""


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


WHOLE_PODS = structs.replace(
    PODS, structure=placement.WholePod, record_of=translate.whole_pod_record
)
SAID_NODES = structs.replace(
    NODES, structure=objects.SaidNode, record_of=translate.said_node_record
)
SAID_VOLUMES = structs.replace(
    VOLUMES, structure=objects.SaidVolume, record_of=translate.said_volume_record
)
WHOLE_PERSISTENT_VOLUMES = structs.replace(
    PERSISTENT_VOLUMES,
    structure=placement.WholePersistentVolume,
    record_of=translate.whole_persistent_volume_record,
)
WHOLE_STORAGE_CLASSES = structs.replace(
    STORAGE_CLASSES,
    structure=placement.WholeStorageClass,
    record_of=translate.whole_storage_class_record,
)
EXPLAINED = (
    WHOLE_PODS,
    SAID_NODES,
    WHOLE_PERSISTENT_VOLUMES,
    WHOLE_STORAGE_CLASSES,
)
"""The same kinds with more of their fields, for commands that explain."""

STORED_SCHEDULES = Resource(
    group="longhorn.io",
    version="v1beta2",
    plural="diskschedules",
    kind="DiskSchedule",
    structure=schedules.StoredObject,
    record=schedules.StoredSchedule,
    record_of=schedules.stored_schedule_record,
)
IMAGE_COPIES = structs.replace(
    BACKING_IMAGES,
    structure=schedules.Image,
    record=schedules.ImageCopies,
    record_of=schedules.image_copies_record,
)
SCHEDULED = (STORED_SCHEDULES, NODES, REPLICAS, IMAGE_COPIES, SETTINGS)
"""What the controller of DiskSchedules reads, in Longhorn's namespace."""

CLUSTER_RESOURCES = (CLAIMS, PERSISTENT_VOLUMES, STORAGE_CLASSES, CSI_NODES)
"""Read in all namespaces."""
LONGHORN_RESOURCES = (
    NODES,
    VOLUMES,
    REPLICAS,
    BACKING_IMAGES,
    SETTINGS,
    DISK_SCHEDULES,
    ENGINE_IMAGES,
    INSTANCE_MANAGERS,
    SHARDS,
)
"""Read in Longhorn's namespace."""
RESOURCES = (*CLUSTER_RESOURCES, *LONGHORN_RESOURCES, PODS, KUBERNETES_NODES, CONFIG_MAPS)
"""All of them."""

BY_KIND: dict[tuple[str, str], Resource] = {
    (resource.group, resource.kind): resource
    for resource in RESOURCES
    if resource is not CONFIG_MAPS  # of many ConfigMaps, only ours has a meaning
}
"""By group and kind, as the service reads them."""
Kinds = Mapping[tuple[str, str], Resource]
IN_FILES: Kinds = BY_KIND | {(each.group, each.kind): each for each in EXPLAINED}
"""The same for objects in files, with what commands explain besides."""
ASKED: Kinds = {**IN_FILES, (SAID_VOLUMES.group, SAID_VOLUMES.kind): SAID_VOLUMES}
"""The same, with what volumes say of themselves."""

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
BARE_PODS = structs.replace(
    PODS, structure=PlannedPod, record=Workload, record_of=workloads.bare_pod_record
)
PODS_VOLUMES = structs.replace(BARE_PODS, record_of=workloads.pod_volumes_record)
"""Of pods in files only what claims they make for themselves."""
NEW_CLAIMS = structs.replace(CLAIMS, record=NewClaim, record_of=workloads.new_claim_record)
"""Pods and claims in files of what is yet to be created."""

PLANNED: Kinds = {**IN_FILES} | {
    (each.group, each.kind): each
    for each in (PLANNED_PODS, PLANNED_NODES, SERVICES, BUDGETS, *WORKLOADS)
}
"""By group and kind, what plans rest on."""
PLACED: Kinds = {
    (each.group, each.kind): each
    for each in (
        BARE_PODS,
        NEW_CLAIMS,
        WHOLE_PERSISTENT_VOLUMES,
        WHOLE_STORAGE_CLASSES,
        SERVICES,
        BUDGETS,
        *WORKLOADS,
    )
}
"""By group and kind, what a plan can add to a cluster."""
