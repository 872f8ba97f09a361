"""The scores of all candidates for one pod."""

from collections.abc import Sequence
from itertools import groupby

from extender.scoring.data import Near, data_near
from extender.scoring.placing import Placings, RememberedScores
from extender.scoring.scores import (
    WITH_DATA,
    WITHOUT_DATA,
    Balance,
    Score,
    Scores,
    Weights,
    points,
    score_of,
)
from extender.verdicts.answering import Answer, Basis
from extender.view import ChangeLog, ClusterView
from longhorn import NodeName

_MOST_CLOSELY = 32
"""So many nodes are looked at closely: those that are best by data and balance."""
_REJECTED = Score()


def prioritize(
    answer: Answer,
    changes: ChangeLog[NodeName],
    remembered: RememberedScores,
    balance: Balance,
) -> Scores:
    """Score the candidates of an answer: those that are not accepted have nothing.

    Args:
        answer: What `/filter` would say now.
        changes: The nodes whose space has changed, or what comes there.
        remembered: What is known already for pods of the same needs; added to.
        balance: What is wanted of the room that is left.
    """
    view, situation = answer.view, answer.situation
    near = data_near(answer.request, view)
    if situation is None or answer.basis is not Basis.PLACEMENT:
        scores = _by_data(answer.accepted, near, view)
    else:
        placings = Placings(situation, answer.accepted, changes, remembered)
        scores = _by_all(answer.accepted, near, placings, view, balance)
    if answer.rejected:
        rejected, accepted = answer.rejected, iter(scores)  # in the order of the candidates
        scores = [_REJECTED if name in rejected else next(accepted) for name in answer.candidates]
    return Scores(request=answer.request, nodes=answer.candidates, scores=scores)


def _by_data(accepted: Sequence[NodeName], near: Near, view: ClusterView) -> list[Score]:
    """Score nodes on which nothing new is placed."""
    if not near.on_nodes:
        return [score_of(WITHOUT_DATA, 0.0, None, 0.0)] * len(accepted)
    return [score_of(WITH_DATA, _share(near, name, view), None, 0.0) for name in accepted]


def _by_all(
    accepted: Sequence[NodeName],
    near: Near,
    placings: Placings,
    view: ClusterView,
    balance: Balance,
) -> list[Score]:
    """Score nodes on which something new is placed."""
    scores, weights = [*placings.scores], WITH_DATA if near.on_nodes else WITHOUT_DATA
    if near.on_nodes or balance is not Balance.SPREAD:
        balances = _balances(accepted, placings, balance)
        scores = [
            score_of(weights, _share(near, name, view), score.robustness, balance_there)
            for name, score, balance_there in zip(accepted, scores, balances, strict=True)
        ]
    for index in _best(placings.unsure(accepted), scores, weights):
        score, found = scores[index], placings.closely(accepted[index])
        scores[index] = score_of(weights, score.data, found, score.balance)
    return scores


def _best(unsure: Sequence[int], scores: Sequence[Score], weights: Weights) -> list[int]:
    """Return the best by data and balance, at most so many as are looked at closely.

    Nodes that are equally good are taken together or not at all: names make no difference.
    """

    def worth(index: int) -> float:
        return -points(weights, scores[index].data, None, scores[index].balance)

    found: list[int] = []
    for _, equal in groupby(sorted(unsure, key=worth), key=worth):
        group = [*equal]
        if len(found) + len(group) > _MOST_CLOSELY:
            break
        found += group
    return found


def _balances(
    accepted: Sequence[NodeName], placings: Placings, balance: Balance
) -> Sequence[float]:
    """Return for each node how well what is left is what is wanted."""
    match balance:
        case Balance.SPREAD:
            return [score.balance for score in placings.scores]
        case Balance.OFF:
            return [0.0] * len(accepted)
        case Balance.PACK:
            largest = [placings.largest_bytes(name) for name in accepted]
            most = max(largest, default=0)
            return [1 - each / most if most > 0 else 0.0 for each in largest]


def _share(near: Near, name: NodeName, view: ClusterView) -> float:
    space = view.spaces.get(name)
    return near.share(name, "" if space is None else space.node.zone)
