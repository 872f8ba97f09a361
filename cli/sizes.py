"""Sizes as people read them."""

from planner.naming import unit_of

_GIB = 2**30


def gib(size_bytes: int) -> str:
    """Say a size in GiB, with one decimal, without the unit."""
    return f"{size_bytes / _GIB:.1f}"


def short_amount(size_bytes: int) -> str:
    """Say with its unit what is short, rounded up: so much is enough."""
    unit, name = unit_of(size_bytes)
    return f"{-(-10 * size_bytes // unit) / 10:.1f} {name}"
