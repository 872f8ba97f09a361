"""How good the nodes are that fit, best first: `/prioritize`."""

from extender.scoring.scores import HIGHEST_SCORE, Score

__all__ = [
    "HIGHEST_SCORE", "Score",
]  # fmt: skip
