"""The scores of all candidates for one pod."""

from collections.abc import Mapping, Sequence
from itertools import groupby

from extender.holds.ledger import Ledger
from extender.scoring.data import Near, data_near
from extender.scoring.placing import Placings, Remembered
from extender.scoring.robustness import Robustness
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
from extender.verdicts.answering import Answer
from extender.verdicts.case import Case
from extender.view import ClusterView
from longhorn import NodeName

_MOST_CLOSELY = 32
"""So many nodes are looked at closely: those that are best by data and balance."""
_REJECTED = Score()


def prioritize(
    answer: Answer,
    case: Case | None,
    candidates: Sequence[NodeName],
    view: ClusterView,
    *,
    ledger: Ledger,
    remembered: Remembered,
    balance: Balance,
) -> Scores:
    """Score *candidates*: those that are not accepted have nothing.

    Args:
        answer: What `/filter` would say now.
        case: What was prepared to judge them, None if there was nothing to judge.
        candidates: The nodes, each named once.
        view: The cluster.
        ledger: What is held for pods; the pod's own hold does not count.
        remembered: What is known already for pods of the same needs; added to.
        balance: What is wanted of the room that is left.
    """
    near = data_near(answer.request, view)
    scores: Mapping[NodeName, Score]
    if case is None or not answer.request.volumes:
        scores = _by_data(answer.accepted, near, view)
    else:
        placings = Placings(case, answer.accepted, ledger, remembered)
        scores = _by_all(answer.accepted, near, placings, view, balance)
    if answer.rejected:
        scores = {name: scores.get(name, _REJECTED) for name in candidates}
    return Scores(request=answer.request, by_node=scores)


def _by_data(accepted: Sequence[NodeName], near: Near, view: ClusterView) -> dict[NodeName, Score]:
    """Score nodes on which nothing new is placed."""
    equal = score_of(WITH_DATA if near.on_nodes else WITHOUT_DATA, 0.0, None, 0.0)
    if not near.on_nodes:
        return dict.fromkeys(accepted, equal)
    return {
        name: score_of(WITH_DATA, share, None, 0.0)
        if (share := _share(near, name, view))
        else equal
        for name in accepted
    }


def _by_all(
    accepted: Sequence[NodeName],
    near: Near,
    placings: Placings,
    view: ClusterView,
    balance: Balance,
) -> dict[NodeName, Score]:
    """Score nodes on which something new is placed."""
    scores, weights = placings.scores, WITH_DATA if near.on_nodes else WITHOUT_DATA
    if near.on_nodes or balance is not Balance.SPREAD:
        balances = _balances(accepted, placings, balance)
        scores = {
            name: score_of(
                weights, _share(near, name, view), scores[name].robustness, balances[name]
            )
            for name in accepted
        }
    unsure = [name for name, each in scores.items() if each.robustness is Robustness.SOME_ORDER]
    for name in _best(unsure, scores, weights):
        found = placings.closely(name)
        scores[name] = score_of(weights, scores[name].data, found, scores[name].balance)
    return scores


def _best(
    nodes: Sequence[NodeName], scores: Mapping[NodeName, Score], weights: Weights
) -> list[NodeName]:
    """Return the best of *nodes* by data and balance, at most so many as are looked at closely.

    Nodes that are equally good are taken together or not at all: names make no difference.
    """

    def worth(name: NodeName) -> float:
        return -points(weights, scores[name].data, None, scores[name].balance)

    found: list[NodeName] = []
    for _, equal in groupby(sorted(nodes, key=worth), key=worth):
        group = [*equal]
        if len(found) + len(group) > _MOST_CLOSELY:
            break
        found += group
    return found


def _balances(
    accepted: Sequence[NodeName], placings: Placings, balance: Balance
) -> Mapping[NodeName, float]:
    """Return how well what is left on nodes is what is wanted."""
    match balance:
        case Balance.SPREAD:
            return {name: score.balance for name, score in placings.scores.items()}
        case Balance.OFF:
            return dict.fromkeys(accepted, 0.0)
        case Balance.PACK:
            largest = {name: placings.largest_bytes(name) for name in accepted}
            most = max(largest.values(), default=0)
            return {name: 1 - each / most if most > 0 else 0.0 for name, each in largest.items()}


def _share(near: Near, name: NodeName, view: ClusterView) -> float:
    space = view.spaces.get(name)
    return near.share(name, "" if space is None else space.node.zone)
