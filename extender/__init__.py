"""The decision: which candidate nodes can hold the volumes a pod needs on its node."""

from extender.demand.estimates import estimate_volume, future_backing_image
from extender.demand.injection import Injection, InjectionOutcome, judge_claims, judge_pod
from extender.demand.requests import (
    LONGHORN_DRIVERS,
    LONGHORN_PROVISIONERS,
    NOBODY,
    PodRequest,
    needed_class,
    resolve,
    source_replicas,
)
from extender.errors import (
    ClaimProblem,
    TooMuchHeldError,
    UnresolvableClaimError,
    UnseenObjectError,
)
from extender.explaining.disks import (
    Charge,
    Expected,
    Headroom,
    LocalDisks,
    Shortfall,
    charges,
    expected,
    local_disks,
    shortfalls,
)
from extender.explaining.spreads import Hindrance, Spread, spreads
from extender.extender import NODES_IN_ONE_GO, Extender
from extender.holds.deadlines import ATTACHING_SECONDS, Timeouts
from extender.holds.evidence import count_lost_rooms
from extender.holds.hold import Asked, End, Ended, Hold, Mode, Outcome, Sighting, State
from extender.holds.ledger import Ledger
from extender.holds.new_hold import are_unseen, rebuild, size_bytes
from extender.kubernetes import (
    Claim,
    ClaimKey,
    ClaimTemplate,
    CsiNode,
    EngineOptOut,
    GroupKey,
    NewPod,
    NodeTerm,
    PersistentVolume,
    PodRef,
    PodStatus,
    Requirement,
    StorageClass,
    class_name,
    class_of,
    default_class,
    opt_out,
)
from extender.records import key_of
from extender.scoring.scores import HIGHEST_SCORE, Balance, Score, Scores
from extender.space import DiskRefusal, NodeSpace, why_unusable
from extender.verdicts.answering import Answer, Basis
from extender.verdicts.rejections import ClusterChange, Rejection
from extender.verdicts.shortages import REASONS
from extender.verdicts.situation import Situation
from extender.verdicts.suitability import node_rejection
from extender.view import ChangeLog, ClusterView, Cursor, VersionedCache
from extender.view_builder import ViewBuilder
from extender.waiting.lookout import Lookout
from extender.waiting.looks import Look, looks
from extender.waiting.node_sets import NodeSet, NodeSets
from extender.waiting.pods import Reasons, WaitingPod, WaitingPods
from extender.waiting.wants import Wants, wants_of
from extender.work import StepLimits

__all__ = [
    "ATTACHING_SECONDS", "HIGHEST_SCORE", "LONGHORN_DRIVERS", "LONGHORN_PROVISIONERS", "NOBODY",
    "NODES_IN_ONE_GO", "REASONS", "Answer", "Asked", "Balance", "Basis", "ChangeLog", "Charge",
    "Claim", "ClaimKey", "ClaimProblem", "ClaimTemplate", "ClusterChange", "ClusterView",
    "CsiNode", "Cursor", "DiskRefusal", "End", "Ended", "EngineOptOut", "Expected", "Extender",
    "GroupKey", "Headroom", "Hindrance", "Hold", "Injection", "InjectionOutcome", "Ledger",
    "LocalDisks", "Look", "Lookout", "Mode", "NewPod", "NodeSet", "NodeSets", "NodeSpace",
    "NodeTerm", "Outcome", "PersistentVolume", "PodRef", "PodRequest", "PodStatus", "Reasons",
    "Rejection", "Requirement", "Score", "Scores", "Shortfall", "Sighting", "Situation",
    "Spread", "State", "StepLimits", "StorageClass", "Timeouts", "TooMuchHeldError",
    "UnresolvableClaimError", "UnseenObjectError", "VersionedCache", "ViewBuilder",
    "WaitingPod", "WaitingPods", "Wants", "are_unseen", "charges", "class_name", "class_of",
    "count_lost_rooms", "default_class", "estimate_volume", "expected", "future_backing_image",
    "judge_claims", "judge_pod", "key_of", "local_disks", "looks", "needed_class",
    "node_rejection", "opt_out", "rebuild", "resolve", "shortfalls", "size_bytes",
    "source_replicas", "spreads", "wants_of", "why_unusable",
]  # fmt: skip
