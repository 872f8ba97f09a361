"""The kinds of object the in-memory API server knows."""

from typing import Any

import msgspec
from msgspec import structs

Object = dict[str, Any]
"""An object as JSON; never changed once it is stored."""


class Resource(msgspec.Struct, frozen=True):
    """One row of the table: where a kind is served, and what is peculiar to it.

    *create_on_update* and *unconditional_update* are what `pkg/registry/*/*/strategy.go` of
    kubernetes answers in `AllowCreateOnUpdate` and `AllowUnconditionalUpdate`. *fields* are the
    field selectors besides name and namespace that are known here; *has_status* says whether the
    status subresource can be written, *has_binding* whether objects can be bound to nodes.
    *splits_status* says whether a write to the object leaves the status as it is, and one to the
    status all else.
    """

    group: str
    version: str
    plural: str
    kind: str
    namespaced: bool = True
    custom: bool = False
    create_on_update: bool = False
    unconditional_update: bool = True
    fields: tuple[str, ...] = ()
    has_status: bool = False
    splits_status: bool = False
    has_binding: bool = False

    @property
    def key(self) -> str:
        """Name the resource as the API server's messages do: plural, then group."""
        return f"{self.plural}.{self.group}" if self.group else self.plural

    @property
    def api_version(self) -> str:
        return f"{self.group}/{self.version}" if self.group else self.version

    @property
    def kind_key(self) -> str:
        return f"{self.kind}.{self.group}" if self.group else self.kind

    def has(self, subresource: str) -> bool:
        """Whether a subresource, by its name in paths, is served."""
        return {"status": self.has_status, "binding": self.has_binding}[subresource]


def custom_resource(group: str, version: str, plural: str, kind: str) -> Resource:
    """Describe a namespaced kind that a CustomResourceDefinition declares."""
    return Resource(group, version, plural, kind, custom=True, unconditional_update=False)


def _longhorn(plural: str, kind: str) -> Resource:
    return custom_resource("longhorn.io", "v1beta2", plural, kind)


def _admission(plural: str, kind: str) -> Resource:
    return Resource("admissionregistration.k8s.io", "v1", plural, kind, namespaced=False)


RESOURCES = (
    Resource("", "v1", "namespaces", "Namespace", namespaced=False),
    Resource("", "v1", "nodes", "Node", namespaced=False),
    Resource("", "v1", "persistentvolumes", "PersistentVolume", namespaced=False),
    Resource("", "v1", "persistentvolumeclaims", "PersistentVolumeClaim"),
    Resource(
        "",
        "v1",
        "pods",
        "Pod",
        fields=("spec.nodeName", "status.phase"),
        has_status=True,
        has_binding=True,
    ),
    Resource("", "v1", "services", "Service"),
    Resource("", "v1", "configmaps", "ConfigMap"),
    Resource("storage.k8s.io", "v1", "storageclasses", "StorageClass", namespaced=False),
    Resource("storage.k8s.io", "v1", "csinodes", "CSINode", namespaced=False),
    Resource("storage.k8s.io", "v1", "csidrivers", "CSIDriver", namespaced=False),
    Resource("storage.k8s.io", "v1", "csistoragecapacities", "CSIStorageCapacity"),
    Resource("storage.k8s.io", "v1", "volumeattachments", "VolumeAttachment", namespaced=False),
    Resource(
        "coordination.k8s.io",
        "v1",
        "leases",
        "Lease",
        create_on_update=True,
        unconditional_update=False,
    ),
    Resource("discovery.k8s.io", "v1", "endpointslices", "EndpointSlice"),
    Resource("networking.k8s.io", "v1", "networkpolicies", "NetworkPolicy"),
    Resource("apps", "v1", "deployments", "Deployment"),
    _admission("mutatingadmissionpolicies", "MutatingAdmissionPolicy"),
    _admission("mutatingadmissionpolicybindings", "MutatingAdmissionPolicyBinding"),
    _admission("mutatingwebhookconfigurations", "MutatingWebhookConfiguration"),
    _longhorn("nodes", "Node"),
    _longhorn("volumes", "Volume"),
    _longhorn("replicas", "Replica"),
    _longhorn("settings", "Setting"),
    _longhorn("backingimages", "BackingImage"),
    _longhorn("engineimages", "EngineImage"),
    _longhorn("instancemanagers", "InstanceManager"),
    _longhorn("shards", "Shard"),
    _longhorn("volumeattachments", "VolumeAttachment"),
    _longhorn("instancemanagerupgrades", "InstanceManagerUpgrade"),
)
DISK_SCHEDULES = structs.replace(
    _longhorn("diskschedules", "DiskSchedule"), has_status=True, splits_status=True
)
"""A kind that clusters may do without, as no release has it yet: served only once it is added."""
PLAN_RESOURCES = (
    Resource("policy", "v1", "poddisruptionbudgets", "PodDisruptionBudget"),
    Resource("apps", "v1", "statefulsets", "StatefulSet"),
    Resource("apps", "v1", "replicasets", "ReplicaSet"),
    Resource("apps", "v1", "daemonsets", "DaemonSet"),
    Resource("batch", "v1", "jobs", "Job"),
)
"""Kinds that plans alone read; nothing writes them here."""
