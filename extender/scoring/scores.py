"""The score of a node, and the formula that makes it from its parts."""

from collections.abc import Sequence
from enum import StrEnum
from typing import NamedTuple

import msgspec

from extender.demand.requests import PodRequest
from extender.scoring.robustness import Robustness
from longhorn import NodeName

HIGHEST_SCORE = 10


class Weights(NamedTuple):
    """The most points for each part; together the highest score."""

    data: int
    robustness: int
    balance: int


WITH_DATA = Weights(data=6, robustness=2, balance=2)
"""For a pod whose volumes have data somewhere."""
WITHOUT_DATA = Weights(data=0, robustness=6, balance=4)
"""For a pod that begins with empty volumes."""
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
    nodes: Sequence[NodeName]
    """Every candidate, in the order asked."""
    scores: Sequence[Score]
    """Of each of them."""

    @property
    def by_node(self) -> dict[NodeName, Score]:
        """The scores by the names of the candidates; made anew each time."""
        return dict(zip(self.nodes, self.scores, strict=True))


def points(weights: Weights, data: float, robustness: Robustness | None, balance: float) -> float:
    """Return the weighted sum of the parts.

    Robustness counts 1 if every order of placement works out, also on old figures, or nothing is
    placed; a half if every order does; and 0 if only some order does.
    """
    sure = _SHARES[robustness]
    return weights.data * data + weights.robustness * sure + weights.balance * balance


def score_of(weights: Weights, data: float, robustness: Robustness | None, balance: float) -> Score:
    """Return the score of an accepted node: its points, rounded; a half goes up."""
    return Score(int(points(weights, data, robustness, balance) + 0.5), data, robustness, balance)
