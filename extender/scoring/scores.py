"""The score of a node, and the formula that makes it from its parts."""

from collections.abc import Mapping
from enum import StrEnum

import msgspec

from extender.demand.requests import PodRequest
from extender.scoring.robustness import Robustness
from longhorn import NodeName

HIGHEST_SCORE = 10
_OF_DATA, _OF_ROBUSTNESS, OF_BALANCE = 6, 2, 2
"""Together the highest score."""
_SHARES = {
    None: 1.0,
    Robustness.SOME_ORDER: 0.0,
    Robustness.EVERY_ORDER: 0.5,
    Robustness.EVERY_ORDER_AND_STALE: 1.0,
}


class Balance(StrEnum):
    """What is wanted of the room that is left."""

    SPREAD = "spread"
    """Nodes fill evenly: better is the node of which a larger share stays free."""
    PACK = "pack"
    """Large disks stay whole: better is the node whose largest free disk is smaller."""
    OFF = "off"
    """It does not matter."""


class Score(msgspec.Struct, frozen=True, gc=False):
    """How good one node is, and why."""

    total: int = 0
    """From 0 to 10; 0 for a node that is not accepted."""
    data: float = 0.0
    """Of what the pod's volumes have already, the share that is on the node or near it."""
    robustness: Robustness | None = None
    """How sure it is that Longhorn finds room there for what is new; None if nothing is."""
    balance: float = 0.0
    """The share of the wanted balance, from 0 to 1."""


class Scores(msgspec.Struct, frozen=True, kw_only=True):
    """The scores for one pod."""

    request: PodRequest
    """The pod with its claims resolved."""
    by_node: Mapping[NodeName, Score]
    """Every candidate, in the order asked."""


def points(data: float, robustness: Robustness | None, balance: float) -> float:
    """Return 6 x data + 2 x robustness + 2 x balance.

    Robustness counts 1 if every order of placement works out, also on old figures, or nothing is
    placed; a half if every order does; and 0 if only some order does.
    """
    return _OF_DATA * data + _OF_ROBUSTNESS * _SHARES[robustness] + OF_BALANCE * balance


def score_of(data: float, robustness: Robustness | None, balance: float) -> Score:
    """Return the score of an accepted node: its points, rounded."""
    return Score(int(points(data, robustness, balance) + 0.5), data, robustness, balance)
