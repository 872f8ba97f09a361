"""The pods that got no node: who they are, and which of them may fit by now."""

from extender.waiting.lookout import Lookout
from extender.waiting.looks import Look, looks
from extender.waiting.node_sets import NodeSet, NodeSets
from extender.waiting.pods import Reasons, WaitingPod, WaitingPods
from extender.waiting.wants import Wants, wants_of

__all__ = [
    "Look", "Lookout", "NodeSet", "NodeSets", "Reasons", "WaitingPod", "WaitingPods", "Wants",
    "looks", "wants_of",
]  # fmt: skip
