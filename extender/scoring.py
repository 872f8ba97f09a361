"""How good each node that fits is for a pod: data that need not move, sure room, balance."""

from collections.abc import Mapping
from enum import StrEnum

import msgspec

from extender.demand.requests import PodRequest
from extender.verdicts.robustness import Robustness
from longhorn import NodeName

HIGHEST_SCORE = 10


class Balance(StrEnum):
    """What is wanted of the room that is left."""

    SPREAD = "spread"
    """Nodes fill evenly: better is the node of which a larger share stays free."""
    PACK = "pack"
    """Large disks stay whole: better is the node whose largest free disk is smaller."""
    OFF = "off"
    """It does not matter."""


class Score(msgspec.Struct, frozen=True):
    """How good one node is; its parts are shares from 0 to 1.

    A node that is not accepted has nothing of all.
    """

    total: int = 0
    """From 0 to `HIGHEST_SCORE`: 6 x data + 2 x robustness + 2 x balance, rounded."""
    data: float = 0.0
    """Of what the pod's volumes have already, how much is on the node, or near it."""
    robustness: Robustness | None = None
    """How sure it is that Longhorn finds room there for what is new; None if nothing is."""
    balance: float = 0.0


class Scores(msgspec.Struct, frozen=True, kw_only=True):
    """The scores for one pod."""

    request: PodRequest
    """The pod with its claims resolved."""
    by_node: Mapping[NodeName, Score]
    """Every candidate, in the order asked."""
