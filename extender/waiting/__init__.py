"""The pods that got no node, and which of them to look at again after which change."""

from extender.waiting.changes import Changes, ChangesOfView
from extender.waiting.node_sets import ALL, NodeSets, Rejected
from extender.waiting.pods import WaitingPod, WaitingPods, Wants, current_wants, wants_of
from extender.waiting.probes import Probe, probes_for

__all__ = [
    "ALL", "Changes", "ChangesOfView", "NodeSets", "Probe", "Rejected", "WaitingPod",
    "WaitingPods", "Wants", "current_wants", "probes_for", "wants_of",
]  # fmt: skip
