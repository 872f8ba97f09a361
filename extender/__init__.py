"""The decision: which candidate nodes can hold the volumes a pod needs on its node."""

from extender.errors import UnresolvableClaimError
from extender.extender import NODES_IN_ONE_GO, Extender
from extender.holds.hold import Hold, Mode
from extender.holds.ledger import Ledger
from extender.kubernetes import PodRef
from extender.scoring.scores import Balance, Scores
from extender.verdicts.answering import Answer, Basis
from extender.verdicts.rejections import Rejection
from extender.view import ClusterView
from extender.view_builder import ViewBuilder
from extender.work import StepLimits

__all__ = [
    "NODES_IN_ONE_GO", "Answer", "Balance", "Basis", "ClusterView", "Extender", "Hold",
    "Ledger", "Mode", "PodRef", "Rejection", "Scores", "StepLimits", "UnresolvableClaimError",
    "ViewBuilder",
]  # fmt: skip
