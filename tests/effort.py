"""How many examples a property is tried with."""

import os

IN_GATE = bool(os.environ.get("CI"))
"""There, every run has the same examples, so they are many."""


def examples(number: int) -> int:
    """Return how many of *number* examples are tried: all in the gate, else a third.

    Outside of the gate each run draws other ones.
    """
    return number if IN_GATE else number // 3
