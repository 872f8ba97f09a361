"""The last scores of pods: a node's place among them, what is shown, and what is forgotten."""

import tracemalloc

import pytest

from app.instance.scores import LastScores, ScoreReport, ScoresState
from extender import PodRef, Scores
from extender.demand.requests import PodRequest
from extender.scoring import Score
from longhorn import NodeName
from tests.builders import pod

NODE = NodeName("node-1")
FIRST = pod(name="first")


def scores(of: PodRef, *totals: int) -> Scores:
    """Build scores of node-1, node-2 and so on."""
    return Scores(
        request=PodRequest(pod=of, volumes=()),
        nodes=[NodeName(f"node-{number}") for number in range(1, len(totals) + 1)],
        scores=[Score(total=total) for total in totals],
    )


def known(last: LastScores, pods: list[PodRef]) -> list[PodRef]:
    return [each for each in pods if last.rank(each, NODE) is not None]


@pytest.mark.parametrize(
    ("node", "rank"), [("node-1", 3), ("node-2", 1), ("node-3", 3), ("node-4", 2), ("node-5", 5)]
)
def test_the_rank_of_a_node_counts_those_that_are_better(node, rank):
    last = LastScores()
    last.remember(scores(FIRST, 4, 9, 4, 5, 0), 0.0)

    assert last.rank(FIRST, NodeName(node)) == rank


def test_without_a_score_there_is_no_rank():
    last = LastScores()
    last.remember(scores(FIRST, 4), 0.0)

    assert last.rank(FIRST, NodeName("node-9")) is None
    assert last.rank(pod(name="second"), NODE) is None


def test_only_the_last_scores_of_a_pod_count():
    last = LastScores()
    last.remember(scores(FIRST, 1, 9), 0.0)
    last.remember(scores(FIRST, 9, 1), 1.0)

    assert last.rank(FIRST, NODE) == 1
    assert [each.told_seconds_ago for each in last.state(3.0)] == [2.0]


def test_a_pod_without_uid_is_not_remembered():
    last, tried = LastScores(), PodRef(namespace="default", name="tried", uid="", claims=())

    last.remember(scores(tried, 5), 0.0)

    assert last.state(0.0) == []


def test_scores_are_forgotten():
    last, second = LastScores(), pod(name="second")
    for each in (FIRST, second):
        last.remember(scores(each, 5), 0.0)

    last.forget(FIRST.uid)
    last.forget("uid-of-nobody")
    assert known(last, [FIRST, second]) == [second]

    last.forget_all()
    assert known(last, [FIRST, second]) == []


def test_the_oldest_are_dropped_until_the_newest_has_room():
    last, pods = LastScores(), [pod(name=f"pod-{number}") for number in range(60)]
    for each in pods:
        last.remember(scores(each, *[5] * 5_000), 0.0)

    kept = known(last, pods)
    assert len(kept) >= 50
    assert kept == pods[-len(kept) :]

    last.remember(scores(kept[0], *[5] * 5_000), 0.0)  # the newest now
    last.remember(scores(FIRST, *[5] * 5_000), 0.0)
    assert known(last, pods) == [kept[0], *kept[2:]]


def test_the_estimate_of_what_scores_take_is_no_less_and_not_twice_as_much():
    last, names = LastScores(), [NodeName(f"node-{number}") for number in range(5_000)]
    tracemalloc.start()
    before_bytes, _ = tracemalloc.get_traced_memory()
    for number in range(20):
        told = [Score(total=5, data=n / 7, balance=n / 3) for n in range(5_000)]
        request = PodRequest(pod=pod(name=f"pod-{number}"), volumes=())
        last.remember(Scores(request=request, nodes=[*names], scores=told), 0.0)
    del told, request
    taken_bytes = tracemalloc.get_traced_memory()[0] - before_bytes
    tracemalloc.stop()

    assert taken_bytes <= last.size_bytes < 2 * taken_bytes


def test_the_best_ten_nodes_are_shown_with_the_parts_of_their_scores():
    last = LastScores()
    best = Score(total=9, data=2 / 3, balance=0.5)
    told = scores(FIRST, *range(9), 0, 0)
    last.remember(
        Scores(
            request=told.request,
            nodes=[*told.nodes, NodeName("node-12")],
            scores=[*told.scores, best],
        ),
        5.0,
    )

    [shown] = last.state(7.0)

    assert (shown.pod, shown.told_seconds_ago, shown.candidates) == ("default/first", 2.0, 12)
    assert [*shown.best] == [f"node-{number}" for number in (12, 9, 8, 7, 6, 5, 4, 3, 2, 1)]
    assert shown.best[NodeName("node-12")] == ScoreReport(total=9, data=0.667, balance=0.5)
    assert shown.best[NodeName("node-9")] == ScoreReport(total=8, data=0.0, balance=0.0)


def test_the_newest_twenty_are_shown_the_newest_first():
    last = LastScores()
    for number in range(30):
        last.remember(scores(pod(name=f"pod-{number}"), 5), float(number))

    shown: list[ScoresState] = last.state(30.0)

    assert [each.pod for each in shown] == [f"default/pod-{n}" for n in range(29, 9, -1)]
