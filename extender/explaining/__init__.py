"""What people are shown of a decision: where volumes would go, what is short, who else comes."""

from extender.explaining.disks import (
    Charge,
    Expected,
    Headroom,
    LocalDisks,
    Shortfall,
    Trials,
    charges,
    expected,
    least_growth,
    local_disks,
    shortfalls,
)
from extender.explaining.whole_volumes import Hindrance, Spread, spreads

__all__ = [
    "Charge", "Expected", "Headroom", "Hindrance", "LocalDisks", "Shortfall", "Spread",
    "Trials", "charges", "expected", "least_growth", "local_disks", "shortfalls", "spreads",
]  # fmt: skip
