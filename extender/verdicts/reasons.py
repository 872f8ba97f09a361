"""All reasons to reject a node."""

from collections.abc import Mapping

from extender.verdicts import shortages  # noqa: F401 (so that its classes are there)
from extender.verdicts.rejections import InTheWay, Rejection

REASONS: Mapping[str, type[Rejection]] = {
    each.reason: each
    for each in sorted(
        {*Rejection.__subclasses__(), *InTheWay.__subclasses__()} - {InTheWay},
        key=lambda each: each.reason,
    )
}
"""All of them, by the label in metrics."""
