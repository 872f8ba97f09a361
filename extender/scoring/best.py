"""The best of the accepted nodes, where kube-scheduler is to be left no choice."""

from msgspec import structs

from extender.scoring.scores import Scores
from extender.verdicts.answering import Answer
from extender.verdicts.rejections import MemberElsewhere
from longhorn import NodeName


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
