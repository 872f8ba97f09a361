"""The decision: which candidate nodes can hold the volumes a pod needs on its node."""

from extender.capacity import DiskKind, DiskSpace, NodeSpace, node_space
from extender.errors import ExtenderError, UnresolvableClaimError, UnseenObjectError
from extender.explain import Charge, Plan, charges, explain
from extender.extender import Extender
from extender.filter import Basis, FilterResult, StepLimits
from extender.holds import End, Hold, State
from extender.policy import (
    SCHEDULER_SETTINGS,
    Policy,
    UnreadableSetting,
    parse_bool,
    parse_int,
    read_policy,
)
from extender.rebuild import are_unseen, promised
from extender.rejections import REASONS, Rejection
from extender.reservations import Ended, Ledger, Mode, Timeouts
from extender.sightings import sighting_of, without_stale
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
    PodStatus,
    Replica,
    ReplicaName,
    StorageClass,
    TopologyTerm,
    Volume,
    VolumeName,
)
from extender.view import ClusterView
from extender.waiting import WaitingPod, WaitingPods

__all__ = [
    "REASONS",
    "SCHEDULER_SETTINGS",
    "BackingImage",
    "Basis",
    "Charge",
    "Claim",
    "ClaimKey",
    "ClusterView",
    "Disk",
    "DiskId",
    "DiskKind",
    "DiskName",
    "DiskSpace",
    "End",
    "Ended",
    "Extender",
    "ExtenderError",
    "FilterResult",
    "Hold",
    "Ledger",
    "Locality",
    "Mode",
    "Node",
    "NodeName",
    "NodeSpace",
    "PersistentVolume",
    "Plan",
    "PodRef",
    "PodStatus",
    "Policy",
    "Rejection",
    "Replica",
    "ReplicaName",
    "State",
    "StepLimits",
    "StorageClass",
    "Timeouts",
    "TopologyTerm",
    "UnreadableSetting",
    "UnresolvableClaimError",
    "UnseenObjectError",
    "Volume",
    "VolumeName",
    "WaitingPod",
    "WaitingPods",
    "are_unseen",
    "charges",
    "explain",
    "node_space",
    "parse_bool",
    "parse_int",
    "promised",
    "read_policy",
    "sighting_of",
    "without_stale",
]
