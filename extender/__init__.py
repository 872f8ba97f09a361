"""The decision: which candidate nodes can hold the volumes a pod needs on its node."""

from extender.capacity import DiskKind, DiskSpace, NodeSpace, node_space
from extender.errors import ExtenderError, UnresolvableClaimError
from extender.explain import Plan, explain
from extender.extender import Extender
from extender.filter import Basis, FilterResult, StepLimits
from extender.policy import (
    SCHEDULER_SETTINGS,
    Policy,
    UnreadableSetting,
    parse_bool,
    parse_int,
    read_policy,
)
from extender.rejections import REASONS, Rejection
from extender.types import (
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
from extender.view import ClusterView

__all__ = [
    "REASONS",
    "SCHEDULER_SETTINGS",
    "BackingImage",
    "Basis",
    "Claim",
    "ClaimKey",
    "ClusterView",
    "Disk",
    "DiskId",
    "DiskKind",
    "DiskName",
    "DiskSpace",
    "Extender",
    "ExtenderError",
    "FilterResult",
    "Locality",
    "Node",
    "NodeName",
    "NodeSpace",
    "PersistentVolume",
    "Plan",
    "PodRef",
    "Policy",
    "Rejection",
    "Replica",
    "ReplicaName",
    "StepLimits",
    "StorageClass",
    "TopologyTerm",
    "UnreadableSetting",
    "UnresolvableClaimError",
    "Volume",
    "VolumeName",
    "explain",
    "node_space",
    "parse_bool",
    "parse_int",
    "read_policy",
]
