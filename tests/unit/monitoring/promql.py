"""The selectors of expressions, as far as ours go."""

import re
from typing import NamedTuple

_SELECTOR = re.compile(
    r"(?<![\w$])((?:longhorn_scheduler_extender|longhorn_disk|process)_\w+|up)\b(?:\{([^}]*)\})?"
)
_MATCHER = re.compile(r'(\w+)(=~|!~|!=|=)"([^"]*)"')
_BY = re.compile(r"(?:by|on) \(([^)]*)\)")


class Selector(NamedTuple):
    """A metric and what is asked of its labels."""

    metric: str
    matchers: list[tuple[str, str, str]]
    """Label, operator, value."""


def selectors(expr: str) -> list[Selector]:
    """Return all selectors of an expression."""
    return [
        Selector(found[1], _MATCHER.findall(found[2] or "")) for found in _SELECTOR.finditer(expr)
    ]


def grouping_labels(expr: str) -> set[str]:
    """Return the labels by which an expression groups or matches."""
    return {label for found in _BY.findall(expr) for label in found.split(", ")}
