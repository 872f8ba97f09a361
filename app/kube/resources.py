"""The kinds of Kubernetes objects that the service reads."""

from app.kube import nodes, objects, translate
from app.kube.resource import Resource
from extender.kubernetes import Claim, CsiNode, EngineOptOut, PersistentVolume, StorageClass

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
CSI_NODES = Resource(
    group="storage.k8s.io",
    plural="csinodes",
    kind="CSINode",
    structure=nodes.CsiNodeObject,
    record=CsiNode,
    record_of=nodes.csi_node_record,
    is_advisory=True,
)
OPTED_OUT_NODES = Resource(
    plural="nodes",
    kind="Node",
    structure=nodes.OptedOutNode,
    record=EngineOptOut,
    record_of=nodes.opted_out_record,
    is_metadata_alone=True,
    is_advisory=True,
)
"""Those Kubernetes Nodes that have a label, so that the service reads no others."""


CLUSTER_RESOURCES = (CLAIMS, PERSISTENT_VOLUMES, STORAGE_CLASSES, CSI_NODES)
"""Read in all namespaces."""
