"""What `filter` tells of scores: those of the accepted nodes, with their parts."""

import pytest

from app.instance.scores import ScoreReport
from cli.report import Report, make_report, score_text
from extender import Answer, Basis, Scores
from extender.demand.requests import PodRequest
from extender.scoring import Score
from extender.verdicts.rejections import UnknownNode
from longhorn import NodeName
from tests.builders import node, pod, view_of

ONE, TWO = NodeName("node-1"), NodeName("node-2")
POD = PodRequest(pod=pod(), volumes=())


def report(score: Score) -> Report:
    """Report on an accepted node with *score*, and on a rejected one."""
    view = view_of(node("node-1"))
    answer = Answer(
        request=POD,
        view=view,
        basis=Basis.PLACEMENT,
        candidates=[TWO, ONE],
        accepted=[ONE],
        rejected={TWO: UnknownNode()},
    )
    scores = Scores(request=POD, nodes=[TWO, ONE], scores=[Score(), score])
    return make_report(answer, scores, {}, view, {}, {})


@pytest.mark.parametrize(
    ("score", "shown"),
    [
        (Score(total=0), "score 0 of 10 (data 0%, balance 0%)"),
        (Score(total=7, data=2 / 3, balance=1.0), "score 7 of 10 (data 67%, balance 100%)"),
        (Score(total=9, balance=0.855), "score 9 of 10 (data 0%, balance 86%)"),
    ],
)
def test_the_text_of_a_score_has_its_parts(score, shown):
    assert score_text(report(score).scores["node-1"]) == shown


def test_the_report_has_the_scores_of_accepted_nodes_only():
    score = Score(total=7, data=2 / 3, balance=0.5)

    assert report(score).scores == {ONE: ScoreReport(total=7, data=0.667, balance=0.5)}
