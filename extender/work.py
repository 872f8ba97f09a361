"""What one answer may cost, counted in steps: the same on every machine."""

import msgspec


class StepLimits(msgspec.Struct, frozen=True, kw_only=True):
    """How many steps may be taken, so that no request blocks the others for long."""

    per_node: int
    """Of the packing of one node."""
    per_request: int


class Work:
    """A budget of steps. A step takes some 30 microseconds.

    Whoever does work spends steps for it, and stops where it is over: what is not decided by then
    counts as undecided. Work that has begun may go on, so that more is spent than there was.

    Attributes:
        left: How many steps are left; below zero if more were spent.
    """

    def __init__(self, steps: int) -> None:
        self.left = steps
        self.spent = 0

    @classmethod
    def unlimited(cls) -> "Work":
        """Return a budget that is never over."""
        return cls(2**62)

    @property
    def is_over(self) -> bool:
        """Whether no step is left."""
        return self.left <= 0

    def spend(self, steps: int) -> None:
        """Count steps that are taken."""
        self.left -= steps
        self.spent += steps
