"""The scores of all candidates for one pod."""

from collections.abc import Sequence

from msgspec import structs

from extender.scoring.balance import RememberedScores, scores_by_balance
from extender.scoring.data import data_near
from extender.scoring.scores import WITH_DATA, Balance, Score, Scores, scores_of
from extender.verdicts.answering import Answer, Basis
from extender.verdicts.rejections import MemberElsewhere
from longhorn import NodeName

_NOTHING = Score()


def prioritize(answer: Answer, remembered: RememberedScores, balance: Balance) -> Scores:
    """Score the candidates of an answer: those that are not accepted have nothing."""
    accepted, situation = answer.accepted, answer.situation
    scores: Sequence[Score] = [_NOTHING] * len(accepted)
    if situation is not None and answer.basis is Basis.PLACEMENT:
        scores = scores_by_balance(situation, accepted, remembered, balance)
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
