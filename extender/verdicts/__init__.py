"""Whether a pod's volumes fit on a node, beside all that competes there."""

from extender.verdicts.attaching import unattachable
from extender.verdicts.node_verdict import node_mismatch, node_rejection, node_rejections, shortage
from extender.verdicts.rejections import (
    ClusterChange,
    EngineImageMissing,
    EngineSwitchedOff,
    InstanceManagerMissing,
    LinkedCloneElsewhere,
    StrictLocalElsewhere,
    UnknownNode,
)
from extender.verdicts.shortages import REASONS, InsufficientStorage, VolumesDoNotFit
from extender.verdicts.situation import Situation, strict_nodes

__all__ = [
    "REASONS", "ClusterChange", "EngineImageMissing", "EngineSwitchedOff", "InstanceManagerMissing",
    "InsufficientStorage", "LinkedCloneElsewhere", "Situation", "StrictLocalElsewhere",
    "UnknownNode", "VolumesDoNotFit", "node_mismatch", "node_rejection", "node_rejections",
    "shortage", "strict_nodes", "unattachable",
]  # fmt: skip
