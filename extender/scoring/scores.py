"""The score of a node: its terms, what each is worth at most, and the formula.

The term about room, balance, is what a node has left once the pod's new volumes are placed there;
the term about data is in `extender.scoring.data`. docs/how-it-decides.md has an example,
docs/decisions/0015-scores-are-shares.md the reasons.
"""

from collections.abc import Iterable, Sequence
from enum import StrEnum
from itertools import filterfalse
from typing import NamedTuple

import msgspec
from msgspec import structs

from extender.demand.items import Demand
from extender.demand.requests import PodRequest
from extender.scoring.data import data_near
from extender.verdicts.answering import Answer, Basis
from extender.verdicts.candidates import Remembered
from extender.verdicts.rejections import MemberElsewhere
from extender.verdicts.situation import Situation
from longhorn import NodeName
from packing import Item, Kind

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


class KnownScores:
    """Scores of nodes for one set of needs, as if there were no data, and `Balance.SPREAD` wanted.

    They stand until the node's space is replaced, as `Verdicts` do.
    """

    def __init__(self) -> None:
        self.by_node: dict[NodeName, Score] = {}

    def __len__(self) -> int:
        return len(self.by_node)

    def forget(self, names: Sequence[NodeName]) -> None:
        """Forget nodes that have changed."""
        for name in names:
            self.by_node.pop(name, None)


WITH_DATA = Weights(data=7, balance=3)
"""For a pod whose volumes have data somewhere."""
WITHOUT_DATA = Weights(data=0, balance=10)
"""For a pod that begins with empty volumes: points for data would be the same on every node."""
RememberedScores = Remembered[KnownScores]
_NOTHING = Score()


def prioritize(answer: Answer, remembered: RememberedScores, balance: Balance) -> Scores:
    """Score the candidates of an answer: those that are not accepted have nothing."""
    accepted, situation = answer.accepted, answer.situation
    scores: Sequence[Score] = [_NOTHING] * len(accepted)
    if situation is not None and answer.basis is Basis.PLACEMENT:
        scores = _by_balance(situation, accepted, remembered, balance)
    near = data_near(answer.request, answer.view)
    if near.on_nodes:
        scores = scores_of(
            WITH_DATA,
            near.shares(accepted, answer.view),
            [each.balance for each in scores],
        )
    if answer.rejected:
        rejected, left = answer.rejected, iter(scores)  # in the order of the candidates
        scores = [_NOTHING if name in rejected else next(left) for name in answer.candidates]
    return Scores(request=answer.request, nodes=answer.candidates, scores=scores)


def best_alone(answer: Answer, scores: Scores) -> Answer:
    """Return *answer* with one accepted node: that of the highest score.

    So the next member of a group is judged beside this one though no node of theirs shows yet.

    Of equal scores, which are rounded, the one with the better balance is taken, and of these the
    first in the order of the candidates.
    """
    by_node = scores.by_node

    def worth(name: NodeName) -> tuple[int, float]:
        return by_node[name].total, by_node[name].balance

    best = max(answer.accepted, key=worth)
    others = dict.fromkeys((name for name in answer.accepted if name != best), MemberElsewhere())
    return structs.replace(answer, accepted=[best], rejected={**answer.rejected, **others})


def scores_of(weights: Weights, data: Iterable[float], balance: Iterable[float]) -> list[Score]:
    """Return the scores of nodes: the weighted sum of their terms, a half is rounded up."""
    most_for_data, most_for_balance = weights
    return [
        Score(int(most_for_data * near + most_for_balance * left + 0.5), near, left)
        for near, left in zip(data, balance, strict=True)
    ]


def _by_balance(
    situation: Situation,
    accepted: Sequence[NodeName],
    remembered: RememberedScores,
    balance: Balance,
) -> Sequence[Score]:
    """Score nodes as if there were no data; each has room for what is new there."""
    match balance:
        case Balance.SPREAD:
            return _spread(situation, accepted, remembered)
        case Balance.PACK:
            shares = _small_disks(situation, accepted)
        case Balance.OFF:
            shares = [0.0] * len(accepted)
    return scores_of(WITHOUT_DATA, [0.0] * len(accepted), shares)


def _spread(
    situation: Situation, accepted: Sequence[NodeName], remembered: RememberedScores
) -> Sequence[Score]:
    book, spaces = situation.book, situation.view.spaces
    needs = tuple(volume.need for volume in situation.request.volumes)
    known = remembered.for_needs((needs, ())).by_node
    apart = situation.holders | book.apart
    found = {name: _singly(name, situation) for name in accepted if name in apart} if apart else {}
    nodes = [*filterfalse(apart.__contains__, accepted)] if apart else accepted
    missing = [*filterfalse(known.__contains__, nodes)]
    if missing:  # the pods of a workload come one after another
        busy = book.busy
        idle = [name for name in missing if not (spaces[name].pending or name in busy)]
        known.update(zip(idle, _scores(idle, situation, situation.demand, ()), strict=True))
        for name in filterfalse(known.__contains__, missing):
            known[name] = _singly(name, situation)
    if not apart:
        return [*map(known.__getitem__, accepted)]
    return [found[name] if name in found else known[name] for name in accepted]


def _singly(name: NodeName, situation: Situation) -> Score:
    """Return the score of a node to which comes what does not come to others.

    What open holds may take there counts by the forecast alone: it comes to one of many nodes.
    """
    book, request = situation.book, situation.request
    own = {each.name for each in (*request.volumes, *request.remote)}
    coming = (*book.pinned(situation.view.spaces[name]), *book.forecast.on.get(name, ()))
    items = [each.item for each in coming if each.volume.name not in own]
    [score] = _scores([name], situation, situation.demand_on(name), items)
    return score


def _scores(
    nodes: Sequence[NodeName], situation: Situation, demand: Demand, others: Iterable[Item]
) -> list[Score]:
    """Score nodes to each of which comes *demand*, and others' items.

    What is left beside the pod counts as far as others leave it. So what is on its way counts about
    twice as much as what is placed: Longhorn puts as much again there while its figures lag.
    """
    kinds, spaces = _kinds_of(situation.demand), situation.view.spaces
    own_bytes = sum(item.logical_bytes for item in demand.items)
    coming_bytes = sum(item.logical_bytes for item in others if item.kinds & kinds)
    shares = list[float]()
    for name in nodes:
        free_bytes = limit_bytes = 0
        for of_kind in spaces[name].totals:
            if of_kind.kind in kinds:
                free_bytes += of_kind.free_bytes
                limit_bytes += of_kind.limit_bytes
        beside_bytes = free_bytes - own_bytes
        left_bytes = beside_bytes - coming_bytes
        is_left = left_bytes > 0
        shares.append(left_bytes / limit_bytes * left_bytes / beside_bytes if is_left else 0.0)
    return scores_of(WITHOUT_DATA, [0.0] * len(nodes), shares)


def _small_disks(situation: Situation, nodes: Sequence[NodeName]) -> list[float]:
    """Say of each node how small the largest free disk is, beside that of the other nodes."""
    kinds, spaces = _kinds_of(situation.demand), situation.view.spaces
    largest = [
        max(
            [
                0,
                *(
                    of_kind.largest_bytes
                    for of_kind in spaces[name].totals
                    if of_kind.kind in kinds
                ),
            ]
        )
        for name in nodes
    ]
    most = max(largest, default=0)
    return [1 - each / most if most > 0 else 0.0 for each in largest]


def _kinds_of(demand: Demand) -> frozenset[Kind]:
    """Return the disks that the pod's volumes may use."""
    return frozenset[Kind]().union(*(item.kinds for item in demand.items))
