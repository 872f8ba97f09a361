"""What differs between schedulers."""

from enum import StrEnum

import msgspec


class Choice(StrEnum):
    """Which of several accepted nodes its own plugins prefer; chance decides between equals."""

    SPREAD = "spread"
    """The one with the fewest pods."""
    PACK = "pack"
    """The one with the most."""
    ANY = "any"


class Configuration(msgspec.Struct, frozen=True, kw_only=True):
    """How a scheduler is set up; the defaults are those of 1.36 with our shipped file."""

    node_cache_capable: bool = True
    nominates: bool = True
    """Whether the expected node is written before claims are (1.35 and later)."""
    http_timeout_seconds: float = 5.0
    bind_timeout_seconds: float = 600.0
    status_delay: tuple[float, float] | None = None
    """Between which seconds patches of statuses are late; None to wait for each of them."""
    choice: Choice = Choice.SPREAD
    score_weight: int = 2
    """How much the extender's scores count; 0: it is not asked for any."""
