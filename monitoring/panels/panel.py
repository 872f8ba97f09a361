"""What a panel is: what it shows, and which question that answers."""

from typing import Literal

import msgspec

THIRD, HALF, FULL = 8, 12, 24
"""Widths, of 24 columns."""

Kind = Literal["lines", "stack", "heatmap", "number", "versions"]


class Query(msgspec.Struct, frozen=True):
    """What is asked, and what its series are called, with labels in double braces."""

    expr: str
    legend: str


class Panel(msgspec.Struct, frozen=True, kw_only=True):
    """One panel; the widths of those in a line add up to 24."""

    title: str
    question: str
    advice: str
    """What to do when it looks bad."""
    queries: tuple[Query, ...]
    unit: str = "short"
    """As Grafana names them."""
    kind: Kind = "lines"
    width: int = THIRD
    alerts: tuple[str, ...] = ()
    """Names of the alerts that watch the same, whose runbooks go on from here."""
    good: tuple[float, float] | None = None
    """From where on to where it is good; outside it is shown in red."""


class Row(msgspec.Struct, frozen=True):
    """Panels that belong together."""

    title: str
    panels: tuple[Panel, ...]
