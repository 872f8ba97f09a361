"""The scores of all candidates for one pod."""

from collections.abc import Sequence

from extender.scoring.data import data_near
from extender.scoring.room import RememberedScores, scores_by_room
from extender.scoring.scores import WITH_DATA, WITHOUT_DATA, Balance, Score, Scores, scores_of
from extender.verdicts.answering import Answer, Basis
from extender.view import ChangeLog
from longhorn import NodeName

_REJECTED = Score()
[_NOTHING_NEW] = scores_of(WITHOUT_DATA, [0.0], [None], [0.0])


def prioritize(
    answer: Answer, changes: ChangeLog[NodeName], remembered: RememberedScores, balance: Balance
) -> Scores:
    """Score the candidates of an answer: those that are not accepted have nothing.

    Args:
        changes: The nodes whose space has changed, or what comes there.
        remembered: What is known already for pods of the same needs; added to.
    """
    accepted, situation = answer.accepted, answer.situation
    scores: Sequence[Score] = [_NOTHING_NEW] * len(accepted)
    if situation is not None and answer.basis is Basis.PLACEMENT:
        scores = scores_by_room(situation, accepted, changes, remembered, balance)
    near = data_near(answer.request, answer.view)
    if near.on_nodes:
        scores = scores_of(
            WITH_DATA,
            near.shares(accepted, answer.view),
            [each.robustness for each in scores],
            [each.balance for each in scores],
        )
    if answer.rejected:
        rejected, left = answer.rejected, iter(scores)  # in the order of the candidates
        scores = [_REJECTED if name in rejected else next(left) for name in answer.candidates]
    return Scores(request=answer.request, nodes=answer.candidates, scores=scores)
