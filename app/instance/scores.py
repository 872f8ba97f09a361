"""The scores last told of each pod: to see whether the best node was taken, and why it was best."""

from heapq import nlargest
from itertools import islice

import msgspec

from extender import PodRef, Scores
from extender.scoring import Score
from longhorn import NodeName

MOST_BYTES = 32 * 2**20
"""As it is estimated, 50 pods with scores of 5,000 nodes, which is long enough: a pod's node is
known in less than a second."""
_POD_BYTES, _CLAIM_BYTES, _NODE_BYTES = 3_000, 1_000, 120
"""What is kept for a pod takes so much, and for each node if no other pod has the score."""
_SHOWN_PODS = 20
_SHOWN_NODES = 10


class ScoreReport(msgspec.Struct):
    """How good one node is for a pod, and why."""

    total: int
    """From 0 to 10."""
    data: float
    """Of what the pod's volumes have already, how much is there, or near it: from 0 to 1."""
    balance: float
    """What is left there, as it is wanted: from 0 to 1."""


class ScoresState(msgspec.Struct):
    """The best nodes for one pod."""

    pod: str
    told_seconds_ago: float
    candidates: int
    best: dict[NodeName, ScoreReport]
    """The best first. Of equal ones, those that were asked first."""


class LastScores:
    """The last scores by the uid of the pod, within a bound on memory; the oldest go first.

    Attributes:
        size_bytes: The memory that they take, as it is estimated.
    """

    def __init__(self) -> None:
        self._told: dict[str, tuple[Scores, float]] = {}
        """The scores and when they were told, the oldest first."""
        self.size_bytes = 0

    def remember(self, scores: Scores, now: float) -> None:
        """Remember scores that are about to be told.

        A pod without uid is one about which somebody else than kube-scheduler asks.
        """
        uid = scores.request.pod.uid
        if not uid:
            return
        self.forget(uid)
        self._told[uid] = scores, now
        self.size_bytes += _size_bytes(scores)
        while self.size_bytes > MOST_BYTES:
            self.forget(next(iter(self._told)))

    def forget(self, uid: str) -> None:
        """Forget the scores of a pod: kube-scheduler begins again with it."""
        if uid in self._told:
            scores, _ = self._told.pop(uid)
            self.size_bytes -= _size_bytes(scores)

    def forget_all(self) -> None:
        """Forget all scores: this instance leads no longer."""
        self._told.clear()
        self.size_bytes = 0

    def rank(self, pod: PodRef, node: NodeName) -> int | None:
        """Return 1 and how many nodes were better than *node*; None if it has no score."""
        if pod.uid not in self._told:
            return None
        by_node = self._told[pod.uid][0].by_node
        if node not in by_node:
            return None
        total = by_node[node].total
        return 1 + sum(score.total > total for score in by_node.values())

    def state(self, now: float) -> list[ScoresState]:
        """Return the last ones for people to read, the newest first."""
        return [
            _scores_state(scores, now - told_at)
            for scores, told_at in islice(reversed(self._told.values()), _SHOWN_PODS)
        ]


def score_report(score: Score) -> ScoreReport:
    """Show one score for people and programs."""
    return ScoreReport(
        total=score.total,
        data=round(score.data, 3),
        balance=round(score.balance, 3),
    )


def _size_bytes(scores: Scores) -> int:
    claims = len(scores.request.pod.claims)
    return _POD_BYTES + _CLAIM_BYTES * claims + _NODE_BYTES * len(scores.nodes)


def _scores_state(scores: Scores, seconds_ago: float) -> ScoresState:
    pod, by_node = scores.request.pod, scores.by_node
    best = nlargest(_SHOWN_NODES, by_node.items(), key=lambda item: item[1].total)
    return ScoresState(
        pod=f"{pod.namespace}/{pod.name}",
        told_seconds_ago=seconds_ago,
        candidates=len(by_node),
        best={name: score_report(score) for name, score in best},
    )
