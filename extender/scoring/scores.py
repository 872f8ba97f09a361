"""The score of a node: its terms, what each is worth at most, and the formula.

docs/how-it-decides.md has an example, docs/decisions/0015-scores-are-shares.md the reasons.
"""

from collections.abc import Iterable, Sequence
from enum import StrEnum
from typing import NamedTuple

import msgspec

from extender.demand.requests import PodRequest
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


class Weights(NamedTuple):
    """The most points for each term; together the highest score."""

    data: int
    """What is not on the node is copied, or read over the network: that is certain. So all of it
    outweighs all balance, beside all replicas in the zone of a node."""
    balance: int
    """What comes later finds more room."""


WITH_DATA = Weights(data=7, balance=3)
"""For a pod whose volumes have data somewhere."""
WITHOUT_DATA = Weights(data=0, balance=10)
"""For a pod that begins with empty volumes: points for data would be the same on every node."""


class Score(msgspec.Struct, frozen=True, gc=False):
    """How good one node is, and why."""

    total: int = 0
    """From 0 to 10; 0 for a node that is not accepted."""
    data: float = 0.0
    """Of what the pod's volumes have already, the share that is on the node or near it."""
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


def scores_of(weights: Weights, data: Iterable[float], balance: Iterable[float]) -> list[Score]:
    """Return the scores of nodes: the weighted sum of their terms, a half is rounded up."""
    most_for_data, most_for_balance = weights
    return [
        Score(int(most_for_data * near + most_for_balance * left + 0.5), near, left)
        for near, left in zip(data, balance, strict=True)
    ]
