"""The decision: which candidate nodes can hold the volumes a pod needs on its node."""

from extender.errors import ExtenderError, UnresolvableClaimError, UnseenObjectError
from extender.extender import Extender
from extender.holds.hold import End, Hold, State
from extender.holds.ledger import Ended, Ledger, Mode, Timeouts
from extender.holds.rebuild import are_unseen, promised
from extender.holds.sightings import sighting_of, without_stale
from extender.holds.waiting import WaitingPod, WaitingPods
from extender.kubernetes import Claim, ClaimKey, PersistentVolume, PodRef, PodStatus, StorageClass
from extender.space import DiskKind, DiskSpace, NodeSpace, node_space
from extender.verdicts.answering import Answer, Basis
from extender.verdicts.candidates import StepLimits
from extender.verdicts.explain import Charge, Plan, charges, explain
from extender.verdicts.rejections import REASONS, Rejection
from extender.view import ChangeLog, ClusterView, Cursor

__all__ = [
    "REASONS",
    "Answer",
    "Basis",
    "ChangeLog",
    "Charge",
    "Claim",
    "ClaimKey",
    "ClusterView",
    "Cursor",
    "DiskKind",
    "DiskSpace",
    "End",
    "Ended",
    "Extender",
    "ExtenderError",
    "Hold",
    "Ledger",
    "Mode",
    "NodeSpace",
    "PersistentVolume",
    "Plan",
    "PodRef",
    "PodStatus",
    "Rejection",
    "State",
    "StepLimits",
    "StorageClass",
    "Timeouts",
    "UnresolvableClaimError",
    "UnseenObjectError",
    "WaitingPod",
    "WaitingPods",
    "are_unseen",
    "charges",
    "explain",
    "node_space",
    "promised",
    "sighting_of",
    "without_stale",
]
